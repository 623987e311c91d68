/* SPDX-License-Identifier: MIT
 * Point at the parts of a checked model file in memory. */
#include "svm_parts.h"

uint32_t svm_read_size(const svm_file *file) {
    uint32_t pairs = (uint32_t)svm_pairs(file);
    return (uint32_t)sizeof(svm_model) + pairs * ((uint32_t)sizeof(svm_pair) + 4)
           + (((uint32_t)svm_row_bytes(file) + 3) & ~3u);
}

static int32_t within(const svm_problem *p, int32_t k, int32_t low, int32_t high) {
    int32_t v = ((const int32_t *)p->par)[k];
    return v >= low && v <= high;
}

/* Parameters like the header's; a shift that no training writes would keep a solver busy. */
static int32_t are_parameters(const svm_problem *p, const svm_file *file, int32_t type) {
    int32_t d = file->d, kind = file->kind, degree = file->degree;
#if defined(SVM_FLOAT)
    if (SVM_IS_FLOAT(p)) {
        const float *par = p->par;
        return par[P_FEATURES] == (float)d && par[P_XTYPE] == (float)type
               && par[P_KERNEL] == (float)kind && par[P_GAMMA] >= 0
               && (kind != SVM_POLY || par[P_DEGREE] == (float)degree);
    }
#endif
    return within(p, P_FEATURES, d, d) && within(p, P_XTYPE, type, type)
           && within(p, P_KERNEL, kind, kind) && (kind != SVM_POLY || within(p, P_DEGREE, degree, degree))
           && within(p, P_GAMMA, 0, kind == SVM_POLY ? 33 : 32767) && within(p, P_SCALE, -150, 150)
           && within(p, P_GAMMA_SHIFT, -300, 300) && within(p, P_K_SHIFT, 0, 62)
           && within(p, P_K_STEPS, 0, 1023) && within(p, P_K_EXP, -1000, 1000);
}

static int32_t read_pair(svm_pair *pair, svm_model *m, const svm_file *file, part *from) {
    int32_t fixed = file->flags & READ_FIXED, d = file->d;
    const uint32_t *head = take(from, 8);
    if (!head) {
        return READ_VALUES;
    }
    uint32_t count = head[1] & 0xffff, words = head[1] >> 16;
    uint32_t want = file->kind ? 0 : 2 + (uint32_t)(fixed ? (d + 1) >> 1 : d);
    if (words != want || (!fixed && !are_finite(head, 1))) {
        return READ_VALUES;
    }
    if (words) {
        int32_t *w = take(from, 4 * words);
        if (!w || (count && (!take(from, 2 * count) || !take(from, 4 * count)))) {
            return READ_VALUES;
        }
        if (fixed ? w[0] < -200 || w[0] > 200 : !are_finite((uint32_t *)w, words)) {
            return READ_VALUES;
        }
        pair->w = w;
        pair->w_bytes = (int32_t)(4 * words);
        pair->is_float = m->whole ? 0 : 3;
        if (!fixed && m->whole) {
            svm_round(w, d, m->type == SVM_INT8);
            pair->w_bytes = 8 + 4 * ((d + 1) >> 1);
        }
        return 0;
    }
    svm_problem *p = &pair->p;
    p->par = take(from, 4 * SVM_PARS);
    p->rows = take(from, 2 * count);
    p->work = take(from, 4 * count);
    if (!p->par || !p->rows || !p->work) {
        return READ_VALUES;
    }
    p->n = (int32_t)count;
    p->d = d;
    p->type = m->type;
    p->kind = file->kind;
    p->stride = m->stride;
    p->is_float = !fixed;
    p->x = from[1].at;
    p->x_bytes = (int32_t)from[1].left;
    pair->bias[0] = (int32_t)head[0];
    for (uint32_t k = 0; k < count; k++) {
        if (svm_row(p->rows[k]) >= file->n) {
            return READ_VALUES;
        }
    }
    if (!fixed && (!are_finite(p->par, SVM_PARS) || !are_finite(p->work, count))) {
        return READ_VALUES;
    }
    return are_parameters(p, file, m->type) ? 0 : READ_VALUES;
}

/* Whether this build computes as the file wants: the state, and the kernel. */
static int32_t is_known(const svm_file *file, int32_t type) {
    int32_t fixed = file->flags & READ_FIXED;
    if (!fixed && !file->kind && type <= SVM_UINT8) {
        return 1;
    }
#if !defined(SVM_FLOAT)
    return fixed && type != SVM_FLOAT32;
#elif !defined(SVM_FIXED)
    return !fixed || !file->kind;
#else
    return 1;
#endif
}

int32_t svm_read(svm_model *m, svm_file *file, uint32_t at) {
    part from[2];
    m->type = svm_type_of_code(file->code);
    m->d = file->d;
    m->stride = svm_row_bytes(file);
    m->classes = file->classes;
    m->labels = (const uint8_t *)(file + 1);
    m->pairs = svm_pairs(file);
    m->out = (int32_t *)(m->pair + m->pairs);
    m->whole = file->flags & READ_FIXED || (!file->kind && m->type <= SVM_UINT8);
    from->at = (uint8_t *)file + at;
    from->left = file->total - 4 - at;
    from[1].left = (uint32_t)file->n * (uint32_t)m->stride;
    if (!is_known(file, m->type)) {
        return READ_MORE;
    }
    if ((at & 3) || at > file->total - 4 || file->n > 32767) {
        return READ_VALUES;
    }
    from[1].at = take(from, from[1].left);
    if (!from[1].at || (file->flags & READ_SAMPLES && !take(from, file->n))
        || (m->type == SVM_FLOAT32 && !are_finite((uint32_t *)from[1].at, from[1].left >> 2))) {
        return READ_VALUES;
    }
    for (int32_t k = 0; k < m->pairs; k++) {
        int32_t bad = read_pair(&m->pair[k], m, file, from);
        if (bad) {
            return bad;
        }
    }
    return from->left ? READ_MORE : 0; /* a kind, labels or probabilities */
}

int32_t svm_read_decide(svm_model *m, const void *row, int32_t *out) {
    int32_t *kept = m->out;
    m->out = out;
    for (int32_t k = 0; k < m->pairs; k++) {
        m->pair[k].is_float |= 2;
        m->pair[k].p.is_real = 1;
    }
    int32_t label = svm_model_predict(m, row);
    if (m->pairs == 1) {
        svm_vote(out, -1);
    }
    for (int32_t k = 0; m->whole && k < m->pairs; k++) {
        m->pair[k].is_float = 0;
        m->pair[k].p.is_real = 0;
    }
    m->out = kept;
    return label;
}
