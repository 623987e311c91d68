/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_codec`: buffers in and out, nothing is allocated; no arithmetic here. */
#include "module.h"
#include "crc32.h"
#include "buffers.h"
#include "rangecoder.h"
#include "sha256.h"
#include "window.h"

/* The buffer of o, of at least `bytes`. */
static void *get(mp_obj_t o, size_t bytes, mp_uint_t flags) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, flags);
    if (info.len < bytes) {
        mp_raise_ValueError(MP_ERROR_TEXT("buffer too short"));
    }
    return info.buf;
}

static void *state(mp_obj_t o, size_t bytes) {
    void *s = get(o, bytes, MP_BUFFER_RW);
    if ((uintptr_t)s & 3) {
        mp_raise_ValueError(MP_ERROR_TEXT("state not aligned"));
    }
    return s;
}

static uint32_t count(mp_obj_t o) {
    mp_int_t n = mp_obj_get_int(o);
    if (n < 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("count"));
    }
    return (uint32_t)n;
}

static mp_obj_t mod_sha_start(mp_obj_t s) {
    sha256_start(state(s, sizeof(sha256_state)));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(sha_start_obj, mod_sha_start);

static mp_obj_t mod_sha_update(mp_obj_t s, mp_obj_t data, mp_obj_t n) {
    uint32_t bytes = count(n);
    sha256_update(state(s, sizeof(sha256_state)), get(data, bytes, MP_BUFFER_READ), bytes);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_3(sha_update_obj, mod_sha_update);

/* state, data, start, n */
static mp_obj_t mod_sha_part(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    uint32_t at = count(args[2]), bytes = count(args[3]);
    sha256_update(state(args[0], sizeof(sha256_state)),
        (const uint8_t *)get(args[1], at + bytes, MP_BUFFER_READ) + at, bytes);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(sha_part_obj, 4, 4, mod_sha_part);

static mp_obj_t mod_sha_finish(mp_obj_t s, mp_obj_t out) {
    sha256_finish(state(s, sizeof(sha256_state)), get(out, 32, MP_BUFFER_RW));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_2(sha_finish_obj, mod_sha_finish);

/* to, its start, from, its start, n */
static mp_obj_t mod_copy(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    uint32_t to_at = count(args[1]), at = count(args[3]), n = count(args[4]);
    buffers_copy((uint8_t *)get(args[0], to_at + n, MP_BUFFER_RW) + to_at,
        (const uint8_t *)get(args[2], at + n, MP_BUFFER_READ) + at, n);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(copy_obj, 5, 5, mod_copy);

/* a, its start, b, its start, n: how many bytes are the same before the first that differs */
static mp_obj_t mod_common_prefix(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    uint32_t a_at = count(args[1]), b_at = count(args[3]), n = count(args[4]);
    return mp_obj_new_int(buffers_common_prefix((const uint8_t *)get(args[0], a_at + n, MP_BUFFER_READ)
        + a_at, (const uint8_t *)get(args[2], b_at + n, MP_BUFFER_READ) + b_at, n));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(common_prefix_obj, 5, 5, mod_common_prefix);

/* crc (4 bytes), data, start, end */
static mp_obj_t mod_crc_update(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    uint32_t start = count(args[2]), end = count(args[3]);
    const uint8_t *data = get(args[1], end, MP_BUFFER_READ);
    if (start < end) {
        crc32_update(get(args[0], 4, MP_BUFFER_RW), data + start, end - start);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(crc_update_obj, 4, 4, mod_crc_update);

#if !defined(CODEC_SMALL)
static mp_obj_t mod_rc_start(mp_obj_t s, mp_obj_t input) {
    rc_start(state(s, sizeof(rc_state)), get(input, 4, MP_BUFFER_READ));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_2(rc_start_obj, mod_rc_start);

/* state, input, head: array('i', 5), whose first is the place in the input; out: the head, and
 * the place after it in the last */
static mp_obj_t mod_rc_head(mp_obj_t s, mp_obj_t input, mp_obj_t out) {
    int32_t *head = state(out, 20);
    uint32_t at = (uint32_t)head[0];
    mp_buffer_info_t info;
    mp_get_buffer_raise(input, &info, MP_BUFFER_READ);
    if (at > info.len || info.len - at < RC_HEAD_BYTES) {
        mp_raise_ValueError(MP_ERROR_TEXT("buffer too short"));
    }
    head[4] = (int32_t)(at + rc_head(state(s, sizeof(rc_state)), (uint8_t *)info.buf + at, head));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_3(rc_head_obj, mod_rc_head);

/* state, input, base, out, place: array('i', [at, k, n, have, kind]), of which at and k change */
static mp_obj_t mod_rc_block(size_t n_args, const mp_obj_t *args) {
    (void)n_args;
    int32_t *place = state(args[4], 20);
    for (uint32_t i = 0; i < 4; i++) {
        if (place[i] < 0) {
            mp_raise_ValueError(MP_ERROR_TEXT("count"));
        }
    }
    uint32_t at = place[0], n = place[2], have = place[3];
    place[1] = (int32_t)rc_block(state(args[0], sizeof(rc_state)),
        get(args[1], have, MP_BUFFER_READ), have, &at, get(args[2], n, MP_BUFFER_READ),
        get(args[3], n, MP_BUFFER_RW), place[1], n, place[4]);
    place[0] = (int32_t)at;
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(rc_block_obj, 5, 5, mod_rc_block);
#define CODER_NAMES(OBJECT, NUMBER) \
    NUMBER(MP_QSTR_RC_BYTES, sizeof(rc_state)) \
    OBJECT(MP_QSTR_rc_start, rc_start_obj) \
    OBJECT(MP_QSTR_rc_head, rc_head_obj) \
    OBJECT(MP_QSTR_rc_block, rc_block_obj)
#else
#define CODER_NAMES(OBJECT, NUMBER)
#endif

#if !defined(__ARM_ARCH_6M__)
/* window, out, channels, samples, shift + 16 kinds: true, or false where a buffer is not array('h')
 * or array('b') of the right size */
static mp_obj_t mod_window(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t in, out;
    (void)n_args;
    mp_int_t channels = mp_obj_get_int(args[2]), samples = mp_obj_get_int(args[3]);
    mp_int_t how = mp_obj_get_int(args[4]), kinds = how >> 4, width = 0;
    for (mp_int_t k = kinds; k > 0; k >>= 1) {
        width += (k & 1) * channels;
    }
    if (!mp_get_buffer(args[0], &in, MP_BUFFER_READ) || !mp_get_buffer(args[1], &out, MP_BUFFER_RW)
        || in.typecode != 'h' || out.typecode != 'b' || ((uintptr_t)in.buf & 1)
        || (mp_uint_t)(channels - 1) > 15 || (mp_uint_t)(samples - 4) > 4092
        || (mp_int_t)in.len != 2 * channels * samples || (mp_int_t)out.len != width) {
        return mp_const_false;
    }
    window_features(in.buf, channels, samples, how & 15, kinds & 31, out.buf);
    return mp_const_true;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(window_obj, 5, 5, mod_window);
#define WINDOW_NAMES(OBJECT) OBJECT(MP_QSTR_window, window_obj)
#else
#define WINDOW_NAMES(OBJECT)
#endif

#define NAMES(OBJECT, NUMBER) \
    NUMBER(MP_QSTR_SHA_BYTES, sizeof(sha256_state)) \
    OBJECT(MP_QSTR_sha_start, sha_start_obj) \
    OBJECT(MP_QSTR_sha_update, sha_update_obj) \
    OBJECT(MP_QSTR_sha_part, sha_part_obj) \
    OBJECT(MP_QSTR_sha_finish, sha_finish_obj) \
    OBJECT(MP_QSTR_copy, copy_obj) \
    OBJECT(MP_QSTR_common_prefix, common_prefix_obj) \
    OBJECT(MP_QSTR_crc_update, crc_update_obj) \
    CODER_NAMES(OBJECT, NUMBER) \
    WINDOW_NAMES(OBJECT)

MODULE(_codec, codec_user_module, NAMES)
