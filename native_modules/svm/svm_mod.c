/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm`: buffers in, status or small integer out; no arithmetic here. */
#include "module.h"
#include "svm_model.h"

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

/* A fitted machine that is called with a row. It carries its own type: a module has no room for
 * one that lasts. */
typedef struct {
    mp_obj_base_t base;
    mp_obj_full_type_t type;
    mp_obj_t parts; /* keeps every buffer alive */
    mp_obj_t x;     /* stored rows, or None */
    mp_obj_t slow;  /* called with the row where this cannot answer: raises, or converts */
    void *row;      /* scratch of one row */
    const float *offset;
    svm_model model;
} model_obj;

/* Write item k of the scratch row; false where the store does not hold v exactly. */
static bool put_whole(model_obj *o, size_t k, mp_int_t v) {
    int32_t type = o->model.type;
    if (type == SVM_INT8 && v == (int8_t)v) {
        ((int8_t *)o->row)[k] = (int8_t)v;
    } else if (type == SVM_UINT8 && v == (uint8_t)v) {
        ((uint8_t *)o->row)[k] = (uint8_t)v;
    } else if (type == SVM_INT16 && v == (int16_t)v) {
        ((int16_t *)o->row)[k] = (int16_t)v;
    } else {
        return false;
    }
    return true;
}

#if defined(SVM_FLOAT)
static bool put_real(model_obj *o, size_t k, float v) {
    if (o->model.type == SVM_FLOAT32) {
        ((float *)o->row)[k] = o->offset ? v - o->offset[k] : v;
        return true;
    }
    if (!(v > -40000.0f && v < 40000.0f)) {
        return false;
    }
    int32_t whole = (int32_t)v;
    return (float)whole == v && put_whole(o, k, whole);
}
#endif

static bool put_object(model_obj *o, size_t k, mp_obj_t item) {
#if defined(SVM_FLOAT)
    if (o->model.type == SVM_FLOAT32 || !mp_obj_is_small_int(item)) {
        return put_real(o, k, mp_obj_get_float_to_f(item));
    }
#endif
    return mp_obj_is_small_int(item) && put_whole(o, k, MP_OBJ_SMALL_INT_VALUE(item));
}

/* Item k of a buffer, as its type code says; false for one that is not read here. */
static bool put_item(model_obj *o, size_t k, const mp_buffer_info_t *info) {
    mp_int_t v;
    switch (info->typecode) {
#if defined(SVM_FLOAT)
        case 'f':
            return put_real(o, k, ((float *)info->buf)[k]);
#endif
        case 'b':
            v = ((int8_t *)info->buf)[k];
            break;
        case 'h':
            v = ((int16_t *)info->buf)[k];
            break;
        default:
            v = ((uint8_t *)info->buf)[k];
            break;
    }
#if defined(SVM_FLOAT)
    if (o->model.type == SVM_FLOAT32) {
        return put_real(o, k, (float)v);
    }
#endif
    return put_whole(o, k, v);
}

/* Storage type of a buffer, or -1. */
static int32_t type_of(mp_uint_t typecode) {
    switch (typecode) {
        case 'b':
            return SVM_INT8;
        case 'h':
            return SVM_INT16;
        case 'f':
            return SVM_FLOAT32;
        case 'B':
        case BYTEARRAY_TYPECODE:
            return SVM_UINT8;
        default:
            return -1;
    }
}

/* The row as the solver takes it, or a null pointer. */
static const void *enter(model_obj *o, mp_obj_t arg) {
    mp_buffer_info_t info;
    const svm_model *m = &o->model;
    const mp_obj_type_t *kind = mp_obj_get_type(arg);
    if (kind == &mp_type_list || kind == &mp_type_tuple) {
        size_t len;
        mp_obj_t *items;
        mp_obj_get_array(arg, &len, &items);
        if (len != (size_t)m->d) {
            return 0;
        }
        for (size_t k = 0; k < len; k++) {
            if (!put_object(o, k, items[k])) {
                return 0;
            }
        }
        return o->row;
    }
    if (kind == &mp_type_str || !mp_get_buffer(arg, &info, MP_BUFFER_READ)) {
        return 0;
    }
    int32_t type = type_of(info.typecode);
    if (type == m->type && !o->offset) {
        return info.len == (size_t)m->stride ? info.buf : 0;
    }
    size_t wide = type == SVM_FLOAT32 ? 4 : type == SVM_INT16 ? 2 : 1;
    if (type < 0 || info.len != (size_t)m->d * wide || ((uintptr_t)info.buf & (wide - 1))) {
        return 0;
    }
    for (size_t k = 0; k < (size_t)m->d; k++) {
        if (!put_item(o, k, &info)) {
            return 0;
        }
    }
    return o->row;
}

/* False once the stored rows have moved, as those of a growing bytearray do. */
static bool is_in_place(const model_obj *o) {
    void *now;
    if (o->x != mp_const_none) {
        return get(o->x, &now, MP_BUFFER_READ) == o->model.pair[0].p.x_bytes
            && now == o->model.pair[0].p.x;
    }
    return true;
}

static mp_obj_t model_call(mp_obj_t self, size_t n_args, size_t n_kw, const mp_obj_t *args) {
    model_obj *o = MP_OBJ_TO_PTR(self);
    if (n_args == 1 && !n_kw && is_in_place(o)) {
        const void *row = enter(o, args[0]);
        if (row) {
            int32_t label = svm_model_predict(&o->model, row);
            if (label >= 0) {
                return MP_OBJ_NEW_SMALL_INT(label);
            }
        }
    }
    return mp_call_function_n_kw(o->slow, n_args, n_kw, args);
}

static void get_pair(svm_pair *pair, svm_model *m, mp_obj_t *items, mp_obj_t x) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(items[0], &info, MP_BUFFER_READ);
    if (x == mp_const_none) {
        pair->w = info.buf;
        pair->w_bytes = (int32_t)info.len;
        pair->is_float = m->whole ? 0 : 3;
        return;
    }
    get_problem(&pair->p, items[0], x, items[1], items[2]);
    pair->p.is_real = 0;
    pair->w = 0;
    void *bias;
    get(items[3], &bias, MP_BUFFER_READ);
    pair->bias[0] = *(int32_t *)bias;
}

/* slow, (d, storage type, integer decisions?, labels, out, scratch row, offset or None, X or None,
 * then for each pair the weights, or alphas, rows, par and bias) */
static mp_obj_t svm_mod_model(mp_obj_t slow, mp_obj_t parts) {
    size_t len;
    mp_obj_t *items;
    mp_obj_get_array(parts, &len, &items);
    size_t each = items[7] == mp_const_none ? 1 : 4;
    size_t pairs = (len - 8) / each;
    size_t size = sizeof(model_obj) + pairs * sizeof(svm_pair);
    model_obj *o = m_malloc(size);
    for (size_t k = 0; k < size / sizeof(mp_uint_t); k++) {
        ((mp_uint_t *)o)[k] = 0;
    }
    svm_model *m = &o->model;
    o->base.type = (mp_obj_type_t *)&o->type;
    o->type.base.type = &mp_type_type;
    MP_OBJ_TYPE_SET_SLOT(&o->type, call, model_call, 0);
    o->parts = parts;
    o->slow = slow;
    o->x = items[7];
    m->d = mp_obj_get_int(items[0]);
    m->type = mp_obj_get_int(items[1]);
    m->whole = mp_obj_get_int(items[2]);
    m->stride = m->d << (m->type == SVM_FLOAT32 ? 2 : m->type == SVM_INT16);
    m->classes = (int32_t)get(items[3], &m->labels, MP_BUFFER_READ);
    mp_int_t words = get(items[4], &m->out, MP_BUFFER_RW) >> 2;
    mp_int_t room = get(items[5], &o->row, MP_BUFFER_RW);
    mp_int_t offsets = 0;
    if (items[6] != mp_const_none) {
        offsets = get(items[6], &o->offset, MP_BUFFER_READ) - 4 * m->d;
    }
    if (words < (mp_int_t)pairs || room < m->stride || offsets < 0
        || pairs * 2 != (size_t)(m->classes * (m->classes - 1))) {
        mp_raise_ValueError(MP_ERROR_TEXT("model"));
    }
    m->pairs = (int32_t)pairs;
    for (size_t k = 0; k < pairs; k++) {
        get_pair(&m->pair[k], m, items + 8 + k * each, items[7]);
    }
    return MP_OBJ_FROM_PTR(o);
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_obj_obj, svm_mod_model);

/* store, at, row, d: write a row of d numbers as items of the store, from item `at` on; false
 * where one does not fit exactly. */
static mp_obj_t svm_mod_store(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t info;
    model_obj o;
    (void)n_args;
    mp_get_buffer_raise(args[0], &info, MP_BUFFER_RW);
    int32_t type = type_of(info.typecode);
    int32_t by = type == SVM_FLOAT32 ? 2 : type == SVM_INT16;
    mp_uint_t at = (mp_uint_t)mp_obj_get_int(args[1]), d = (mp_uint_t)mp_obj_get_int(args[3]);
    mp_uint_t items = info.len >> by;
    if (type < 0 || at > items || d > items - at || ((uintptr_t)info.buf & ((1 << by) - 1))) {
        return mp_const_false;
    }
    o.model.type = type;
    o.model.d = (int32_t)d;
    o.model.stride = (int32_t)(d << by);
    o.offset = 0;
    o.row = (uint8_t *)info.buf + (at << by);
    const uint8_t *from = enter(&o, args[2]);
    for (int32_t k = 0; from && from != o.row && k < o.model.stride; k++) {
        ((uint8_t *)o.row)[k] = from[k];
    }
    return from ? mp_const_true : mp_const_false;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(store_obj, 4, 4, svm_mod_store);

#if defined(SVM_FLOAT)
/* low, high, row, scratch: widen the ranges of the features by a row. 1: whole numbers, 0: not,
 * -1: not looked at here, as numbers are too large, not finite, or none. */
static mp_obj_t svm_mod_widen(size_t n_args, const mp_obj_t *args) {
    float *low, *high;
    model_obj o;
    void *scratch;
    (void)n_args;
    mp_uint_t d = get(args[0], &low, MP_BUFFER_RW) >> 2;
    if ((mp_uint_t)get(args[1], &high, MP_BUFFER_RW) >> 2 != d
        || (mp_uint_t)get(args[3], &scratch, MP_BUFFER_RW) >> 2 != d) {
        return MP_OBJ_NEW_SMALL_INT(-1);
    }
    o.model.type = SVM_FLOAT32;
    o.model.d = (int32_t)d;
    o.model.stride = (int32_t)(d << 2);
    o.offset = 0;
    o.row = scratch;
    const float *row = enter(&o, args[2]);
    if (!row) {
        return MP_OBJ_NEW_SMALL_INT(-1);
    }
    int32_t whole = 1;
    for (mp_uint_t k = 0; k < d; k++) {
        float v = row[k];
        if (!(v > -16777216.0f && v < 16777216.0f)) {
            return MP_OBJ_NEW_SMALL_INT(-1);
        }
        whole &= (float)(int32_t)v == v;
        low[k] = v < low[k] ? v : low[k];
        high[k] = v > high[k] ? v : high[k];
    }
    return MP_OBJ_NEW_SMALL_INT(whole);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(widen_obj, 4, 4, svm_mod_widen);
#endif

/* model, rows, out: labels of all rows of a buffer of the model's type; how many, or -1. */
static mp_obj_t svm_mod_predict_many(mp_obj_t model, mp_obj_t rows, mp_obj_t out) {
    model_obj *o = MP_OBJ_TO_PTR(model);
    if (!mp_obj_is_obj(model) || o->base.type != (mp_obj_type_t *)&o->type) {
        mp_raise_ValueError(MP_ERROR_TEXT("model"));
    }
    svm_model *m = &o->model;
    mp_buffer_info_t info;
    uint8_t *labels;
    mp_int_t count = get(out, &labels, MP_BUFFER_RW);
    if (o->offset || !is_in_place(o) || !mp_get_buffer(rows, &info, MP_BUFFER_READ)
        || type_of(info.typecode) != m->type || (mp_int_t)info.len != count * m->stride) {
        return MP_OBJ_NEW_SMALL_INT(-1);
    }
    for (mp_int_t k = 0; k < count; k++) {
        int32_t label = svm_model_predict(m, (const uint8_t *)info.buf + k * m->stride);
        if (label < 0) {
            return MP_OBJ_NEW_SMALL_INT(-1);
        }
        labels[k] = (uint8_t)label;
    }
    return MP_OBJ_NEW_SMALL_INT(count);
}
static MP_DEFINE_CONST_FUN_OBJ_3(predict_many_obj, svm_mod_predict_many);

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
    OBJECT(MP_QSTR_linear, linear_obj) \
    OBJECT(MP_QSTR_decide, decide_obj) \
    OBJECT(MP_QSTR_model, model_obj_obj) \
    OBJECT(MP_QSTR_store, store_obj) \
    FLOAT_NAMES(OBJECT) \
    OBJECT(MP_QSTR_predict_many, predict_many_obj) \
    OBJECT(MP_QSTR_vote, vote_obj)

MODULE(_svm, svm_user_module, NAMES)
