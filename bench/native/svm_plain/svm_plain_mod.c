/* SPDX-License-Identifier: MIT
 * train(work, X, rows, par, slots) -> steps; alphas are left at work[8:]. `par` is that of _svm. */
#include "py/dynruntime.h"

#include "plain.h"

enum { FEATURES = 0, C = 4, EPS = 7, GAMMA = 9 };

static mp_obj_t train(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t work, x, rows, par;
    plain_problem p;
    (void)n_args;
    mp_get_buffer_raise(args[0], &work, MP_BUFFER_RW);
    mp_get_buffer_raise(args[1], &x, MP_BUFFER_READ);
    mp_get_buffer_raise(args[2], &rows, MP_BUFFER_READ);
    mp_get_buffer_raise(args[3], &par, MP_BUFFER_READ);
    const float *number = par.buf;
    p.n = (int32_t)(rows.len / 2);
    p.d = (int32_t)number[FEATURES];
    p.slots = mp_obj_get_int(args[4]) - 2; /* our state has half as many words for row numbers */
    p.x = x.buf;
    p.rows = rows.buf;
    p.c = number[C];
    p.eps = number[EPS];
    p.gamma = number[GAMMA];
    p.beta = (float *)work.buf + 8;
    p.v = p.beta + p.n;
    p.diagonal = p.v + p.n;
    p.slot_of = (int32_t *)(p.diagonal + p.n);
    p.owner = p.slot_of + p.n;
    p.used = p.owner + p.slots;
    p.cache = (float *)(p.used + p.slots);
    if ((uint8_t *)(p.cache + p.slots * p.n) > (uint8_t *)work.buf + work.len) {
        mp_raise_ValueError(MP_ERROR_TEXT("work"));
    }
    return mp_obj_new_int(plain_train(&p, 10000));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(train_obj, 5, 5, train);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_train, MP_OBJ_FROM_PTR(&train_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
