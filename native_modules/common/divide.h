/* SPDX-License-Identifier: MIT
 * Division for cores without a divide instruction: 40 bytes, the compiler's own takes 750. */
#ifndef ACCLIMATE_DIVIDE_H
#define ACCLIMATE_DIVIDE_H

#include <stdint.h>

/* Quotient of a and b > 0. */
static inline uint32_t divide(uint32_t a, uint32_t b) {
    uint32_t bit = 1, q = 0;
    while (b < a && !(b >> 31)) {
        b <<= 1;
        bit <<= 1;
    }
    for (; bit; bit >>= 1, b >>= 1) {
        if (a >= b) {
            a -= b;
            q |= bit;
        }
    }
    return q;
}

#endif
