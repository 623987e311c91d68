/* SPDX-License-Identifier: MIT
 * Layer normalization and its gradient: sections 3 and 5 of docs/numerics.md. */
#include "net_block.h"
#include "net_rare.h"

/* Of one row: n times the variance and eps as `root` * 2^-twice squared, 2^15 <= root < 2^16. */
typedef struct {
    int32_t sum;
    uint32_t root;
    int twice;
} row_of;

static void look(const net_norm_args *k, const int8_t *x, row_of *row) {
    uint32_t squares = 0, root = 0;
    row->sum = row->twice = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        row->sum += x[i];
        squares += (uint32_t)(x[i] * x[i]);
    }
    uint32_t size = net_magnitude(row->sum), rest = squares * k->n - size * size + k->extra;
    for (rest += !rest; rest < 1u << 30; rest <<= 2) {
        row->twice++;
    }
    for (uint32_t bit = 1u << 15; bit; bit >>= 1) {
        uint32_t larger = root + bit;
        root = larger * larger <= rest ? larger : root;
    }
    row->root = root;
}

/* Element i in 1/1024 of the deviation. */
static int32_t normal(const net_norm_args *k, const row_of *row, int32_t x) {
    int32_t d = (int32_t)k->n * x - row->sum;
    uint32_t size = (net_magnitude(d) << (10 + row->twice)) + row->root / 2;
    size /= row->root;
    return d < 0 ? -(int32_t)size : (int32_t)size;
}

void net_norm(const net_norm_args *k) {
    const int8_t *x = k->x;
    int8_t *y = k->y;
    for (uint32_t r = 0; r < k->rows; r++, x += k->n) {
        row_of row;
        look(k, x, &row);
        for (uint32_t i = 0; i < k->n; i++) {
            int32_t found = net_requantize(normal(k, &row, x[i]), k->factor, k->exponent);
            *y++ = (int8_t)net_clamp(found + k->zero, -128, 127);
        }
    }
}

/* What all elements of a row's gradient have in common. */
typedef struct {
    row_of row;
    int32_t sum, along, inverse;
} slope_of;

static void look_back(const net_norm_args *k, uint32_t r, slope_of *s) {
    const int8_t *x = k->x + r * k->n, *g = k->g + r * k->n;
    look(k, x, &s->row);
    s->sum = s->along = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        s->sum += g[i];
        s->along += g[i] * normal(k, &s->row, x[i]);
    }
    s->inverse = (int32_t)((0x7FFFFFFFu / s->row.root * (uint32_t)k->factor) >> 15);
}

static int32_t slope(const net_norm_args *k, const slope_of *s, uint32_t at) {
    int32_t place = normal(k, &s->row, k->x[at]);
    int32_t part = net_high_mul(s->along, (int32_t)(net_magnitude(place) << 16));
    int32_t sum = ((int32_t)k->n * k->g[at] - s->sum) * 32 - (place < 0 ? -part : part);
    return net_high_mul(sum * 128, s->inverse << 14);
}

int net_norm_gradient(const net_norm_args *k) {
    int most = 0;
    for (int stores = 0; stores < 2; stores++) {
        for (uint32_t r = 0; r < k->rows; r++) {
            slope_of s;
            look_back(k, r, &s);
            for (uint32_t at = r * k->n; at < (r + 1) * k->n; at++) {
                int32_t found = slope(k, &s, at);
                int shift = most - s.row.twice;
                if (stores) {
                    k->y[at] = (int8_t)(shift > 31 ? 0 : net_even_shift(found, shift));
                    continue;
                }
                shift = net_block_shift((int32_t)net_magnitude(found), 0) + s.row.twice;
                most = shift > most ? shift : most;
            }
        }
    }
    return most;
}
