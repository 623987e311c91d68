/* SPDX-License-Identifier: MIT
 * The kernels of a network. Tensors lie as height, width, channels; weights as paired rows
 * (net_order.h) of kernel row, kernel column, input channel of the group. Names *_plain are
 * plain C; boards run the fast kernels of net_fast.h in their place. */
#ifndef NET_KERNELS_H
#define NET_KERNELS_H

#include <stdint.h>
#include "net_layer.h"

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
    /* From here on in the order of the operands and of the layer's record: net_get_conv. */
    union {
        uint16_t pool[11]; /* the operands of a pool, up to cin */
        struct {
            union {
                uint16_t window[6];
                struct {
                    uint16_t h, w_in, oh, ow;
                    int16_t pad_top, pad_left;
                };
            };
            union {
                uint16_t kernel[4];
                struct {
                    uint16_t kh, kw, stride_h, stride_w;
                };
            };
            union {
                uint16_t counts[4];
                struct {
                    uint16_t cin, cout, groups, split;
                };
            };
        };
    };
    union {
        int8_t values[4];
        struct {
            int8_t zero_x, zero_y, low, high;
        };
    };
} net_conv_args;

/* Output channels first <= c < end; y (and other) point at channel `first`. Where groups == cin
 * > 1, x points at the input channel of `first`. Bits of mask are set, never cleared: it must be
 * 0 before. Returns 0, or NET_BAD_PLACE where the fast kernel has too little work. */
int net_conv_plain(const net_conv_args *k, uint32_t first, uint32_t end);

/* Depthwise with one output per channel, same contract: what net_conv calls for it. */
int net_depthwise_plain(const net_conv_args *k, uint32_t first, uint32_t end);

/* One value of an addition. */
int8_t net_add_one(const net_add_rule *rule, int32_t a, int32_t b);

/* y = a + b over n elements; y may be a or b. */
void net_add(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y, uint32_t n);

/* Pools and padding have of net_conv_args: x, y, the window, the kernel, cin = cout, low, high.
 *
 * The sum of one channel's window for the output at (row, column), or its largest. *more: how
 * many elements lie inside of the input, or the place of the first largest plus 1; 0: none. */
int32_t net_window(const net_conv_args *k, uint32_t c, int32_t row, int32_t column, int is_max,
    uint32_t *more);

/* The average of each window, or its largest value. */
void net_pool(const net_conv_args *k, int is_max);

/* y (oh x ow) = fill, with x (h x w_in) from (pad_top, pad_left) on; fill is `low`. */
void net_pad(const net_conv_args *k);

/* Section 4. By `table` (32 numbers): g = the shares less 1 at `label`, as int8 with the exponent returned through
 * *exponent; returns the label's share in 1/32768. work: 4 n bytes. */
int32_t net_softmax_loss(const int8_t *x, uint32_t n, const uint16_t *table, uint32_t label,
    int8_t *g, int32_t *exponent, int32_t *work);

/* ---- backward: sections 5 and 6 ---- */

/* The layer as in its forward pass: gx is h x w_in x cin, g is oh x ow x cout, both close. */
typedef struct {
    const net_conv_args *layer;
    const int8_t *g;
    int8_t *gx; /* for a depthwise layer it may be g itself */
    const uint16_t *ratio; /* of a layer */
    int32_t *work; /* net_gradient_work bytes */
    uint32_t work_bytes;
    uint8_t fold; /* of a pool: k of section 5, plus 1 */
    uint8_t pools; /* 0: a layer; 1: averages, 2: the largest, both as depthwise layers */
} net_gradient_args;

/* Each returns s of section 5. */
int net_input_gradient_plain(const net_gradient_args *k);
int net_depthwise_gradient_plain(const net_gradient_args *k);

/* gx may be g where the strides are 1 and gx has no more rows and columns than g. */
int net_depthwise_gradient(const net_gradient_args *k);
int net_pool_gradient(const net_gradient_args *k);

/* Whether an output exists at `at` (its number times the stride); *index is its number. */
int net_has_output(int32_t at, uint32_t stride, uint32_t count, uint32_t *index);

/* The sums of one row of the input, four lanes a pixel, of which `count` are channels from c on:
 * s for them with the largest magnitude `most` (what lies there already is halved), and their
 * places. */
int net_lanes_shift(const net_gradient_args *a, int32_t most, uint32_t c, uint32_t count,
    int32_t row, int s);
void net_store_lanes(const net_gradient_args *a, const int32_t *sums, uint32_t c, uint32_t count,
    int32_t row, int s);

void net_clamp_gradient(const int8_t *g, const uint8_t *mask, int8_t *y, uint32_t n);

/* y = a 2^ea + b 2^eb; returns the exponent of y, which may be a or b. */
int32_t net_sum_gradients(const int8_t *a, const int8_t *b, int8_t *y, uint32_t n, int32_t ea,
    int32_t eb);

typedef struct {
    net_state *state; /* draws, and what is counted */
    const uint16_t *ratio;
    void *v; /* state of the optimizer, or NULL */
    int32_t p; /* P and E of section 6, with the gradient's exponent */
    int32_t e;
    int32_t momentum; /* mu */
    uint8_t optimizer;
    uint8_t move;
} net_update_rule;

void net_bias_update(const net_update_rule *rule, const int8_t *g, int32_t *bias,
    uint32_t pixels, uint32_t channels);

/* x holds the trained channels only, layer->wt their weights, which change. work: at least
 * 4 * split bytes, for a depthwise layer 4; fast kernels take net_weight_work. */
typedef struct {
    const net_conv_args *layer;
    const int8_t *g, *x;
    int32_t *work;
    uint32_t work_bytes;
} net_weight_args;

void net_weight_update_plain(const net_update_rule *rule, const net_weight_args *k);

/* From channel c on. */
void net_depthwise_update_plain(const net_update_rule *rule, const net_weight_args *k, uint32_t c);

/* ---- which kernel runs: the plain C, or with NET_FAST its replacement (net_float.c: its own) ---- */
#if defined(NET_FAST)
#include "net_fast.h"
#define net_conv net_conv_fast
#define net_depthwise net_depthwise_fast
#elif !defined(NET_FLOAT)
#define net_conv net_conv_plain
#define net_depthwise net_depthwise_plain
#endif
#if defined(NET_FAST) && !defined(NET_SMALL)
#define net_input_gradient net_input_gradient_fast
#define net_weight_update net_weight_update_fast
#define net_depthwise_update net_depthwise_update_fast
#elif !defined(NET_FLOAT)
#define net_input_gradient net_input_gradient_plain
#define net_weight_update net_weight_update_plain
#define net_depthwise_update(rule, k) net_depthwise_update_plain(rule, k, 0)
#endif

#endif
