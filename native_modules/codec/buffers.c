/* SPDX-License-Identifier: MIT */
#include "buffers.h"

void buffers_copy(uint8_t *to, const uint8_t *from, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

uint32_t buffers_common_prefix(const uint8_t *a, const uint8_t *b, uint32_t n) {
    uint32_t i = 0;
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}
