/* SPDX-License-Identifier: MIT
 * Using a fitted machine in the fixed-point state. */

#if !defined(SVM_LINEAR_ONLY)
void svm_fixed_decide(const svm_problem *p, const void *row, const int32_t *bias, int32_t *out) {
    const int32_t *beta = p->work;
    const int32_t *par = p->par;
    int64_t total = 0, rr = svm_fixed_square(p, row);
    for (int32_t k = 0; k < p->n; k++) {
        if (beta[k]) {
            total += (int64_t)beta[k] * svm_fixed_value(p, row, sample(p, k), rr);
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
static int32_t fits(int64_t largest, int64_t total256, int32_t bias, int32_t shift,
    int32_t limit) {
    if (largest > 32766 || total256 > limit) {
        return 0;
    }
    bias = bias < 0 ? -bias : bias;
    return shift <= 16 || bias < ((1 << 29) >> (shift > 47 ? 31 : shift - 16));
}

void svm_fixed_collapse(const svm_problem *p, int32_t *w) {
    const int32_t *work = p->work;
    const int32_t *par = p->par;
    int32_t d = p->d, bias = work[W_BIAS], by = 0;
    /* svm_linear cuts sums of int16 products by 8. */
    int32_t scale = par[P_SCALE] - (p->type == SVM_INT16 ? 8 : 0);
    int32_t limit = p->type == SVM_UINT8 ? 7968 : 16128;
    int64_t largest = 0, total256 = 0;
    for (int32_t t = 0; t < d; t++) {
        int64_t s = weight(p, t);
        s = s < 0 ? -s : s;
        largest = s > largest ? s : largest;
        total256 += (s >> 8) + 1;
    }
    while (!fits(largest >> by, total256 >> by, bias, scale - by, limit)) {
        by++;
    }
    int32_t shift = scale - by - 16;
    w[0] = scale - by;
    w[1] = shift > 31 ? 0 : shift >= 0 ? (int32_t)((uint32_t)bias << shift)
           : bias >> (shift < -31 ? 31 : -shift);
    int64_t add = by ? (int64_t)1 << (by - 1) : 0;
    int16_t *weights = (int16_t *)(w + 2);
    weights[d - 1 + (d & 1)] = 0;
    for (int32_t t = 0; t < d; t++) {
        weights[t] = (int16_t)((weight(p, t) + add) >> by);
    }
}
