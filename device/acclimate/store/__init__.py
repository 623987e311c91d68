# SPDX-License-Identifier: MIT
"""Keep one model in flash, replace it by a better one, and never lose it."""

from acclimate import _face

_NAMES = {
    "Store": "acclimate.store.core",
    "StoreError": "acclimate.store.core",
    "Wanted": "acclimate.store.capsule",
    "PROGRAM": "acclimate.store.capsule",
    "WEIGHTS": "acclimate.store.capsule",
    "CapsuleError": "acclimate.store.capsule",
    "LiveModel": "acclimate.store.live_model",
    "LiveModelError": "acclimate.store.live_model",
    "SavePolicy": "acclimate.store.save_policy",
    "Updater": "acclimate.store.delta",
    "OperatorsError": "acclimate.store.operators",
    "load_operators": "acclimate.store.operators",
}
__getattr__ = _face("acclimate.store", _NAMES)
