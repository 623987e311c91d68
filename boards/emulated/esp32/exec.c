// SPDX-License-Identifier: MIT
// Where native code of .mpy files goes: RAM that holds code and is no part of Python's heap.
#include <string.h>

#include "py/persistentcode.h"
#include "py/runtime.h"

// Boot logs of ESP32 firmware name 36 to 41 KiB of IRAM; data with code in it is lent beyond that.
#define EXEC_BYTES (36 * 1024)

static uint32_t exec[EXEC_BYTES / 4];
static size_t used;

void board_forget_code(void) {
    used = 0;
    MP_STATE_PORT(board_code) = NULL;
}

void *board_commit_code(void *code, size_t len, void *relocations) {
    size_t words = (len + 3) / 4;
    void *place = code;
    if (words <= EXEC_BYTES / 4 - used) {
        place = exec + used;
        used += words;
    } else { // it stays in the heap, where something has to know it
        void **known = m_new(void *, 2);
        known[0] = MP_STATE_PORT(board_code);
        known[1] = code;
        MP_STATE_PORT(board_code) = known;
    }
    if (relocations) {
        mp_native_relocate(relocations, code, (uintptr_t)place);
    }
    if (place != code) {
        memcpy(place, code, len);
    }
    return place;
}

MP_REGISTER_ROOT_POINTER(void **board_code);
