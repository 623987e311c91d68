/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_ed25519`: verify a signature that lies behind its message in one buffer. */
#include "module.h"
#include "ed25519.h"

#if !defined(ACCLIMATE_USER_MODULE) && !defined(__riscv) /* there: common/memory.c */
/* What compilers make of large initialisers; a native module has no C library. */
void *memset(void *to, int byte, size_t n) {
    for (volatile uint8_t *p = to; n; n--) {
        *p++ = (uint8_t)byte;
    }
    return to;
}
#endif

/* The buffer of o from at on, of at least `bytes`. */
static const uint8_t *part(mp_obj_t o, mp_obj_t at, size_t bytes) {
    mp_buffer_info_t info;
    mp_int_t start = mp_obj_get_int(at);
    mp_get_buffer_raise(o, &info, MP_BUFFER_READ);
    if (start < 0 || info.len < bytes || info.len - bytes < (size_t)start) {
        mp_raise_ValueError(MP_ERROR_TEXT("buffer too short"));
    }
    return (const uint8_t *)info.buf + start;
}

/* data, n: the signature is the 64 bytes after the first n; keys, at */
static mp_obj_t mod_verify(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    const uint8_t *signature = part(args[0], args[1], 64);
    mp_int_t n = mp_obj_get_int(args[1]);
    return mp_obj_new_bool(ed25519_verify(signature, part(args[2], args[3], 32), signature - n,
        (uint32_t)n));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(verify_obj, 4, 4, mod_verify);

static mp_obj_t mod_is_key(mp_obj_t keys, mp_obj_t at) {
    return mp_obj_new_bool(ed25519_is_key(part(keys, at, 32)));
}
static MP_DEFINE_CONST_FUN_OBJ_2(is_key_obj, mod_is_key);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_verify, verify_obj) \
    OBJECT(MP_QSTR_is_key, is_key_obj)

MODULE(_ed25519, ed25519_user_module, NAMES)
