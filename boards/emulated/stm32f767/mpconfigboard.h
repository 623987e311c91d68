// SPDX-License-Identifier: MIT
#include "../common.h"

// As the firmware of boards with this chip: double floats.
#undef MICROPY_FLOAT_IMPL
#define MICROPY_FLOAT_IMPL (MICROPY_FLOAT_IMPL_DOUBLE)
