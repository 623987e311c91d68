/* SPDX-License-Identifier: MIT
 * Convolution over columns: what an output pixel needs of the input is gathered once, in 16
 * bits, and meets all rows of weights, two at a time. */
#include "net_dot.h"
#include "net_kernels.h"
#include "net_fast.h"
#include "net_format.h"
#include "net_order.h"
#include "net_store_fast.h"

/* One matrix of weights, of the trained or of the frozen input channels. */
typedef struct {
    const int8_t *w;   /* its rows for the group at hand */
    int16_t *column;
    uint32_t from;     /* first input channel of the group that it takes */
    uint32_t channels; /* of each tap */
    uint32_t row_bytes;
} part;

typedef struct {
    const net_conv_args *k;
    part parts[2];
    const int8_t *x; /* at the group's first input channel */
    int8_t *raw;     /* room for a row of bytes, where a column is gathered */
    uint32_t pixels; /* in a column */
    uint32_t rows;   /* of the group */
    uint32_t first;  /* output channel at k->y */
    int32_t at[2];   /* where the outputs of each pixel lie, less its channel */
    uint32_t bit[2]; /* and its bits in the mask */
    int is_quick;
} job;

/* All taps of a pixel as bytes, into job->raw. */
static void gather(const job *j, const part *p, int32_t top, int32_t left) {
    const net_conv_args *k = j->k;
    uint32_t n = p->channels, at_once = 1;
    if (n == k->x_step && left >= 0 && left + k->kw <= k->w_in) {
        at_once = k->kw;
    }
    int8_t *to = j->raw;
    for (int32_t r = top; r < top + k->kh; r++) {
        const int8_t *row = j->x + r * k->x_pitch + p->from;
        for (int32_t t = left; t < left + k->kw; t += (int32_t)at_once, to += n * at_once) {
            if (r >= 0 && r < k->h && t >= 0 && t < k->w_in) {
                net_copy(to, row + t * k->x_step, n * at_once);
            } else {
                net_fill(to, k->zero_x, n * at_once);
            }
        }
    }
}

/* Pixel `lane` of the columns, of the output at (row, at). */
static void column(const job *j, int32_t row, int32_t at, uint32_t lane) {
    const net_conv_args *k = j->k;
    int32_t top = row * k->stride_h - k->pad_top, left = at * k->stride_w - k->pad_left;
    uint32_t taps = (uint32_t)k->kh * k->kw;
    for (const part *p = j->parts; p < j->parts + 2; p++) {
        const int8_t *from = j->x + top * k->x_pitch + left * k->x_step + p->from;
        if (taps > 1 || top < 0 || left < 0 || top >= k->h || left >= k->w_in) {
            gather(j, p, top, left);
            from = j->raw;
        }
        net_widen(p->column, j->pixels, lane, from, taps * p->channels, k->zero_x);
    }
}

/* Sums of two rows from `row` of the group on, output channel c, in the order of net_dot.h. */
static void two_rows(const job *j, uint32_t row, uint32_t c, int32_t *sums) {
    const int32_t *bias = j->k->bias + c;
    sums[0] = bias[0];
    sums[1] = bias[j->pixels == 1];
    if (j->pixels == 2) {
        sums[2] = sums[3] = bias[1];
    }
    for (const part *p = j->parts; p < j->parts + 2; p++) {
        if (!p->channels) {
            continue;
        }
        const int8_t *w = p->w + row * p->row_bytes;
        int32_t words = (int32_t)(p->row_bytes >> 2);
#if NET_DSP
        if (j->pixels == 2) {
            net_dot_2x2(w, p->column, words, sums);
            continue;
        }
#endif
        net_dot_2x1(w, p->column, words, sums);
    }
}

/* One row that has no second, weight by weight: there is one at most. */
static int32_t one_row(const job *j, uint32_t row, uint32_t c, uint32_t lane) {
    int32_t sum = j->k->bias[c];
    uint32_t step = net_row_step(j->rows, row);
    for (const part *p = j->parts; p < j->parts + 2; p++) {
        const int8_t *w = p->w + (row & ~1u) * p->row_bytes + (row & 1) * 4;
        for (uint32_t i = 0; i < p->row_bytes; i++) {
            uint32_t at = ((i >> 2) * j->pixels + lane) * 4 + net_place(i & 3);
            sum += w[net_in_row(step, i)] * p->column[at];
        }
    }
    return sum;
}

#if NET_DSP
/* All pairs of rows from output channel c on, at once; returns the next channel. */
static uint32_t quick_rows(const job *j, uint32_t row, uint32_t c, uint32_t pairs) {
    const net_conv_args *k = j->k;
    const part *p = j->parts + !j->parts[0].channels;
    net_rows r;
    r.w = p->w + row * p->row_bytes;
    r.x = p->column;
    r.words = (int32_t)(p->row_bytes >> 2);
    r.bias = k->bias + c;
    r.multiplier = k->multiplier + c;
    r.shift = k->shift + c;
    r.y[0] = k->y + j->at[0] + c;
    r.y[1] = k->y + j->at[j->pixels - 1] + c;
    r.pairs = (int32_t)pairs;
    net_get_range(k, &r.range);
    if (j->pixels == 2) {
        net_rows_2x2(&r);
    } else {
        net_rows_2x1(&r);
    }
    return c + 2 * pairs;
}
#endif

/* Output channels c to end of the group that begins at `base`, for `lanes` pixels. */
static void all_rows(const job *j, uint32_t base, uint32_t c, uint32_t end, uint32_t lanes) {
    int32_t sums[4];
#if NET_DSP
    if (j->is_quick && lanes == j->pixels && end - c > 1 && !((c - base) & 1)) {
        c = quick_rows(j, c - base, c, (end - c) >> 1);
    }
#endif
    for (uint32_t left; c < end; c += left) {
        uint32_t row = c - base;
        left = 2;
        if (row & 1 || c + 1 == end) {
            left = 1;
            for (uint32_t n = 0; n < lanes; n++) {
                sums[n] = one_row(j, row, c, n);
            }
        } else {
            two_rows(j, row, c, sums);
        }
        const int32_t *sum = sums;
        for (uint32_t i = c; i < c + left; i++, sum += j->pixels) {
            for (uint32_t n = 0; n < lanes; n++) {
                net_put(j->k, sum[n], i, j->at[n] + (int32_t)i, j->bit[n] + i);
            }
        }
    }
}

static void all_pixels(job *j, uint32_t base, uint32_t c, uint32_t end) {
    const net_conv_args *k = j->k;
    uint32_t lanes = 0, bit = 0;
    for (int32_t row = 0; row < k->oh; row++) {
        for (int32_t column_at = 0; column_at < k->ow; column_at++, bit += k->cout) {
            column(j, row, column_at, lanes);
            j->at[lanes] = row * k->y_pitch + column_at * k->y_step - (int32_t)j->first;
            j->bit[lanes] = bit;
            if (++lanes == j->pixels) {
                all_rows(j, base, c, end, lanes);
                lanes = 0;
            }
        }
    }
    if (lanes) {
        all_rows(j, base, c, end, lanes);
    }
}

static part part_of(const net_conv_args *k, const int8_t *w, uint32_t from, uint32_t channels) {
    uint32_t row_bytes = net_row_bytes(channels * k->kh * k->kw);
    return (part){ w, k->work, from, channels, row_bytes };
}

int net_conv_fast(const net_conv_args *k, uint32_t first, uint32_t end) {
    uint32_t depth = (uint32_t)k->cin / k->groups, rows = (uint32_t)k->cout / k->groups;
    job j;
    j.k = k;
    j.rows = rows;
    j.first = first;
#if NET_DSP
    first = net_conv_quads(k, first, end);
    if (first == end) {
        return 0;
    }
    j.is_quick = !k->mask && !k->add && net_is_quick(k, first, end)
        && (!k->split || k->split == depth);
#endif
    j.pixels = k->oh * k->ow > 1 ? NET_PIXELS : 1;
    j.parts[0] = part_of(k, k->wt, 0, k->split);
    j.parts[1] = part_of(k, k->w, k->split, depth - k->split);
    j.parts[1].column += j.pixels * j.parts[0].row_bytes;
    j.raw = (int8_t *)(j.parts[1].column + j.pixels * j.parts[1].row_bytes);
    if (5 * (j.parts[0].row_bytes + j.parts[1].row_bytes) > k->work_bytes) {
        return NET_BAD_PLACE;
    }
    j.x = k->x;
    for (uint32_t base = 0; base < end; base += rows, j.x += depth) {
        if (base + rows > first) {
            uint32_t stop = base + rows < end ? base + rows : end;
            all_pixels(&j, base, base < first ? first : base, stop);
        }
        for (part *p = j.parts; p < j.parts + 2 && base + rows < end; p++) {
            p->w += p->channels ? rows * p->row_bytes : 0;
        }
    }
    return 0;
}
