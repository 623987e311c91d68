/* SPDX-License-Identifier: MIT
 * Instructions that few programs have, in a module of their own: net_rare.c. */
#ifndef NET_RARE_H
#define NET_RARE_H

#include "net_read.h"

/* One of them; 0 where `op` is none. */
int net_rare(net_reader *r, uint32_t op);

/* A loss over n outputs x, which puts their gradient into g. Section 4 of docs/numerics.md. */
typedef struct {
    const int8_t *x;
    const void *target;
    const int16_t *table; /* targets are int8 and mean what lies here, or NULL */
    int8_t *g;
    uint32_t n, factor;
    int32_t limit, zero;
} net_loss_args;

/* Each puts what is reported into *share and returns the exponent of g less that of `factor`. */
int net_squared_loss(const net_loss_args *k, int32_t *share);
int net_binary_loss(const net_loss_args *k, const uint16_t *exponentials, int32_t *share);

/* n weights move towards 0 by rate * factor * 2^exponent of themselves. */
void net_weight_decay(int8_t *w, uint32_t n, net_state *state, uint32_t factor, int32_t exponent);

/* y[i] = (a[i] - zero_a) * (b[i % m] - zero_b), requantized. */
void net_multiply(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y,
    uint32_t n, uint32_t m);

/* The gradient y (m) of a factor, from that of the product g (n) and the other factor x (f, again
 * and again); with a table: of a function of x. */
typedef struct {
    const int8_t *g, *x, *table;
    int8_t *y;
    uint32_t n, m, f, factor;
    int32_t zero;
} net_product_args;

/* The gradient y of blocks of n elements that were copied to the places of `starts`: places from
 * starts[i] to starts[i + 1], behind all starts, are those of block i. */
typedef struct {
    const uint16_t *starts;
    const int8_t *g;
    int8_t *y;
    uint32_t blocks, n;
} net_gathered_args;

/* y: rows of n elements less their mean, by their deviation; n^2 * variance is raised by `extra`.
 * Of the gradient y of x: g is that of the result; factor and exponent are of 1 / scale of x. */
typedef struct {
    const int8_t *x, *g;
    int8_t *y;
    uint32_t rows, n, extra;
    int32_t factor, exponent, zero;
} net_norm_args;

void net_norm(const net_norm_args *k);

/* Each returns what its exponent is raised by. */
int net_norm_gradient(const net_norm_args *k);
int net_product_gradient(const net_product_args *k);
int net_gather_gradient(const net_gathered_args *k);

/* Offsets are of the constants; gates: input, forget, cell, output. */
typedef struct {
    uint32_t wi, wr, bias, table;
    int32_t zero_x, zero_y;
    int32_t in_multiplier[4], in_shift[4], again_multiplier[4], again_shift[4];
    int32_t multiplier[3], shift[3]; /* forget * cell, input * new, output * tanh */
    int32_t clip, tangent_factor, tangent_shift;
} net_lstm_record;

/* x: rows of cin, y: rows of n; h and c stay from call to call. */
typedef struct {
    const net_lstm_record *record;
    const int8_t *x, *wi, *wr;
    const int32_t *bias;
    const uint16_t *table;
    int8_t *y, *h;
    int16_t *c;
    uint32_t rows, cin, n;
} net_lstm_args;

void net_lstm(const net_lstm_args *k);

/* The sum of w[i] * (x[i] - zero). */
int32_t net_row_dot(const int8_t *w, const int8_t *x, uint32_t n, int32_t zero);

/* Offsets are of the constants; factors: of a filter's sum, of an output's. */
typedef struct {
    uint32_t wf, wt, bias;
    int32_t zero_x, zero_state, zero_y;
    int32_t multiplier[2], shift[2];
} net_svdf_record;

/* Each of n outputs sums `rank` filters; a filter keeps `memory` numbers from call to call, of so
 * many `bytes` as each weight in time has. */
typedef struct {
    const net_svdf_record *record;
    const int8_t *x, *wf;
    const void *wt;
    const int32_t *bias;
    int8_t *y;
    void *state;
    uint32_t cin, n, rank, memory, bytes;
} net_svdf_args;

void net_svdf(const net_svdf_args *k);

/* Rows, columns and channels of a head are at most so many; heads as well. */
#define NET_ATTENTION_MOST 1024u

/* Of the constants. A float32 program has the bits of its factor in `multiplier`. */
typedef struct {
    int32_t multiplier, shift, most; /* makes 1/64 of an exponent of what a score is lower by */
    int32_t y_multiplier, y_shift;
    int8_t zero_q, zero_k, zero_v, zero_y;
    uint16_t table[64];
} net_attention_rule;

/* q and y: rows, k and v: columns, each with the channels of all heads: n, of v and y m. Work is
 * a row of numbers; of a gradient net_attention_work of them. */
typedef struct {
    const net_attention_rule *rule;
    const int8_t *q, *k, *v;
    union {
        uint32_t counts[5];
        struct {
            uint32_t rows, columns, n, m, heads;
        };
    };
    int8_t *y;
    int32_t *work;
    /* Of a gradient: that of the result, whose y is (0: q, 1: k, 2: v), and the real factor. */
    const int8_t *g;
    uint32_t which;
    int32_t factor;
} net_attention_args;

/* Two rows, three numbers for each row and head, and a row of y. */
static inline uint32_t net_attention_work(const net_attention_args *k) {
    return 2 * k->columns + (3 * k->rows + (k->which == 2 ? k->m : k->n)) * k->heads;
}

void net_attention(const net_attention_args *k);

/* Returns what its exponent is raised by. */
int net_attention_gradient(const net_attention_args *k);

#endif
