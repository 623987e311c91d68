// SPDX-License-Identifier: MIT
// The functions that a compiler calls by itself for copies of structs and arrays of zeros: a native
// module has no C library, but the firmware that loads it does.
#include "py/dynruntime.h"

void *memset(void *target, int byte, size_t size_bytes) {
    return mp_fun_table.memset_(target, byte, size_bytes);
}

void *memmove(void *target, const void *source, size_t size_bytes) {
    return mp_fun_table.memmove_(target, source, size_bytes);
}

void *memcpy(void *target, const void *source, size_t size_bytes) {
    return mp_fun_table.memmove_(target, source, size_bytes);
}
