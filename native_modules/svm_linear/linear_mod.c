/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm_linear`. One function, told apart by its number of arguments, as
 * each name in a module takes 40 bytes:
 *   call(w, row, xtype)                   decision value
 *   call(work, X, rows, par)              start
 *   call(work, X, rows, par, steps)       solver steps
 *   call(work, X, rows, par, None, w)     the fitted machine, into w */
#include "module.h"
#include "linear.h"

/* A buffer; samples and rows have items of one byte. */
static void *get(mp_obj_t o, int32_t *bytes, bool small) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, MP_BUFFER_READ);
    if (small && info.typecode != BYTEARRAY_TYPECODE && (info.typecode | 32) != 'b') {
        mp_raise_ValueError(MP_ERROR_TEXT("X, row: expected bytes, got wider items"));
    }
    *bytes = (int32_t)info.len;
    return info.buf;
}

static mp_obj_t call(size_t n_args, const mp_obj_t *args) {
    lin_buffers in;
    int32_t *w = NULL, steps = -1, bytes = 0, result;
    if (n_args == 3) {
        const void *row = get(args[1], &in.bytes[1], true);
        w = get(args[0], &bytes, false);
        result = lin_decide((const int16_t *)(w + 2), bytes - 8, row, in.bytes[1], mp_obj_get_int(args[2]));
    } else {
        for (int k = 0; k < 4; k++) {
            in.at[k] = get(args[k], &in.bytes[k], k == 1);
        }
        if (n_args == 5) {
            steps = mp_obj_get_int(args[4]);
        } else if (n_args == 6) {
            w = get(args[5], &bytes, false);
        }
        result = lin_run(&in, steps, w, bytes);
    }
    return mp_obj_new_int(result);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(call_obj, 3, 6, call);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_call, call_obj)

MODULE(_svm_linear, svm_linear_user_module, NAMES)
