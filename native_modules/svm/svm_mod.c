/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm`: buffers in, status or small integer out; no arithmetic here. */
#include "py/dynruntime.h"
#include "svm.h"

static mp_int_t get(mp_obj_t o, void *to, mp_uint_t flags) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, flags);
    *(void **)to = info.buf;
    return (mp_int_t)info.len;
}

/* work, X, rows, par, in this order */
static void get_problem(svm_problem *p, mp_obj_t work, mp_obj_t x, mp_obj_t rows, mp_obj_t par) {
    mp_buffer_info_t info;
    p->words = (int32_t)(get(work, &p->work, MP_BUFFER_READ) >> 2);
    p->x_bytes = (int32_t)get(x, &p->x, MP_BUFFER_READ);
    p->n = (int32_t)(get(rows, &p->rows, MP_BUFFER_READ) >> 1);
    mp_get_buffer_raise(par, &info, MP_BUFFER_RW);
    p->par = info.buf;
    p->is_float = info.typecode == 'f';
    if (info.len < SVM_PARS * 4) {
        mp_raise_ValueError(MP_ERROR_TEXT("par"));
    }
}

/* The word of buffer o at index i; *is_float says whether it is one. */
static void *get_word(mp_obj_t o, mp_obj_t index, int32_t *is_float) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, MP_BUFFER_RW);
    mp_uint_t i = (mp_uint_t)mp_obj_get_int(index);
    if (i >= (mp_uint_t)info.len >> 2) {
        mp_raise_ValueError(MP_ERROR_TEXT("par"));
    }
    *is_float = info.typecode == 'f';
    return (int32_t *)info.buf + i;
}

static mp_obj_t svm_mod_work_words(mp_obj_t n, mp_obj_t is_float, mp_obj_t slots) {
    return mp_obj_new_int(svm_work_words(mp_obj_get_int(n), mp_obj_is_true(is_float),
        mp_obj_get_int(slots)));
}
static MP_DEFINE_CONST_FUN_OBJ_3(work_words_obj, svm_mod_work_words);

static mp_obj_t svm_mod_start(size_t n_args, const mp_obj_t *args) {
    svm_problem p;
    (void)n_args;
    get_problem(&p, args[0], args[1], args[2], args[3]);
    return mp_obj_new_int(svm_start(&p));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(start_obj, 4, 4, svm_mod_start);

static mp_obj_t svm_mod_step(size_t n_args, const mp_obj_t *args) {
    svm_problem p;
    (void)n_args;
    get_problem(&p, args[0], args[1], args[2], args[3]);
    return mp_obj_new_int(svm_step(&p, mp_obj_get_int(args[4])));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(step_obj, 5, 5, svm_mod_step);

/* w, work, X, rows, par */
static mp_obj_t svm_mod_collapse(size_t n_args, const mp_obj_t *args) {
    svm_problem p;
    void *w;
    (void)n_args;
    get_problem(&p, args[1], args[2], args[3], args[4]);
    mp_int_t bytes = get(args[0], &w, MP_BUFFER_RW);
    return mp_obj_new_int(svm_collapse(&p, w, (int32_t)bytes));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(collapse_obj, 5, 5, svm_mod_collapse);

/* out, pos, w, x, xtype */
static mp_obj_t svm_mod_linear(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t w;
    void *row;
    (void)n_args;
    int32_t is_float;
    void *out = get_word(args[0], args[1], &is_float);
    mp_get_buffer_raise(args[2], &w, MP_BUFFER_READ);
    mp_int_t bytes = get(args[3], &row, MP_BUFFER_READ);
    return mp_obj_new_int(svm_linear(w.buf, (int32_t)w.len, row, (int32_t)bytes,
        mp_obj_get_int(args[4]), is_float * 2 + (w.typecode == 'f'), out));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(linear_obj, 5, 5, svm_mod_linear);

/* out, pos, beta, rows, X, x, par, bias */
static mp_obj_t svm_mod_decide(size_t n_args, const mp_obj_t *args) {
    svm_problem p;
    void *row;
    (void)n_args;
    int32_t is_float;
    void *out = get_word(args[0], args[1], &is_float);
    get_problem(&p, args[2], args[4], args[3], args[6]);
#if defined(SVM_FIXED)
    p.is_real = is_float;
#endif
    mp_int_t bytes = get(args[5], &row, MP_BUFFER_READ);
    union {
        float real;
        int32_t fixed;
    } bias;
    if (SVM_IS_FLOAT(&p)) {
        bias.real = mp_obj_get_float_to_f(args[7]);
    } else {
        bias.fixed = mp_obj_get_int(args[7]);
    }
    return mp_obj_new_int(svm_decide(&p, row, (int32_t)bytes, &bias, out));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(decide_obj, 8, 8, svm_mod_decide);

static mp_obj_t svm_mod_vote(mp_obj_t decisions, mp_obj_t n_classes) {
    int32_t *at;
    mp_int_t classes = mp_obj_get_int(n_classes);
    mp_int_t words = get(decisions, &at, MP_BUFFER_RW) >> 2;
    if (classes > 256 || words * 2 < classes * (classes - 1)) {
        return mp_obj_new_int(SVM_BAD_ARGUMENT);
    }
    return mp_obj_new_int(svm_vote(at, (int32_t)classes));
}
static MP_DEFINE_CONST_FUN_OBJ_2(vote_obj, svm_mod_vote);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_work_words, MP_OBJ_FROM_PTR(&work_words_obj));
    mp_store_global(MP_QSTR_start, MP_OBJ_FROM_PTR(&start_obj));
    mp_store_global(MP_QSTR_step, MP_OBJ_FROM_PTR(&step_obj));
    mp_store_global(MP_QSTR_collapse, MP_OBJ_FROM_PTR(&collapse_obj));
    mp_store_global(MP_QSTR_linear, MP_OBJ_FROM_PTR(&linear_obj));
    mp_store_global(MP_QSTR_decide, MP_OBJ_FROM_PTR(&decide_obj));
    mp_store_global(MP_QSTR_vote, MP_OBJ_FROM_PTR(&vote_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
