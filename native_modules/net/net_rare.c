/* SPDX-License-Identifier: MIT
 * Rarer instructions, in a module of their own. */
#include "net_rare.h"

/* x n g slot, as all losses begin; returns the exponent's place. */
static int16_t *get_loss(net_reader *r, net_loss_args *k) {
    uint32_t bytes = net_times(r, r->v[1], NET_ELEMENT);
    k->n = r->v[1];
    k->x = net_input(r, r->v[0], bytes);
    k->g = (int8_t *)net_arena(r, r->v[2], bytes, NET_ELEMENT);
    k->table = 0;
    return net_slot(r, r->v[3]);
}

/* Ends a loss that gave the exponent s to its gradient. more: exponent most; float32: `most` is
 * what rate times gradient is at most, in 1/256 of the largest output. */
static void set_exponent(net_reader *r, const net_loss_args *k, int16_t *slot,
    const uint32_t *more, int s) {
#if defined(NET_FLOAT)
    bound_f32(r->state, CF(k->x), F(k->g), k->n, (float)(int32_t)more[1] * 0.00390625f);
#else
    (void)k;
#endif
    *slot = net_bounded(r, (int32_t)more[0] - 128 + s, more[1]);
    if (s < 0) {
        r->fault = NET_NOT_FINITE;
    }
}

/* x n g slot target table limit factor exponent most */
static void rare_squared_loss(net_reader *r, const uint32_t *v) {
    net_loss_args k;
    int16_t *slot = get_loss(r, &k);
    if (v[5]) {
        k.table = net_constant(r, net_times(r, v[5], 4), 512, 4);
        k.target = net_input(r, v[4], k.n);
    } else if (NET_ELEMENT == 4) {
        k.target = net_input(r, v[4], net_times(r, k.n, 4));
    } else {
        k.target = net_arena(r, v[4] >> 1, net_times(r, k.n, 2), 2);
    }
    k.limit = (int32_t)v[6];
    k.factor = v[7];
    if (NET_ELEMENT == 1 && (v[6] > 65535 || v[7] > 32767)) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        set_exponent(r, &k, slot, v + 8, net_squared_loss(&k, &r->state->share));
    }
}

/* x n g slot target zero factor exponent most */
static void rare_binary_loss(net_reader *r, const uint32_t *v) {
    net_loss_args k;
    int16_t *slot = get_loss(r, &k);
    const uint16_t *exponentials = net_constant(r, r->table, NET_ELEMENT == 4 ? 0 : 64, 4);
    k.target = net_input(r, v[4], net_times(r, k.n, NET_ELEMENT));
    k.zero = (int32_t)v[5] - 128;
    k.factor = v[6];
    if (NET_ELEMENT == 1 && (v[5] > 255 || v[6] > 32767)) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        set_exponent(r, &k, slot, v + 7, net_binary_loss(&k, exponentials, &r->state->share));
    }
}

/* at n factor exponent */
static void rare_decay(net_reader *r, const uint32_t *v) {
    int8_t *w = (int8_t *)net_arena(r, v[0], net_times(r, v[1], NET_ELEMENT), NET_ELEMENT);
    int moves = r->optimizer != NET_OPT_ACCUMULATE || r->state->move;
    if (NET_ELEMENT == 1 && v[2] > 32767) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault && moves && r->state->rate_mantissa) {
        net_weight_decay(w, v[1], r->state, v[2], (int32_t)v[3] - 128);
    }
}

int net_rare(net_reader *r, uint32_t op) {
    switch (op) {
        case NET_OP_SQUARED_LOSS:
            rare_squared_loss(r, r->v);
            break;
        case NET_OP_BINARY_LOSS:
            rare_binary_loss(r, r->v);
            break;
        case NET_OP_WEIGHT_DECAY:
            rare_decay(r, r->v);
            break;
        default:
            return 0;
    }
    return 1;
}
