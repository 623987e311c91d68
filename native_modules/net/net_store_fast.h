/* SPDX-License-Identifier: MIT
 * How the fast kernels store: net_rows_* and net_taps_row where they can, else net_put. */
#ifndef NET_STORE_FAST_H
#define NET_STORE_FAST_H

#include "net_dot.h"
#include "net_kernels.h"

/* net_store, not inlined. */
void net_put(const net_conv_args *k, int32_t sum, uint32_t c, int32_t at, uint32_t bit);

void net_copy(int8_t *to, const int8_t *from, uint32_t n);
void net_fill(int8_t *to, int8_t value, uint32_t n);

#if NET_DSP
/* Every factor of channels c <= i < end is below one and not zero (whose shift is 0), and bits of
 * a mask, if there is one, lie in whole bytes. */
int net_is_quick(const net_conv_args *k, uint32_t c, uint32_t end);

void net_get_range(const net_conv_args *k, net_range *range);

/* The scales of channels c to c + 3, and where their bits lie in the mask, less the pixel's byte. */
void net_get_scales(const net_conv_args *k, uint32_t c, net_taps_args *t);
#endif

#endif
