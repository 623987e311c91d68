/* SPDX-License-Identifier: MIT
 * Records in the constants and the state in the arena, as net_format.h lists them. */
#ifndef NET_LAYER_H
#define NET_LAYER_H

#include <stdint.h>
#include "net_format.h"

typedef struct {
    union {
        uint16_t counts[4];
        struct {
            uint16_t cin, cout, groups, split;
        };
    };
    union {
        uint8_t kernel[4];
        struct {
            uint8_t kh, kw, stride_h, stride_w;
        };
    };
    union {
        int8_t values[4];
        struct {
            int8_t zero_x, zero_y, low, high;
        };
    };
    uint32_t w, wt, bias, requant, ratio;
    int16_t exponent;
    uint16_t fold;
    uint16_t x_mantissa;
    int16_t x_exponent;
    uint16_t i_mantissa;
    int16_t i_exponent;
} net_layer;

typedef struct {
    uint32_t seed;
    int32_t rate_mantissa, rate_exponent, momentum, move, share;
    uint32_t rails, moved, dead;
    int16_t exponents[];
} net_state;

/* A negative array: the table and the structure differ. */
typedef char net_layer_fits[sizeof(net_layer) == NET_L_BYTES ? 1 : -1];
typedef char net_state_fits[sizeof(net_state) == NET_S_BYTES ? 1 : -1];

#endif
