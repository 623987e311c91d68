# SPDX-License-Identifier: MIT
"""Keep tensors outside RAM while a training step does not need them."""

from acclimate import _face

_NAMES = {
    "Pager": "acclimate.pager.core",
    "PagerError": "acclimate.pager.core",
    "Card": "acclimate.pager.media",
    "SpiRam": "acclimate.pager.media",
    "Host": "acclimate.pager.media",
    "Files": "acclimate.pager.files",
    "RamFallback": "acclimate.pager.fallback",
}
__getattr__ = _face("acclimate.pager", _NAMES)
