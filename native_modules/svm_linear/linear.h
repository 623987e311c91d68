/* SPDX-License-Identifier: MIT
 * The smallest solver: linear kernel, whole-number rows, fixed point, cold start.
 * Same bits as ../svm with state "fixed"; the numbers are in docs/svm_numerics.md. */
#ifndef ACCLIMATE_LINEAR_H
#define ACCLIMATE_LINEAR_H

#include <stdint.h>

enum {
    LIN_RUNNING = 0,
    LIN_CONVERGED = 1,
    LIN_NO_PROGRESS = 2,
    LIN_CAPPED = 4,
    LIN_BAD_ARGUMENT = -2,
};

/* Work starts with these words, then alphas, gradient, diagonal, tags and kernel rows. */
enum { L_STATUS, L_ITER, L_GAP, L_BIAS, L_COUNT, L_NEXT, L_MAG, L_TOP, LIN_HEAD };

/* par, as in svm.h: int32_t each. */
enum {
    L_FEATURES, L_XTYPE, L_KERNEL, L_DEGREE, L_C_POS, L_C_NEG, L_SCALE, L_EPS,
    L_MAX_ITER = 12, L_K_SHIFT = 13, LIN_PARS = 16
};

/* Buffers of one problem and their bytes, in the order work, X, rows, par. */
typedef struct {
    void *at[4];
    int32_t bytes[4];
} lin_buffers;

/* w: the fitted machine goes there (shift, bias, d int16 weights, even); else steps < 0 starts,
 * and from 0 on takes so many solver steps. Returns a status, negative when refused. */
int32_t lin_run(const lin_buffers *in, int32_t steps, int32_t *w, int32_t w_bytes);
/* weights: those in w, from its third word on, and their bytes. */
int32_t lin_decide(const int16_t *weights, int32_t bytes, const uint8_t *row, int32_t d,
    int32_t is_unsigned);

#endif
