/* SPDX-License-Identifier: MIT
 * conv(layer, x, w, bias, multiplier, shift, y), depthwise(...) and
 * gradient(layer, g, w, ratio, sums, gx) over buffers; layer: array('i') as plain_layer. */
#include "py/dynruntime.h"

#include "plain.h"

static void *get(mp_obj_t object) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(object, &info, MP_BUFFER_READ);
    return info.buf;
}

static mp_obj_t conv(size_t n_args, const mp_obj_t *a) {
    (void)n_args;
    plain_conv(get(a[0]), get(a[1]), get(a[2]), get(a[3]), get(a[4]), get(a[5]), get(a[6]));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(conv_obj, 7, 7, conv);

static mp_obj_t depthwise(size_t n_args, const mp_obj_t *a) {
    (void)n_args;
    plain_depthwise(get(a[0]), get(a[1]), get(a[2]), get(a[3]), get(a[4]), get(a[5]), get(a[6]));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(depthwise_obj, 7, 7, depthwise);

static mp_obj_t gradient(size_t n_args, const mp_obj_t *a) {
    (void)n_args;
    int s = plain_pointwise_gradient(get(a[0]), get(a[1]), get(a[2]), get(a[3]), get(a[4]),
        get(a[5]));
    return MP_OBJ_NEW_SMALL_INT(s);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(gradient_obj, 6, 6, gradient);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_conv, MP_OBJ_FROM_PTR(&conv_obj));
    mp_store_global(MP_QSTR_depthwise, MP_OBJ_FROM_PTR(&depthwise_obj));
    mp_store_global(MP_QSTR_gradient, MP_OBJ_FROM_PTR(&gradient_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
