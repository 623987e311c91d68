/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_frontend`:
 *   run(tables, state, samples, out)     0, or which argument does not fit
 * `tables` may lie in flash; every index in them is checked at each run. */
#include "module.h"
#include "frontend.h"

static mp_obj_t run(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t tables, state, samples, out;
    mp_get_buffer_raise(args[0], &tables, MP_BUFFER_READ);
    mp_get_buffer_raise(args[1], &state, MP_BUFFER_WRITE);
    mp_get_buffer_raise(args[2], &samples, MP_BUFFER_READ);
    mp_get_buffer_raise(args[3], &out, MP_BUFFER_WRITE);
    frontend_bytes t = { tables.buf, (int32_t)tables.len }, x = { samples.buf, (int32_t)samples.len };
    return mp_obj_new_int(frontend_run(t, state.buf, (int32_t)state.len, x, out.buf,
        (int32_t)out.len));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(run_obj, 4, 4, run);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_run, run_obj)

MODULE(_frontend, frontend_user_module, NAMES)
