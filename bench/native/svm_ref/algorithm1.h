// SPDX-License-Identifier: MIT
// Algorithm 1 of the Edge2Train paper (simplified SMO), with its printing errors repaired:
//   E_j = f(x_j) - y_j             printed f(x_j) y_j
//   |a_j - a_j_old| < 1e-5         printed |a_i a_i_old| < 105
//   eta = 2 K_ij - K_ii - K_jj     printed with another sign
//   a_j -= y_j (E_i - E_j) / eta   printed y_i
//   a_i += y_i y_j (a_j_old - a_j)
// Float32 rows, as in the paper. The yardstick of the speed claims, not a solver to use.
#ifndef ACCLIMATE_ALGORITHM1_H
#define ACCLIMATE_ALGORITHM1_H

#include <stdint.h>

typedef struct {
    const float *x;      // n rows of d numbers
    const int8_t *y;     // n labels, +1 or -1
    float *alpha;        // n, zero at the start
    int32_t n, d;
    float c;             // upper bound of alpha
    float tol;           // the paper's alphaTol, 1e-7
    float b;             // bias
    uint32_t seed;       // of the choice of j
} algorithm1_t;

// One pass over all rows; returns how many pairs of alphas changed.
int32_t algorithm1_pass(algorithm1_t *s);

// Decision value of row i, f(x_i); rows with alpha 0 are skipped.
float algorithm1_decide(const algorithm1_t *s, int32_t i);

#endif // ACCLIMATE_ALGORITHM1_H
