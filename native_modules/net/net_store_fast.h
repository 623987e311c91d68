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
int net_is_quick(const net_conv_args *k, uint32_t c, uint32_t end);

#if NET_DSP
void net_get_range(const net_conv_args *k, net_range *range);
#endif

#endif
