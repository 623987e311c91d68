/* SPDX-License-Identifier: MIT
 * Instructions of loss, backward pass and updates. */
#include "net_read.h"
#include "net_work.h"

#if defined(NET_DENSE)
#define NET_IS_PLAIN(r) 1 /* all others go to another module */
#else
#define NET_IS_PLAIN(r) ((r)->optimizer == NET_OPT_PLAIN)
#endif

static int8_t *tensor(net_reader *r, uint32_t at, uint32_t n) {
    return (int8_t *)net_arena(r, at, net_times(r, n, NET_ELEMENT), NET_ELEMENT);
}

/* x n g slot work most */
static void train_loss(net_reader *r, const uint32_t *v) {
    uint32_t n = v[1], label = (uint32_t)r->call->par[NET_LABEL];
    const uint16_t *table = net_constant(r, r->table, NET_ELEMENT == 4 ? 0 : 64, 4);
    const int8_t *x = net_input(r, v[0], net_times(r, n, NET_ELEMENT));
    int8_t *g = tensor(r, v[2], n);
    int16_t *slot = net_slot(r, v[3]);
    int32_t *work = (int32_t *)net_arena(r, v[4], net_times(r, n, 4), 4);
    if (label >= n) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        int32_t exponent;
        r->state->share = net_softmax_loss(x, n, table, label, g, &exponent, work);
        *slot = net_bounded(r, exponent, v[5]);
#if defined(NET_FLOAT)
        r->fault = r->state->share < 0 ? NET_NOT_FINITE : 0;
        bound_f32(r->state, CF(x), F(g), n, 0.00390625f);
#endif
    }
}

/* g mask y n slot slot */
static void train_clamp(net_reader *r, const uint32_t *v) {
    uint32_t n = v[3];
    const int8_t *g = tensor(r, v[0], n);
    const uint8_t *mask = net_arena(r, v[1], (n + 7) >> 3, 1);
    int8_t *y = tensor(r, v[2], n);
    int16_t *from = net_slot(r, v[4]), *to = net_slot(r, v[5]);
    if (!r->fault) {
        net_clamp_gradient(g, mask, y, n);
        *to = *from;
    }
}

/* layer g y window slot slot work bytes, or of a pool:
 * x g y window kh kw sh sw channels slot slot work bytes k */
static void train_input(net_reader *r, const net_layer *layer, uint32_t op) {
    net_conv_args c;
    net_gradient_args k;
    const uint32_t *v = r->v, *more = v + 9;
    int depthwise = 1, e = 0;
    k.pools = 0;
    if (layer) {
        net_get_conv(r, layer, v + 3, &c);
        depthwise = net_is_depthwise(layer);
        k.ratio = net_constant(r, layer->ratio, 2u * c.cout, 2);
        k.fold = (uint8_t)layer->fold;
        e = layer->exponent - 15 + layer->fold;
    } else {
        net_get_pool(v + 3, &c);
        more = v + 14;
        k.fold = (uint8_t)v[18];
        e = 1 - (int32_t)k.fold;
        k.pools = op == NET_OP_MAX_POOL_GRADIENT ? 2 : 1;
    }
    int16_t *from = net_slot(r, more[0]), *to = net_slot(r, more[1]);
    uint32_t n = net_times(r, net_times(r, c.h, c.w_in), c.cin);
    k.layer = &c;
    k.g = tensor(r, v[1], net_times(r, net_times(r, c.oh, c.ow), c.cout));
    k.gx = tensor(r, v[2], n);
    if (!layer) {
        c.x = net_input(r, v[0], net_times(r, n, NET_ELEMENT));
    }
    k.work = net_optional(r, more[2], more[3], 4);
    k.work_bytes = more[3];
    uint32_t planes = NET_ELEMENT == 4 && depthwise ? 1 : (uint32_t)k.pools;
    uint32_t needed = planes ? 4u * c.h * c.w_in : net_gradient_work(&c, depthwise);
    if (!k.work || more[3] < needed || k.fold - 1u > 23u || c.pad_left < 0 || !c.ow) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        int s = k.pools ? net_pool_gradient(&k)
            : depthwise ? net_depthwise_gradient(&k) : net_input_gradient(&k);
        *to = (int16_t)(*from + e + s);
    }
}

/* a b y n slot slot slot */
static void train_sum(net_reader *r, const uint32_t *v) {
    uint32_t n = v[3];
    const int8_t *a = tensor(r, v[0], n), *b = tensor(r, v[1], n);
    int8_t *y = tensor(r, v[2], n);
    int16_t *ea = net_slot(r, v[4]), *eb = net_slot(r, v[5]), *ey = net_slot(r, v[6]);
    if (!r->fault) {
        *ey = (int16_t)net_sum_gradients(a, b, y, n, *ea, *eb);
    }
}

/* P and E of section 6 from the input's scale (or its inverse), and where results are counted. */
static void get_rule(net_reader *r, const net_layer *layer, uint32_t slot, int of_bias,
    net_update_rule *rule) {
    net_state *state = r->state;
    const int16_t *exponent = net_slot(r, slot);
    rule->state = state;
    rule->ratio = net_constant(r, layer->ratio, 2u * layer->cout, 2);
    rule->optimizer = (uint8_t)r->optimizer;
    if (r->fault) {
        return;
    }
    rule->p = (int32_t)(((uint32_t)state->rate_mantissa
        * (of_bias ? layer->i_mantissa : layer->x_mantissa)) >> 14);
    rule->e = state->rate_exponent + (of_bias ? layer->i_exponent : layer->x_exponent) + *exponent
        - 1 - layer->exponent;
    rule->momentum = r->optimizer == NET_OPT_ACCUMULATE ? 256 : state->momentum;
    rule->move = (uint8_t)(r->optimizer != NET_OPT_ACCUMULATE || state->move);
}

/* layer g pixels slot v */
static void train_bias(net_reader *r, const net_layer *layer, const uint32_t *v) {
    net_update_rule rule;
    uint32_t bytes = 4u * layer->cout;
    get_rule(r, layer, v[3], 1, &rule);
    rule.v = net_optional(r, v[4], bytes, 4);
    const int8_t *g = tensor(r, v[1], net_times(r, v[2], layer->cout));
    int32_t *bias = (int32_t *)net_arena(r, layer->bias >> 1, bytes, 4);
    if (!(layer->bias & 1)) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault && r->state->rate_mantissa) {
        net_bias_update(&rule, g, bias, v[2], layer->cout);
    }
}

/* Bytes of the optimizer's state for n weights. */
static uint32_t state_bytes(const net_reader *r, uint32_t n) {
    return NET_IS_PLAIN(r) ? 0 : NET_ELEMENT == 4 ? 4 * n
        : r->optimizer == NET_OPT_MOMENTUM8 || r->optimizer == NET_OPT_WIDE ? n : 2 * n;
}

/* layer x g window slot v work bytes */
static void train_weights(net_reader *r, const net_layer *layer, const uint32_t *v) {
    net_conv_args c;
    net_weight_args k;
    net_update_rule rule;
    int depthwise = net_is_depthwise(layer);
    net_get_conv(r, layer, v + 3, &c);
    get_rule(r, layer, v[9], 0, &rule);
    uint32_t channels = depthwise ? c.split : (uint32_t)c.split * c.groups;
    uint32_t n = net_times(r, depthwise ? 1 : c.cout,
        net_times(r, c.split, (uint32_t)c.kh * c.kw));
    k.layer = &c;
    k.x = net_input(r, v[1], net_times(r, net_times(r, c.h, c.w_in), channels * NET_ELEMENT));
    k.g = tensor(r, v[2], net_times(r, net_times(r, c.oh, c.ow), c.cout));
    k.work = net_optional(r, v[11], v[12], 4);
    k.work_bytes = v[12];
    rule.v = net_optional(r, v[10], state_bytes(r, n), 4);
    if (!c.split || !k.work || v[12] < 4u * (depthwise ? 1u : c.split)
        || (state_bytes(r, 1) && !rule.v)) {
        r->fault = NET_BAD_PLACE;
    }
    if (r->fault || !r->state->rate_mantissa) {
        return;
    }
#if !defined(NET_DENSE)
    if (depthwise) {
        net_depthwise_update(&rule, &k);
        return;
    }
#endif
    net_weight_update(&rule, &k);
}

int net_train(net_reader *r, uint32_t op) {
    const uint32_t *v = r->v;
    const net_layer *layer = 0;
    if (op == NET_OP_INPUT_GRADIENT || op == NET_OP_BIAS_UPDATE || op == NET_OP_WEIGHT_UPDATE) {
        layer = net_get_layer(r, v[0]);
        if (!layer) {
            return 1;
        }
    }
    switch (op) {
        case NET_OP_LOSS:
            train_loss(r, v);
            break;
        case NET_OP_CLAMP_GRADIENT:
            train_clamp(r, v);
            break;
        case NET_OP_INPUT_GRADIENT:
        case NET_OP_AVERAGE_POOL_GRADIENT:
        case NET_OP_MAX_POOL_GRADIENT:
            train_input(r, layer, op);
            break;
        case NET_OP_SUM_GRADIENTS:
            train_sum(r, v);
            break;
        case NET_OP_BIAS_UPDATE:
            train_bias(r, layer, v);
            break;
        case NET_OP_WEIGHT_UPDATE:
            train_weights(r, layer, v);
            break;
        default:
            return 0;
    }
    return 1;
}
