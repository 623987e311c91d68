/* SPDX-License-Identifier: MIT
 * A fitted machine as an object that answers rows. */
#include "svm_model.h"

/* A fitted machine that is called with a row. It carries its own type: a module has no room for
 * one that lasts. */
typedef struct {
    mp_obj_base_t base;
    mp_obj_full_type_t type;
    mp_obj_t parts[2]; /* keeps every buffer alive */
    mp_obj_t x;     /* stored rows, or None */
    mp_obj_t slow;  /* called with the row where this cannot answer: raises, or converts */
    entry in;
    svm_model model;
} model_obj;

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
        const void *row = enter(&o->in, args[0]);
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

/* slow, (d, storage type, integer decisions?, labels, out, scratch row, offset or None, X or None),
 * for each pair the weights, or alphas, rows, par and bias */
static mp_obj_t svm_mod_model(mp_obj_t slow, mp_obj_t head, mp_obj_t parts) {
    size_t len;
    mp_obj_t *items, *of_pairs;
    mp_obj_get_array(parts, &len, &of_pairs);
    size_t pairs = len;
    mp_obj_get_array(head, &len, &items);
    if (len != 8) {
        mp_raise_ValueError(MP_ERROR_TEXT("model"));
    }
    size_t each = items[7] == mp_const_none ? 1 : 4;
    pairs /= each;
    size_t size = sizeof(model_obj) + pairs * sizeof(svm_pair);
    model_obj *o = m_malloc(size);
    for (size_t k = 0; k < size / sizeof(mp_uint_t); k++) {
        ((mp_uint_t *)o)[k] = 0;
    }
    svm_model *m = &o->model;
    o->base.type = (mp_obj_type_t *)&o->type;
    o->type.base.type = &mp_type_type;
    MP_OBJ_TYPE_SET_SLOT(&o->type, call, model_call, 0);
    o->parts[0] = head;
    o->parts[1] = parts;
    o->slow = slow;
    o->x = items[7];
    m->d = mp_obj_get_int(items[0]);
    m->type = mp_obj_get_int(items[1]);
    m->whole = mp_obj_get_int(items[2]);
    m->stride = m->d << (m->type == SVM_FLOAT32 ? 2 : m->type == SVM_INT16);
    m->classes = (int32_t)get(items[3], &m->labels, MP_BUFFER_READ);
    mp_int_t words = get(items[4], &m->out, MP_BUFFER_RW) >> 2;
    mp_int_t room = get(items[5], &o->in.row, MP_BUFFER_RW);
    mp_int_t offsets = 0;
    if (items[6] != mp_const_none) {
        offsets = get(items[6], &o->in.offset, MP_BUFFER_READ) - 4 * m->d;
    }
    if (words < (mp_int_t)pairs || room < m->stride || offsets < 0
        || pairs * 2 != (size_t)(m->classes * (m->classes - 1))) {
        mp_raise_ValueError(MP_ERROR_TEXT("model"));
    }
    o->in.type = m->type;
    o->in.d = m->d;
    o->in.stride = m->stride;
    m->pairs = (int32_t)pairs;
    for (size_t k = 0; k < pairs; k++) {
        get_pair(&m->pair[k], m, of_pairs + k * each, items[7]);
    }
    return MP_OBJ_FROM_PTR(o);
}
static MP_DEFINE_CONST_FUN_OBJ_3(model_obj_obj, svm_mod_model);

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
    if (o->in.offset || !is_in_place(o) || !mp_get_buffer(rows, &info, MP_BUFFER_READ)
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
