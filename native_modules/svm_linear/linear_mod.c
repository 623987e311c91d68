/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm_linear`. One function, told apart by its number of arguments, as
 * each name in a module takes 40 bytes:
 *   call(w, row, xtype)                   decision value
 *   call(work, X, rows, par)              start
 *   call(work, X, rows, par, steps)       solver steps
 *   call(work, X, rows, par, None, w)     the fitted machine, into w
 * ValueError where X or row has items wider than a byte. */
#include "module.h"
#include "linear.h"

static void *get(mp_obj_t o, int32_t *bytes) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, MP_BUFFER_READ);
    *bytes = (int32_t)info.len;
    return info.buf;
}

static mp_obj_t call(size_t n_args, const mp_obj_t *args) {
    lin_buffers in;
    int32_t *w = NULL, steps = -1, bytes = 0, result;
    mp_buffer_info_t row;
    mp_get_buffer_raise(args[1], &row, MP_BUFFER_READ);
    in.at[1] = row.buf;
    in.bytes[1] = (int32_t)row.len;
    if ((row.typecode | 32) > 'b') {
    wrong:
        mp_raise_ValueError(MP_ERROR_TEXT("expected bytes"));
    }
    if (n_args == 3) {
        steps = MP_OBJ_SMALL_INT_VALUE(args[2]);
        if ((row.typecode == 'b') == steps) { /* of both signs are numbers below 128 only */
            for (bytes = in.bytes[1]; --bytes >= 0;) {
                if (((const int8_t *)row.buf)[bytes] < 0) {
                    goto wrong;
                }
            }
        }
        w = get(args[0], &bytes);
        result = lin_decide((const int16_t *)(w + 2), bytes - 8, row.buf, (int32_t)row.len, steps);
    } else {
        for (int k = 0; k < 4; k += k ? 1 : 2) {
            in.at[k] = get(args[k], &in.bytes[k]);
        }
        if (n_args == 5) {
            steps = mp_obj_get_int(args[4]);
        } else if (n_args == 6) {
            w = get(args[5], &bytes);
        }
        result = lin_run(&in, steps, w, bytes);
    }
    return mp_obj_new_int(result);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(call_obj, 3, 6, call);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_call, call_obj)

MODULE(_svm_linear, svm_linear_user_module, NAMES)
