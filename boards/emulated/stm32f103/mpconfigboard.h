// SPDX-License-Identifier: MIT
#include "../common.h"

// What a firmware for 20 KiB leaves out.
#undef MICROPY_PY_HASHLIB
#define MICROPY_PY_HASHLIB (0)
#undef MICROPY_PY_CRYPTOLIB
#define MICROPY_PY_CRYPTOLIB (0)
