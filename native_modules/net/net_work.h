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

/* From how many output pixels on four channels go at a time. */
#define NET_MANY 4

/* For this: the weights of four channels in 16 bits, the bytes of a pixel, a row of sums to which
 * another tensor is added. */
static inline uint32_t net_quads_work(const net_conv_args *k) {
    uint32_t bytes = k->kh * (((uint32_t)k->kw * k->cin + 3) & ~3u);
    return 9 * bytes + 4 + (k->add ? 4u * k->ow : 0);
}

/* The rolling rows and the weights of four channels in 16 bits. */
static inline uint32_t net_depthwise_work(const net_conv_args *k) {
    uint32_t columns = (uint32_t)(k->ow - 1) * k->stride_w + k->kw;
    return 8u * k->kh * (columns + k->kw);
}

/* Pixels whose gradients an update gathers at once. */
#define NET_GATHERED 64u

/* Sums of a pixel that a row of outputs of a depthwise layer reaches, beside the input too. */
static inline uint32_t net_scattered(const net_conv_args *k) {
    uint32_t reached = (uint32_t)(k->ow - 1) * k->stride_w + k->kw;
    uint32_t row = (uint32_t)(k->pad_left + k->w_in);
    return reached > row ? reached : row;
}

/* A layer: sums of two pixels, and H of section 5 for both. A depthwise layer: four channels'
 * weights, H of the rows that one row of inputs takes part in, and its sums. */
static inline uint32_t net_gradient_work(const net_conv_args *k, int is_depthwise) {
    if (is_depthwise) {
        return 8u * k->kh * ((uint32_t)k->kw + k->ow) + 16u * net_scattered(k);
    }
    return 8u * (k->cin + 3u) + 4u * k->cout;
}

/* A layer: sums of one tap and of a whole row of weights, and gradients. A depthwise layer: sums
 * of four channels. */
static inline uint32_t net_weight_work(const net_conv_args *k, int is_depthwise) {
    uint32_t taps = (uint32_t)k->kh * k->kw, pixels = (k->oh * (uint32_t)k->ow + 1) & ~1u;
    if (is_depthwise) {
        return 16u * taps;
    }
    return 4u * k->split * (taps + 1) + 4u * (pixels < NET_GATHERED ? pixels : NET_GATHERED);
}

#endif
