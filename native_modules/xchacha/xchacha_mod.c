/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_xchacha`: decrypt a buffer whose tag lies behind it. */
#include "module.h"
#include "xchacha.h"

#if !defined(ACCLIMATE_USER_MODULE) && !defined(__riscv) /* there: common/memory.c */
/* What compilers make of large initialisers; a native module has no C library. */
void *memset(void *to, int byte, size_t n) {
    for (volatile uint8_t *p = to; n; n--) {
        *p++ = (uint8_t)byte;
    }
    return to;
}
#endif

/* data (written), n: the tag is the 16 bytes after the first n; key, nonce, ad */
static mp_obj_t mod_unlock(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    mp_buffer_info_t data, key, nonce, ad;
    mp_int_t n = mp_obj_get_int(args[1]);
    mp_get_buffer_raise(args[0], &data, MP_BUFFER_RW);
    mp_get_buffer_raise(args[2], &key, MP_BUFFER_READ);
    mp_get_buffer_raise(args[3], &nonce, MP_BUFFER_READ);
    mp_get_buffer_raise(args[4], &ad, MP_BUFFER_READ);
    if (key.len != 32 || nonce.len != 24) {
        mp_raise_ValueError(MP_ERROR_TEXT("key of 32 bytes, nonce of 24"));
    }
    if (n < 0 || data.len < 16 || data.len - 16 < (size_t)n) {
        mp_raise_ValueError(MP_ERROR_TEXT("buffer too short"));
    }
    return mp_obj_new_bool(xchacha_unlock(data.buf, (uint32_t)n, key.buf, nonce.buf, ad.buf,
        (uint32_t)ad.len));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(unlock_obj, 5, 5, mod_unlock);

#define NAMES(OBJECT, NUMBER) OBJECT(MP_QSTR_unlock, unlock_obj)

MODULE(_xchacha, xchacha_user_module, NAMES)
