/* SPDX-License-Identifier: MIT
 * A plain training at once: what acclimate/svm/data.py, train.py and collect.py do in pieces and
 * for every option, for the float state without options. What is out of the ordinary is left to
 * them: the functions here only tell that it is. */
#ifndef ACCLIMATE_SVM_FIT_H
#define ACCLIMATE_SVM_FIT_H

#include "svm.h"

enum { SVM_WHOLE = 1, SVM_REAL = 0, SVM_STRANGE = -1 };
/* What the user should know of a pair: acclimate/svm/notes.py has the texts. */
enum { NOTE_NONE, NOTE_CAPPED, NOTE_ALONE = 3, NOTE_IMPRECISE, NOTE_SAME };

typedef struct {
    int32_t kind;
    float square, top; /* sum of squared coefficients, each times K(x, x) as a share of the largest,
                        * times the mean of these shares, and 1/256 of the plain sum; largest
                        * answer, 1 or more; NOTE_SAME: how far answers lie apart */
    int32_t only; /* 1, 2: every row is answered with the first, the second class; else 0 */
} svm_note;

/* Widen the ranges of the features by a row of d numbers; SVM_STRANGE for one that is not finite
 * or so large that float32 may not hold the whole number. */
int32_t svm_widen(float *low, float *high, const float *row, int32_t d);

/* Least and largest of whole numbers of a type. */
void svm_range(const void *x, int32_t type, int32_t count, float *low, float *high);

/* Smallest storage type for numbers in low..high, or `wanted` (-1: any); SVM_STRANGE where they
 * do not fit it. */
int32_t svm_smallest_type(float low, float high, int32_t whole, int32_t wanted);

/* Whether rows with these ranges deserve a warning, or have to be moved before they are stored. */
int32_t svm_is_uneven(const float *low, const float *high, int32_t d);

/* scikit-learn's "scale": 1 / (d variance). */
float svm_scale_gamma(const void *x, int32_t type, int32_t count, int32_t d);

/* Whether updates of the gradient may have lost more than the tolerance, so that training goes
 * on from a new one; `again` tells how often it did. */
int32_t svm_has_drifted(const svm_problem *p, int32_t again);

/* What is wrong with a pair that was trained. */
void svm_look(const svm_problem *p, int32_t status, svm_note *note);

/* Collapsed weights as integers: q = shift, bias, int16 pairs. */
void svm_round_weights(const float *w, int32_t d, int32_t type, int32_t *q);

#endif
