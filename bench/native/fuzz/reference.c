/* SPDX-License-Identifier: MIT
 * Bit by bit from FIPS 180-4, from the definition of CRC-32, and from docs/capsules.md. */
#include "reference.h"
#include <math.h>
#include <string.h>

uint32_t reference_crc32(const uint8_t *data, size_t n) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < 8 * n; i++) {
        uint32_t bit = (data[i / 8] >> i % 8 ^ crc) & 1;
        crc = crc >> 1 ^ (bit ? 0xedb88320 : 0);
    }
    return crc;
}

static uint32_t turn(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

/* The first 32 bits of the fraction of the root of the i-th prime. */
static uint32_t root(int i, int cube) {
    int prime = 1, found = -1;
    while (found < i) {
        prime++;
        int divides = 0;
        for (int d = 2; d * d <= prime; d++) {
            divides |= prime % d == 0;
        }
        found += !divides;
    }
    long double whole = cube ? cbrtl(prime) : sqrtl(prime);
    return (uint32_t)((whole - floorl(whole)) * 4294967296.0L);
}

static void block(uint32_t *h, const uint8_t *p, const uint32_t *k) {
    uint32_t w[64], v[8];
    memcpy(v, h, sizeof(v));
    for (int t = 0; t < 64; t++) {
        if (t < 16) {
            w[t] = (uint32_t)p[4 * t] << 24 | (uint32_t)p[4 * t + 1] << 16
                | (uint32_t)p[4 * t + 2] << 8 | p[4 * t + 3];
        } else {
            uint32_t a = w[t - 15], b = w[t - 2];
            w[t] = w[t - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[t - 7]
                + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
        }
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25))
            + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[t] + w[t];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22))
            + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) {
        h[i] += v[i];
    }
}

void reference_sha256(const uint8_t *data, size_t n, uint8_t *digest) {
    static uint32_t start[8], k[64];
    if (!k[0]) {
        for (int i = 0; i < 64; i++) {
            k[i] = root(i, 1);
            start[i % 8] = root(i % 8, 0);
        }
    }
    uint32_t h[8];
    memcpy(h, start, sizeof(h));
    uint8_t last[128] = {0};
    size_t rest = n % 64, more = rest < 56 ? 64 : 128;
    for (size_t i = 0; i + 64 <= n; i += 64) {
        block(h, data + i, k);
    }
    if (rest) {
        memcpy(last, data + n - rest, rest);
    }
    last[rest] = 128;
    for (int i = 0; i < 8; i++) {
        last[more - 1 - i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
    }
    block(h, last, k);
    if (more == 128) {
        block(h, last + 64, k);
    }
    for (int i = 0; i < 32; i++) {
        digest[i] = (uint8_t)(h[i / 4] >> (24 - i % 4 * 8));
    }
}

/* A coded number: where the code lies in an interval, kept in 64 bits. */
typedef struct {
    const uint8_t *code;
    size_t have, at;
    uint64_t offset, width;
} interval;

static uint8_t next(interval *v) {
    uint8_t byte = v->at < v->have ? v->code[v->at] : 0;
    v->at++;
    return byte;
}

static int split(interval *v, uint64_t below) {
    int upper = v->offset >= below;
    v->offset -= upper ? below : 0;
    v->width = upper ? v->width - below : below;
    while (v->width < (1u << 22)) {
        v->width = v->width << 8 & 0xffffffff;
        v->offset = (v->offset << 8 | next(v)) & 0xffffffff;
    }
    return upper;
}

/* A chance is a 0's in 1/4096; it moves by a share that falls with its uses. */
typedef struct {
    uint32_t zero;
    int uses;
} chance;

static int bit(interval *v, chance *c) {
    static const int speeds[16] = {2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6};
    uint64_t below = (v->width >> 12) * c->zero;
    uint64_t width = v->offset >= below ? v->width - below : below;
    int one = v->offset >= below, speed = speeds[c->uses];
    c->zero = one ? c->zero - (c->zero >> speed) : c->zero + ((4096 - c->zero) >> speed);
    if (c->uses < 9) {
        c->uses++;
    } else if (c->uses < 15) {
        c->uses += (width >> 12) % 4 == 0;
    }
    split(v, below);
    return one;
}

static int even(interval *v) {
    v->width &= ~1ull; /* both halves are the smaller one */
    return split(v, v->width / 2);
}

typedef struct {
    chance sets[8][8], larger[8], kind[3][2], same[3], back, sign, low[16], high[12], length[3][11];
    chance top[4][16], bottom[4][16];
} chances;

static uint32_t number(interval *v, chance *c, int most) {
    int bits = 0;
    while (bits < 20 && bit(v, &c[bits < most ? bits : most - 1])) {
        bits++;
    }
    uint32_t value = 1;
    for (int i = 0; i < bits; i++) {
        value = value * 2 + even(v);
    }
    return value;
}

static int difference(interval *v, chances *all, int *near) {
    static const int limits[7] = {6, 16, 28, 40, 58, 88, 144};
    int set = 0, size = 0, negative = 0;
    while (set < 7 && *near >= limits[set]) {
        set++;
    }
    chance *c = all->sets[set];
    if (bit(v, c)) {
        negative = bit(v, c + 1);
        size = 1;
        while (size < 15 && bit(v, size < 7 ? c + 1 + size : &all->larger[size - 7])) {
            size++;
        }
        if (size == 15) {
            int more = 0;
            for (int i = 0; i < 7; i++) {
                more = more * 2 + even(v);
            }
            size += more;
        }
    }
    *near = *near - *near / 4 + 16 * (size < 15 ? size : 15);
    return negative ? -size : size;
}

static int half(interval *v, chance *tree) {
    int node = 1;
    for (int i = 0; i < 4; i++) {
        node = node * 2 + bit(v, &tree[node]);
    }
    return node - 16;
}

static int32_t jump(interval *v, chances *all) {
    int negative = bit(v, &all->sign), node = 1, low = 0;
    for (int i = 0; i < 4; i++) {
        int one = bit(v, &all->low[node]);
        low += one << i;
        node = node * 2 + one;
    }
    int32_t way = (int32_t)(16 * (number(v, all->high, 12) - 1)) + low;
    return negative ? -way : way;
}

void reference_instructions(const uint8_t *code, size_t have, const uint8_t *base, uint8_t *out,
    size_t total, int32_t *heads, size_t heads_max) {
    chances all;
    for (size_t i = 0; i < sizeof(all) / sizeof(chance); i++) {
        ((chance *)&all)[i] = (chance){2048, 0};
    }
    interval v = {code, have, 0, 0, (1u << 30) - 1};
    for (int i = 0; i < 4; i++) {
        v.offset = v.offset << 8 | (i ? next(&v) : next(&v) & 63);
    }
    int near = 0, last = 0, has_lanes = even(&v);
    size_t k = 0, lane = 0;
    for (size_t i = 0; k < total && i < heads_max; i++) {
        int kind = bit(&v, &all.kind[last][0]) ? bit(&v, &all.kind[last][1]) ? 3 : 1 : 2;
        uint32_t length = number(&v, all.length[kind - 1], 11);
        int32_t way = 0, far = 0;
        if (kind != 2 && bit(&v, &all.same[last])) {
            way = bit(&v, &all.back) ? 2 : 1;
            far = way == 1 ? jump(&v, &all) : 0;
        }
        last = kind - 1;
        memcpy(heads + 4 * i, (int32_t[4]){kind, (int32_t)length, way, far}, 16);
        for (uint32_t j = 0; j < length && (kind == 1 || k < total); j++, lane = (lane + 1) % 4) {
            if (kind == 1) {
                lane = (lane + length - 1) % 4;
                j = length - 1;
            } else if (kind == 2) {
                int high = half(&v, all.top[has_lanes ? lane : 0]);
                out[k++] = (uint8_t)(16 * high + half(&v, all.bottom[has_lanes ? lane : high / 4]));
            } else {
                out[k] = (uint8_t)(base[k] + difference(&v, &all, &near));
                k++;
            }
        }
    }
}
