/* SPDX-License-Identifier: MIT
 * SHA-256, with all of its state in one block of memory that the caller owns. */
#ifndef ACCLIMATE_SHA256_H
#define ACCLIMATE_SHA256_H

#include <stdint.h>

#if defined(ACCLIMATE_USER_MODULE) /* MicroPython's own hashlib has functions of these names */
#define sha256_start acclimate_sha256_start
#define sha256_update acclimate_sha256_update
#define sha256_finish acclimate_sha256_finish
#endif

typedef struct {
    uint32_t h[8];
    uint32_t w[16]; /* the block: big-endian words once it is full */
    uint32_t bytes; /* below 2^29 */
} sha256_state;

void sha256_start(sha256_state *s);
void sha256_update(sha256_state *s, const uint8_t *data, uint32_t n);
void sha256_finish(sha256_state *s, uint8_t *out);

#endif
