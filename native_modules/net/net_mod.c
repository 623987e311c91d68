/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_net`: buffers in, a status out, nothing is allocated; no arithmetic. */
#include "module.h"
#include "net.h"

#if defined(NET_MOD_FLOAT)
#define net_run net_run_f32
#endif

static const void *get(mp_obj_t o, uint32_t *bytes, mp_uint_t flags) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, flags);
    *bytes = (uint32_t)info.len;
    return info.buf;
}

/* program, arena, input, par: array('i') of PARS numbers */
static mp_obj_t net_mod_run(size_t n_args, const mp_obj_t *args) {
    net_call call;
    uint32_t par_bytes;
    (void)n_args;
    call.program = get(args[0], &call.program_bytes, MP_BUFFER_READ);
    call.arena = (uint8_t *)get(args[1], &call.arena_bytes, MP_BUFFER_RW);
    call.input = get(args[2], &call.input_bytes, MP_BUFFER_READ);
    call.par = (int32_t *)get(args[3], &par_bytes, MP_BUFFER_RW);
    if (par_bytes < NET_PARS * 4) {
        mp_raise_ValueError(MP_ERROR_TEXT("par"));
    }
    return mp_obj_new_int(net_run(&call));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(run_obj, 4, 4, net_mod_run);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_run, run_obj)

/* In firmware one module does both, training and prediction. */
MODULE(_net_all, net_all_user_module, NAMES)
