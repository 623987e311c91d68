/* SPDX-License-Identifier: MIT
 * The gradient of a depthwise layer's input in plain C, which no module takes: what
 * depthwise_gradient.c is tested against. gx must not be g. */
#include "net_block.h"
#include "net_kernels.h"

/* The sum of input (row, column) of one channel, whose weights are w. */
static int32_t gather(const net_gradient_args *a, uint32_t c, const int8_t *w, int32_t row,
    int32_t column) {
    const net_conv_args *k = a->layer;
    uint32_t r, t;
    int32_t sum = 0;
    for (int32_t i = 0; i < k->kh; i++) {
        for (int32_t j = 0; j < k->kw; j++, w++) {
            if (net_has_output(row + k->pad_top - i, k->stride_h, k->oh, &r)
                && net_has_output(column + k->pad_left - j, k->stride_w, k->ow, &t)) {
                sum += net_fold(a->g[(r * k->ow + t) * k->cout + c], a->ratio[c], a->fold) * *w;
            }
        }
    }
    return sum;
}

/* Four channels at a time, row by row. */
int net_depthwise_gradient_plain(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw;
    int s = 0;
    for (uint32_t c = 0, count; c < k->cin; c += count) {
        count = k->cin - c < 4 ? k->cin - c : 4;
        for (int32_t row = 0; row < k->h; row++) {
            for (uint32_t i = 0; i < 4u * k->w_in; i++) {
                uint32_t n = c + (i & 3);
                const int8_t *w = n < k->split ? k->wt + n * taps : k->w + (n - k->split) * taps;
                a->work[i] = (i & 3) < count ? gather(a, n, w, row, (int32_t)(i >> 2)) : 0;
            }
            s = net_lanes_shift(a, net_largest(a->work, 4u * k->w_in), c, count, row, s);
            net_store_lanes(a, a->work, c, count, row, s);
        }
    }
    return s;
}
