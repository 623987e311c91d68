// SPDX-License-Identifier: MIT
#include "algorithm1.h"

static float dot(const algorithm1_t *s, int32_t i, int32_t j) {
    const float *a = s->x + i * s->d;
    const float *b = s->x + j * s->d;
    float sum = 0.0f;
    for (int32_t k = 0; k < s->d; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

float algorithm1_decide(const algorithm1_t *s, int32_t i) {
    float sum = s->b;
    for (int32_t k = 0; k < s->n; k++) {
        if (s->alpha[k] != 0.0f) {
            sum += s->alpha[k] * (float)s->y[k] * dot(s, k, i);
        }
    }
    return sum;
}

// 1 / x of a positive x by Newton's method: libgcc's division for armv6m has a jump table with
// absolute addresses, which does not link into a native module.
static float reciprocal(float x) {
    union { float f; uint32_t bits; } r = { .f = x };
    r.bits = 0x7ef311c3u - r.bits;
    for (int32_t k = 0; k < 4; k++) {
        r.f = r.f * (2.0f - x * r.f);
    }
    return r.f;
}

// A row other than i, from a linear congruential generator.
static int32_t other_row(algorithm1_t *s, int32_t i) {
    s->seed = s->seed * 1664525u + 1013904223u;
    int32_t j = (int32_t)((s->seed >> 16) * (uint32_t)(s->n - 1) >> 16);
    return j < i ? j : j + 1;
}

// The interval that keeps both alphas in [0, C]; empty when low == high.
static void interval(const algorithm1_t *s, int32_t i, int32_t j, float *low, float *high) {
    float ai = s->alpha[i], aj = s->alpha[j];
    if (s->y[i] != s->y[j]) {
        *low = aj - ai > 0.0f ? aj - ai : 0.0f;
        *high = s->c + aj - ai < s->c ? s->c + aj - ai : s->c;
    } else {
        *low = ai + aj - s->c > 0.0f ? ai + aj - s->c : 0.0f;
        *high = ai + aj < s->c ? ai + aj : s->c;
    }
}

static float bias(const algorithm1_t *s, int32_t i, int32_t j, float ei, float ej,
    float di, float dj, const float *k) {
    float b1 = s->b - ei - (float)s->y[i] * di * k[0] - (float)s->y[j] * dj * k[1];
    float b2 = s->b - ej - (float)s->y[i] * di * k[1] - (float)s->y[j] * dj * k[2];
    if (s->alpha[i] > 0.0f && s->alpha[i] < s->c) {
        return b1;
    }
    if (s->alpha[j] > 0.0f && s->alpha[j] < s->c) {
        return b2;
    }
    return (b1 + b2) * 0.5f;
}

static int32_t improve(algorithm1_t *s, int32_t i, float ei) {
    int32_t j = other_row(s, i);
    float ej = algorithm1_decide(s, j) - (float)s->y[j];
    float ai = s->alpha[i], aj = s->alpha[j], low, high;
    interval(s, i, j, &low, &high);
    const float k[3] = { dot(s, i, i), dot(s, i, j), dot(s, j, j) };
    float eta = 2.0f * k[1] - k[0] - k[2];
    if (low >= high || eta >= 0.0f) {
        return 0;
    }
    float next = aj + (float)s->y[j] * (ei - ej) * reciprocal(-eta);
    if (next > high) {
        next = high;
    } else if (next < low) {
        next = low;
    }
    float change = next - aj;
    if (change < 1e-5f && change > -1e-5f) {
        return 0;
    }
    s->alpha[j] = next;
    s->alpha[i] = ai + (float)(s->y[i] * s->y[j]) * (aj - next);
    s->b = bias(s, i, j, ei, ej, s->alpha[i] - ai, change, k);
    return 1;
}

int32_t algorithm1_pass(algorithm1_t *s) {
    int32_t changed = 0;
    for (int32_t i = 0; i < s->n; i++) {
        float e = algorithm1_decide(s, i) - (float)s->y[i];
        float violation = (float)s->y[i] * e;
        if ((violation < -s->tol && s->alpha[i] < s->c)
            || (violation > s->tol && s->alpha[i] > 0.0f)) {
            changed += improve(s, i, e);
        }
    }
    return changed;
}
