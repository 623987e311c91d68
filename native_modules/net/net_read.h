/* SPDX-License-Identifier: MIT
 * Reads instructions and finds what they name, within bounds. */
#ifndef NET_READ_H
#define NET_READ_H

#include "net.h"
#include "net_has.h"
#include "net_kernels.h"
#include "net_layer.h"
#include "net_order.h"

/* Bytes of an element, and of what follows a layer's bias: see NET_FLOAT. */
#if defined(NET_FLOAT)
#define NET_ELEMENT 4u
typedef float net_element;
#define NET_REQUANT_BYTES(cout) 8u
#define NET_ROW_BYTES(depth) (4u * (depth))
#else
#define NET_ELEMENT 1u
typedef int8_t net_element;
#define NET_REQUANT_BYTES(cout) (5u * (cout))
#define NET_ROW_BYTES(depth) net_row_bytes(depth)
#endif

typedef struct {
    const net_call *call;
    const uint8_t *code, *end; /* what is left to run */
    const uint8_t *constants;
    uint32_t constants_bytes;
    net_state *state;
    uint32_t slots, optimizer, table;
    uint32_t x_pitch, y_pitch; /* from PITCH, 0: rows lie close */
    int32_t fault;
    uint32_t v[NET_OPERANDS_MOST]; /* operands of the instruction */
} net_reader;

/* The operands of one instruction, all read at once. */
void net_operands(net_reader *r, uint32_t op);

#if defined(NET_SMALL)
/* A small module takes the host's word for what lies where: its caller has compared the CRC of
 * the code. The same functions without their checks. */
static inline uint32_t net_times(net_reader *r, uint32_t a, uint32_t b) {
    (void)r;
    return a * b;
}

static inline uint8_t *net_arena(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align) {
    (void)bytes;
    (void)align;
    return r->call->arena + at;
}

static inline const void *net_constant(net_reader *r, uint32_t at, uint32_t bytes,
    uint32_t align) {
    (void)bytes;
    (void)align;
    return r->constants + at;
}

static inline const int8_t *net_input(net_reader *r, uint32_t place, uint32_t bytes) {
    (void)bytes;
    return (const int8_t *)(place & 1 ? r->call->input : r->call->arena) + (place >> 1);
}

static inline int16_t *net_slot(net_reader *r, uint32_t slot) {
    return r->state->exponents + slot;
}
#else
/* a * b, or a fault where it is above 2^28. */
uint32_t net_times(net_reader *r, uint32_t a, uint32_t b);

/* `bytes` of the arena, of the constants, or of the place of a forward input. The result
 * is valid only where r->fault is 0 afterwards. */
uint8_t *net_arena(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align);
const void *net_constant(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align);
const int8_t *net_input(net_reader *r, uint32_t place, uint32_t bytes);

/* The exponent that an operand names. */
int16_t *net_slot(net_reader *r, uint32_t slot);
#endif

/* Instructions up to the outputs, and after them; 0 where `op` is none of them. */
int net_forward(net_reader *r, uint32_t op);
int net_train(net_reader *r, uint32_t op);

/* Section 4: the exponent of the outputs' gradient, but not so large that a step is long. */
static inline int16_t net_bounded(net_reader *r, int32_t exponent, uint32_t most) {
    uint32_t sum = (uint32_t)exponent + (uint32_t)r->state->rate_exponent + 128u - most;
    int32_t over = (int32_t)sum;
    if (NET_ELEMENT == 1 && over > 0 && r->state->rate_mantissa) {
        r->state->rails++;
        exponent -= over;
    }
    return (int16_t)exponent;
}

/* What lies at an operand that is 0 for none, else offset + 1. */
void *net_optional(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align);

/* The layer that an operand names. */
const net_layer *net_get_layer(net_reader *r, uint32_t number);
int net_is_depthwise(const net_layer *layer);

/* A layer's parameters and its window (six operands) into k; x, y, mask stay open. */
void net_get_conv(net_reader *r, const net_layer *layer, const uint32_t *window, net_conv_args *k);

/* A pool's window, kernel and channels (eleven operands) into k. */
void net_get_pool(const uint32_t *window, net_conv_args *k);

#endif
