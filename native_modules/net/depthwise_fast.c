/* SPDX-License-Identifier: MIT
 * Depthwise convolution over a window of rolling rows: a few channels at a time, in 16 bits less
 * the zero point, so that every output is one dot product over adjacent numbers. As rows of the
 * input are copied before the outputs that lie over them are written, y may be x.
 *
 *   window   [column][slot][lane]; a row that comes in takes the slot of the oldest
 *   taps     [kernel column][slot][lane], the weights turned with the slots */
#include "net_dot.h"
#include "net_kernels.h"
#include "net_fast.h"
#include "net_format.h"
#include "net_store_fast.h"

/* The channels at hand of one tap. */
#if NET_DSP
typedef struct {
    uint32_t even, odd;
} lanes;
#else
typedef int16_t lanes;
#endif

typedef struct {
    const net_conv_args *k;
    lanes *window, *taps;
    int32_t columns; /* of the window */
    uint32_t c, count; /* the channels at hand */
    const int8_t *x;
#if NET_DSP
    int is_quick;
    net_taps_args quick;
#endif
} job;

static inline lanes widen(const int8_t *x, uint32_t count, int32_t zero) {
#if NET_DSP
    uint32_t word = count == 4 ? net_word(x) : net_part(x, count, zero);
    uint32_t add = net_twice(-zero);
    return (lanes){ net_even(word, add), net_odd(word, add) };
#else
    (void)count;
    return (lanes)(*x - zero);
#endif
}

/* Row `row` of the input into its slot; columns outside the input are zero from the start. */
static void take_row(const job *j, int32_t row, lanes *to) {
    const net_conv_args *k = j->k;
    int32_t n = j->columns - k->pad_left, zero = k->zero_x;
    uint32_t count = j->count, x_step = k->x_step, step = k->kh;
    const int8_t none[4] = { k->zero_x, k->zero_x, k->zero_x, k->zero_x };
    const int8_t *x = j->x + row * k->x_pitch;
    if (row < 0 || row >= k->h) {
        x = none;
        x_step = 0;
    }
    if (n > k->w_in) {
        n = k->w_in;
    }
    for (to += k->pad_left * k->kh; n > 0; n--, to += step, x += x_step) {
        *to = widen(x, count, zero);
    }
}

/* The first row of the window lies a slot further: so do the weights of each. */
static void turn(const job *j) {
    uint32_t kh = j->k->kh;
    lanes *row = j->taps;
    for (uint32_t t = j->k->kw; t; t--, row += kh) {
        lanes last = row[kh - 1];
        for (uint32_t r = kh - 1; r; r--) {
            row[r] = row[r - 1];
        }
        row[0] = last;
    }
}

static const int8_t *weights_of(const net_conv_args *k, uint32_t c) {
    uint32_t taps = (uint32_t)k->kh * k->kw;
    return c < k->split ? k->wt + c * taps : k->w + (c - k->split) * taps;
}

/* The weights, column by column. */
static void take_weights(const job *j) {
    const net_conv_args *k = j->k;
    const int8_t *w[NET_LANES];
    for (uint32_t i = 0; i < NET_LANES; i++) {
        w[i] = weights_of(k, j->c + (i < j->count ? i : 0));
    }
    for (uint32_t r = 0, n = 0; r < k->kh; r++) {
        lanes *to = j->taps + r;
        for (uint32_t t = 0; t < k->kw; t++, to += k->kh, n++) {
#if NET_DSP
            to->even = net_halves(w[0][n], w[2][n]);
            to->odd = net_halves(w[1][n], w[3][n]);
#else
            *to = w[0][n];
#endif
        }
    }
}

/* One row of outputs; `at` and `bit` are those of its first pixel. */
static void row_of_outputs(const job *j, int32_t at, uint32_t bit) {
    const net_conv_args *k = j->k;
    const lanes *x = j->window;
    uint32_t step = (uint32_t)k->stride_w * k->kh;
    int32_t sums[NET_LANES];
    for (uint32_t t = 0; t < k->ow; t++, x += step, at += k->y_step, bit += k->cout) {
        for (uint32_t i = 0; i < j->count; i++) {
            sums[i] = k->bias[j->c + i];
        }
        net_taps((const int16_t *)x, (int16_t *)j->taps, k->kh * k->kw, sums);
        for (uint32_t i = 0; i < j->count; i++) {
            net_put(k, sums[i], j->c + i, at + (int32_t)i, bit + i);
        }
    }
}

#if NET_DSP
static void prepare(job *j) {
    const net_conv_args *k = j->k;
    net_taps_args *t = &j->quick;
    t->w = (int16_t *)j->taps;
    t->taps = k->kh * k->kw;
    for (uint32_t i = 0; i < 4; i++) {
        t->bias[i] = k->bias[j->c + i];
    }
    net_get_scales(k, j->c, t);
    t->y_step = k->y_step;
    t->x_step = k->stride_w * k->kh * 8;
}
#endif

static void channels(job *j, uint32_t first) {
    const net_conv_args *k = j->k;
    int32_t next = -k->pad_top; /* the first row not taken yet; it belongs in slot */
    uint32_t slot = 0;
    for (int32_t i = 0; i < j->columns * k->kh; i++) {
        j->window[i] = (lanes){ 0 };
    }
    take_weights(j);
#if NET_DSP
    int is_quick = j->is_quick && j->count == 4 && !(k->mask && (j->c & 3));
    if (is_quick) {
        prepare(j);
    }
#endif
    for (uint32_t r = 0; r < k->oh; r++) {
        int32_t top = (int32_t)(r * k->stride_h) - k->pad_top;
        for (; next < top + k->kh; next++) {
            take_row(j, next, j->window + slot);
            slot = slot + 1 == k->kh ? 0 : slot + 1;
            if (r) {
                turn(j);
            }
        }
        int32_t at = (int32_t)r * k->y_pitch + (int32_t)(j->c - first);
#if NET_DSP
        if (is_quick) {
            j->quick.x = (int16_t *)j->window;
            j->quick.y = k->y + at;
            j->quick.pixels = k->ow;
            j->quick.mask = k->mask ? k->mask + ((r * k->ow * k->cout + j->c) >> 3) : 0;
            net_taps_row(&j->quick);
            continue;
        }
#endif
        row_of_outputs(j, at, r * k->ow * k->cout + j->c);
    }
}

int net_depthwise_fast(const net_conv_args *k, uint32_t first, uint32_t end) {
    job j;
    j.k = k;
    j.taps = (lanes *)k->work;
    j.window = j.taps + k->kh * k->kw;
    j.columns = (k->ow - 1) * k->stride_w + k->kw;
    if (!k->ow || 8u * k->kh * ((uint32_t)j.columns + k->kw) > k->work_bytes) {
        return NET_BAD_PLACE;
    }
#if NET_DSP
    j.is_quick = !k->add && net_is_quick(k, first, end);
    net_get_range(k, &j.quick.range);
#endif
    for (j.c = first; j.c < end; j.c += j.count) {
        j.count = end - j.c < NET_LANES ? end - j.c : NET_LANES;
        j.x = k->x + (j.c - first);
        channels(&j, first);
    }
    return 0;
}
