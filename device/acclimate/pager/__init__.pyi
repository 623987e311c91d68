# SPDX-License-Identifier: MIT
# Written by tools/faces.py.
from acclimate.pager.core import Pager as Pager
from acclimate.pager.core import PagerError as PagerError
from acclimate.pager.fallback import RamFallback as RamFallback
from acclimate.pager.files import Files as Files
from acclimate.pager.media import Card as Card
from acclimate.pager.media import Host as Host
from acclimate.pager.media import SpiRam as SpiRam
