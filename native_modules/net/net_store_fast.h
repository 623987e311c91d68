/* SPDX-License-Identifier: MIT
 * How the fast kernels store: net_rows_* and net_taps_row where they can, else net_put. */
#ifndef NET_STORE_FAST_H
#define NET_STORE_FAST_H

#include "net_dot.h"
#include "net_kernels.h"

/* net_store, not inlined. */
void net_put(const net_conv_args *k, int32_t sum, uint32_t c, int32_t at, uint32_t bit);

/* No mask, no addition, and every factor of channels c <= i < end is below one and not zero
 * (whose shift is 0). */
static inline int net_is_quick(const net_conv_args *k, uint32_t c, uint32_t end) {
    int is_quick = NET_DSP && !k->mask && !k->add;
    for (; c < end && is_quick; c++) {
        is_quick = k->shift[c] < 0;
    }
    return is_quick;
}

#if NET_DSP
static inline net_range net_range_of(const net_conv_args *k) {
    return (net_range){ 1 + 2 * k->zero_y, k->low > -128 || k->high < 127,
        (uint8_t)k->low * 0x01010101u, (uint8_t)k->high * 0x01010101u };
}
#endif

#endif
