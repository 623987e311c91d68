/* SPDX-License-Identifier: MIT
 * Using a fitted machine in the fixed-point state. */

#if defined(SVM_ANSWERS)
void svm_fixed_decide(const svm_problem *p, const void *row, const int32_t *bias, int32_t *out) {
    const int32_t *beta = p->work;
    const int32_t *par = p->par;
    int64_t total = 0;
    for (int32_t k = 0; k < p->n; k++) {
        if (beta[k]) {
            total += (int64_t)beta[k] * svm_fixed_value(p, row, sample(p, k));
        }
    }
    int32_t shift = par[P_SCALE] - 16 - par[P_K_EXP];
    if (shift >= 0) {
        total >>= shift > 63 ? 63 : shift;
    }
    for (; shift < 0 && total > -BIG && total < BIG; shift++) {
        total *= 2;
    }
    total += *bias;
    *out = total > BIG - 1 ? BIG - 1 : total < 1 - BIG ? 1 - BIG : (int32_t)total;
}
#endif

#if defined(SVM_TRAINING)
static int64_t weight(const svm_problem *p, int32_t t) {
    const int32_t *beta = (const int32_t *)p->work + SVM_HEAD;
    int64_t total = 0;
    for (int32_t k = 0; k < p->n; k++) {
        if (beta[k]) {
            total += (int64_t)beta[k] * svm_integer(sample(p, k), t, p->type);
        }
    }
    return total;
}

/* Weights in 16 bits, and weights times inputs plus bias below 2^30. */
void svm_fixed_collapse(const svm_problem *p, int32_t *w) {
    const int32_t *work = p->work;
    const int32_t *par = p->par;
    int32_t d = p->d, bias = work[W_BIAS], by = 0;
    /* svm_linear cuts sums of int16 products by 8. */
    int32_t up = par[P_SCALE] - 16 - (p->type == SVM_INT16 ? 8 : 0);
    uint32_t size = (uint32_t)(bias ^ (bias >> 31));
    uint32_t limit = svm_quotient(p->type == SVM_UINT8 ? 1 << 21 : 1 << 22, (uint32_t)d) - 1;
    uint64_t most = 0;
    limit = limit < 32766 ? limit : 32766;
    for (int32_t t = 0; t < d; t++) {
        int64_t one = weight(p, t);
        uint64_t now = (uint64_t)(one ^ (one >> 63));
        most = now > most ? now : most;
    }
    for (; most > limit || up > 29 || (up > 0 && size >> (29 - up)); by++) {
        most >>= 1;
        up--;
    }
    w[0] = up + 16;
    w[1] = up >= 0 ? (int32_t)((uint32_t)bias << up) : bias >> (up < -31 ? 31 : -up);
    int64_t add = by ? (int64_t)1 << (by - 1) : 0;
    int16_t *weights = (int16_t *)(w + 2);
    weights[d - 1 + (d & 1)] = 0;
    for (int32_t t = 0; t < d; t++) {
        weights[t] = (int16_t)((weight(p, t) + add) >> by);
    }
}
#endif
