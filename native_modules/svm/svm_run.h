/* SPDX-License-Identifier: MIT
 * Shared by both states: start, warm start and the bounded step. */

/* Clip warm signed alphas to their bounds and make their sum zero. */
static void repair(const svm_problem *p) {
    const num *par = p->par;
    num *beta = (num *)p->work + SVM_HEAD;
    wide total = 0;
    for (int32_t k = 0; k < p->n; k++) {
        num high = p->rows[k] < 0 ? 0 : par[P_C_POS];
        num low = p->rows[k] < 0 ? -par[P_C_NEG] : 0;
        num b = beta[k];
        b = b > high ? high : b > low ? b : low; /* a NaN becomes low */
        beta[k] = b;
        total += b;
    }
    for (int32_t k = 0; k < p->n; k++) {
        num b = beta[k];
        if ((b < 0) == (total < 0)) {
            if (b < 0 ? b < total : b > total) {
                b = (num)total;
            }
            beta[k] -= b;
            total -= b;
        }
    }
}

int32_t STATE(start)(const svm_problem *p) {
    num *work = p->work;
    int32_t n = p->n;
    num *beta = work + SVM_HEAD, *v = beta + n;
    kval *diagonal = (kval *)(v + n);
    int16_t *slot_of = (int16_t *)(work + SVM_HEAD + 2 * n + ROW_WORDS(n));
    int32_t *tags = (int32_t *)work + fixed_words(n);
    int32_t slots = slot_count(p);
    int32_t warm = (int32_t)((const num *)p->par)[P_WARM];
    int32_t keep = GOES_ON && warm == SVM_GO_ON; /* kernel values are those of the last start */
    kval top = 0;
    prepare(p);
    if (warm) {
        repair(p);
    }
    for (int32_t k = 0; k < n; k++) {
        kval own = diagonal[k];
        if (!keep) {
            const void *a = sample(p, k);
            own = DIAGONAL(p, a);
            if (is_bad(own)) {
                work[W_STATUS] = SVM_NON_FINITE; /* no step will change that */
                return SVM_NON_FINITE;
            }
            diagonal[k] = own;
            slot_of[k] = -1;
        }
        if (!warm) {
            beta[k] = 0;
        }
        v[k] = (num)((1 | (p->rows[k] >> 15)) * ONE); /* no select of two float constants */
        top = own > top ? own : top;
    }
    for (int32_t s = keep ? slots : 0; s < 2 * slots; s++) { /* the second half: when used */
        tags[s] = -1;
    }
    for (int32_t k = 0; k < SVM_HEAD; k++) {
        work[k] = 0;
    }
    work[W_PHASE] = (num)(warm ? 0 : n);
    work[W_MAG] = 131071; /* bits that |v| has used so far */
    work[W_TOP] = top;
    return SVM_RUNNING;
}

/* Gap, bias (mean over free vectors, else the middle) and count: a usable model. */
static void finish(const svm_problem *p, const bounds *last) {
    num *work = p->work;
    const num *par = p->par;
    const num *beta = work + SVM_HEAD, *v = beta + p->n;
    bounds e = *last;
    if (work[W_STATUS] != SVM_CONVERGED) { /* else nothing moved since the last look */
        extremes(p, &e);
    }
    num gap = e.top - e.bottom;
    num middle = half_of(e.top + e.bottom);
    num total = 0;
    int32_t free = 0, count = 0;
    int32_t trusted = is_trusted(gap, p->n);
    for (int32_t k = 0; k < p->n; k++) {
        num b = beta[k];
        if (b != 0) {
            count++;
            if (trusted && (p->rows[k] < 0 ? b > -par[P_C_NEG] : b < par[P_C_POS])) {
                free++;
                total += v[k] - middle;
            }
        }
    }
    if (free) {
        middle += ratio(total, (num)free);
    }
    work[W_GAP] = gap > 0 ? gap : 0;
    work[W_BIAS] = middle;
    work[W_COUNT] = (num)count;
}

static int32_t run(const svm_problem *p, int32_t iterations, bounds *last) {
    num *work = p->work;
    const num *par = p->par;
    for (; iterations > 0; iterations--) {
        int32_t k = (int32_t)work[W_PHASE];
        if (k < p->n) { /* warm start: take one support vector out of the gradient */
            num b = work[SVM_HEAD + k];
            work[W_PHASE] += 1;
            if (b != 0 && !subtract(p, k, b)) {
                return SVM_NON_FINITE;
            }
            continue;
        }
        int32_t status = iterate(p, last);
        if (status != SVM_RUNNING) {
            return status;
        }
        work[W_ITER] += 1;
        if (work[W_ITER] >= par[P_MAX_ITER]) {
            return SVM_CAPPED;
        }
    }
    return SVM_RUNNING;
}

int32_t STATE(step)(const svm_problem *p, int32_t iterations) {
    num *work = p->work;
    if (work[W_STATUS] == SVM_RUNNING) {
        bounds last = {-1, 0, 0};
        work[W_STATUS] = (num)run(p, iterations, &last);
        finish(p, &last);
    }
    return (int32_t)work[W_STATUS];
}
