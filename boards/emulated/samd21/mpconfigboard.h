// SPDX-License-Identifier: MIT
#include "../common.h"

// Load native armv6m modules, as SAMD21 firmware with SAMD21_EXTRA_FEATURES does.
#define MICROPY_EMIT_THUMB (1)
#define MICROPY_EMIT_INLINE_THUMB (1)
#define MICROPY_EMIT_THUMB_ARMV7M (0)

// Real SAMD21 firmware has no hashlib, no cryptolib and no cmath.
#define MICROPY_PY_HASHLIB (0)
#define MICROPY_PY_CRYPTOLIB (0)
#define MICROPY_PY_CMATH (0)

// No display hangs on these boards; the room is for the frozen package.
#define MICROPY_PY_FRAMEBUF (0)
// Nothing here uses the error and gamma functions, which take 5 KB of the flash.
#define MICROPY_PY_MATH_SPECIAL_FUNCTIONS (0)
