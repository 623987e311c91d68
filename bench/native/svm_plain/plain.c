/* SPDX-License-Identifier: MIT */
#include "plain.h"

/* exp(-z), z >= 0: a power of two by the exponent, the rest by a polynomial. */
static float exp_minus(float z) {
    union {
        float f;
        int32_t i;
    } r;
    z *= 1.44269504f;
    if (z > 120.0f) {
        return 0.0f;
    }
    int32_t n = (int32_t)z;
    float f = z - (float)n;
    r.f = 1.0f + f * (-6.93143202e-01f + f * (2.40179489e-01f + f * (-5.52996071e-02f
        + f * (9.21087556e-03f + f * -9.47553646e-04f))));
    r.i -= n * (1 << 23);
    return r.f;
}

static const float *row_of(const plain_problem *p, int32_t k) {
    int32_t r = p->rows[k];
    return p->x + (r < 0 ? ~r : r) * p->d;
}

static float kernel(const plain_problem *p, int32_t i, int32_t j) {
    const float *a = row_of(p, i), *b = row_of(p, j);
    float sum = 0.0f;
    for (int32_t k = 0; k < p->d; k++) {
        float diff = a[k] - b[k];
        sum += diff * diff;
    }
    return exp_minus(p->gamma * sum);
}

static const float *kernel_row(plain_problem *p, int32_t i, int32_t now, int32_t keep) {
    int32_t slot = p->slot_of[i];
    if (slot < 0) {
        int32_t oldest = INT32_MAX;
        for (int32_t s = 0; s < p->slots; s++) {
            if (p->used[s] < oldest && (keep < 0 || p->owner[s] != keep)) {
                oldest = p->used[s];
                slot = s;
            }
        }
        if (p->owner[slot] >= 0) {
            p->slot_of[p->owner[slot]] = -1;
        }
        p->owner[slot] = i;
        p->slot_of[i] = slot;
        for (int32_t k = 0; k < p->n; k++) {
            p->cache[slot * p->n + k] = kernel(p, i, k);
        }
    }
    p->used[slot] = now;
    return p->cache + slot * p->n;
}

int32_t plain_train(plain_problem *p, int32_t limit) {
    int32_t step;
    for (int32_t k = 0; k < p->n; k++) {
        p->beta[k] = 0.0f;
        p->v[k] = p->rows[k] < 0 ? -1.0f : 1.0f;
        p->diagonal[k] = kernel(p, k, k);
        p->slot_of[k] = -1;
    }
    for (int32_t s = 0; s < p->slots; s++) {
        p->owner[s] = p->used[s] = -1;
    }
    for (step = 0; step < limit; step++) {
        float top = -3e38f, bottom = 3e38f, best = 0.0f, best_q = 1.0f;
        int32_t i = -1, j = -1;
        for (int32_t k = 0; k < p->n; k++) {
            float low = p->rows[k] < 0 ? -p->c : 0.0f, high = p->rows[k] < 0 ? 0.0f : p->c;
            if (p->beta[k] < high && p->v[k] > top) {
                top = p->v[k];
                i = k;
            }
            if (p->beta[k] > low && p->v[k] < bottom) {
                bottom = p->v[k];
            }
        }
        if (top - bottom <= p->eps) {
            break;
        }
        const float *row = kernel_row(p, i, step, -1);
        for (int32_t k = 0; k < p->n; k++) {
            float low = p->rows[k] < 0 ? -p->c : 0.0f;
            float gain = top - p->v[k];
            if (p->beta[k] > low && gain > 0.0f) {
                float q = p->diagonal[i] + p->diagonal[k] - 2.0f * row[k];
                q = q > 1e-12f ? q : 1e-12f;
                if (gain * gain * best_q > best * q) {
                    best = gain * gain;
                    best_q = q;
                    j = k;
                }
            }
        }
        float t = (top - p->v[j]) / best_q;
        float room_i = (p->rows[i] < 0 ? 0.0f : p->c) - p->beta[i];
        float room_j = p->beta[j] + (p->rows[j] < 0 ? p->c : 0.0f);
        t = t < room_i ? t : room_i;
        t = t < room_j ? t : room_j;
        const float *other = kernel_row(p, j, step, i);
        p->beta[i] = t == room_i ? (p->rows[i] < 0 ? 0.0f : p->c) : p->beta[i] + t;
        p->beta[j] = t == room_j ? (p->rows[j] < 0 ? -p->c : 0.0f) : p->beta[j] - t;
        for (int32_t k = 0; k < p->n; k++) {
            p->v[k] -= t * (row[k] - other[k]);
        }
    }
    return step;
}
