// SPDX-License-Identifier: MIT
// Acclimate for C++ programs: learn on the board, without an operating system and without a heap.
#ifndef ACCLIMATE_ARDUINO_H
#define ACCLIMATE_ARDUINO_H

#include "AcclimateCapsule.h"
#include "AcclimateNet.h"
#include "AcclimateSVM.h"

#endif
