/* SPDX-License-Identifier: MIT
 * A plain solver to measure ours against: SMO with second-order choice of the pair, float32 rows,
 * RBF kernel, least recently used kernel rows; straightforward C for a compiler at -O2. */
#ifndef ACCLIMATE_BENCH_PLAIN_H
#define ACCLIMATE_BENCH_PLAIN_H

#include <stdint.h>

typedef struct {
    const float *x;
    const int16_t *rows; /* r: class +1, ~r: class -1 */
    float *beta, *v, *diagonal, *cache;
    int32_t *slot_of, *owner, *used;
    int32_t n, d, slots;
    float c, eps, gamma;
} plain_problem;

/* Steps until the gap is below eps, at most `limit`. */
int32_t plain_train(plain_problem *p, int32_t limit);

#endif
