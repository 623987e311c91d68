/* SPDX-License-Identifier: MIT
 * SHA-256 (FIPS 180-4). The schedule is computed in place in 16 words. */
#include "sha256.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define ROR(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define S0(x) (ROR(x, 2) ^ ROR(x, 13) ^ ROR(x, 22))
#define S1(x) (ROR(x, 6) ^ ROR(x, 11) ^ ROR(x, 25))
#define G0(x) (ROR(x, 7) ^ ROR(x, 18) ^ (x) >> 3)
#define G1(x) (ROR(x, 17) ^ ROR(x, 19) ^ (x) >> 10)

/* One round; the caller renames the eight variables instead of moving them. The majority of
 * a, b, c is b ^ ((a ^ b) & (b ^ c)), and b ^ c is a ^ b of the round before. */
#define ROUND(a, b, c, d, e, f, g, h, i) do { \
        h += (g ^ (e & (f ^ g))) + k[i] + w[i]; \
        h += S1(e); \
        d += h; \
        uint32_t ab = a ^ b; \
        h += S0(a); \
        bc &= ab; \
        h += b ^ bc; \
        bc = ab; \
    } while (0)

#define EIGHT(i) do { \
        ROUND(a, b, c, d, e, f, g, h, i); \
        ROUND(h, a, b, c, d, e, f, g, i + 1); \
        ROUND(g, h, a, b, c, d, e, f, i + 2); \
        ROUND(f, g, h, a, b, c, d, e, i + 3); \
        ROUND(e, f, g, h, a, b, c, d, i + 4); \
        ROUND(d, e, f, g, h, a, b, c, i + 5); \
        ROUND(c, d, e, f, g, h, a, b, i + 6); \
        ROUND(b, c, d, e, f, g, h, a, i + 7); \
    } while (0)

static void schedule(uint32_t *w) {
    for (uint32_t i = 0; i < 16; i++) {
        w[i] += G0(w[(i + 1) & 15]) + w[(i + 9) & 15] + G1(w[(i + 14) & 15]);
    }
}

static void compress(sha256_state *s) {
    uint32_t *w = s->w;
    const uint32_t *k = K;
    uint32_t a = s->h[0], b = s->h[1], c = s->h[2], d = s->h[3];
    uint32_t e = s->h[4], f = s->h[5], g = s->h[6], h = s->h[7];
    uint32_t bc = b ^ c;
    for (;;) {
#if defined(CODEC_SMALL)
        for (uint32_t i = 0; i < 16; i++) {
            ROUND(a, b, c, d, e, f, g, h, i);
            uint32_t first = h;
            h = g, g = f, f = e, e = d, d = c, c = b, b = a, a = first;
        }
#else
        EIGHT(0);
        EIGHT(8);
#endif
        k += 16;
        if (k == K + 64) {
            break;
        }
        schedule(w);
    }
    s->h[0] += a;
    s->h[1] += b;
    s->h[2] += c;
    s->h[3] += d;
    s->h[4] += e;
    s->h[5] += f;
    s->h[6] += g;
    s->h[7] += h;
}

void sha256_start(sha256_state *s) {
    static const uint32_t first[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    for (uint32_t i = 0; i < 8; i++) {
        s->h[i] = first[i];
    }
    s->bytes = 0;
}

static void put(sha256_state *s, uint32_t byte) {
    uint32_t at = s->bytes & 63;
    s->w[at >> 2] = s->w[at >> 2] << 8 | byte;
    s->bytes++;
    if (at == 63) {
        compress(s);
    }
}

void sha256_update(sha256_state *s, const uint8_t *data, uint32_t n) {
    const uint8_t *end = data + n;
    while (data != end) {
        if ((s->bytes & 63) == 0 && end - data >= 64) {
            for (uint32_t i = 0; i < 16; i++) {
                s->w[i] = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16
                    | (uint32_t)data[2] << 8 | data[3];
                data += 4;
            }
            s->bytes += 64;
            compress(s);
        } else {
            put(s, *data++);
        }
    }
}

void sha256_finish(sha256_state *s, uint8_t *out) {
    uint32_t bytes = s->bytes;
    put(s, 0x80);
    while ((s->bytes & 63) != 56) {
        put(s, 0);
    }
    for (uint32_t i = 0; i < 8; i++) {
        /* the length in bits as 64-bit number; its upper 3 bytes are always 0 */
        uint32_t shift = 8 * (7 - i);
        put(s, shift == 0 ? bytes << 3 & 255 : shift > 32 ? 0 : bytes >> (shift - 3) & 255);
    }
    for (uint32_t i = 0; i < 32; i++) {
        out[i] = (uint8_t)(s->h[i >> 2] >> (24 - 8 * (i & 3)));
    }
}
