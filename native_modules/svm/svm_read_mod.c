/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm_predict`: a model file in memory becomes an object that answers rows.
 *   read(file)                  0, or what is wrong with the file
 *   read(file, at, slow)        the model, or what is wrong; rows of the store begin at `at`
 *   model(row)                  label; what slow(row) gives where this cannot answer
 *   model(row, out)             decision values into array("f"), with scikit-learn's signs; None: none
 *   model(rows, out, None)      labels of a buffer of rows into out; how many, or -1 */
#include "module.h"
#include "svm_read.h"
#include "svm_mod_row.h"

/* It carries its own type: a module has no room for one that lasts. */
typedef struct {
    mp_obj_base_t base;
    mp_obj_full_type_t type;
    mp_obj_t file; /* keeps it alive */
    mp_obj_t slow;
    entry in;
    svm_model model;
} model_obj;

/* Decision values as real numbers into `out`; false where there are none. */
static bool decide_into(model_obj *o, const void *row, mp_obj_t out) {
    svm_model *m = &o->model;
    int32_t *kept = m->out;
    if (get(out, &m->out, MP_BUFFER_RW) < 4 * m->pairs || ((uintptr_t)m->out & 3)) {
        m->out = kept;
        mp_raise_ValueError(MP_ERROR_TEXT("out"));
    }
    for (int32_t k = 0; k < m->pairs; k++) {
        m->pair[k].is_float |= 2;
        m->pair[k].p.is_real = 1;
    }
    int32_t label = svm_model_predict(m, row);
    if (m->pairs == 1) {
        svm_vote(m->out, -1);
    }
    for (int32_t k = 0; m->whole && k < m->pairs; k++) {
        m->pair[k].is_float = 0;
        m->pair[k].p.is_real = 0;
    }
    m->out = kept;
    return label >= 0;
}

static mp_int_t answer_all(model_obj *o, mp_obj_t rows, mp_obj_t out) {
    svm_model *m = &o->model;
    mp_buffer_info_t info;
    uint8_t *labels;
    mp_int_t count = get(out, &labels, MP_BUFFER_RW);
    if (!mp_get_buffer(rows, &info, MP_BUFFER_READ) || type_of(info.typecode) != m->type
        || (mp_int_t)info.len != count * m->stride) {
        return -1;
    }
    for (mp_int_t k = 0; k < count; k++) {
        int32_t label = svm_model_predict(m, (const uint8_t *)info.buf + k * m->stride);
        if (label < 0) {
            return -1;
        }
        labels[k] = (uint8_t)label;
    }
    return count;
}

static mp_obj_t model_call(mp_obj_t self, size_t n_args, size_t n_kw, const mp_obj_t *args) {
    model_obj *o = MP_OBJ_TO_PTR(self);
    if (n_args == 3) {
        return MP_OBJ_NEW_SMALL_INT(answer_all(o, args[0], args[1]));
    }
    const void *row = enter(&o->in, args[0]);
    if (n_args == 2) {
        return row && decide_into(o, row, args[1]) ? args[1] : mp_const_none;
    }
    if (row) {
        int32_t label = svm_model_predict(&o->model, row);
        if (label >= 0) {
            return MP_OBJ_NEW_SMALL_INT(label);
        }
    }
    return mp_call_function_n_kw(o->slow, n_args, n_kw, args);
}

static mp_obj_t read(size_t n_args, const mp_obj_t *args) {
    svm_file *file;
    mp_int_t bytes = get(args[0], &file, MP_BUFFER_RW);
    int32_t bad = (uintptr_t)file & 3 ? READ_LENGTH : svm_read_check(file, (uint32_t)bytes);
    if (bad || n_args == 1) {
        return MP_OBJ_NEW_SMALL_INT(bad);
    }
    size_t size = offsetof(model_obj, model) + svm_read_size(file);
    model_obj *o = m_malloc(size);
    for (size_t k = 0; k < size / 4; k++) {
        ((uint32_t *)o)[k] = 0;
    }
    svm_model *m = &o->model;
    bad = svm_read(m, file, (uint32_t)mp_obj_get_int(args[1]));
    if (bad) {
        return MP_OBJ_NEW_SMALL_INT(bad);
    }
    o->base.type = (mp_obj_type_t *)&o->type;
    o->type.base.type = &mp_type_type;
    MP_OBJ_TYPE_SET_SLOT(&o->type, call, model_call, 0);
    o->file = args[0];
    o->slow = args[2];
    o->in.type = m->type;
    o->in.d = m->d;
    o->in.stride = m->stride;
    o->in.row = m->out + m->pairs;
    return MP_OBJ_FROM_PTR(o);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(read_obj, 1, 3, read);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_read, read_obj)

MODULE(_svm_predict, svm_predict_user_module, NAMES)
