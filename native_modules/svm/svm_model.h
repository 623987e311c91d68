/* SPDX-License-Identifier: MIT
 * A fitted machine as one block of pointers: what one call needs to answer a row. */
#ifndef ACCLIMATE_SVM_MODEL_H
#define ACCLIMATE_SVM_MODEL_H

#include "svm.h"

typedef struct {
    const void *w; /* linear: weights; else 0 */
    int32_t w_bytes;
    int32_t is_float; /* as svm_linear takes it */
    int32_t bias[1];  /* bits of int32_t or float */
    svm_problem p;    /* otherwise: work holds the signed alphas */
} svm_pair;

typedef struct {
    int32_t d, type, stride; /* of a row; stride in bytes */
    int32_t classes;
    int32_t whole;         /* raw decisions are integers */
    const uint8_t *labels; /* one a class */
    int32_t *out;          /* a word for each pair */
    int32_t pairs;
    svm_pair pair[];
} svm_model;

/* Label of a row of `stride` bytes; below zero: a row that is not finite, or not aligned. */
int32_t svm_model_predict(svm_model *m, const void *row);

#endif
