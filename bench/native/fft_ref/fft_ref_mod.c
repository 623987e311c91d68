/* SPDX-License-Identifier: MIT
 * real(order, turns, splits, in, out): fft_real of native_modules/frontend on in's pairs.
 * nothing(five arguments): what a call costs. */
#include "py/dynruntime.h"

#include "fft.h"

static mp_buffer_info_t get(mp_obj_t object) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(object, &info, MP_BUFFER_READ);
    return info;
}

static mp_obj_t real(size_t n_args, const mp_obj_t *a) {
    (void)n_args;
    mp_buffer_info_t in = get(a[3]);
    fft_tables t = { (int32_t)(in.len / 4), get(a[0]).buf, get(a[1]).buf, get(a[2]).buf };
    fft_real(&t, in.buf, get(a[4]).buf);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(real_obj, 5, 5, real);

static mp_obj_t nothing(size_t n_args, const mp_obj_t *a) {
    for (size_t i = 0; i < n_args; i++) {
        get(a[i]);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(nothing_obj, 1, 8, nothing);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_real, MP_OBJ_FROM_PTR(&real_obj));
    mp_store_global(MP_QSTR_nothing, MP_OBJ_FROM_PTR(&nothing_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
