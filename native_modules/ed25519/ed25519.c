/* SPDX-License-Identifier: MIT
 * Ed25519 over Monocypher's curve (see tools/monocypher_source.sh). The library's own check leaves out
 * points of small order in R and takes encodings that are not canonical; OpenSSL does neither. So the
 * equation is the plain one of RFC 8032 here, and R is compared byte by byte. */
#include "ed25519.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#include "monocypher.c"
#pragma GCC diagnostic pop
#include "sha512.c"

/* Tell whether the 255 bits of y are below 2^255 - 19. */
static int is_canonical(const uint8_t y[32]) {
    uint32_t i = 31;
    if ((y[31] & 127) != 127) {
        return 1;
    }
    while (--i && y[i] == 255) {
    }
    return i || y[0] < 237;
}

/* Decode the negative of a key; return whether a board takes it. */
static int decode(ge *minus_key, const uint8_t key[32]) {
    if (!is_canonical(key) || ge_frombytes_neg_vartime(minus_key, key)) {
        return 0;
    }
    ge eight, work;
    ge_double(&eight, minus_key, &work);
    ge_double(&eight, &eight, &work);
    ge_double(&eight, &eight, &work);
    fe_0(work.X);
    return !fe_isequal(eight.X, work.X); /* 8 A is the neutral point where A is of small order */
}

int ed25519_is_key(const uint8_t key[32]) {
    ge point;
    return decode(&point, key);
}

/* h = SHA-512(R, A, message) modulo the order of the group. */
static void challenge(uint8_t h[32], const uint8_t *signature, const uint8_t *key,
    const uint8_t *message, uint32_t n) {
    sha512_state s;
    uint8_t whole[64];
    sha512_start(&s);
    sha512_update(&s, signature, 32);
    sha512_update(&s, key, 32);
    sha512_update(&s, message, n);
    sha512_finish(&s, whole);
    crypto_eddsa_reduce(h, whole);
}

/* Add, or take away, the table's entry of an odd digit; nothing for 0. */
static void add_digit(ge *sum, const ge_cached *table, int digit) {
    if (digit > 0) {
        ge_add(sum, sum, table + digit / 2);
    } else if (digit < 0) {
        ge_sub(sum, sum, table + -digit / 2);
    }
}

static void add_base_digit(ge *sum, int digit) {
    fe a, b;
    if (digit > 0) {
        ge_madd(sum, sum, b_window + digit / 2, a, b);
    } else if (digit < 0) {
        ge_msub(sum, sum, b_window + -digit / 2, a, b);
    }
}

/* sum = [s]B + [h]P, with P in sum at first; both numbers are below the order of the group. */
static void combine(ge *sum, const uint8_t s[32], const uint8_t h[32]) {
    ge_cached odd[2];
    ge work, two;
    slide_ctx of_h, of_s;
    ge_cache(odd, sum);
    ge_double(&two, sum, &work);
    ge_add(&two, &two, odd);
    ge_cache(odd + 1, &two);
    slide_init(&of_h, h);
    slide_init(&of_s, s);
    ge_zero(sum);
    for (int i = 253; i >= 0; i--) {
        ge_double(sum, sum, &work);
        add_digit(sum, odd, slide_step(&of_h, 3, i, h));
        add_base_digit(sum, slide_step(&of_s, 5, i, s));
    }
}

int ed25519_verify(const uint8_t signature[64], const uint8_t key[32], const uint8_t *message,
    uint32_t n) {
    const uint8_t *s = signature + 32;
    uint32_t words[8];
    uint8_t h[32];
    ge point;
    load32_le_buf(words, s, 8);
    if (is_above_l(words) || !decode(&point, key)) {
        return 0;
    }
    challenge(h, signature, key, message, n);
    combine(&point, s, h);
    ge_tobytes(h, &point); /* always canonical, so R has to be, too */
    return !crypto_verify32(h, signature);
}
