/* SPDX-License-Identifier: MIT
 * The fast kernels, in the place of the plain C: one C source for every architecture over the
 * inner loops of net_dot.h. They give the same bytes. net_kernels.h comes before this file. */
#ifndef NET_FAST_KERNELS_H
#define NET_FAST_KERNELS_H

int net_conv_fast(const net_conv_args *k, uint32_t first, uint32_t end);

/* Channels from first on where net_conv_fast has many pixels; returns the first channel left. */
uint32_t net_conv_quads(const net_conv_args *k, uint32_t first, uint32_t end);

/* x may be y where strides are 1 or y has no more rows and columns than x, and x_pitch, x_step
 * are those of y. */
int net_depthwise_fast(const net_conv_args *k, uint32_t first, uint32_t end);

int net_input_gradient_fast(const net_gradient_args *a);

/* As the plain ones where work is less than net_weight_work. */
void net_weight_update_fast(const net_update_rule *rule, const net_weight_args *a);
void net_depthwise_update_fast(const net_update_rule *rule, const net_weight_args *a);

#endif
