/* SPDX-License-Identifier: MIT
 * Convolution of many pixels, four output channels at a time: their weights are widened to 16 bits
 * once, in the order of the kernel's rows, and meet each pixel's bytes where they lie. A pixel that
 * reaches beside the input is gathered first. */
#include "net_dot.h"
#include "net_kernels.h"
#include "net_fast.h"
#include "net_math.h"
#include "net_order.h"
#include "net_rows.h"
#include "net_store_fast.h"
#include "net_work.h"

#if NET_DSP

typedef struct {
    const net_conv_args *k;
    net_taps_args t;
    uint32_t *weights; /* of each 4 input bytes: 2 words of each channel */
    int8_t *raw;       /* the bytes of one pixel */
    int8_t *sums;      /* four channels of one row, where another tensor is added */
    uint32_t words;    /* of a kernel row */
    uint32_t c, first;
} job;

/* n bytes of a row of weights, whole words of them. */
static int8_t *copy_words(int8_t *to, const net_row *row, uint32_t n) {
    const int8_t *from = row->row;
    for (int8_t *end = to + n; to < end; to += 4, from += row->step) {
        ((net_unaligned *)to)->word = *(const uint32_t *)from;
    }
    return to;
}

/* The row of output channel c, in the order of the kernel, into j->raw. */
static void take_row(const job *j, uint32_t c) {
    const net_conv_args *k = j->k;
    uint32_t taps = (uint32_t)k->kh * k->kw, split = k->split, rest = k->cin - split;
    net_row trained = net_row_of(k, k->wt, c, split), frozen = net_row_of(k, k->w, c, rest);
    int8_t *to = j->raw;
    if (taps == 1 || !split || !rest) {
        copy_words(to, &trained, taps * split);
        copy_words(to + taps * split, &frozen, taps * rest);
        return;
    }
    for (uint32_t at = 0, beside = 0; at < taps * split;) {
        for (uint32_t i = 0; i < split; i++) {
            *to++ = trained.row[net_in_row(trained.step, at++)];
        }
        for (uint32_t i = 0; i < rest; i++) {
            *to++ = frozen.row[net_in_row(frozen.step, beside++)];
        }
    }
}

/* The weights of output channel c + lane in 16 bits; returns their sum. */
static int32_t widen(const job *j, uint32_t lane) {
    const net_conv_args *k = j->k;
    int32_t total = 0;
    uint32_t *to = j->weights + 2 * lane;
    const int8_t *from = j->raw;
    take_row(j, j->c + lane);
    for (uint32_t r = k->kh; r; r--) {
        for (uint32_t left = (uint32_t)k->kw * k->cin, n; left; left -= n, from += n, to += 8) {
            n = left < 4 ? left : 4;
            uint32_t word = n == 4 ? net_word(from) : net_part(from, n, 0);
            to[0] = net_even(word, 0);
            to[1] = net_odd(word, 0);
            total = net_add_halves(to[1], net_add_halves(to[0], total));
        }
    }
    return total;
}

/* Weights and scales of four channels. */
static void take_channels(job *j) {
    const net_conv_args *k = j->k;
    net_taps_args *t = &j->t;
    for (uint32_t i = 0; i < 4; i++) {
        t->bias[i] = k->bias[j->c + i] - k->zero_x * widen(j, i);
    }
    net_get_scales(k, j->c, t);
}

/* The bytes of a pixel with what lies beside the input, each kernel row from a word on. */
static void gather(const job *j, int32_t top, int32_t left) {
    const net_conv_args *k = j->k;
    int32_t n = k->cin, before = left < 0 ? -left : 0, inside = k->w_in - left;
    inside = (inside > k->kw ? k->kw : inside) - before;
    int8_t *to = j->raw;
    for (int32_t r = top; r < top + k->kh; r++, to += 4 * j->words) {
        if (r < 0 || r >= k->h || before > k->kw || inside <= 0) {
            net_fill(to, k->zero_x, (uint32_t)(k->kw * n));
            continue;
        }
        int8_t *at = to + before * n;
        net_fill(to, k->zero_x, (uint32_t)(before * n));
        net_copy(at, k->x + r * k->x_pitch + (left + before) * n, (uint32_t)(inside * n));
        net_fill(at + inside * n, k->zero_x, (uint32_t)((k->kw - before - inside) * n));
    }
}

/* Outputs first <= t < end of a row, all of whose inputs exist. */
static void run(job *j, int32_t top, uint32_t first, uint32_t end) {
    const net_conv_args *k = j->k;
    j->t.x = k->x + top * k->x_pitch + ((int32_t)(first * k->stride_w) - k->pad_left) * k->x_step;
    j->t.pitch = k->x_pitch - 4 * (int32_t)j->words;
    j->t.pixels = (int32_t)(end - first);
    if (end > first) {
        net_quads_row(&j->t);
    }
}

static void run_gathered(job *j, int32_t top, uint32_t first, uint32_t end) {
    const net_conv_args *k = j->k;
    for (uint32_t t = first; t < end; t++) {
        gather(j, top, (int32_t)(t * k->stride_w) - k->pad_left);
        j->t.x = j->raw;
        j->t.pitch = 0;
        j->t.pixels = 1;
        net_quads_row(&j->t);
    }
}

/* One row of outputs; *from and *to: where their inputs exist. */
static void row_of_outputs(job *j, uint32_t row, uint32_t from, uint32_t to) {
    const net_conv_args *k = j->k;
    int32_t top = (int32_t)(row * k->stride_h) - k->pad_top;
    int32_t at = (int32_t)row * k->y_pitch + (int32_t)(j->c - j->first);
    if (top < 0 || top + k->kh > k->h) {
        from = to = k->ow;
    } else if (to > from && top + k->kh == k->h && 4 * j->words > (uint32_t)k->kw * k->cin
        && (int32_t)((to - 1) * k->stride_w) - k->pad_left + k->kw == k->w_in) {
        to--; /* its last word would reach behind the input */
    }
    j->t.y = k->add ? j->sums : k->y + at;
    j->t.mask = k->mask ? k->mask + ((row * k->ow * k->cout + j->c) >> 3) : 0;
    run_gathered(j, top, 0, from);
    run(j, top, from, to);
    run_gathered(j, top, to, k->ow);
    for (uint32_t t = 0, n = 0; k->add && n < 4u * k->ow; n++) {
        k->y[at + (int32_t)t] = net_add_one(k->add, j->sums[n], k->other[at + (int32_t)t]);
        t += (n & 3) == 3 ? k->y_step - 3u : 1;
    }
}

/* Columns of outputs whose inputs all exist: from *from on, up to *to. */
static void inner_columns(const net_conv_args *k, uint32_t *from, uint32_t *to) {
    int32_t left = 0, right = k->ow;
    while (left < right && left * k->stride_w < k->pad_left) {
        left++;
    }
    while (right > left && (right - 1) * k->stride_w - k->pad_left + k->kw > k->w_in) {
        right--;
    }
    *from = (uint32_t)left;
    *to = (uint32_t)right;
}

uint32_t net_conv_quads(const net_conv_args *k, uint32_t first, uint32_t end) {
    job j;
    uint32_t from, to, bytes;
    j.k = k;
    j.words = ((uint32_t)k->kw * k->cin + 3) >> 2;
    bytes = 4 * j.words * k->kh;
    /* In the other kernel; it is quicker where each of many kernel rows has a few bytes. */
    int is_slow = k->mask || k->add;
    if (k->groups > 1 || k->oh * k->ow < (is_slow ? NET_MANY : 32) || (first & 3) || k->x_step != k->cin
        || (!is_slow && k->kh > k->kw * k->cin) || net_quads_work(k) > k->work_bytes) {
        return first;
    }
    inner_columns(k, &from, &to);
    j.first = first;
    j.weights = (uint32_t *)k->work;
    j.raw = (int8_t *)k->work + 8 * bytes;
    j.sums = j.raw + bytes + 4;
    j.t.w = (int16_t *)j.weights;
    j.t.taps = (int32_t)j.words;
    j.t.segments = k->kh;
    j.t.y_step = k->add ? 4 : k->y_step;
    j.t.x_step = k->stride_w * k->x_step;
    net_get_range(k, &j.t.range);
    for (j.c = first; j.c + 4 <= end && net_is_quick(k, j.c, j.c + 4); j.c += 4) {
        take_channels(&j);
        for (uint32_t row = 0; row < k->oh; row++) {
            row_of_outputs(&j, row, from, to);
        }
    }
    return j.c;
}
#endif
