/* SPDX-License-Identifier: MIT
 * run(kind, layer, x, w, bias, multiplier, shift, y, work): one int8 layer of CMSIS-NN; kind 0
 * convolution, 1 depthwise, 2 dense. layer: array('i') of the numbers below; multiplier and shift
 * are int32 for each channel. Returns the bytes of work that it wants where work is empty, else
 * CMSIS-NN's status. */
#include "py/dynruntime.h"

#include "arm_nnfunctions.h"

enum { H, W, CIN, OH, OW, COUT, KH, KW, STRIDE_H, STRIDE_W, TOP, LEFT, ZERO_X, ZERO_Y, LOW, HIGH };

/* A native module has no C library; words where the compiler asks for these two. */
typedef struct __attribute__((packed)) {
    uint32_t word;
} unaligned;

void *memcpy(void *to, const void *from, size_t n) {
    uint8_t *t = to;
    const uint8_t *f = from;
    for (; n >= 4; n -= 4, t += 4, f += 4) {
        ((unaligned *)t)->word = ((const unaligned *)f)->word;
    }
    while (n--) {
        *t++ = *f++;
    }
    return to;
}

void *memset(void *to, int value, size_t n) {
    uint8_t *t = to;
    for (uint32_t word = (uint8_t)value * 0x01010101u; n >= 4; n -= 4, t += 4) {
        ((unaligned *)t)->word = word;
    }
    while (n--) {
        *t++ = (uint8_t)value;
    }
    return to;
}

static mp_buffer_info_t get(mp_obj_t object) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(object, &info, MP_BUFFER_READ);
    return info;
}

static mp_obj_t run(size_t n_args, const mp_obj_t *a) {
    (void)n_args;
    void *b[8];
    for (int i = 0; i < 7; i++) {
        b[i] = get(a[i + 1]).buf;
    }
    const int32_t *l = b[0];
    mp_buffer_info_t work = get(a[8]);
    cmsis_nn_context context = { work.buf, (int32_t)work.len };
    cmsis_nn_dims x = { 1, l[H], l[W], l[CIN] }, y = { 1, l[OH], l[OW], l[COUT] };
    cmsis_nn_dims bias = { 1, 1, 1, l[COUT] };
    cmsis_nn_tile stride = { l[STRIDE_W], l[STRIDE_H] }, pad = { l[LEFT], l[TOP] };
    cmsis_nn_tile dilation = { 1, 1 };
    cmsis_nn_activation range = { l[LOW], l[HIGH] };
    cmsis_nn_per_channel_quant_params scale = { b[4], b[5] };
    int32_t answer;
    switch (mp_obj_get_int(a[0])) {
        case 0: {
            cmsis_nn_conv_params p = { -l[ZERO_X], l[ZERO_Y], stride, pad, dilation, range };
            cmsis_nn_dims w = { l[COUT], l[KH], l[KW], l[CIN] };
            answer = work.len ? arm_convolve_wrapper_s8(&context, &p, &scale, &x, b[1], &w, b[2],
                &bias, b[3], &y, b[6]) : arm_convolve_wrapper_s8_get_buffer_size(&p, &x, &w, &y);
            break;
        }
        case 1: {
            cmsis_nn_dw_conv_params p = { -l[ZERO_X], l[ZERO_Y], 1, stride, pad, dilation, range };
            cmsis_nn_dims w = { 1, l[KH], l[KW], l[COUT] };
            answer = work.len ? arm_depthwise_conv_wrapper_s8(&context, &p, &scale, &x, b[1], &w,
                b[2], &bias, b[3], &y, b[6])
                : arm_depthwise_conv_wrapper_s8_get_buffer_size(&p, &x, &w, &y);
            break;
        }
        default: {
            cmsis_nn_fc_params p = { -l[ZERO_X], 0, l[ZERO_Y], range };
            cmsis_nn_quant_params all = { scale.multiplier, scale.shift, 1 };
            cmsis_nn_dims flat = { 1, 1, 1, l[H] * l[W] * l[CIN] };
            cmsis_nn_dims w = { flat.c, 1, 1, l[COUT] };
            answer = work.len ? arm_fully_connected_wrapper_s8(&context, &p, &all, &flat, b[1],
                &w, b[2], &bias, b[3], &y, b[6]) : 4 * l[COUT];
        }
    }
    return mp_obj_new_int(answer);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(run_obj, 9, 9, run);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_run, MP_OBJ_FROM_PTR(&run_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
