/* SPDX-License-Identifier: MIT
 * Bytes of `work` that the convolutions need, the same on every board. */
#ifndef NET_WORK_H
#define NET_WORK_H

#include "net_kernels.h"
#include "net_order.h"

/* Two pixels' columns in 16 bits and a row of bytes, where taps are gathered. */
static inline uint32_t net_conv_work(const net_conv_args *k) {
    uint32_t taps = (uint32_t)k->kh * k->kw, depth = (uint32_t)k->cin / k->groups;
    return 5 * (net_row_bytes(taps * k->split) + net_row_bytes(taps * (depth - k->split)));
}

/* The rolling rows and the weights of four channels in 16 bits. */
static inline uint32_t net_depthwise_work(const net_conv_args *k) {
    uint32_t columns = (uint32_t)(k->ow - 1) * k->stride_w + k->kw;
    return 8u * k->kh * (columns + k->kw);
}

#endif
