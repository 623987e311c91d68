/* SPDX-License-Identifier: MIT
 * Finds what operands name, within bounds; small modules do without. */
#include "net_read.h"

#if !defined(NET_SMALL)

#define MOST (1u << 28)

static void *out_of_place(net_reader *r) {
    r->fault = NET_BAD_PLACE;
    return 0;
}

uint32_t net_times(net_reader *r, uint32_t a, uint32_t b) {
    uint64_t product = (uint64_t)a * b;
    if (product > MOST) {
        out_of_place(r);
        return MOST;
    }
    return (uint32_t)product;
}

static int fits(uint32_t at, uint32_t bytes, uint32_t size) {
    return at <= size && bytes <= size - at;
}

uint8_t *net_arena(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align) {
    if ((at & (align - 1)) || !fits(at, bytes, r->call->arena_bytes)) {
        return out_of_place(r);
    }
    return r->call->arena + at;
}

const void *net_constant(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align) {
    if ((at & (align - 1)) || !fits(at, bytes, r->constants_bytes)) {
        return out_of_place(r);
    }
    return r->constants + at;
}

const int8_t *net_input(net_reader *r, uint32_t place, uint32_t bytes) {
    uint32_t at = place >> 1;
    if (!(place & 1)) {
        return (const int8_t *)net_arena(r, at, bytes, 1);
    }
    if (!fits(at, bytes, r->call->input_bytes)) {
        return out_of_place(r);
    }
    return (const int8_t *)r->call->input + at;
}

int16_t *net_slot(net_reader *r, uint32_t slot) {
    return slot < r->slots ? r->state->exponents + slot : out_of_place(r);
}

static int is_sound(const net_layer *layer) {
    uint32_t groups = layer->groups;
    if (!groups || !layer->cin || !layer->kh || !layer->kw || !layer->stride_h
        || !layer->stride_w || layer->cin % groups || layer->cout % groups) {
        return 0;
    }
    return layer->split <= (net_is_depthwise(layer) ? layer->cout : layer->cin / groups);
}

const net_layer *net_get_layer(net_reader *r, uint32_t number) {
    const net_layer *layer = net_constant(r, net_times(r, number, 4), sizeof(net_layer), 4);
    return layer && !is_sound(layer) ? out_of_place(r) : layer;
}

#else

const net_layer *net_get_layer(net_reader *r, uint32_t number) {
    return net_constant(r, 4 * number, sizeof(net_layer), 4);
}

#endif
