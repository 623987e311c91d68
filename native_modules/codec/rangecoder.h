/* SPDX-License-Identifier: MIT
 * Decoder of int8 differences: bit for bit what acclimate/rangecoder.py does. */
#ifndef ACCLIMATE_RANGECODER_H
#define ACCLIMATE_RANGECODER_H

#include <stdint.h>

#define RC_SETS 8
#define RC_UNARY 14
#define RC_PER_SET 16
#define RC_NEED_BYTES 24

typedef struct {
    uint32_t code;
    uint32_t range;
    uint32_t near;
    uint16_t p[RC_SETS * RC_PER_SET];
    uint8_t n[RC_SETS * RC_PER_SET];
} rc_state;

void rc_reset(rc_state *s);
/* Takes 4 bytes. */
void rc_start(rc_state *s, const uint8_t *input);
/* out[k..n) = base + difference while RC_NEED_BYTES of input are left; returns the next k.
 * at: in, the place in the input of `have` bytes; out, the place after what was used. */
uint32_t rc_block(rc_state *s, const uint8_t *input, uint32_t have, uint32_t *at,
    const uint8_t *base, uint8_t *out, uint32_t k, uint32_t n);

#endif
