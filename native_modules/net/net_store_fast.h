/* SPDX-License-Identifier: MIT
 * net_store in fewer instructions where a layer has neither mask nor addition nor a clamp inside
 * int8, as ReLU has none once its zero point is -128. */
#ifndef NET_STORE_FAST_H
#define NET_STORE_FAST_H

#include "net_dot.h"
#include "net_store.h"

/* What a row of weights needs for it: shift < 0, or 0: take net_store. */
typedef struct {
    int32_t twice; /* 2 * multiplier, modulo 2^32 */
    int32_t shift;
} net_scale;

static inline int net_is_quick(const net_conv_args *k) {
    return NET_DSP && !k->mask && !k->add && k->low == -128 && k->high == 127;
}

static inline net_scale net_scale_of(const net_conv_args *k, uint32_t c, int is_quick) {
    int32_t multiplier = k->multiplier[c], shift = k->shift[c];
    net_scale s = { (int32_t)((uint32_t)multiplier << 1), shift };
    if (!is_quick || shift > 0 || multiplier < 1 << 30) {
        s.shift = 0;
    }
    return s;
}

#if NET_DSP
/* (sum * multiplier + 2^30) >> 31: as twice is 2 * multiplier - 2^32, one SMMLAR does it. */
static inline int32_t net_scaled(int32_t sum, int32_t twice) {
#if defined(__ARM_FEATURE_DSP)
    int32_t r;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(r) : "r"(sum), "r"(twice), "r"(sum));
    return r;
#else
    int64_t product = (int64_t)sum * twice + ((int64_t)sum * ((int64_t)1 << 32));
    return (int32_t)((product + ((int64_t)1 << 31)) >> 32);
#endif
}

/* x >> 1, limited to int8. */
static inline int32_t net_half_s8(int32_t x) {
#if defined(__ARM_FEATURE_DSP)
    int32_t r;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(r) : "r"(x));
    return r;
#else
    return net_clamp(x >> 1, -128, 127);
#endif
}
#endif

static inline void net_store_fast(const net_conv_args *k, net_scale s, int32_t sum, uint32_t c,
    int32_t at, uint32_t bit) {
#if NET_DSP
    if (s.shift < 0) {
        int32_t h = net_scaled(sum, s.twice);
        h = (h + (h >> 31)) >> (-s.shift - 1);
        k->y[at] = (int8_t)net_half_s8(h + 1 + 2 * k->zero_y);
        return;
    }
#else
    (void)s;
#endif
    net_store(k, sum, c, at, bit);
}

#endif
