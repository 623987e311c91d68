/* SPDX-License-Identifier: MIT
 * The kernels of a network. Tensors lie as height, width, channels; weights as paired rows
 * (net_order.h) of kernel row, kernel column, input channel of the group. Names *_ref are the
 * plain C; boards run the fast kernels of net_fast.h in their place. */
#ifndef NET_KERNELS_H
#define NET_KERNELS_H

#include <stdint.h>

/* Adds another tensor to the result of a convolution, or to a tensor. Section 3. */
typedef struct {
    int32_t multiplier_a, multiplier_b, multiplier_y;
    int8_t shift_a, shift_b, shift_y;
    int8_t zero_a, zero_b, zero_y;
    int8_t low, high;
} net_add_rule;

/* A convolution over one region. Steps and pitches count elements: from one pixel to the next,
 * and from one row to the next. Rows and columns outside [0, h) x [0, w) hold zero_x. */
typedef struct {
    const int8_t *x;
    int8_t *y;
    uint8_t *mask; /* or NULL; bit (row * ow + column) * cout + channel, lowest first */
    const int8_t *w; /* rows: [kh][kw][cin / groups - split]; depthwise: [cout - split][kh][kw] */
    const int8_t *wt; /* the first `split` input channels (depthwise: channels), or NULL */
    const int32_t *bias, *multiplier;
    const int8_t *shift;
    const net_add_rule *add; /* or NULL: y = add(convolution, other), masks before the addition */
    const int8_t *other; /* steps and pitches of y; may be y itself */
    int16_t *work; /* work_bytes for the kernel's use, aligned to 4 */
    uint32_t work_bytes;
    int32_t x_pitch, y_pitch;
    uint16_t x_step, y_step;
    uint16_t h, w_in, cin, oh, ow, cout, groups, split;
    uint16_t kh, kw, stride_h, stride_w;
    int16_t pad_top, pad_left;
    int8_t zero_x, zero_y, low, high;
} net_conv_args;

/* Output channels first <= c < end; y (and other) point at channel `first`. Where groups == cin
 * > 1, x points at the input channel of `first`. Bits of mask are set, never cleared: it must be
 * 0 before. */
void net_conv_ref(const net_conv_args *k, uint32_t first, uint32_t end);

/* Depthwise with one output per channel, same contract: what net_conv calls for it. */
void net_depthwise_ref(const net_conv_args *k, uint32_t first, uint32_t end);

/* One value of an addition. */
int8_t net_add_one(const net_add_rule *rule, int32_t a, int32_t b);

/* y = a + b over n elements; y may be a or b. */
void net_add_ref(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y, uint32_t n);

typedef struct {
    const int8_t *x;
    int8_t *y;
    uint16_t h, w, channels, oh, ow, kh, kw, stride_h, stride_w;
    int16_t pad_top, pad_left;
    int8_t low, high;
} net_pool_args;

void net_average_pool_ref(const net_pool_args *k);
void net_max_pool_ref(const net_pool_args *k);

/* y (oh x ow) = fill, with x (h x w) from (pad_top, pad_left) on; fill is `low`. */
void net_pad_ref(const net_pool_args *k);

/* y = clamp(x, low, high) over n elements. */
void net_clamp_ref(const int8_t *x, int8_t *y, uint32_t n, int8_t low, int8_t high);

/* Section 4. e[i] = 32768 * exp(scale * (x[i] - max)) by `table` (32 words); returns the sum. */
uint32_t net_exponentials_ref(const int8_t *x, uint32_t n, const uint16_t *table, uint16_t *e);

/* Section 4. g = the shares less 1 at `label`, as int8 with the exponent returned through
 * *exponent; returns the label's share in 1/32768. work: 2 n bytes. */
int32_t net_softmax_loss_ref(const int8_t *x, uint32_t n, const uint16_t *table, uint32_t label,
    int8_t *g, int32_t *exponent, uint16_t *work);

/* ---- which kernel runs: the plain C, or with NET_FAST its replacement ---- */
#if defined(NET_FAST)
#include "net_fast.h"
#define net_conv net_conv_fast
#define net_depthwise net_depthwise_fast
#else
#define net_conv net_conv_ref
#define net_depthwise net_depthwise_ref
#endif

#endif
