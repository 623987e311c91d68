/* SPDX-License-Identifier: MIT
 * Shared by both states: included after num, kval, ROW_WORDS and STATE are defined.
 * Samples, cached kernel rows and the extremes of the gradient. */

typedef struct {
    int32_t index;
    num top;    /* largest v that may go up, at `index` */
    num bottom; /* smallest v that may go down */
} bounds;

static inline const void *sample(const svm_problem *p, int32_t k) {
    return (const uint8_t *)p->x + svm_row(p->rows[k]) * p->stride;
}

#if defined(SVM_TRAINING)
/* Words before the cached rows: head, alphas, gradient, diagonal, slot of each sample. */
static int32_t fixed_words(int32_t n) {
    return SVM_HEAD + 2 * n + ROW_WORDS(n) + ((n + 1) >> 1);
}

int32_t STATE(words)(int32_t n, int32_t slots) {
    return fixed_words(n) + slots * (ROW_WORDS(n) + 2);
}

static int32_t slot_count(const svm_problem *p) {
    uint32_t words = (uint32_t)(p->words - fixed_words(p->n));
    return (int32_t)svm_quotient(words, (uint32_t)(ROW_WORDS(p->n) + 2));
}

/* The common case, rows of bytes and a linear kernel, without a call per value. */
#if defined(SVM_DSP) && defined(SVM_FLOAT)
#define FILL_TWO(even, odd) \
    for (; row < end; row += 2) { \
        int32_t of_b, of_c, next = row + 1 < end; \
        const uint8_t *b = x + svm_row(rows[0]) * d, *c = x + svm_row(rows[next]) * d; \
        SVM_DOT_TWO(a, a_end, b, c, of_b, of_c, even, odd); \
        row[0] = (kval)FROM_INT32(of_b); \
        row[next] = (kval)FROM_INT32(next ? of_c : of_b); \
        rows += 2; \
    }
SVM_HOT static void fill_bytes(const svm_problem *p, const uint8_t *a, kval *row) {
    const int16_t *rows = p->rows;
    const uint8_t *x = p->x;
    int32_t d = p->d, shift = SHIFT(p);
    const uint8_t *a_end = a + d;
    kval *end = row + p->n;
    (void)shift;
    if (p->type == SVM_INT8) {
        FILL_TWO(svm_even, svm_odd)
    } else {
        FILL_TWO(svm_even_u8, svm_odd_u8)
    }
}
#define FILLS_BYTES(p) ((p)->type <= SVM_UINT8 && SVM_ROWS_OF((p)->d))
#else
SVM_HOT static void fill_bytes(const svm_problem *p, const int8_t *a, kval *row) {
    const int16_t *rows = p->rows;
    const int8_t *x = p->x;
    int32_t d = p->d, shift = SHIFT(p);
    kval *end = row + p->n;
    (void)shift;
#if defined(SVM_FOUR) && defined(SVM_NO_FIXED)
    for (; row + 1 < end; row += 2, rows += 2) { /* what is read of a serves two */
        const int8_t *at = a, *b = x + svm_row(rows[0]) * d, *c = x + svm_row(rows[1]) * d;
        int32_t of_b = 0, of_c = 0, left = d;
        for (; left >= 4; left -= 4, at += 4, b += 4, c += 4) {
            SVM_DOT4(of_b, at, b);
            SVM_DOT4(of_c, at, c);
        }
        while (--left >= 0) {
            of_b += at[left] * b[left];
            of_c += at[left] * c[left];
        }
        row[0] = (kval)FROM_INT32(of_b);
        row[1] = (kval)FROM_INT32(of_c);
    }
#endif
    for (; row < end; row++) {
        *row = (kval)FROM_INT32(svm_dot_s8(a, x + svm_row(*rows++) * d, d));
    }
}
#define FILLS_BYTES(p) ((p)->type == SVM_INT8)
#endif

static void fill_row(const svm_problem *p, int32_t k, kval *row) {
    const void *a = sample(p, k);
    if (p->kind == SVM_LINEAR && FILLS_BYTES(p)) {
        fill_bytes(p, a, row);
        return;
    }
    for (int32_t t = 0; t < p->n; t++) {
        row[t] = (kval)STATE(value)(p, a, sample(p, t));
    }
}

/* Cached kernel row of sample k; a miss takes the slot used longest ago, never that of keep. */
static kval *kernel_row(const svm_problem *p, int32_t k, int32_t keep) {
    num *work = p->work;
    int32_t n = p->n, slots = slot_count(p);
    int16_t *slot_of = (int16_t *)(work + SVM_HEAD + 2 * n + ROW_WORDS(n));
    int32_t *tags = (int32_t *)work + fixed_words(n);
    int32_t *used = tags + slots;
    kval *rows = (kval *)(used + slots);
    int32_t slot = slot_of[k];
    int32_t stride = ROW_WORDS(n) * (int32_t)(4 / sizeof(kval));
    int32_t missing = slot < 0;
    if (missing) {
        int32_t oldest = INT32_MAX;
        for (int32_t s = 0; s < slots; s++) {
            if (used[s] < oldest && (keep < 0 || tags[s] != keep)) {
                oldest = used[s];
                slot = s;
            }
        }
        if (tags[slot] >= 0) {
            slot_of[tags[slot]] = -1;
        }
        tags[slot] = k;
        slot_of[k] = (int16_t)slot;
    }
    used[slot] = (int32_t)(work[W_ITER] + work[W_PHASE]);
    kval *row = rows + slot * stride;
    if (missing) {
        fill_row(p, k, row);
    }
    return row;
}

SVM_HOT static void extremes(const svm_problem *p, bounds *e) {
    const num *par = p->par;
    const num *beta = (const num *)p->work + SVM_HEAD;
    const num *v = beta + p->n;
    const int16_t *rows = p->rows;
    order c_pos = ORDER(par[P_C_POS]), c_neg = ORDER(par[P_C_NEG]);
    num top = LOWEST, bottom = HIGHEST;
    int32_t n = p->n, index = -1;
    for (int32_t k = 0; k < n; k++) {
        num now = v[k];
        order b = ORDER(beta[k]);
        if (rows[k] < 0) { /* signed alpha between -C and 0 */
            if (b != 0 && now > top) {
                top = now;
                index = k;
            }
            if (MAGNITUDE(b) < c_neg && now < bottom) {
                bottom = now;
            }
        } else {
            if (b < c_pos && now > top) {
                top = now;
                index = k;
            }
            if (b != 0 && now < bottom) {
                bottom = now;
            }
        }
    }
    e->index = index;
    e->top = top;
    e->bottom = bottom;
}
#endif
