/* SPDX-License-Identifier: MIT */
#include "rangecoder.h"

#define TOP (1u << 22)
#define LAST_USE 48

typedef struct {
    rc_state *s;
    const uint8_t *next;
} reader;

void rc_reset(rc_state *s) {
    for (uint32_t i = 0; i < RC_SETS * RC_PER_SET; i++) {
        s->p[i] = 16384;
        s->n[i] = 0;
    }
    s->near = 0;
    s->code = 0;
    s->range = (1u << 30) - 1;
}

void rc_start(rc_state *s, const uint8_t *input) {
    s->code = (uint32_t)(input[0] & 63) << 24 | (uint32_t)input[1] << 16
        | (uint32_t)input[2] << 8 | input[3];
    s->range = (1u << 30) - 1;
}

/* How fast the n-th use of a probability moves it. */
static uint32_t rate(uint32_t n) {
    if (n < 11) {
        return n < 2 ? 2 : n < 5 ? 3 : 4;
    }
    return n < 23 ? 5 : n < LAST_USE ? 6 : 7;
}

static void normalise(reader *r) {
    while (r->s->range < TOP) {
        r->s->range <<= 8;
        r->s->code = r->s->code << 8 | *r->next++;
    }
}

static uint32_t get_bit(reader *r, uint32_t index) {
    rc_state *s = r->s;
    uint32_t p = s->p[index], n = s->n[index];
    uint32_t bound = (s->range >> 15) * p;
    uint32_t bit = s->code >= bound;
    if (bit) {
        s->code -= bound;
        s->range -= bound;
        p -= p >> rate(n);
    } else {
        s->range = bound;
        p += (32768 - p) >> rate(n);
    }
    s->p[index] = (uint16_t)p;
    if (n < LAST_USE) {
        s->n[index] = (uint8_t)(n + 1);
    }
    normalise(r);
    return bit;
}

static uint32_t get_plain(reader *r) {
    rc_state *s = r->s;
    uint32_t size = 0;
    for (uint32_t i = 0; i < 7; i++) {
        s->range >>= 1;
        uint32_t bit = s->code >= s->range;
        if (bit) {
            s->code -= s->range;
        }
        size = size << 1 | bit;
        normalise(r);
    }
    return size;
}

static uint32_t set_of(uint32_t near) {
    static const uint8_t limits[RC_SETS - 1] = {6, 16, 28, 40, 58, 88, 144};
    uint32_t k = 0;
    for (uint32_t i = 0; i < RC_SETS - 1; i++) {
        k += near >= limits[i];
    }
    return k;
}

/* The difference, modulo 256. */
static uint32_t difference(reader *r) {
    rc_state *s = r->s;
    uint32_t base = set_of(s->near) * RC_PER_SET;
    s->near -= s->near >> 2;
    if (!get_bit(r, base)) {
        return 0;
    }
    uint32_t negative = get_bit(r, base + 1);
    uint32_t size = 1;
    while (size <= RC_UNARY && get_bit(r, base + 1 + size)) {
        size++;
    }
    if (size > RC_UNARY) {
        size = RC_UNARY + 1 + get_plain(r);
    }
    s->near += (size < 15 ? size : 15) << 4;
    return negative ? 0u - size : size;
}

uint32_t rc_block(rc_state *s, const uint8_t *input, uint32_t have, uint32_t *at,
    const uint8_t *base, uint8_t *out, uint32_t k, uint32_t n) {
    reader r = {s, input + *at};
    while (k < n && (uint32_t)(r.next - input) + RC_NEED_BYTES <= have) {
        out[k] = (uint8_t)(base[k] + difference(&r));
        k++;
    }
    *at = (uint32_t)(r.next - input);
    return k;
}
