/* SPDX-License-Identifier: MIT
 * Float weights over rows of bytes as integers, for boards with and without floats alike. */
#include "svm_read.h"

typedef struct {
    int32_t m; /* value is m * 2^e */
    int32_t e;
} parts;

static parts parts_of(int32_t bits) {
    parts p;
    int32_t e = bits >> 23 & 255;
    p.m = (bits & 0x7fffff) | (e ? 0x800000 : 0);
    p.m = bits < 0 ? -p.m : p.m;
    p.e = (e ? e : 1) - 150;
    return p;
}

/* |v| in units of 2^unit, cut. */
static uint32_t size_in(int32_t bits, int32_t unit) {
    parts p = parts_of(bits & 0x7fffffff);
    int32_t down = unit - p.e;
    return down > 24 ? 0 : (uint32_t)p.m >> down;
}

/* Whether a * 2^up is at most `limit`, or below it where `less` is 1; a is below 2^48. */
static int32_t is_at_most(uint64_t a, int32_t up, uint32_t limit, uint32_t less) {
    if (up >= 0) {
        return (limit - less) >> (up > 31 ? 31 : up) >= a;
    }
    return up < -33 || a + less <= (uint64_t)limit << -up;
}

/* The whole number nearest to a float times 2^shift, a half up. */
static int32_t nearest(int32_t bits, int32_t shift) {
    parts p = parts_of(bits);
    int32_t down = -(p.e + shift);
    if (down <= 0) {
        return (int32_t)((uint32_t)p.m << -down);
    }
    return down > 25 ? 0 : (p.m + (1 << (down - 1))) >> down;
}

void svm_round(void *weights, int32_t d, int32_t is_signed) {
    int32_t *w = weights;
    int32_t top = 0, unit, shift = 0;
    uint64_t room = 0;
    for (int32_t k = 2; k < d + 2; k++) {
        int32_t size = w[k] & 0x7fffffff;
        top = size > top ? size : top;
    }
    int32_t bias = w[1] & 0x7fffffff;
    unit = parts_of(bias > top ? bias : top).e;
    for (int32_t k = 2; k < d + 2; k++) {
        room += size_in(w[k], unit);
    }
    room = (is_signed ? room << 7 : (room << 8) - room) + size_in(bias, unit);
    parts largest = parts_of(top);
    while (shift < 40 && is_at_most((uint64_t)largest.m, largest.e + shift + 1, 32766, 1)
        && is_at_most(room, unit + shift, 1 << 28, 1)) {
        shift++;
    }
    while (!is_at_most((uint64_t)largest.m, largest.e + shift, 32766, 0)
        || !is_at_most(room, unit + shift, 1 << 29, 0)) {
        shift--;
    }
    w[0] = shift;
    w[1] = nearest(w[1], shift);
    for (int32_t k = 0; k < d; k += 2) { /* two in a word, never ahead of what is read */
        int32_t low = nearest(w[2 + k], shift);
        int32_t high = k + 1 < d ? nearest(w[3 + k], shift) : 0;
        w[2 + (k >> 1)] = (low & 0xffff) | (int32_t)((uint32_t)high << 16);
    }
}
