/* SPDX-License-Identifier: MIT
 * Kernels as one writes them first, in plain C over weights in the order output channel, kernel
 * row, kernel column, input channel. The yardstick of the instructions for a product. */
#ifndef NET_PLAIN_H
#define NET_PLAIN_H

#include <stdint.h>

typedef struct {
    int32_t h, w, cin, oh, ow, cout, kh, kw, stride, pad, zero_x, zero_y, low, high, fold;
} plain_layer;

void plain_conv(const plain_layer *k, const int8_t *x, const int8_t *w, const int32_t *bias,
    const int32_t *multiplier, const int8_t *shift, int8_t *y);

/* Weights: kernel row, kernel column, channel. */
void plain_depthwise(const plain_layer *k, const int8_t *x, const int8_t *w, const int32_t *bias,
    const int32_t *multiplier, const int8_t *shift, int8_t *y);

/* Gradient of a pointwise layer's input; sums: cin words. Returns the shift of the result. */
int plain_pointwise_gradient(const plain_layer *k, const int8_t *g, const int8_t *w,
    const uint16_t *ratio, int32_t *sums, int8_t *gx);

#endif
