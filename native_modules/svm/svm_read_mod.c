/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm_predict`: a model file in memory becomes an object that answers rows;
 * `_svm_weights` is the same for linear machines over bytes alone.
 *   read(file)                  0, or what is wrong with the file
 *   read(file, at, slow)        the model, or what is wrong; rows of the store begin at `at`, or a
 *                               scaler: READ_SCALER where Python must scale the rows
 *   model(row)                  label; what slow(model, row) gives where this cannot answer
 *   model(row, out)             decision values into array("f"), with scikit-learn's signs; None: none
 *   model(rows, out, None)      labels of a buffer of rows into out; how many, or -1
 *   model.predict               the model itself; model._file: the file; what slow(model, None, name)
 *                               gives: all else */
#include "module.h"
#if defined(SVM_WEIGHTS)
#include "svm_weights.h"
typedef svm_weights machine;
#define MACHINE(what) svm_weights_##what
#else
#include "svm_read.h"
typedef svm_model machine;
#define MACHINE(what) svm_read_##what
#define svm_read_read svm_read
#define svm_read_label svm_model_predict
#endif
#if defined(SVM_FLOAT) && !defined(SVM_WEIGHTS)
#define SVM_SCALES
#endif
#include "svm_mod_row.h"

typedef struct {
    mp_obj_base_t base;
    mp_obj_t file; /* keeps it alive */
    mp_obj_t slow;
    entry in;
    int32_t pairs;
    /* It carries its own type, of two slots: a module has no room for one that lasts. */
    uintptr_t type[(sizeof(mp_obj_type_t) + 2 * sizeof(void *)) / sizeof(void *)];
    machine model;
} model_obj;

/* Decision values as real numbers into `out`; false where there are none. */
static bool decide_into(model_obj *o, const void *row, mp_obj_t out) {
    int32_t *to;
    if (get(out, &to, MP_BUFFER_RW) < 4 * o->pairs || ((uintptr_t)to & 3)) {
        mp_raise_ValueError(MP_ERROR_TEXT("out"));
    }
    return MACHINE(decide)(&o->model, row, to) >= 0;
}

static mp_int_t answer_all(model_obj *o, mp_obj_t rows, mp_obj_t out) {
    mp_buffer_info_t info;
    uint8_t *labels;
    mp_int_t count = get(out, &labels, MP_BUFFER_RW);
    if (!mp_get_buffer(rows, &info, MP_BUFFER_READ) || type_of(info.typecode) != o->in.type
        || (mp_int_t)info.len != count * o->in.stride || HAS_SCALE(&o->in)) {
        return -1;
    }
    for (mp_int_t k = 0; k < count; k++) {
        int32_t label = MACHINE(label)(&o->model, (const uint8_t *)info.buf + k * o->in.stride);
        if (label < 0) {
            return -1;
        }
        labels[k] = (uint8_t)label;
    }
    return count;
}

static mp_obj_t ask_slow(model_obj *o, size_t n, mp_obj_t row, mp_obj_t name) {
    mp_obj_t args[] = {MP_OBJ_FROM_PTR(o), row, name};
    return mp_call_function_n_kw(o->slow, n, 0, args);
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
        int32_t label = MACHINE(label)(&o->model, row);
        if (label >= 0) {
            return MP_OBJ_NEW_SMALL_INT(label);
        }
    }
    return ask_slow(o, 2, args[0], MP_OBJ_NULL);
}

static void model_attr(mp_obj_t self, qstr name, mp_obj_t *dest) {
    model_obj *o = MP_OBJ_TO_PTR(self);
    if (*dest == MP_OBJ_NULL) { /* else it was to be set: that fails */
        *dest = name == MP_QSTR_predict ? self : name == MP_QSTR__file ? o->file
                : ask_slow(o, 3, mp_const_none, MP_OBJ_NEW_QSTR(name));
    }
}

#if defined(SVM_SCALES)
/* Bytes of a scaler of whole numbers in front of the rows, which `e` then has; 0 for another one:
 * Python reads it. */
static uint32_t read_scaler(entry *e, const svm_file *file, uint32_t at) {
    const uint8_t *part = (const uint8_t *)file + at;
    const int32_t *numbers = (const int32_t *)(part + 4);
    uint32_t d = file->d, size = 4 + 8 * d;
    if (at + size > file->total || part[0] != 'h' || file->code != 'h' || part[1] > 24) {
        return 0;
    }
    for (uint32_t k = 0; k < d; k++) {
        if (((uint32_t)numbers[k] + (1u << 29)) >> 30 || (uint32_t)(numbers[d + k] - 1) >> 18) {
            return 0;
        }
    }
    e->scale = numbers;
    e->power = part[1];
    return size;
}
#endif

static mp_obj_t read(size_t n_args, const mp_obj_t *args) {
    svm_file *file;
    mp_int_t bytes = get(args[0], &file, MP_BUFFER_RW);
    int32_t bad = (uintptr_t)file & 3 ? READ_LENGTH : svm_read_check(file, (uint32_t)bytes);
    if (bad || n_args == 1) {
        return MP_OBJ_NEW_SMALL_INT(bad);
    }
    size_t size = offsetof(model_obj, model) + MACHINE(size)(file);
    model_obj *o = m_malloc(size);
    for (size_t k = 0; k < size; k++) {
        ((uint8_t *)o)[k] = 0;
    }
    uint32_t at = (uint32_t)mp_obj_get_int(args[1]);
#if !defined(SVM_WEIGHTS)
    if (file->flags & READ_SCALED && at == sizeof(svm_file) + ((file->classes + 3) & ~3u)) {
#if defined(SVM_SCALES)
        uint32_t more = read_scaler(&o->in, file, at);
#else
        uint32_t more = 0;
#endif
        if (!more) {
            return MP_OBJ_NEW_SMALL_INT(READ_SCALER);
        }
        at += more;
    }
#endif
    bad = MACHINE(read)(&o->model, file, at);
    if (bad) {
        return MP_OBJ_NEW_SMALL_INT(bad);
    }
    mp_obj_type_t *type = (mp_obj_type_t *)o->type;
    type->base.type = &mp_type_type;
    type->name = MP_QSTR_SVM;
    MP_OBJ_TYPE_SET_SLOT(type, call, model_call, 0);
    MP_OBJ_TYPE_SET_SLOT(type, attr, model_attr, 1);
    o->base.type = type;
    o->file = args[0];
    o->slow = args[2];
    o->in.type = svm_type_of_code(file->code);
    o->in.d = file->d;
    o->in.stride = svm_row_bytes(file);
    o->pairs = svm_pairs(file);
    o->in.row = o->model.out + o->pairs;
    return MP_OBJ_FROM_PTR(o);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(read_obj, 1, 3, read);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_read, read_obj)

MODULE(_svm_predict, svm_predict_user_module, NAMES)
