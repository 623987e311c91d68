/* SPDX-License-Identifier: MIT
 * Reads instructions, and layers with their parameters. */
#include "net_read.h"

static const uint8_t counts[] = NET_OPERANDS;

/* One operand: 7 bits a byte. */
static uint32_t number(net_reader *r) {
    uint32_t value = 0;
    for (int shift = 0; shift < 35 && r->code < r->end; shift += 7) {
        uint32_t byte = *r->code++;
        value |= (byte & 127) << shift;
        if (byte < 128) {
            return value;
        }
    }
    r->fault = NET_BAD_CODE;
    return 0;
}

void net_operands(net_reader *r, uint32_t op) {
    uint32_t count = op < sizeof(counts) ? counts[op] : 0;
    for (uint32_t i = 0; i < count; i++) {
        r->v[i] = number(r);
    }
}

void *net_optional(net_reader *r, uint32_t at, uint32_t bytes, uint32_t align) {
    return at ? net_arena(r, at - 1, bytes, align) : 0;
}

int net_is_depthwise(const net_layer *layer) {
    return layer->groups > 1 && layer->groups == layer->cin && layer->cin == layer->cout;
}

/* Bytes of the weights that lie in flash (trained 0) or in the arena. */
static inline uint32_t weight_bytes(net_reader *r, const net_layer *layer, int trained) {
    int deep = !net_is_depthwise(layer);
    uint32_t whole = deep ? (uint32_t)layer->cin / layer->groups : layer->cout;
    uint32_t part = trained ? layer->split : whole - layer->split;
    uint32_t row = net_times(r, part, (uint32_t)layer->kh * layer->kw);
    return deep ? net_times(r, layer->cout, NET_ROW_BYTES(row)) : row * NET_ELEMENT;
}

void net_get_pool(const uint32_t *window, net_conv_args *k) {
    for (uint32_t i = 0; i < 11; i++) {
        k->pool[i] = (uint16_t)window[i];
    }
    k->cout = k->cin;
}

void net_get_conv(net_reader *r, const net_layer *layer, const uint32_t *window,
    net_conv_args *k) {
    for (uint32_t i = 0; i < 6; i++) {
        k->window[i] = (uint16_t)window[i];
    }
    k->add = 0;
    k->other = 0;
    k->work = 0;
    k->work_bytes = 0;
    if (r->fault) {
        return;
    }
    for (uint32_t i = 0; i < 4; i++) {
        k->counts[i] = layer->counts[i];
        k->kernel[i] = layer->kernel[i];
        k->values[i] = layer->values[i];
    }
    k->x_step = layer->cin;
    k->y_step = layer->cout;
    k->x_pitch = (int32_t)(r->x_pitch ? r->x_pitch : (uint32_t)k->w_in * k->cin);
    k->y_pitch = (int32_t)(r->y_pitch ? r->y_pitch : (uint32_t)k->ow * k->cout);
    k->w = net_constant(r, layer->w, weight_bytes(r, layer, 0), NET_ELEMENT);
    k->wt = layer->split
        ? (int8_t *)net_arena(r, layer->wt, weight_bytes(r, layer, 1), NET_ELEMENT) : 0;
    uint32_t bias_bytes = 4u * layer->cout;
    k->bias = layer->bias & 1 ? (void *)net_arena(r, layer->bias >> 1, bias_bytes, 4)
        : net_constant(r, layer->bias >> 1, bias_bytes, 4);
    k->multiplier = net_constant(r, layer->requant, NET_REQUANT_BYTES(layer->cout), 4);
    k->shift = (const int8_t *)k->multiplier + bias_bytes;
}
