/* SPDX-License-Identifier: MIT
 * On the host, the C of net_dot_m4f.S: the sources that call it can be tested there. */
#include "net_dot.h"
#include "net_math.h"

#if NET_DSP && !defined(__ARM_FEATURE_DSP)
void net_dot_2x2(const int8_t *w, const int16_t *x, int32_t words, int32_t *sums) {
    for (; words; words--, w += 8, x += 8) {
        for (uint32_t k = 0; k < 16; k++) {
            sums[k >> 2] += w[(k >> 3) * 4 + (k & 3)] * x[(k & 4) + net_place(k & 3)];
        }
    }
}

/* twice is 2 * multiplier - 2^32, which one SMMLAR makes good. */
static int32_t scaled(int32_t sum, int32_t twice, int32_t shift, const net_range *range) {
    int64_t product = (int64_t)sum * twice + ((int64_t)sum * ((int64_t)1 << 32));
    int32_t h = (int32_t)((product + ((int64_t)1 << 31)) >> 32);
    return (((h + (h >> 31)) >> shift) + range->zero) >> 1;
}

static int8_t limited(int32_t q, const net_range *range) {
    q = net_clamp(q, -128, 127);
    return (int8_t)(range->is_narrow ? net_clamp(q, (int8_t)range->low, (int8_t)range->high) : q);
}

/* Four channels of a pixel, and on to the next. */
static void store_lanes(net_taps_args *t, const int32_t *sums) {
    for (uint32_t k = 0; k < 4; k++) {
        int32_t q = scaled(sums[k], t->scales[k][0], t->scales[k][1], &t->range);
        t->y[k] = limited(q, &t->range);
        if (t->mask && t->y[k] == q) {
            *t->mask |= (uint8_t)(1u << (k + t->mask_shift));
        }
    }
    t->mask += t->mask ? t->mask_step : 0;
    t->y += t->y_step;
    t->x = (const int8_t *)t->x + t->x_step;
}

static void rows(net_rows *r, uint32_t pixels) {
    for (; r->pairs; r->pairs--) {
        int32_t sums[4] = { r->bias[0], r->bias[pixels == 1], r->bias[1], r->bias[1] };
        if (pixels == 2) {
            net_dot_2x2(r->w, r->x, r->words, sums);
        } else {
            net_dot_2x1(r->w, r->x, r->words, sums);
        }
        for (uint32_t row = 0; row < 2; row++, r->bias++, r->multiplier++, r->shift++) {
            for (uint32_t i = 0; i < pixels; i++) {
                *r->y[i]++ = limited(scaled(sums[row * pixels + i],
                    (int32_t)(*r->multiplier * 2u), -*r->shift - 1, &r->range), &r->range);
            }
        }
        r->w += 8 * r->words;
    }
}

void net_rows_2x2(net_rows *r) {
    rows(r, 2);
}

void net_rows_2x1(net_rows *r) {
    rows(r, 1);
}

void net_taps_row(net_taps_args *t) {
    for (; t->pixels; t->pixels--) {
        int32_t sums[4] = { t->bias[0], t->bias[1], t->bias[2], t->bias[3] };
        net_taps(t->x, t->w, t->taps, sums);
        store_lanes(t, sums);
    }
}

void net_quads_row(net_taps_args *t) {
    for (; t->pixels; t->pixels--) {
        int32_t sums[4] = { t->bias[0], t->bias[1], t->bias[2], t->bias[3] };
        const int8_t *x = t->x;
        const int16_t *w = t->w;
        for (int32_t segment = 0; segment < t->segments; segment++, x += t->pitch) {
            for (int32_t word = 0; word < t->taps; word++, x += 4, w += 16) {
                for (uint32_t i = 0; i < 16; i++) {
                    sums[i >> 2] += x[i & 3] * w[(i & 12) + net_place(i & 3)];
                }
            }
        }
        store_lanes(t, sums);
    }
}
#endif
