/* SPDX-License-Identifier: MIT
 * The gradient of a depthwise layer's input: four channels at a time, row by row. What the rows of
 * gx still need of g is kept, so that gx may be g. */
#include "net_block.h"
#include "net_kernels.h"
#include "net_sums.h"
#include "net_work.h"

typedef struct {
    const net_gradient_args *a;
    uint32_t c, count; /* the channels at hand */
    int16_t *taps, *kept; /* weights; H of as many rows of outputs as the kernel has */
    int32_t *sums; /* of one row of inputs, with what reaches beside it */
    uint32_t next; /* the first row of outputs that is not kept */
} lanes;

/* Four weights of each tap, 0 for a channel that does not exist. */
static void take_taps(const lanes *l) {
    const net_conv_args *k = l->a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t c = l->c + i;
        const int8_t *w = c < k->split ? k->wt + c * taps : k->w + (c - k->split) * taps;
        for (uint32_t tap = 0; tap < taps; tap++) {
            l->taps[4 * tap + i] = i < l->count ? w[tap] : 0;
        }
    }
}

/* Where H of a row of outputs lies: in the place of the oldest. */
static int16_t *kept_row(const lanes *l, uint32_t row) {
    const net_conv_args *k = l->a->layer;
    return l->kept + row % k->kh * k->ow * 4;
}

/* H of the row `next` of outputs. */
static void keep_row(lanes *l) {
    const net_conv_args *k = l->a->layer;
    int fold = l->a->fold, half = 1 << (fold - 1);
    int16_t *row = kept_row(l, l->next);
#if !defined(NET_SMALL)
    if (l->count == 4) {
        const uint16_t *ratio = l->a->ratio + l->c;
        net_fold_args f = { l->a->g + l->next++ * k->ow * k->cout + l->c, k->cout, k->ow, row,
            { ratio[0], ratio[1], ratio[2], ratio[3] }, half, fold };
        net_fold_row(&f);
        return;
    }
#endif
    for (uint32_t i = 0; i < 4; i++) {
        int32_t ratio = i < l->count ? l->a->ratio[l->c + i] : 0;
        const int8_t *g = l->a->g + l->next * k->ow * k->cout + l->c + (ratio ? i : 0);
        for (int16_t *to = row + i, *end = to + 4 * k->ow; to != end; to += 4, g += k->cout) {
            *to = (int16_t)((*g * ratio + half) >> fold);
        }
    }
    l->next++;
}

/* The sums of one row of inputs. */
static void gather_row(lanes *l, int32_t row) {
    const net_conv_args *k = l->a->layer;
    net_scatter_args s;
    net_clear(l->sums, net_scattered(k));
    s.columns = k->ow;
    s.kernel = k->kw;
    s.step = 16 * k->stride_w;
    s.sums = l->sums;
    for (int32_t i = k->kh - 1; i >= 0; i--) {
        uint32_t y;
        if (net_has_output(row + k->pad_top - i, k->stride_h, k->oh, &y)) {
            while (l->next <= y) {
                keep_row(l);
            }
            s.pixels = kept_row(l, y);
            s.taps = l->taps + i * k->kw * 4;
            net_scatter(&s);
        }
    }
}

static int store_row(const lanes *l, int32_t row, int s) {
    const net_conv_args *k = l->a->layer;
    const int32_t *sums = l->sums + 4 * k->pad_left;
#if !defined(NET_SMALL)
    if (l->count == 4) {
        if (!net_is_small(net_bits(sums, k->w_in), s)) {
            s = net_lanes_shift(l->a, net_most(sums, k->w_in), l->c, l->count, row, s);
        }
        net_store_words(sums, k->w_in, l->a->gx + (uint32_t)row * k->w_in * k->cin + l->c, k->cin,
            s);
        return s;
    }
#endif
    s = net_lanes_shift(l->a, net_largest(sums, 4u * k->w_in), l->c, l->count, row, s);
    net_store_lanes(l->a, sums, l->c, l->count, row, s);
    return s;
}

int net_depthwise_gradient(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    lanes l;
    int s = 0;
    l.a = a;
    l.taps = (int16_t *)a->work;
    l.kept = l.taps + 4 * k->kh * k->kw;
    l.sums = (int32_t *)(l.kept + 4 * k->kh * k->ow);
    for (l.c = 0; l.c < k->cin && k->w_in; l.c += l.count) {
        l.count = k->cin - l.c < 4 ? k->cin - l.c : 4;
        l.next = 0;
        take_taps(&l);
        for (int32_t row = 0; row < k->h; row++) {
            gather_row(&l, row);
            s = store_row(&l, row, s);
        }
    }
    return s;
}
