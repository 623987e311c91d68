/* SPDX-License-Identifier: MIT
 * What the fast kernels share of storing. */
#include "net_store.h"
#include "net_store_fast.h"

void net_put(const net_conv_args *k, int32_t sum, uint32_t c, int32_t at, uint32_t bit) {
    net_store(k, sum, c, at, bit);
}

int net_is_quick(const net_conv_args *k, uint32_t c, uint32_t end) {
    int is_quick = NET_DSP && !k->mask && !k->add;
    for (; c < end && is_quick; c++) {
        is_quick = k->shift[c] < 0;
    }
    return is_quick;
}

#if NET_DSP
void net_get_range(const net_conv_args *k, net_range *range) {
    range->zero = 1 + 2 * k->zero_y;
    range->is_narrow = k->low > -128 || k->high < 127;
    range->low = (uint8_t)k->low * 0x01010101u;
    range->high = (uint8_t)k->high * 0x01010101u;
}
#endif
