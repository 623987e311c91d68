/* SPDX-License-Identifier: MIT
 * Rarer kernels of float32 programs. `factor` and `limit` are the bits of a float32. */
#ifndef FLOAT_RARE_H
#define FLOAT_RARE_H

#include "float_shared.h"
#include "net_rare.h"

/* Reported: the bits of the loss. */
int net_squared_loss_f32(const net_loss_args *k, int32_t *share) {
    net_bits_f32 factor = { .bits = (int32_t)k->factor }, limit = { .bits = k->limit }, loss;
    float sum = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        float d = CF(k->x)[i] - CF(k->target)[i], size = d < 0 ? -d : d;
        float over = size > limit.real ? size - limit.real : 0.0f;
        sum += size * size - over * over;
        F(k->g)[i] = factor.real * (d < 0 ? d + over : d - over);
    }
    loss.real = 0.5f * factor.real * sum;
    *share = loss.bits;
    return loss.real - loss.real == 0 ? 0 : -1;
}

/* Reported: how often the product of the probabilities was doubled, and what it is then. */
int net_binary_loss_f32(const net_loss_args *k, const uint16_t *exponentials, int32_t *share) {
    net_bits_f32 factor = { .bits = (int32_t)k->factor };
    float product = 1, wrong = 0;
    uint32_t halved = 0;
    (void)exponentials;
    for (uint32_t i = 0; i < k->n; i++) {
        float x = CF(k->x)[i], e = exponential_f32(x < 0 ? x : -x), p = inverse_f32(1 + e);
        float low = p * e, d = CF(k->target)[i] != 0 ? (x < 0 ? -p : -low) : (x < 0 ? low : p);
        float right = d == -p || d == p ? low : p;
        F(k->g)[i] = factor.real * d;
        wrong += x - x;
        product *= right > 3e-5f ? right : 3e-5f;
        for (; product < 1; product *= 2) {
            halved += halved < 32767;
        }
    }
    *share = (int32_t)(halved << 16 | (uint32_t)(product * 32768.0f));
    return wrong == 0 ? 0 : -1;
}

void net_weight_decay_f32(int8_t *w, uint32_t n, net_state *state, uint32_t factor,
    int32_t exponent) {
    net_bits_f32 rate = { .bits = state->rate_mantissa }, share = { .bits = (int32_t)factor };
    float kept = 1.0f - rate.real * share.real;
    (void)exponent;
    for (uint32_t i = 0; i < n; i++) {
        F(w)[i] *= kept > 0 ? kept : 0.0f;
    }
    state->moved += n;
}

void net_multiply_f32(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y,
    uint32_t n, uint32_t m) {
    (void)rule;
    for (uint32_t i = 0, j = 0; i < n; i++, j = j + 1 < m ? j + 1 : 0) {
        F(y)[i] = CF(a)[i] * CF(b)[j];
    }
}

int net_product_gradient_f32(const net_product_args *k) {
    for (uint32_t j = 0; j < k->m; j++) {
        float sum = 0;
        for (uint32_t i = j; i < k->n; i += k->m) {
            sum += CF(k->g)[i] * CF(k->x)[i % k->f];
        }
        F(k->y)[j] = sum;
    }
    return 0;
}

int net_gather_gradient_f32(const net_gathered_args *k) {
    const uint16_t *places = k->starts + k->blocks + 1;
    for (uint32_t block = 0; block < k->blocks; block++) {
        for (uint32_t i = 0; i < k->n; i++) {
            float sum = 0;
            for (uint32_t at = k->starts[block]; at < k->starts[block + 1]; at++) {
                sum += CF(k->g)[places[at] * k->n + i];
            }
            F(k->y)[block * k->n + i] = sum;
        }
    }
    return 0;
}

/* The mean of a row, and 1 / its deviation; `extra` holds the bits of eps. */
static inline float look_f32(const net_norm_args *k, const float *x, float *inverse) {
    net_bits_f32 eps = { .bits = (int32_t)k->extra }, root;
    float part = inverse_f32((float)k->n), mean = 0, square = eps.real;
    for (uint32_t i = 0; i < k->n; i++) {
        mean += part * x[i];
    }
    for (uint32_t i = 0; i < k->n; i++) {
        square += part * (x[i] - mean) * (x[i] - mean);
    }
    root.real = square > 1e-30f ? square : 1e-30f;
    float half = 0.5f * root.real;
    root.bits = 0x5F3759DF - (root.bits >> 1);
    for (int i = 0; i < 4; i++) {
        root.real *= 1.5f - half * root.real * root.real;
    }
    *inverse = root.real;
    return mean;
}

void net_norm_f32(const net_norm_args *k) {
    for (uint32_t r = 0; r < k->rows; r++) {
        const float *x = CF(k->x) + r * k->n;
        float inverse, mean = look_f32(k, x, &inverse);
        for (uint32_t i = 0; i < k->n; i++) {
            F(k->y)[r * k->n + i] = (x[i] - mean) * inverse;
        }
    }
}

int net_norm_gradient_f32(const net_norm_args *k) {
    for (uint32_t r = 0; r < k->rows; r++) {
        const float *x = CF(k->x) + r * k->n, *g = CF(k->g) + r * k->n;
        float inverse, mean = look_f32(k, x, &inverse), part = inverse_f32((float)k->n);
        float sum = 0, along = 0;
        for (uint32_t i = 0; i < k->n; i++) {
            sum += part * g[i];
            along += part * g[i] * (x[i] - mean) * inverse;
        }
        for (uint32_t i = 0; i < k->n; i++) {
            F(k->y)[r * k->n + i] = inverse * (g[i] - sum - along * (x[i] - mean) * inverse);
        }
    }
    return 0;
}

static inline float dot_f32(const float *a, const float *b, uint32_t n) {
    float sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Row i and column j of a head: the score, and the gradient of its share. */
static inline float score_f32(const net_attention_args *k, uint32_t i, uint32_t j, uint32_t head) {
    net_bits_f32 factor = { .bits = k->rule->multiplier };
    return factor.real * dot_f32(CF(k->q) + (i * k->heads + head) * k->n,
        CF(k->k) + (j * k->heads + head) * k->n, k->n);
}

static inline float wanted_f32(const net_attention_args *k, uint32_t i, uint32_t j,
    uint32_t head) {
    return dot_f32(CF(k->g) + (i * k->heads + head) * k->m,
        CF(k->v) + (j * k->heads + head) * k->m, k->m);
}

/* The shares of a row in `work`; its largest score and the inverse of its sum. */
static void shares_f32(const net_attention_args *k, uint32_t i, uint32_t head, float *row) {
    float *shares = (float *)k->work, sum = 0;
    row[0] = -3e38f;
    for (uint32_t j = 0; j < k->columns; j++) {
        shares[j] = score_f32(k, i, j, head);
        row[0] = shares[j] > row[0] ? shares[j] : row[0];
    }
    for (uint32_t j = 0; j < k->columns; j++) {
        shares[j] = exponential_f32(shares[j] - row[0]);
        sum += shares[j];
    }
    row[1] = inverse_f32(sum);
    for (uint32_t j = 0; j < k->columns; j++) {
        shares[j] *= row[1];
    }
}

void net_attention_f32(const net_attention_args *k) {
    const float *shares = (const float *)k->work;
    float *y = F(k->y), row[2];
    for (uint32_t at = 0; at < k->rows * k->heads; at++) {
        uint32_t head = at % k->heads;
        shares_f32(k, at / k->heads, head, row);
        for (uint32_t c = 0; c < k->m; c++) {
            const float *v = CF(k->v) + head * k->m + c;
            float sum = 0;
            for (uint32_t j = 0; j < k->columns; j++, v += k->heads * k->m) {
                sum += shares[j] * *v;
            }
            *y++ = sum;
        }
    }
}

/* Adds row i and column j of a head, with their part, to one row of the gradient. */
static void add_pair_f32(const net_attention_args *k, const float *row, uint32_t i, uint32_t j,
    uint32_t head) {
    net_bits_f32 factor = { .bits = k->rule->multiplier };
    uint32_t n = k->which == 2 ? k->m : k->n, to = k->which ? j : i, from = k->which ? i : j;
    const int8_t *x = k->which == 0 ? k->k : k->which == 1 ? k->q : k->g;
    float part = exponential_f32(score_f32(k, i, j, head) - row[0]) * row[1];
    if (k->which < 2) {
        part *= factor.real * (wanted_f32(k, i, j, head) - row[2]);
    }
    for (uint32_t c = 0; c < n; c++) {
        F(k->y)[(to * k->heads + head) * n + c] += part * CF(x)[(from * k->heads + head) * n + c];
    }
}

int net_attention_gradient_f32(const net_attention_args *k) {
    uint32_t n = (k->which == 2 ? k->m : k->n) * (k->which ? k->columns : k->rows) * k->heads;
    const float *shares = (const float *)k->work;
    for (uint32_t c = 0; c < n; c++) {
        F(k->y)[c] = 0;
    }
    for (uint32_t at = 0; at < k->rows * k->heads; at++) {
        uint32_t i = at / k->heads, head = at % k->heads;
        float row[3];
        shares_f32(k, i, head, row);
        row[2] = 0;
        for (uint32_t j = 0; j < k->columns; j++) {
            row[2] += shares[j] * wanted_f32(k, i, j, head);
        }
        for (uint32_t j = 0; j < k->columns; j++) {
            add_pair_f32(k, row, i, j, head);
        }
    }
    return 0;
}

#endif
