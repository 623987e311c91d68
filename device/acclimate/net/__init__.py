# SPDX-License-Identifier: MIT
"""Networks that predict, and go on learning, in int8 on the board; float32 beside it."""

from acclimate import _face

_NAMES = {
    "Net": "acclimate.net.network",
    "NetError": "acclimate.net.layer",
    "bytes_needed": "acclimate.net.network",
    "FloatNet": "acclimate.net.float32",
    "report": "acclimate.net.diagnosis",
    "troubles": "acclimate.net.diagnosis",
}
__getattr__ = _face("acclimate.net", _NAMES)
