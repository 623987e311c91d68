/* SPDX-License-Identifier: MIT
 * A recurrent layer (LSTM) as TensorFlow Lite Micro has it in int8: section 3 of docs/numerics.md. */
#include "net_math.h"
#include "net_rare.h"

static int32_t saturated(int32_t x) {
    return net_clamp(x, INT16_MIN, INT16_MAX);
}

/* sigmoid(i / 24) of the table between its entries; bits: of a step. */
static int32_t between(const uint16_t *table, uint32_t size, int bits) {
    uint32_t i = size >> bits, rest = size & ((1u << bits) - 1u);
    return (int32_t)(((uint32_t)table[i] << bits) + rest * (uint32_t)(table[i + 1] - table[i]));
}

/* x in 1/4096, the result in 1/32768. */
static int32_t sigmoid(const uint16_t *table, int32_t x) {
    uint32_t size = net_magnitude(3 * x);
    int32_t y = size >> 9 >= 255 ? 0x7FFF << 10 : between(table, size, 9);
    return (x >= 0 ? y + 512 : (1 << 25) - y + 511) >> 10;
}

/* x * factor / 2^shift in 1/12288. */
static int32_t tangent(const uint16_t *table, int32_t x, int32_t factor, int shift) {
    x = (x * factor + ((1 << shift) >> 1)) >> shift;
    uint32_t size = net_magnitude(x);
    int32_t y = size >> 8 >= 255 ? 0xFFFF << 8 : between(table, size, 8);
    return (x >= 0 ? y - (1 << 23) + 128 : (1 << 23) - y + 127) >> 8;
}

int32_t net_row_dot(const int8_t *w, const int8_t *x, uint32_t n, int32_t zero) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += w[i] * (x[i] - zero);
    }
    return sum;
}

/* The sum of gate g of unit u before its function. */
static int32_t gate(const net_lstm_args *k, const int8_t *x, const int8_t *h, uint32_t g,
    uint32_t u) {
    const net_lstm_record *r = k->record;
    uint32_t row = g * k->n + u;
    int32_t in = net_row_dot(k->wi + row * k->cin, x, k->cin, r->zero_x) + k->bias[row];
    int32_t again = net_row_dot(k->wr + row * k->n, h, k->n, r->zero_y);
    in = saturated(net_requantize(in, r->in_multiplier[g], r->in_shift[g]));
    again = saturated(net_requantize(again, r->again_multiplier[g], r->again_shift[g]));
    return saturated(in + again);
}

static int8_t unit(const net_lstm_args *k, const int8_t *x, const int8_t *h, uint32_t u) {
    const net_lstm_record *r = k->record;
    int32_t in = sigmoid(k->table, gate(k, x, h, 0, u));
    int32_t kept = sigmoid(k->table, gate(k, x, h, 1, u));
    int32_t new = tangent(k->table, gate(k, x, h, 2, u), 3, 0);
    int32_t out = sigmoid(k->table, gate(k, x, h, 3, u));
    kept = saturated(net_requantize(kept * k->c[u], r->multiplier[0], r->shift[0]));
    new = saturated(net_requantize(in * new, r->multiplier[1], r->shift[1]));
    int32_t c = net_clamp(saturated(kept + new), -r->clip, r->clip);
    k->c[u] = (int16_t)c;
    out *= tangent(k->table, c, r->tangent_factor, r->tangent_shift);
    out = net_requantize(out, r->multiplier[2], r->shift[2]) + r->zero_y;
    return (int8_t)net_clamp(out, -128, 127);
}

void net_lstm(const net_lstm_args *k) {
    const int8_t *x = k->x, *h = k->h;
    int8_t *y = k->y;
    for (uint32_t row = 0; row < k->rows; row++, x += k->cin) {
        for (uint32_t u = 0; u < k->n; u++) {
            y[u] = unit(k, x, h, u);
        }
        h = y;
        y += k->n;
    }
    for (uint32_t u = 0; u < k->n; u++) {
        k->h[u] = h[u];
    }
}
