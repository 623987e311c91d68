/* SPDX-License-Identifier: MIT
 * Depthwise convolution over a window of rolling rows: a few channels at a time, in 16 bits less
 * the zero point, so that every output is one dot product over adjacent numbers. As a row of
 * the input is copied before the outputs that lie over it are written, y may be x.
 *
 *   window   [column][slot][lane], slot = row of the input modulo kh
 *   taps     [kernel column][slot][lane], the weights as the slots lie at the row at hand */
#include "net_dot.h"
#include "net_fast.h"
#include "net_store.h"
#include "net_store_fast.h"

typedef struct {
    const net_conv_args *k;
    int16_t *window, *taps;
    int32_t columns; /* of the window */
    uint32_t c, lanes; /* the channels at hand */
    const int8_t *x;
    int is_quick;
} job;

/* Row `row` of the input into its slot. */
static void take_row(const job *j, int32_t row, uint32_t slot) {
    const net_conv_args *k = j->k;
    int16_t *to = j->window + slot * NET_LANES;
    const int8_t *from = j->x + row * k->x_pitch;
    int8_t none[4] = { k->zero_x, k->zero_x, k->zero_x, k->zero_x };
    for (int32_t i = 0; i < j->columns; i++, to += k->kh * NET_LANES) {
        int32_t t = i - k->pad_left;
        int is_inside = row >= 0 && row < k->h && t >= 0 && t < k->w_in;
        const int8_t *pixel = is_inside ? from + t * k->x_step : none;
#if NET_DSP
        net_widen(to, 1, 0, pixel, j->lanes, k->zero_x);
#else
        *to = (int16_t)(*pixel - k->zero_x);
#endif
    }
}

static const int8_t *weights_of(const net_conv_args *k, uint32_t c) {
    uint32_t taps = (uint32_t)k->kh * k->kw;
    return c < k->split ? k->wt + c * taps : k->w + (c - k->split) * taps;
}

/* The weights, kernel row 0 at `slot`. */
static void turn(const job *j, uint32_t slot) {
    const net_conv_args *k = j->k;
    for (uint32_t i = 0; i < j->lanes; i++) {
        const int8_t *w = weights_of(k, j->c + i);
        for (uint32_t r = 0; r < k->kh; r++) {
            int16_t *to = j->taps + slot * NET_LANES + net_place(i);
            for (uint32_t t = 0; t < k->kw; t++, to += k->kh * NET_LANES) {
                *to = *w++;
            }
            slot = slot + 1 == k->kh ? 0 : slot + 1;
        }
    }
}

/* One row of outputs; `at` and `bit` are those of its first pixel. */
static void row_of_outputs(const job *j, int32_t at, uint32_t bit) {
    const net_conv_args *k = j->k;
    const int16_t *x = j->window;
    uint32_t step = (uint32_t)k->stride_w * k->kh * NET_LANES;
    int32_t sums[NET_LANES];
    for (uint32_t t = 0; t < k->ow; t++, x += step, at += k->y_step, bit += k->cout) {
        for (uint32_t i = 0; i < j->lanes; i++) {
            sums[i] = k->bias[j->c + i];
        }
        net_taps(x, j->taps, k->kh * k->kw, sums);
        for (uint32_t i = 0; i < j->lanes; i++) {
            net_store(k, sums[i], j->c + i, at + (int32_t)i, bit + i);
        }
    }
}

#if NET_DSP
static void quick_row(const job *j, int8_t *y) {
    const net_conv_args *k = j->k;
    net_taps_args t;
    t.x = j->window;
    t.w = j->taps;
    t.taps = k->kh * k->kw;
    for (uint32_t i = 0; i < 4; i++) {
        t.bias[i] = k->bias[j->c + i];
        t.scales[i][0] = (int32_t)((uint32_t)k->multiplier[j->c + i] << 1);
        t.scales[i][1] = -k->shift[j->c + i] - 1;
    }
    t.y = y;
    t.y_step = k->y_step;
    t.pixels = k->ow;
    t.x_step = k->stride_w * k->kh * 8;
    t.range = net_range_of(k);
    net_taps_row(&t);
}
#endif

static void channels(const job *j, uint32_t first) {
    const net_conv_args *k = j->k;
    int32_t next = -k->pad_top; /* the first row not taken yet; it belongs in slot */
    uint32_t slot = 0;
    for (uint32_t r = 0; r < k->oh; r++) {
        int32_t top = (int32_t)(r * k->stride_h) - k->pad_top;
        for (; next < top + k->kh; next++) {
            take_row(j, next, slot);
            slot = slot + 1 == k->kh ? 0 : slot + 1;
        }
        turn(j, slot);
        int32_t at = (int32_t)r * k->y_pitch + (int32_t)(j->c - first);
#if NET_DSP
        if (j->is_quick && j->lanes == 4) {
            quick_row(j, k->y + at);
            continue;
        }
#endif
        row_of_outputs(j, at, r * k->ow * k->cout + j->c);
    }
}

void net_depthwise_fast(const net_conv_args *k, uint32_t first, uint32_t end) {
    job j;
    j.k = k;
    j.is_quick = net_is_quick(k, first, end);
    j.taps = k->work;
    j.window = j.taps + k->kh * k->kw * NET_LANES;
    j.columns = (k->ow - 1) * k->stride_w + k->kw;
    for (j.c = first; j.c < end && k->ow; j.c += j.lanes) {
        j.lanes = end - j.c < NET_LANES ? end - j.c : NET_LANES;
        j.x = k->x + (j.c - first);
        channels(&j, first);
    }
}
