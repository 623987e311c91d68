/* SPDX-License-Identifier: MIT
 * The fast kernels, in the place of the plain C: one C source for every architecture over the
 * inner loops of net_dot.h. They give the same bytes. */
#ifndef NET_FAST_KERNELS_H
#define NET_FAST_KERNELS_H

#include "net_kernels.h"

int net_conv_fast(const net_conv_args *k, uint32_t first, uint32_t end);

/* x may be y where strides are 1 or y has no more rows and columns than x, and x_pitch, x_step
 * are those of y. */
int net_depthwise_fast(const net_conv_args *k, uint32_t first, uint32_t end);

#endif
