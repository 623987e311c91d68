/* SPDX-License-Identifier: MIT
 * What happens to a convolution's sum: bias, requantization, clamp, mask, addition, store. */
#ifndef NET_STORE_H
#define NET_STORE_H

#include "net_kernels.h"
#include "net_math.h"

/* `at` counts elements from k->y; `bit` is the element's place in the mask. */
static inline void net_store(const net_conv_args *k, int32_t sum, uint32_t c, int32_t at,
    uint32_t bit) {
    int32_t q = net_requantize(sum, k->multiplier[c], k->shift[c]) + k->zero_y;
    int32_t y = net_clamp(q, k->low, k->high);
    if (k->mask && q == y) {
        k->mask[bit >> 3] |= (uint8_t)(1u << (bit & 7));
    }
    k->y[at] = k->add ? net_add_one(k->add, y, k->other[at]) : (int8_t)y;
}

#endif
