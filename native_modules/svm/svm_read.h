/* SPDX-License-Identifier: MIT
 * A model file in memory (docs/svm.md, acclimate/svm/file.py), used where it lies. */
#ifndef ACCLIMATE_SVM_READ_H
#define ACCLIMATE_SVM_READ_H

#include "svm_model.h"

/* What is wrong with a file; acclimate/svm/predictor.py has the words. */
enum { READ_NO_MODEL = 1, READ_VERSION, READ_LENGTH, READ_DAMAGED, READ_VALUES, READ_MORE,
       READ_SCALER };
enum { READ_CONVERGED = 1, READ_SCALED = 2, READ_FIXED = 4, READ_SAMPLES = 8 };

typedef struct {
    uint8_t magic[4], version, kind, code;
    int8_t shift;
    uint16_t d, n;
    uint32_t total;
    uint8_t classes, degree, flags, none;
    uint32_t numbers[5]; /* C, gamma, coef0, gap: floats; steps */
    uint16_t n_support, budget;
} svm_file;

/* 0, or what is wrong: length, checksum, and values of the header. */
int32_t svm_read_check(const void *file, uint32_t bytes);
/* Storage type of the header's code, or -1. */
int32_t svm_type_of_code(int32_t code);
/* Pairs of classes of a checked file, and bytes of a row of its store. */
int32_t svm_pairs(const svm_file *file);
int32_t svm_row_bytes(const svm_file *file);
/* Bytes of a model of a checked file, with what it computes in. */
uint32_t svm_read_size(const svm_file *file);
/* Fill m, all zero, from a checked file whose rows begin at `at`; 0, or what is wrong. Weights of
 * float machines over bytes become integers in place. */
int32_t svm_read(svm_model *m, svm_file *file, uint32_t at);
/* Decision values of a row as floats, a pair each, with scikit-learn's signs, into out; below zero
 * where it has none. */
int32_t svm_read_decide(svm_model *m, const void *row, int32_t *out);

/* Float weights (a scale, bias, d of them) as the integer row of the fixed state, in place; the
 * same numbers as integer_weights() of acclimate/svm/model.py, without a float. */
void svm_round(void *w, int32_t d, int32_t is_signed);

#endif
