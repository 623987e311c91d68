/* SPDX-License-Identifier: MIT
 * Answer a row with all pairs of classes of a fitted machine. */
#include "svm_model.h"

#if defined(SVM_CHECKED)
#define DECIDE(pair, row, bytes, out) decide_checked(pair, row, out)

/* svm_decide() of a problem that was looked at when it was read. */
static int32_t decide_checked(const svm_pair *pair, const void *row, int32_t *out) {
    const svm_problem *p = &pair->p;
#if defined(SVM_FLOAT)
    if (SVM_IS_FLOAT(p)) {
        svm_float_decide(p, row, (const float *)pair->bias, (float *)out);
        return svm_is_huge(*(float *)out);
    }
#endif
#if defined(SVM_FIXED)
    svm_fixed_decide(p, row, pair->bias, out);
    svm_put(out, *out, 16, p->is_real);
#endif
    return 0;
}
#else
#define DECIDE(pair, row, bytes, out) svm_decide(&(pair)->p, row, bytes, (pair)->bias, out)
#endif

int32_t svm_model_predict(svm_model *m, const void *row) {
    for (int32_t k = 0; k < m->pairs; k++) {
        svm_pair *pair = &m->pair[k];
        int32_t *out = m->out + k;
        int32_t bad;
        if (pair->w) {
            bad = svm_linear(pair->w, pair->w_bytes, row, m->stride, m->type, pair->is_float, out);
        } else {
            bad = DECIDE(pair, row, m->stride, out);
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
