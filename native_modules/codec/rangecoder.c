/* SPDX-License-Identifier: MIT */
#include "rangecoder.h"

#define TOP (1u << 22)
#define BITS_MAX 20
#define RARE 9

typedef struct {
    rc_state *s;
    const uint8_t *next;
} reader;

static void normalise(reader *r) {
    while (r->s->range < TOP) {
        r->s->range <<= 8;
        r->s->code = r->s->code << 8 | *r->next++;
    }
}

/* How fast a chance moves that was used n times. */
static uint32_t rate(uint32_t n) {
    return n < 5 ? 2 + (n > 1) : n < 9 ? 4 : n < 13 ? 5 : 6;
}

static uint32_t get_bit(reader *r, uint32_t index) {
    rc_state *s = r->s;
    uint32_t p = s->chance[index] >> 4, n = s->chance[index] & 15;
    uint32_t bound = (s->range >> 12) * p;
    uint32_t bit = s->code >= bound;
    if (bit) {
        s->code -= bound;
        s->range -= bound;
        p -= p >> rate(n);
    } else {
        s->range = bound;
        p += (4096 - p) >> rate(n);
    }
    if (n < RARE || (n < 15 && !(s->range >> 12 & 3))) {
        n++;
    }
    s->chance[index] = (uint16_t)(p << 4 | n);
    normalise(r);
    return bit;
}

static uint32_t get_plain(reader *r, uint32_t value, uint32_t bits) {
    rc_state *s = r->s;
    while (bits--) {
        s->range >>= 1;
        uint32_t bit = s->code >= s->range;
        if (bit) {
            s->code -= s->range;
        }
        value = value << 1 | bit;
        normalise(r);
    }
    return value;
}

void rc_start(rc_state *s, const uint8_t *input) {
    for (uint32_t i = 0; i < RC_CHANCES; i++) {
        s->chance[i] = 2048 << 4;
    }
    s->near = 0;
    s->last = s->lane = 0;
    s->code = (uint32_t)(input[0] & 63) << 24 | (uint32_t)input[1] << 16
        | (uint32_t)input[2] << 8 | input[3];
    s->range = (1u << 30) - 1;
    reader r = {s, input + 4}; /* the range is large: nothing more is read */
    s->has_lanes = (uint8_t)get_plain(&r, 0, 1);
}

/* A number from 1 on: how many bits follow its first in unary, then those bits. */
static uint32_t get_number(reader *r, uint32_t chances, uint32_t most) {
    uint32_t bits = 0;
    while (bits < BITS_MAX && get_bit(r, chances + (bits < most ? bits : most - 1))) {
        bits++;
    }
    return get_plain(r, 1, bits);
}

static int32_t jump(reader *r) {
    uint32_t negative = get_bit(r, RC_SIGN), at = 1, low = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t bit = get_bit(r, RC_LOW + at);
        low |= bit << i;
        at = at << 1 | bit;
    }
    int32_t way = (int32_t)(((get_number(r, RC_HIGH, RC_HIGH_MAX) - 1) << 4) + low);
    return negative ? -way : way;
}

uint32_t rc_head(rc_state *s, const uint8_t *input, int32_t *head) {
    reader r = {s, input};
    uint32_t last = s->last, kind = RC_DATA;
    if (get_bit(&r, RC_KIND + 2 * last)) {
        kind = get_bit(&r, RC_KIND + 2 * last + 1) ? RC_DIFF : RC_COPY;
    }
    s->last = (uint8_t)(kind - 1);
    uint32_t length = get_number(&r, RC_LENGTH + RC_LENGTH_MAX * (kind - 1), RC_LENGTH_MAX);
    head[0] = (int32_t)kind;
    head[1] = (int32_t)length;
    head[2] = 0;
    if (kind != RC_DATA && get_bit(&r, RC_SAME + last)) {
        head[2] = 2;
        if (!get_bit(&r, RC_BACK)) {
            head[2] = 1;
            head[3] = jump(&r);
        }
    }
    if (kind == RC_COPY) {
        s->lane = (uint8_t)((s->lane + length) & 3);
    }
    return (uint32_t)(r.next - input);
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
    while (size <= RC_UNARY
        && get_bit(r, size <= RC_OWN ? base + 1 + size : RC_LARGER - RC_OWN - 1 + size)) {
        size++;
    }
    if (size > RC_UNARY) {
        size = RC_UNARY + 1 + get_plain(r, 0, 7);
    }
    s->near += (size < 15 ? size : 15) << 4;
    return negative ? 0u - size : size;
}

static uint32_t half(reader *r, uint32_t chances) {
    uint32_t at = 1;
    while (at < 16) {
        at = at << 1 | get_bit(r, chances + at - 1);
    }
    return at & 15;
}

static uint32_t plain_byte(reader *r) {
    rc_state *s = r->s;
    uint32_t lane = s->has_lanes ? s->lane * 15u : 0;
    uint32_t high = half(r, RC_TOP_HALF + lane);
    return high << 4 | half(r, RC_LOW_HALF + (s->has_lanes ? lane : (high >> 2) * 15));
}

uint32_t rc_block(rc_state *s, const uint8_t *input, uint32_t have, uint32_t *at,
    const uint8_t *base, uint8_t *out, uint32_t k, uint32_t n, uint32_t kind) {
    reader r = {s, input + *at};
    while (k < n && (uint32_t)(r.next - input) + RC_NEED_BYTES <= have) {
        out[k] = (uint8_t)(kind == RC_DATA ? plain_byte(&r) : base[k] + difference(&r));
        s->lane = (s->lane + 1) & 3;
        k++;
    }
    *at = (uint32_t)(r.next - input);
    return k;
}
