/* SPDX-License-Identifier: MIT
 * SHA-512 (FIPS 180-4), for messages of less than 2^29 bytes. */
#ifndef ACCLIMATE_SHA512_H
#define ACCLIMATE_SHA512_H

#include <stdint.h>

typedef struct {
    uint64_t h[8];
    uint64_t w[16];
    uint32_t bytes;
} sha512_state;

static void sha512_start(sha512_state *s);
static void sha512_update(sha512_state *s, const uint8_t *data, uint32_t n);
static void sha512_finish(sha512_state *s, uint8_t out[64]);

#endif
