# SPDX-License-Identifier: MIT
# Written by tools/faces.py.
from acclimate.net.diagnosis import report as report
from acclimate.net.diagnosis import troubles as troubles
from acclimate.net.fields import NetError as NetError
from acclimate.net.float32 import FloatNet as FloatNet
from acclimate.net.network import Net as Net
from acclimate.net.network import bytes_needed as bytes_needed
