/* SPDX-License-Identifier: MIT
 * Bytes of `work` that the convolutions need, the same on every board. */
#ifndef NET_WORK_H
#define NET_WORK_H

#include "net_kernels.h"
#include "net_order.h"

/* Two pixels' columns in 16 bits and, where taps are gathered, a row of bytes. */
static inline uint32_t net_conv_work(const net_conv_args *k) {
    uint32_t taps = (uint32_t)k->kh * k->kw, depth = (uint32_t)k->cin / k->groups;
    uint32_t row = net_row_bytes(taps * k->split) + net_row_bytes(taps * (depth - k->split));
    uint32_t pixels = k->oh * k->ow > 1 ? 2 : 1;
    int is_plain = taps == 1 && !k->pad_top && !k->pad_left
        && (k->oh - 1) * k->stride_h < k->h && (k->ow - 1) * k->stride_w < k->w_in;
    return 2 * pixels * row + (is_plain ? 0 : row);
}

/* The rolling rows and the weights of four channels in 16 bits. */
static inline uint32_t net_depthwise_work(const net_conv_args *k) {
    uint32_t columns = (uint32_t)(k->ow - 1) * k->stride_w + k->kw;
    return 8u * k->kh * (columns + k->kw);
}

#endif
