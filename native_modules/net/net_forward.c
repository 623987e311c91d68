/* SPDX-License-Identifier: MIT
 * Instructions of the forward pass. */
#include "net_read.h"

/* Elements from the first to the last of a region of rows. */
static inline uint32_t region(net_reader *r, uint32_t rows, uint32_t pitch, uint32_t row) {
    if (!rows) {
        r->fault = NET_BAD_PLACE;
        return 0;
    }
    return net_times(r, net_times(r, rows - 1, pitch) + row, NET_ELEMENT);
}

static inline uint32_t elements(net_reader *r, uint32_t a, uint32_t b, uint32_t c) {
    return net_times(r, net_times(r, a, b), c);
}

/* The mask of a convolution, cleared; `at` is its operand. */
static uint8_t *get_mask(net_reader *r, uint32_t at, const net_conv_args *k) {
    uint32_t bytes = (elements(r, k->oh, k->ow, k->cout) + 7) >> 3;
    uint8_t *mask = net_optional(r, r->call->par[NET_TRAINING] ? at : 0, bytes, 1);
    for (uint32_t i = 0; i < bytes && mask; i++) {
        mask[i] = 0;
    }
    return mask;
}

/* layer mask x window, as all convolutions begin. */
static const net_layer *get_first(net_reader *r, net_conv_args *k) {
    const net_layer *layer = net_get_layer(r, r->v[0]);
    if (layer) {
        net_get_conv(r, layer, r->v + 3, k);
        k->x = net_input(r, r->v[2],
            region(r, k->h, (uint32_t)k->x_pitch, (uint32_t)k->w_in * k->cin));
        k->mask = get_mask(r, r->v[1], k);
    }
    return layer;
}

/* work bytes */
static void get_work(net_reader *r, const uint32_t *v, net_conv_args *k) {
    k->work = net_optional(r, v[0], v[1], 4);
    k->work_bytes = v[0] ? v[1] : 0;
}

/* A tensor like y, at an offset. */
static int8_t *get_y(net_reader *r, uint32_t at, const net_conv_args *k) {
    return (int8_t *)net_arena(r, at,
        region(r, k->oh, (uint32_t)k->y_pitch, (uint32_t)k->ow * k->cout), NET_ELEMENT);
}

static void run_conv(net_reader *r, int adds) {
    net_conv_args k;
    const net_layer *layer = get_first(r, &k);
    if (r->fault) {
        return;
    }
    k.y = get_y(r, r->v[9], &k);
    get_work(r, r->v + 10, &k);
    if (adds) {
        k.add = net_constant(r, net_times(r, r->v[12], 4), NET_A_BYTES, 4);
        k.other = get_y(r, r->v[13], &k);
    }
    int depthwise = net_is_depthwise(layer);
    if (!r->fault) {
        r->fault = depthwise ? net_depthwise(&k, 0, k.cout) : net_conv(&k, 0, k.cout);
    }
}

/* A convolution hands its channels, `planes` at a time, to a depthwise one. */
static void run_conv_depthwise(net_reader *r) {
    net_conv_args a, b;
    uint32_t y_pitch = r->y_pitch, planes = r->v[10];
    r->y_pitch = 0;
    get_first(r, &a);
    const net_layer *layer = net_get_layer(r, r->v[11]);
    if (r->fault) {
        return;
    }
    r->y_pitch = y_pitch;
    r->x_pitch = 0;
    net_get_conv(r, layer, r->v + 13, &b);
    b.mask = get_mask(r, r->v[12], &b);
    b.y = get_y(r, r->v[19], &b);
    get_work(r, r->v + 20, &b);
    a.y = (int8_t *)net_arena(r, r->v[9],
        net_times(r, net_times(r, planes, NET_ELEMENT), (uint32_t)a.oh * a.ow), NET_ELEMENT);
    if (b.cin != a.cout || b.h != a.oh || b.w_in != a.ow || !planes || !net_is_depthwise(layer)) {
        r->fault = NET_BAD_PLACE;
    }
    a.work = b.work;
    a.work_bytes = b.work_bytes;
    a.y_step = b.x_step = (uint16_t)planes;
    a.y_pitch = b.x_pitch = (int32_t)(a.ow * planes);
    b.x = a.y;
    for (uint32_t c = 0, end = 0; c < a.cout && !r->fault; c = end, b.y += planes * NET_ELEMENT) {
        end = a.cout - c < planes ? a.cout : c + planes;
        r->fault = net_conv(&a, c, end);
        r->fault |= net_depthwise(&b, c, end);
    }
}

static void run_depthwise_in_place(net_reader *r) {
    net_conv_args k;
    const net_layer *layer = get_first(r, &k);
    if (r->fault) {
        return;
    }
    uint32_t pixels = net_times(r, k.oh, k.ow);
    get_work(r, r->v + 10, &k);
    k.y = (int8_t *)net_arena(r, r->v[9], net_times(r, pixels, NET_ELEMENT), NET_ELEMENT);
    if (!net_is_depthwise(layer) || k.oh > k.h || k.ow > k.w_in || k.pad_top >= k.kh) {
        r->fault = NET_BAD_PLACE;
    }
    if (r->fault) {
        return;
    }
#if defined(NET_FAST)
    /* It copies the rows that it still needs. */
    k.y = (int8_t *)k.x;
    r->fault = net_depthwise(&k, 0, k.cout);
#else
    k.y_step = 1;
    k.y_pitch = k.ow;
    for (uint32_t c = 0; c < k.cout; c++, k.x += NET_ELEMENT) {
        net_depthwise(&k, c, c + 1);
        net_element *to = (net_element *)k.x;
        for (uint32_t p = 0; p < pixels; p++, to += k.cout) {
            *to = ((net_element *)k.y)[p];
        }
    }
#endif
}

static void run_add(net_reader *r) {
    const net_add_rule *rule = net_constant(r, net_times(r, r->v[0], 4), NET_A_BYTES, 4);
    uint32_t n = r->v[4], bytes = net_times(r, n, NET_ELEMENT);
    const int8_t *a = net_input(r, r->v[1], bytes), *b = net_input(r, r->v[2], bytes);
    int8_t *y = (int8_t *)net_arena(r, r->v[3], bytes, NET_ELEMENT);
    if (!r->fault) {
        net_add(rule, a, b, y, n);
    }
}

/* x y window kh kw sh sw channels low high */
static void run_pool(net_reader *r, uint32_t op) {
    net_conv_args k;
    net_get_pool(r->v + 2, &k);
    k.low = (int8_t)(r->v[13] - 128);
    k.high = (int8_t)(r->v[14] - 128);
    k.x = net_input(r, r->v[0], net_times(r, elements(r, k.h, k.w_in, k.cin), NET_ELEMENT));
    k.y = (int8_t *)net_arena(r, r->v[1], net_times(r, elements(r, k.oh, k.ow, k.cin),
        NET_ELEMENT), NET_ELEMENT);
    if (r->fault) {
        return;
    }
    if (op == NET_OP_PAD) {
        net_pad(&k);
    } else {
        net_pool(&k, op == NET_OP_MAX_POOL);
    }
}

static void run_lookup(net_reader *r) {
    const int8_t *table = net_constant(r, net_times(r, r->v[0], 4), 256, 1);
    uint32_t n = r->v[3];
    const int8_t *x = net_input(r, r->v[1], n);
    int8_t *y = (int8_t *)net_arena(r, r->v[2], n, 1);
    for (uint32_t i = 0; i < n && !r->fault; i++) {
        y[i] = table[x[i] + 128];
    }
}

int net_forward(net_reader *r, uint32_t op) {
    switch (op) {
        case NET_OP_CONV:
        case NET_OP_CONV_ADD:
            run_conv(r, op == NET_OP_CONV_ADD);
            break;
        case NET_OP_CONV_DEPTHWISE:
            run_conv_depthwise(r);
            break;
        case NET_OP_DEPTHWISE_IN_PLACE:
            run_depthwise_in_place(r);
            break;
        case NET_OP_ADD:
            run_add(r);
            break;
        case NET_OP_AVERAGE_POOL:
        case NET_OP_MAX_POOL:
        case NET_OP_PAD:
            run_pool(r, op);
            break;
        case NET_OP_LOOKUP:
            run_lookup(r);
            break;
        default:
            return 0;
    }
    return 1;
}
