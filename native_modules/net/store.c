/* SPDX-License-Identifier: MIT
 * What the fast kernels share of storing. */
#include "net_store.h"
#include "net_store_fast.h"

void net_put(const net_conv_args *k, int32_t sum, uint32_t c, int32_t at, uint32_t bit) {
    net_store(k, sum, c, at, bit);
}

void net_copy(int8_t *to, const int8_t *from, uint32_t n) {
#if NET_DSP
    for (; n >= 4; n -= 4, to += 4, from += 4) {
        ((net_unaligned *)to)->word = ((const net_unaligned *)from)->word;
    }
#endif
    while (n--) {
        *to++ = *from++;
    }
}

void net_fill(int8_t *to, int8_t value, uint32_t n) {
    while (n--) {
        *to++ = value;
    }
}

#if NET_DSP
int net_is_quick(const net_conv_args *k, uint32_t c, uint32_t end) {
    int is_quick = !k->mask || !(k->cout & 7);
    for (; c < end && is_quick; c++) {
        is_quick = k->shift[c] < 0;
    }
    return is_quick;
}

void net_get_range(const net_conv_args *k, net_range *range) {
    range->zero = 1 + 2 * k->zero_y;
    range->is_narrow = k->low > -128 || k->high < 127;
    range->low = (uint8_t)k->low * 0x01010101u;
    range->high = (uint8_t)k->high * 0x01010101u;
}

void net_get_scales(const net_conv_args *k, uint32_t c, net_taps_args *t) {
    for (uint32_t i = 0; i < 4; i++) {
        t->scales[i][0] = (int32_t)((uint32_t)k->multiplier[c + i] << 1);
        t->scales[i][1] = -k->shift[c + i] - 1;
    }
    t->mask_step = k->cout >> 3;
    t->mask_shift = c & 4;
    t->mask_bits = NET_MASK_BITS;
}
#endif
