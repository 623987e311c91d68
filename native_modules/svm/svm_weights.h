/* SPDX-License-Identifier: MIT
 * A linear machine over bytes that answers from its file alone: the smallest of all. */
#ifndef ACCLIMATE_SVM_WEIGHTS_H
#define ACCLIMATE_SVM_WEIGHTS_H

#include "svm_read.h"

typedef struct {
    svm_file *file;
    uint8_t *pairs; /* where those of the file begin */
    int32_t out[];  /* a word for each pair, and a row */
} svm_weights;

/* Bytes of the above for a checked file. */
uint32_t svm_weights_size(const svm_file *file);
/* Fill m from a checked file whose rows begin at `at`; 0, or what is wrong. Weights of float
 * machines become integers in place. */
int32_t svm_weights_read(svm_weights *m, svm_file *file, uint32_t at);
/* Label of a row of d bytes. */
int32_t svm_weights_label(svm_weights *m, const void *row);
/* Decision values of one as floats, a pair each, with scikit-learn's signs, into out. */
int32_t svm_weights_decide(svm_weights *m, const void *row, int32_t *out);

#endif
