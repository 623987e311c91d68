# SPDX-License-Identifier: MIT
# Written by tools/faces.py.
from acclimate.store.capsule import PROGRAM as PROGRAM
from acclimate.store.capsule import WEIGHTS as WEIGHTS
from acclimate.store.capsule import CapsuleError as CapsuleError
from acclimate.store.capsule import Wanted as Wanted
from acclimate.store.core import Store as Store
from acclimate.store.core import StoreError as StoreError
from acclimate.store.delta import Updater as Updater
from acclimate.store.live_model import LiveModel as LiveModel
from acclimate.store.live_model import LiveModelError as LiveModelError
from acclimate.store.operators import OperatorsError as OperatorsError
from acclimate.store.operators import load_operators as load_operators
from acclimate.store.save_policy import SavePolicy as SavePolicy
