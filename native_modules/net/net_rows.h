/* SPDX-License-Identifier: MIT
 * Finds the row of an output channel in a layer's weights, which lie as net_order.h says. */
#ifndef NET_ROWS_H
#define NET_ROWS_H

#include "net_kernels.h"
#include "net_order.h"

typedef struct {
    const int8_t *row;
    uint32_t step, depth; /* from word to word, and weights of each tap */
} net_row;

/* The row of output channel c in w (k->w or k->wt), which has `channels` weights a tap. */
net_row net_row_of(const net_conv_args *k, const int8_t *w, uint32_t c, uint32_t channels);

#endif
