/* SPDX-License-Identifier: MIT
 * Rarer instructions, in a module of their own. */
#include "net_rare.h"

/* Elements of a row whose squares and sums 32 bits hold. */
#define NET_NORM_MOST 500u

/* Whether a factor's shift is within what net_requantize takes. */
static int is_factor(int32_t shift) {
    return (uint32_t)shift + 31 <= 61;
}

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

/* rule a b y n m */
static void rare_multiply(net_reader *r, const uint32_t *v) {
    const net_add_rule *rule = net_constant(r, net_times(r, v[0], 4), NET_A_BYTES, 4);
    uint32_t bytes = net_times(r, v[4], NET_ELEMENT);
    const int8_t *a = net_input(r, v[1], bytes);
    const int8_t *b = net_input(r, v[2], net_times(r, v[5], NET_ELEMENT));
    int8_t *y = (int8_t *)net_arena(r, v[3], bytes, NET_ELEMENT);
    if (!v[5]) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        net_multiply(rule, a, b, y, v[4], v[5]);
    }
}

/* table x y blocks n */
static void rare_gather(net_reader *r, const uint32_t *v) {
    const uint16_t *from = net_constant(r, net_times(r, v[0], 4), net_times(r, v[3], 2), 2);
    uint32_t n = net_times(r, v[4], NET_ELEMENT);
    int8_t *y = (int8_t *)net_arena(r, v[2], net_times(r, v[3], n), NET_ELEMENT);
    for (uint32_t block = 0; block < v[3] && !r->fault; block++) {
        uint32_t at = net_times(r, from[block], n);
        const int8_t *x = net_input(r, v[1] + 2 * at, n);
        for (uint32_t i = 0; i < n && !r->fault; i++) {
            *y++ = x[i];
        }
    }
}

/* g y n m x f zero table slot slot factor exponent */
static void rare_product_gradient(net_reader *r, const uint32_t *v) {
    net_product_args k;
    k.n = v[2];
    k.m = v[3];
    k.f = v[5];
    k.factor = v[10];
    k.zero = (int32_t)v[6] - 128;
    k.g = (int8_t *)net_arena(r, v[0], net_times(r, k.n, NET_ELEMENT), NET_ELEMENT);
    k.y = (int8_t *)net_arena(r, v[1], net_times(r, k.m, NET_ELEMENT), NET_ELEMENT);
    k.x = net_input(r, v[4], net_times(r, k.f, NET_ELEMENT));
    k.table = v[7] ? net_constant(r, net_times(r, v[7], 4), 256, 1) : 0;
    int16_t *from = net_slot(r, v[8]), *to = net_slot(r, v[9]);
    if (!k.m || !k.f || (NET_ELEMENT == 1 && (v[6] > 255 || k.factor > 32767))) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        *to = (int16_t)(*from + (int32_t)v[11] - 128 + net_product_gradient(&k));
    }
}

/* x y rows n extra factor exponent zero */
static void rare_norm(net_reader *r, const uint32_t *v) {
    net_norm_args k;
    k.rows = v[2];
    k.n = v[3];
    k.extra = v[4];
    k.factor = (int32_t)v[5];
    k.exponent = (int32_t)v[6] - 128;
    k.zero = (int32_t)v[7] - 128;
    uint32_t bytes = net_times(r, net_times(r, k.rows, k.n), NET_ELEMENT);
    k.x = net_input(r, v[0], bytes);
    k.y = (int8_t *)net_arena(r, v[1], bytes, NET_ELEMENT);
    if (!k.n || k.n > NET_NORM_MOST || k.exponent < -31 || k.exponent > 30) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        net_norm(&k);
    }
}

/* g x y rows n extra slot slot factor exponent */
static void rare_norm_gradient(net_reader *r, const uint32_t *v) {
    net_norm_args k;
    k.rows = v[3];
    k.n = v[4];
    k.extra = v[5];
    k.factor = (int32_t)v[8];
    uint32_t bytes = net_times(r, net_times(r, k.rows, k.n), NET_ELEMENT);
    k.g = (int8_t *)net_arena(r, v[0], bytes, NET_ELEMENT);
    k.x = net_input(r, v[1], bytes);
    k.y = (int8_t *)net_arena(r, v[2], bytes, NET_ELEMENT);
    int16_t *from = net_slot(r, v[6]), *to = net_slot(r, v[7]);
    if (!k.n || k.n > NET_NORM_MOST || (NET_ELEMENT == 1 && v[8] > 32767)) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        *to = (int16_t)(*from + (int32_t)v[9] - 128 + net_norm_gradient(&k));
    }
}

#if !defined(NET_FLOAT)
/* table x y h c rows cin n */
static void rare_lstm(net_reader *r, const uint32_t *v) {
    net_lstm_args k;
    k.rows = v[5];
    k.cin = v[6];
    k.n = v[7];
    k.record = net_constant(r, net_times(r, v[0], 4), sizeof(net_lstm_record), 4);
    k.x = net_input(r, v[1], net_times(r, k.rows, k.cin));
    k.y = (int8_t *)net_arena(r, v[2], net_times(r, k.rows, k.n), 1);
    k.h = (int8_t *)net_arena(r, v[3], k.n, 1);
    k.c = (int16_t *)net_arena(r, v[4], net_times(r, k.n, 2), 2);
    if (r->fault) {
        return;
    }
    uint32_t gates = net_times(r, k.n, 4);
    k.wi = net_constant(r, k.record->wi, net_times(r, gates, k.cin), 1);
    k.wr = net_constant(r, k.record->wr, net_times(r, gates, k.n), 1);
    k.bias = net_constant(r, k.record->bias, net_times(r, gates, 4), 4);
    k.table = net_constant(r, k.record->table, 512, 2);
    if (!k.n || (uint32_t)k.record->tangent_shift > 15) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        net_lstm(&k);
    }
}

/* table x y state cin n rank memory bytes */
static void rare_svdf(net_reader *r, const uint32_t *v) {
    net_svdf_args k;
    k.cin = v[4];
    k.n = v[5];
    k.rank = v[6];
    k.memory = v[7];
    k.bytes = v[8];
    uint32_t filters = net_times(r, k.n, k.rank);
    uint32_t bytes = net_times(r, net_times(r, filters, k.memory), k.bytes);
    k.record = net_constant(r, net_times(r, v[0], 4), sizeof(net_svdf_record), 4);
    k.x = net_input(r, v[1], k.cin);
    k.y = (int8_t *)net_arena(r, v[2], k.n, 1);
    k.state = net_arena(r, v[3], bytes, k.bytes == 1 ? 1 : 2);
    if (!k.memory || k.bytes - 1 > 1) {
        r->fault = NET_BAD_PLACE;
    }
    if (r->fault) {
        return;
    }
    k.wf = net_constant(r, k.record->wf, net_times(r, filters, k.cin), 1);
    k.wt = net_constant(r, k.record->wt, bytes, k.bytes);
    k.bias = net_constant(r, k.record->bias, net_times(r, k.n, 4), 4);
    if (!is_factor(k.record->shift[0]) || !is_factor(k.record->shift[1])) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        net_svdf(&k);
    }
}
#endif

/* rule q k v rows columns n m heads y work, and of a gradient g which slot slot factor exponent */
static void rare_attention(net_reader *r, int is_gradient) {
    const uint32_t *v = r->v;
    net_attention_args k;
    for (uint32_t i = 0; i < 5; i++) {
        k.counts[i] = v[4 + i];
        if (v[4 + i] - 1 >= NET_ATTENTION_MOST) {
            r->fault = NET_BAD_PLACE;
        }
    }
    k.which = is_gradient ? v[12] : 3;
    k.factor = (int32_t)v[15];
    uint32_t rows = k.rows * k.heads, columns = k.columns * k.heads;
    uint32_t n = k.n * NET_ELEMENT, m = k.m * NET_ELEMENT;
    uint32_t numbers = is_gradient ? net_attention_work(&k) : k.columns;
    k.rule = net_constant(r, net_times(r, v[0], 4), sizeof(net_attention_rule), 4);
    k.q = net_input(r, v[1], net_times(r, rows, n));
    k.k = net_input(r, v[2], net_times(r, columns, n));
    k.v = net_input(r, v[3], net_times(r, columns, m));
    k.y = (int8_t *)net_arena(r, v[9], net_times(r, k.which - 1 < 2 ? columns : rows,
        k.which < 2 ? n : m), NET_ELEMENT);
    k.work = (int32_t *)net_arena(r, v[10], 4 * numbers, 4);
    if (NET_ELEMENT == 1 && !r->fault && !(is_factor(k.rule->shift)
        && is_factor(k.rule->y_shift))) {
        r->fault = NET_BAD_PLACE;
    }
    if (!is_gradient) {
        if (!r->fault) {
            net_attention(&k);
        }
        return;
    }
    k.g = (int8_t *)net_arena(r, v[11], net_times(r, rows, m), NET_ELEMENT);
    int16_t *from = net_slot(r, v[13]), *to = net_slot(r, v[14]);
    if (k.which > 2 || (NET_ELEMENT == 1 && v[15] > 32767)) {
        r->fault = NET_BAD_PLACE;
    }
    if (!r->fault) {
        *to = (int16_t)(*from + (int32_t)v[16] - 128 + net_attention_gradient(&k));
    }
}

#if !defined(NET_SMALL)
/* Whether starts rise, and all places lie within the gradient. */
static int are_sound(const net_gathered_args *k, uint32_t places, uint32_t blocks) {
    for (uint32_t i = 0; i < k->blocks; i++) {
        if (k->starts[i] > k->starts[i + 1]) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < places; i++) {
        if (k->starts[k->blocks + 1 + i] >= blocks) {
            return 0;
        }
    }
    return 1;
}
#endif

/* table g y blocks n places slot slot */
static void rare_gather_gradient(net_reader *r, const uint32_t *v) {
    net_gathered_args k;
    uint32_t numbers = net_times(r, v[3], 1) + net_times(r, v[5], 1) + 1;
    k.blocks = v[3];
    k.n = v[4];
    k.starts = net_constant(r, net_times(r, v[0], 4), net_times(r, numbers, 2), 2);
    k.g = (int8_t *)net_arena(r, v[1],
        net_times(r, net_times(r, v[5], k.n), NET_ELEMENT), NET_ELEMENT);
    k.y = (int8_t *)net_arena(r, v[2],
        net_times(r, net_times(r, k.blocks, k.n), NET_ELEMENT), NET_ELEMENT);
    int16_t *from = net_slot(r, v[6]), *to = net_slot(r, v[7]);
#if !defined(NET_SMALL)
    if (!r->fault && (k.starts[k.blocks] > v[5] || !are_sound(&k, k.starts[k.blocks], v[5]))) {
        r->fault = NET_BAD_PLACE;
    }
#endif
    if (!r->fault) {
        *to = (int16_t)(*from + net_gather_gradient(&k));
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
        case NET_OP_MULTIPLY:
            rare_multiply(r, r->v);
            break;
        case NET_OP_GATHER:
            rare_gather(r, r->v);
            break;
        case NET_OP_PRODUCT_GRADIENT:
            rare_product_gradient(r, r->v);
            break;
#if !defined(NET_FLOAT)
        case NET_OP_LSTM:
            rare_lstm(r, r->v);
            break;
        case NET_OP_SVDF:
            rare_svdf(r, r->v);
            break;
#endif
        case NET_OP_NORM:
            rare_norm(r, r->v);
            break;
        case NET_OP_NORM_GRADIENT:
            rare_norm_gradient(r, r->v);
            break;
        case NET_OP_GATHER_GRADIENT:
            rare_gather_gradient(r, r->v);
            break;
        case NET_OP_ATTENTION:
        case NET_OP_ATTENTION_GRADIENT:
            rare_attention(r, op == NET_OP_ATTENTION_GRADIENT);
            break;
        default:
            return 0;
    }
    return 1;
}
