/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm`: buffers in, status or small integer out; no arithmetic here. */
#include "module.h"
#include "svm_fit.h"
#include "svm_mod_row.h"

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

/* store, at, row, d: write a row of d numbers as items of the store, from item `at` on; false
 * where one does not fit exactly. */
static mp_obj_t svm_mod_store(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t info;
    entry e;
    (void)n_args;
    mp_get_buffer_raise(args[0], &info, MP_BUFFER_RW);
    int32_t type = type_of(info.typecode);
    int32_t by = size_of(type);
    mp_uint_t at = (mp_uint_t)mp_obj_get_int(args[1]), d = (mp_uint_t)mp_obj_get_int(args[3]);
    mp_uint_t items = info.len >> by;
    if (type < 0 || at > items || d > items - at || ((uintptr_t)info.buf & ((1 << by) - 1))) {
        return mp_const_false;
    }
    e.type = type;
    e.d = (int32_t)d;
    e.stride = (int32_t)(d << by);
    e.offset = 0;
    e.row = (uint8_t *)info.buf + (at << by);
    const uint8_t *from = enter(&e, args[2]);
    for (int32_t k = 0; from && from != e.row && k < e.stride; k++) {
        ((uint8_t *)e.row)[k] = from[k];
    }
    return from ? mp_const_true : mp_const_false;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(store_obj, 4, 4, svm_mod_store);

#if defined(SVM_FLOAT)
/* low, high, row, scratch: widen the ranges of the features by a row. 1: whole numbers, 0: not,
 * -1: not looked at here, as numbers are too large, not finite, or none. */
static mp_obj_t svm_mod_widen(size_t n_args, const mp_obj_t *args) {
    float *low, *high;
    entry e;
    void *scratch;
    (void)n_args;
    mp_uint_t d = get(args[0], &low, MP_BUFFER_RW) >> 2;
    if ((mp_uint_t)get(args[1], &high, MP_BUFFER_RW) >> 2 != d
        || (mp_uint_t)get(args[3], &scratch, MP_BUFFER_RW) >> 2 != d) {
        return MP_OBJ_NEW_SMALL_INT(-1);
    }
    e.type = SVM_FLOAT32;
    e.d = (int32_t)d;
    e.stride = (int32_t)(d << 2);
    e.offset = 0;
    e.row = scratch;
    const float *row = enter(&e, args[2]);
    if (!row) {
        return MP_OBJ_NEW_SMALL_INT(-1);
    }
    return MP_OBJ_NEW_SMALL_INT(svm_widen(low, high, row, (int32_t)d));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(widen_obj, 4, 4, svm_mod_widen);
#endif

/* The word of buffer o at index i; *is_float says whether it is one: an array of 'f' or 'i'. */
static void *get_word(mp_obj_t o, mp_obj_t index, int32_t *is_float) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, MP_BUFFER_RW);
    mp_uint_t i = (mp_uint_t)mp_obj_get_int(index);
    *is_float = info.typecode == 'f';
    if (i >= (mp_uint_t)info.len >> 2 || (!*is_float && info.typecode != 'i')) {
        mp_raise_ValueError(MP_ERROR_TEXT("out"));
    }
    return (int32_t *)info.buf + i;
}

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

#include "svm_mod_model.h"

#if defined(SVM_FLOAT)
#define FLOAT_NAMES(OBJECT) OBJECT(MP_QSTR_widen, widen_obj)
#else
#define FLOAT_NAMES(OBJECT)
#endif
#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_work_words, work_words_obj) \
    OBJECT(MP_QSTR_start, start_obj) \
    OBJECT(MP_QSTR_step, step_obj) \
    OBJECT(MP_QSTR_collapse, collapse_obj) \
    OBJECT(MP_QSTR_store, store_obj) \
    FLOAT_NAMES(OBJECT) \
    OBJECT(MP_QSTR_linear, linear_obj) \
    OBJECT(MP_QSTR_decide, decide_obj) \
    OBJECT(MP_QSTR_model, model_obj_obj) \
    OBJECT(MP_QSTR_predict_many, predict_many_obj) \
    OBJECT(MP_QSTR_vote, vote_obj)

MODULE(_svm, svm_user_module, NAMES)
