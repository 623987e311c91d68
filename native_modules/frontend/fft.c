/* SPDX-License-Identifier: MIT
 * See fft.h. The samples are n complex numbers; their transform is split into that of 2 n. */
#include "fft.h"

#include "pair.h"

int32_t fft_groups(int32_t n) {
    return n & 0x55555555 ? n >> 2 : n >> 1;
}

/* Four numbers, `m` words apart; `b`, `c` and `d` are turned already. */
INLINE void write4(uint32_t *x, int32_t m, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    uint32_t even = pair_plus(a, c), odd = pair_minus(a, c);
    uint32_t sum = pair_plus(b, d), other = pair_minus(b, d);
    x[0] = pair_plus(even, sum);
    x[m] = pair_minus_i(odd, other);
    x[2 * m] = pair_minus(even, sum);
    x[3 * m] = pair_plus_i(odd, other);
}

/* A turn by 0 changes no number that was divided before, so that it is left out. */
static void first4(const fft_tables *t, const uint32_t *in, uint32_t *out) {
    int32_t m = t->n >> 2;
    const uint16_t *order = t->order;
    for (uint32_t *x = out; x < out + t->n; x += 4) {
        const uint32_t *from = in + *order++;
        uint32_t a = pair_scaled(from[0], PAIR_QUARTER), b = pair_scaled(from[m], PAIR_QUARTER);
        uint32_t c = pair_scaled(from[2 * m], PAIR_QUARTER);
        uint32_t d = pair_scaled(from[3 * m], PAIR_QUARTER);
        write4(x, 1, a, b, c, d);
    }
}

static void first2(const fft_tables *t, const uint32_t *in, uint32_t *out) {
    int32_t m = t->n >> 1;
    const uint16_t *order = t->order;
    for (uint32_t *x = out; x < out + t->n; x += 2) {
        const uint32_t *from = in + *order++;
        uint32_t a = pair_scaled(from[0], PAIR_HALF), b = pair_scaled(from[m], PAIR_HALF);
        x[0] = pair_plus(a, b);
        x[1] = pair_minus(a, b);
    }
}

static void stage4(const fft_tables *t, uint32_t *out, int32_t m) {
    int32_t step = t->n / (4 * m);
    uint32_t *end = out + t->n;
    for (uint32_t *x = out; x < end; x += 4 * m) {
        uint32_t a = pair_scaled(x[0], PAIR_QUARTER), b = pair_scaled(x[m], PAIR_QUARTER);
        uint32_t c = pair_scaled(x[2 * m], PAIR_QUARTER);
        uint32_t d = pair_scaled(x[3 * m], PAIR_QUARTER);
        write4(x, m, a, b, c, d);
    }
    for (int32_t k = 1; k < m; k++) {
        const uint32_t *w = t->turns;
        uint32_t w1 = w[k * step], w2 = w[2 * k * step], w3 = w[3 * k * step];
        for (uint32_t *x = out + k; x < end; x += 4 * m) {
            uint32_t a = pair_scaled(x[0], PAIR_QUARTER);
            uint32_t b = pair_times(pair_scaled(x[m], PAIR_QUARTER), w1);
            uint32_t c = pair_times(pair_scaled(x[2 * m], PAIR_QUARTER), w2);
            uint32_t d = pair_times(pair_scaled(x[3 * m], PAIR_QUARTER), w3);
            write4(x, m, a, b, c, d);
        }
    }
}

static void split(const fft_tables *t, uint32_t *out) {
    uint32_t first = pair_scaled(out[0], PAIR_HALF);
    uint32_t *low = out, *high = out + t->n;
    *low = (uint16_t)(pair_low(first) + pair_high(first));
    *high = (uint16_t)(pair_low(first) - pair_high(first));
    const uint32_t *w = t->splits;
    while (++low <= --high) {
        uint32_t a = pair_scaled(*low, PAIR_HALF);
        uint32_t b = pair_scaled(pair_join(0u - (*high & 0xffff0000), *high), PAIR_HALF);
        uint32_t sum = pair_plus(a, b), turned = pair_times(pair_minus(a, b), *w++);
        *high = pair_join(pair_half_minus(turned, sum), pair_half_minus(sum, turned));
        if (low != high) {
            *low = pair_half_plus(sum, turned);
        }
    }
}

void fft_real(const fft_tables *t, const uint32_t *in, uint32_t *out) {
    int32_t m = 4;
    if (t->n & 0x55555555) {
        first4(t, in, out);
    } else {
        first2(t, in, out);
        m = 2;
    }
    for (; m < t->n; m *= 4) {
        stage4(t, out, m);
    }
    split(t, out);
}
