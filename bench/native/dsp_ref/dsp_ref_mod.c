/* SPDX-License-Identifier: MIT
 * CMSIS-DSP on 512 samples of 16 bits:
 *   begin(window, positions, lengths, weights)   of the mel filters, 32 bits each but the weights
 *   real(in, out)         arm_rfft_q15; `in` is used up, `out` takes 1,024 numbers
 *   mel(samples, work)    arm_mfcc_q15 without the cosine transform (it has no rows): the levels
 *                         are left in `samples`, `work` takes 1,026 numbers
 * Both return CMSIS-DSP's status. */
#include "py/dynruntime.h"

#include "arm_math.h"

/* Not static: the linker of native modules does not take that. */
arm_rfft_instance_q15 transform;
arm_mfcc_instance_q15 filters;

/* A native module has no C library; words where the compiler asks for these two. */
void *memcpy(void *to, const void *from, size_t n) {
    uint8_t *t = to;
    const uint8_t *f = from;
    for (; n >= 4; n -= 4, t += 4, f += 4) {
        __UNALIGNED_UINT32_WRITE(t, __UNALIGNED_UINT32_READ(f));
    }
    while (n--) {
        *t++ = *f++;
    }
    return to;
}

void *memset(void *to, int value, size_t n) {
    for (uint8_t *t = to; n--; t++) {
        *t = (uint8_t)value;
    }
    return to;
}

static mp_buffer_info_t get(mp_obj_t object) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(object, &info, MP_BUFFER_READ);
    return info;
}

static mp_obj_t begin(size_t n_args, const mp_obj_t *a) {
    (void)n_args;
    mp_buffer_info_t positions = get(a[1]);
    int status = arm_rfft_init_512_q15(&transform, 0, 1);
    status |= arm_mfcc_init_512_q15(&filters, positions.len / 4, 0, NULL, positions.buf,
        get(a[2]).buf, get(a[3]).buf, get(a[0]).buf);
    return mp_obj_new_int(status);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(begin_obj, 4, 4, begin);

static mp_obj_t real(mp_obj_t in, mp_obj_t out) {
    arm_rfft_q15(&transform, get(in).buf, get(out).buf);
    return mp_obj_new_int(0);
}
static MP_DEFINE_CONST_FUN_OBJ_2(real_obj, real);

static mp_obj_t mel(mp_obj_t samples, mp_obj_t work) {
    return mp_obj_new_int(arm_mfcc_q15(&filters, get(samples).buf, NULL, get(work).buf));
}
static MP_DEFINE_CONST_FUN_OBJ_2(mel_obj, mel);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_begin, MP_OBJ_FROM_PTR(&begin_obj));
    mp_store_global(MP_QSTR_real, MP_OBJ_FROM_PTR(&real_obj));
    mp_store_global(MP_QSTR_mel, MP_OBJ_FROM_PTR(&mel_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
