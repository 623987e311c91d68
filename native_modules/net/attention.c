/* SPDX-License-Identifier: MIT
 * Attention of rows to rows, and its gradients: sections 3 and 5 of docs/numerics.md. The shares
 * of one row at a time lie in memory; a gradient works them out anew. */
#include "net_block.h"
#include "net_rare.h"

/* What a sum of products with a byte may have as its other factors, together. */
#define WEIGHTS_MOST 8388607u
/* A mean of gradients is kept in 1/8192. */
#define MEAN_ONE 8192

typedef struct {
    int32_t most;
    uint32_t sum;
    int32_t mean;
} row_of;

static int32_t dot(const int8_t *a, int32_t zero_a, const int8_t *b, int32_t zero_b, uint32_t n) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (a[i] - zero_a) * (b[i] - zero_b);
    }
    return sum;
}

static int32_t score(const net_attention_args *k, uint32_t i, uint32_t j, uint32_t head) {
    const int8_t *q = k->q + (i * k->heads + head) * k->n;
    const int8_t *other = k->k + (j * k->heads + head) * k->n;
    return dot(q, k->rule->zero_q, other, k->rule->zero_k, k->n);
}

/* 32768 * exp of a score that lies so far below the largest. */
static uint32_t exponential(const net_attention_rule *rule, int32_t below) {
    below = below < rule->most ? below : rule->most;
    int32_t place = net_clamp(net_requantize(below, rule->multiplier, rule->shift), 0, 1023);
    uint32_t e = (uint32_t)rule->table[place >> 5] * rule->table[32 + (place & 31)] + 16384;
    e >>= 15;
    return e < 32768 ? e : 32768;
}

/* A damaged program may have a sum of 0, or write over one that a gradient has kept. */
static int32_t share_of(uint32_t e, uint32_t sum) {
    sum += !sum;
    return (int32_t)(((e << 15) + sum / 2) / sum);
}

/* The shares of a row, in 1/32768; returns where the first of the largest is. */
static uint32_t look(const net_attention_args *k, uint32_t i, uint32_t head, row_of *row) {
    int32_t *shares = k->work, most = INT32_MIN;
    uint32_t sum = 0, best = 0;
    for (uint32_t j = 0; j < k->columns; j++) {
        shares[j] = score(k, i, j, head);
        if (shares[j] > most) {
            most = shares[j];
            best = j;
        }
    }
    for (uint32_t j = 0; j < k->columns; j++) {
        shares[j] = (int32_t)exponential(k->rule, most - shares[j]);
        sum += (uint32_t)shares[j];
    }
    row->most = most;
    row->sum = sum;
    for (uint32_t j = 0; j < k->columns; j++) {
        shares[j] = share_of((uint32_t)shares[j], sum);
    }
    return best;
}

void net_attention(const net_attention_args *k) {
    const net_attention_rule *rule = k->rule;
    int8_t *y = k->y;
    for (uint32_t at = 0; at < k->rows * k->heads; at++) {
        row_of row;
        uint32_t head = at % k->heads;
        look(k, at / k->heads, head, &row);
        for (uint32_t c = 0; c < k->m; c++) {
            const int8_t *v = k->v + head * k->m + c;
            int32_t sum = 0;
            for (uint32_t j = 0; j < k->columns; j++, v += k->heads * k->m) {
                sum += k->work[j] * (*v - rule->zero_v);
            }
            sum = net_clamp(net_requantize(sum, rule->y_multiplier, rule->y_shift), -255, 255);
            *y++ = (int8_t)net_clamp(sum + rule->zero_y, -128, 127);
        }
    }
}

/* The gradient of the share of row i at j, in 15 bits. */
static int32_t wanted(const net_attention_args *k, uint32_t i, uint32_t j, uint32_t head) {
    int fold = 0;
    while (1u << fold < 2 * k->m) {
        fold++;
    }
    const int8_t *g = k->g + (i * k->heads + head) * k->m;
    const int8_t *v = k->v + (j * k->heads + head) * k->m;
    return net_even_shift(dot(g, 0, v, k->rule->zero_v, k->m), fold);
}

/* What the other side counts with in a gradient: the share, or that of the score, scaled. */
static int32_t weight(const net_attention_args *k, const row_of *row, int32_t share,
    int32_t slope) {
    if (k->which < 2) {
        share = net_high_mul(slope * MEAN_ONE - row->mean, share << 15);
    }
    return net_high_mul(share, k->factor << 16);
}

/* Looks at all rows; returns the largest weight. */
static int32_t look_all(const net_attention_args *k, row_of *row) {
    int32_t *slopes = k->work + k->columns;
    uint32_t most = 0;
    for (uint32_t at = 0; at < k->rows * k->heads; at++, row++) {
        uint32_t i = at / k->heads, head = at % k->heads;
        /* As distances from that of the largest share, which may be close to the mean. */
        int32_t sum = 0, base = wanted(k, i, look(k, i, head, row), head);
        for (uint32_t j = 0; j < k->columns; j++) {
            slopes[j] = wanted(k, i, j, head);
            sum += k->work[j] * (slopes[j] - base);
        }
        row->mean = base * MEAN_ONE + (sum >> 2);
        for (uint32_t j = 0; j < k->columns; j++) {
            uint32_t size = net_magnitude(weight(k, row, k->work[j], slopes[j]));
            most = size > most ? size : most;
        }
    }
    return (int32_t)most;
}

/* One row of y: sums over all rows of the other side. */
static void sum_row(const net_attention_args *k, const row_of *rows, uint32_t at, int s,
    int32_t *sums) {
    const net_attention_rule *rule = k->rule;
    const int8_t *x = k->which == 0 ? k->k : k->which == 1 ? k->q : k->g;
    int32_t zero = k->which == 0 ? rule->zero_k : k->which == 1 ? rule->zero_q : 0;
    uint32_t n = k->which == 2 ? k->m : k->n, count = (k->which ? k->rows : k->columns) * k->heads;
    for (uint32_t c = 0; c < n * k->heads; c++) {
        sums[c] = 0;
    }
    for (uint32_t other = 0; other < count; other++) {
        uint32_t head = other % k->heads, i = other / k->heads, j = at;
        if (!k->which) {
            j = i;
            i = at;
        }
        const row_of *row = rows + i * k->heads + head;
        uint32_t e = exponential(rule, row->most - score(k, i, j, head));
        int32_t w = weight(k, row, share_of(e, row->sum), wanted(k, i, j, head));
        w = net_even_shift(w, s);
        for (uint32_t c = 0; c < n; c++) {
            sums[head * n + c] += w * (*x++ - zero);
        }
    }
}

int net_attention_gradient(const net_attention_args *k) {
    row_of *rows = (row_of *)(k->work + 2 * k->columns);
    int32_t *sums = (int32_t *)(rows + k->rows * k->heads);
    uint32_t n = (k->which == 2 ? k->m : k->n) * k->heads;
    int32_t most = look_all(k, rows), limit = (int32_t)(WEIGHTS_MOST / (k->which ? k->rows : k->columns));
    int s = 0, block = 0;
    while (net_even_shift(most, s) > limit) {
        s++;
    }
    for (uint32_t at = 0; at < (k->which ? k->columns : k->rows); at++) {
        sum_row(k, rows, at, s, sums);
        block = net_store_block(sums, n, k->y + at * n, 1, block, k->y, 1, at * n, 0);
    }
    return s + block;
}
