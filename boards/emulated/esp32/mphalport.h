// SPDX-License-Identifier: MIT
#include <stddef.h>

#include "shared/runtime/interrupt_char.h"

mp_uint_t mp_hal_ticks_cpu(void);
