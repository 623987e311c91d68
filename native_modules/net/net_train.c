/* SPDX-License-Identifier: MIT
 * Instructions of loss, backward pass and updates. */
#include "net_read.h"

static int8_t *tensor(net_reader *r, uint32_t at, uint32_t n) {
    return (int8_t *)net_arena(r, at, net_times(r, n, NET_ELEMENT), NET_ELEMENT);
}

static void train_loss(net_reader *r) {
    uint32_t x = net_number(r), n = net_number(r), g = net_number(r);
    int16_t *slot = net_slot(r);
    uint32_t work = net_number(r), label = (uint32_t)r->call->par[NET_LABEL];
    const uint16_t *table = net_constant(r, r->table, 64, 4);
    uint16_t *e = (uint16_t *)net_arena(r, work, net_times(r, n, 2), 2);
    const int8_t *from = net_input(r, x, net_times(r, n, NET_ELEMENT));
    int8_t *to = tensor(r, g, n);
    if (label >= n) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        int32_t exponent;
        r->state->share = net_softmax_loss(from, n, table, label, to, &exponent, e);
        *slot = (int16_t)exponent;
    }
}

static void train_clamp(net_reader *r) {
    uint32_t g = net_number(r), mask = net_number(r), y = net_number(r), n = net_number(r);
    int16_t *from = net_slot(r), *to = net_slot(r);
    const int8_t *source = tensor(r, g, n);
    const uint8_t *bits = net_arena(r, mask, (n + 7) >> 3, 1);
    int8_t *target = tensor(r, y, n);
    if (!r->fault) {
        net_clamp_gradient(source, bits, target, n);
        *to = *from;
    }
}

static void train_input(net_reader *r) {
    const net_layer *layer = net_get_layer(r);
    uint32_t g = net_number(r), gx = net_number(r);
    if (r->fault) {
        return;
    }
    net_conv_args c;
    net_gradient_args k;
    net_get_conv(r, layer, &c);
    int16_t *from = net_slot(r), *to = net_slot(r);
    uint32_t work = net_number(r), depthwise = (uint32_t)net_is_depthwise(layer);
    k.work_bytes = net_number(r);
    k.g = tensor(r, g, net_times(r, net_times(r, c.oh, c.ow), c.cout));
    k.gx = tensor(r, gx, net_times(r, net_times(r, c.h, c.w_in), c.cin));
    k.ratio = net_constant(r, layer->ratio, 2u * c.cout, 2);
    k.layer = &c;
    k.fold = (uint8_t)layer->fold;
    k.work = work ? (int32_t *)net_arena(r, work - 1, k.work_bytes, 4) : 0;
    if (!work || k.work_bytes < net_gradient_work(&c, (int)depthwise)
        || layer->fold - 1u > 23u) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        int s = depthwise ? net_depthwise_gradient(&k) : net_input_gradient(&k);
        *to = (int16_t)(*from + layer->exponent - 15 + layer->fold + s);
    }
}

static void train_pool(net_reader *r) {
    uint32_t g = net_number(r), y = net_number(r), pixels = net_number(r);
    uint32_t channels = net_number(r), m = net_number(r);
    int32_t k = (int32_t)net_number(r) - 64;
    int16_t *from = net_slot(r), *to = net_slot(r);
    const int8_t *source = tensor(r, g, channels);
    int8_t *target = tensor(r, y, net_times(r, pixels, channels));
    if (m > 65535) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        int s = net_pool_gradient(source, target, pixels, channels, (int32_t)m);
        *to = (int16_t)(*from + k + s);
    }
}

static void train_sum(net_reader *r) {
    uint32_t a = net_number(r), b = net_number(r), y = net_number(r), n = net_number(r);
    int16_t *ea = net_slot(r), *eb = net_slot(r), *ey = net_slot(r);
    const int8_t *left = tensor(r, a, n), *right = tensor(r, b, n);
    int8_t *to = tensor(r, y, n);
    if (!r->fault) {
        *ey = (int16_t)net_sum_gradients(left, right, to, n, *ea, *eb);
    }
}

/* P and E of section 6, and where results are counted. */
static void get_rule(net_reader *r, const net_layer *layer, int32_t exponent, int of_bias,
    net_update_rule *rule) {
    net_state *state = r->state;
    rule->seed = &state->seed;
    rule->rails = &state->rails;
    rule->moved = &state->moved;
    rule->dead = &state->dead;
    rule->ratio = net_constant(r, layer->ratio, 2u * layer->cout, 2);
    rule->p = (int32_t)(((uint32_t)state->rate_mantissa
        * (of_bias ? layer->i_mantissa : layer->x_mantissa)) >> 14);
    rule->e = state->rate_exponent + (of_bias ? layer->i_exponent : layer->x_exponent) + exponent
        - 1 - layer->exponent;
    rule->momentum = r->optimizer == NET_OPT_ACCUMULATE ? 256 : state->momentum;
    rule->move = (uint8_t)(r->optimizer != NET_OPT_ACCUMULATE || state->move);
    rule->optimizer = (uint8_t)r->optimizer;
}

static void train_bias(net_reader *r) {
    const net_layer *layer = net_get_layer(r);
    uint32_t g = net_number(r), pixels = net_number(r);
    int16_t *slot = net_slot(r);
    net_update_rule rule;
    if (r->fault) {
        return;
    }
    get_rule(r, layer, *slot, 1, &rule);
    rule.v = net_optional(r, 4u * layer->cout, 4);
    const int8_t *source = tensor(r, g, net_times(r, pixels, layer->cout));
    int32_t *bias = (int32_t *)net_arena(r, layer->bias >> 1, 4u * layer->cout, 4);
    if (!(layer->bias & 1)) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault && r->state->rate_mantissa) {
        net_bias_update(&rule, source, bias, pixels, layer->cout);
    }
}

/* Bytes of the optimizer's state for n weights. */
static uint32_t state_bytes(net_reader *r, uint32_t n) {
#if defined(NET_SMALL)
    r->fault = r->optimizer == NET_OPT_PLAIN ? r->fault : NET_NO_KERNEL;
    return 0 * n;
#else
    return r->optimizer == NET_OPT_PLAIN ? 0
        : r->optimizer == NET_OPT_MOMENTUM8 || r->optimizer == NET_OPT_WIDE ? n : 2 * n;
#endif
}

static void train_weights(net_reader *r) {
    const net_layer *layer = net_get_layer(r);
    uint32_t x = net_number(r), g = net_number(r);
    net_conv_args c;
    net_weight_args k;
    net_update_rule rule;
    if (r->fault) {
        return;
    }
    net_get_conv(r, layer, &c);
    int16_t *slot = net_slot(r);
    if (r->fault || !layer->split) {
        r->fault = NET_BAD_PLACE;
        return;
    }
    int depthwise = net_is_depthwise(layer);
    get_rule(r, layer, *slot, 0, &rule);
    k.layer = &c;
    uint32_t channels = depthwise ? c.split : (uint32_t)c.split * c.groups;
    uint32_t n = net_times(r, depthwise ? 1 : c.cout, net_times(r, c.split,
        (uint32_t)c.kh * c.kw));
    rule.v = net_optional(r, state_bytes(r, n), 4);
    k.work = net_optional(r, 4u * (depthwise ? 1u : c.split), 4);
    k.work_bytes = net_number(r);
    k.x = net_input(r, x, net_times(r, net_times(r, c.h, c.w_in), channels * NET_ELEMENT));
    k.g = tensor(r, g, net_times(r, net_times(r, c.oh, c.ow), c.cout));
    if (!k.work || (state_bytes(r, 1) && !rule.v)) {
        r->fault = NET_BAD_PLACE;
    }
    if (r->fault || !r->state->rate_mantissa) {
        return;
    }
#if defined(NET_SMALL)
    if ((uint32_t)c.h * c.w_in * c.kh * c.kw > 1 || depthwise) {
        r->fault = NET_NO_KERNEL;
        return;
    }
#else
    if (depthwise) {
        net_depthwise_update(&rule, &k);
        return;
    }
#endif
    net_weight_update(&rule, &k);
}

int net_train(net_reader *r, uint32_t op) {
    switch (op) {
        case NET_OP_LOSS:
            train_loss(r);
            return 1;
        case NET_OP_CLAMP_GRADIENT:
            train_clamp(r);
            return 1;
        case NET_OP_INPUT_GRADIENT:
            train_input(r);
            return 1;
        case NET_OP_POOL_GRADIENT:
            train_pool(r);
            return 1;
        case NET_OP_SUM_GRADIENTS:
            train_sum(r);
            return 1;
        case NET_OP_BIAS_UPDATE:
            train_bias(r);
            return 1;
        case NET_OP_WEIGHT_UPDATE:
            train_weights(r);
            return 1;
        default:
            return 0;
    }
}
