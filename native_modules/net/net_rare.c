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

/* Ends a loss that gave the exponent s to its gradient, of which the host knows the rest. */
static void set_exponent(net_reader *r, int16_t *slot, uint32_t exponent, int s) {
    *slot = (int16_t)((int32_t)exponent - 128 + s);
    if (s < 0) {
        r->fault = NET_NOT_FINITE;
    }
}

/* x n g slot target table limit factor exponent */
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
        set_exponent(r, slot, v[8], net_squared_loss(&k, &r->state->share));
    }
}

/* x n g slot target zero factor exponent */
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
        set_exponent(r, slot, v[7], net_binary_loss(&k, exponentials, &r->state->share));
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
        default:
            return 0;
    }
    return 1;
}
