# SPDX-License-Identifier: MIT
# Written by tools/faces.py.
from acclimate.svm.machine import SVM as SVM
from acclimate.svm.online import PassiveAggressive as PassiveAggressive
