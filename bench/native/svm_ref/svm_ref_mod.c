// SPDX-License-Identifier: MIT
// one_pass(x, y, alpha, (b, c, tol), seed) -> pairs changed: one pass of Algorithm 1.
// x, alpha and the three numbers are float32, y is int8, seed is one uint32; all are updated.
#include "py/dynruntime.h"

#include "algorithm1.h"

static void *buffer(mp_obj_t object, size_t *size_bytes) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(object, &info, MP_BUFFER_READ);
    *size_bytes = info.len;
    return info.buf;
}

static algorithm1_t unpack(const mp_obj_t *args) {
    size_t x_bytes, n, alpha_bytes, bias_bytes, seed_bytes;
    algorithm1_t s;
    s.x = buffer(args[0], &x_bytes);
    s.y = buffer(args[1], &n);
    s.alpha = buffer(args[2], &alpha_bytes);
    const float *numbers = buffer(args[3], &bias_bytes);
    const uint32_t *seed = buffer(args[4], &seed_bytes);
    if (n < 2 || alpha_bytes != 4 * n || x_bytes % (4 * n) != 0 || bias_bytes != 12
        || seed_bytes != 4) {
        mp_raise_ValueError(MP_ERROR_TEXT("x, y, alpha, (b, c, tol) or seed: wrong length"));
    }
    s.n = n;
    s.d = x_bytes / (4 * n);
    s.b = numbers[0];
    s.c = numbers[1];
    s.tol = numbers[2];
    s.seed = *seed;
    return s;
}

static mp_obj_t one_pass(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    size_t unused;
    algorithm1_t s = unpack(args);
    int32_t changed = algorithm1_pass(&s);
    *(float *)buffer(args[3], &unused) = s.b;
    *(uint32_t *)buffer(args[4], &unused) = s.seed;
    return MP_OBJ_NEW_SMALL_INT(changed);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(one_pass_obj, 5, 5, one_pass);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_one_pass, MP_OBJ_FROM_PTR(&one_pass_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
