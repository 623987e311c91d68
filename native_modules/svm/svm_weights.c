/* SPDX-License-Identifier: MIT
 * Read and use a linear machine over bytes, where its file lies: one text with svm_linear.c. */
#if defined(SVM_WEIGHTS)
#include "svm_weights.h"
#include "svm_parts.h"

/* The weights of the next pair; a null pointer where the file has others or no more. */
static int32_t *next_weights(part *from, const svm_file *file) {
    const uint32_t *head = take(from, 8);
    uint32_t d = file->d, words = 2 + (file->flags & READ_FIXED ? (d + 1) >> 1 : d);
    if (!head || head[1] >> 16 != words) {
        return 0;
    }
    uint32_t count = head[1] & 0xffff;
    int32_t *w = take(from, 4 * words);
    return take(from, 2 * count) && take(from, 4 * count) ? w : 0;
}

/* Whether numbers are those of a training; float weights become integers. */
static int32_t prepare(int32_t *w, const svm_file *file) {
    if (file->flags & READ_FIXED) {
        return w[0] >= -200 && w[0] <= 200;
    }
    if (!are_finite((uint32_t *)w - 2, 1) || !are_finite((uint32_t *)w, 2u + file->d)) {
        return 0;
    }
    svm_round(w, file->d, file->code == 'b');
    return 1;
}

uint32_t svm_weights_size(const svm_file *file) {
    return (uint32_t)sizeof(svm_weights) + 4 * (uint32_t)svm_pairs(file) + file->d;
}

int32_t svm_weights_read(svm_weights *m, svm_file *file, uint32_t at) {
    part from = {(uint8_t *)file + at, file->total - 4 - at};
    if (file->kind || (file->code | 32) != 'b') {
        return READ_MORE;
    }
    if ((at & 3) || at > file->total - 4 || file->n > 32767
        || !take(&from, (uint32_t)file->n * file->d)
        || (file->flags & READ_SAMPLES && !take(&from, file->n))) {
        return READ_VALUES;
    }
    m->file = file;
    m->pairs = from.at;
    for (int32_t k = svm_pairs(file); k > 0; k--) {
        int32_t *w = next_weights(&from, file);
        if (!w || !prepare(w, file)) {
            return READ_VALUES;
        }
    }
    return from.left ? READ_MORE : 0; /* a kind, labels or probabilities */
}

/* Decision values, as floats where is_real is 1, and the label. */
static int32_t decide(const svm_weights *m, const void *row, int32_t *out, int32_t is_real) {
    const svm_file *file = m->file;
    part from = {m->pairs, file->total};
    int32_t pairs = svm_pairs(file), d = file->d;
    for (int32_t k = 0; k < pairs; k++) {
        linear_whole(next_weights(&from, file), row, d, file->code == 'B', is_real, out + k);
    }
    int32_t label = pairs == 1 ? *out <= 0 : svm_vote(out, file->classes);
    return ((const uint8_t *)(file + 1))[label];
}

int32_t svm_weights_label(svm_weights *m, const void *row) {
    return decide(m, row, m->out, 0);
}

int32_t svm_weights_decide(svm_weights *m, const void *row, int32_t *out) {
    decide(m, row, out, 1);
    if (svm_pairs(m->file) == 1) {
        *out ^= INT32_MIN;
    }
    return 0;
}
#endif
