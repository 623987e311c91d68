/* SPDX-License-Identifier: MIT
 * Answer a row with all pairs of classes of a fitted machine. */
#include "svm_model.h"

int32_t svm_model_predict(svm_model *m, const void *row) {
    for (int32_t k = 0; k < m->pairs; k++) {
        svm_pair *pair = &m->pair[k];
        int32_t *out = m->out + k;
        int32_t bad;
        if (pair->w) {
            bad = svm_linear(pair->w, pair->w_bytes, row, m->stride, m->type, pair->is_float, out);
        } else {
            bad = svm_decide(&pair->p, row, m->stride, pair->bias, out);
        }
        if (bad) {
            return bad < 0 ? bad : -bad;
        }
    }
    if (m->whole && m->classes == 2) {
        return m->labels[*m->out <= 0];
    }
    return m->labels[svm_vote(m->out, m->classes)];
}
