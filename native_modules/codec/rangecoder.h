/* SPDX-License-Identifier: MIT
 * Decoder of update instructions: bit for bit what acclimate/store/rangecoder.py does. */
#ifndef ACCLIMATE_RANGECODER_H
#define ACCLIMATE_RANGECODER_H

#include <stdint.h>

#define RC_SETS 8
#define RC_UNARY 14
#define RC_PER_SET 8
#define RC_LARGER 64
#define RC_OWN 6
/* Where the chances begin that are not a set's; see the Python file. */
#define RC_KIND 72
#define RC_SAME 78
#define RC_BACK 81
#define RC_SIGN 82
#define RC_LOW 82
#define RC_HIGH 98
#define RC_HIGH_MAX 12
#define RC_LENGTH 110
#define RC_LENGTH_MAX 11
#define RC_TOP_HALF 143
#define RC_LOW_HALF 203
#define RC_CHANCES 263
#define RC_HEAD_BYTES 56
#define RC_NEED_BYTES 24

enum { RC_COPY = 1, RC_DATA, RC_DIFF };

typedef struct {
    uint32_t code;
    uint32_t range;
    uint16_t near;
    uint8_t last, lane, has_lanes;
    uint16_t chance[RC_CHANCES]; /* twelve bits above four that count the uses */
} rc_state;

/* Forgets everything and takes 4 bytes. */
void rc_start(rc_state *s, const uint8_t *input);
/* head: kind, length, 0 goes on, 1 jumps, 2 goes back, how far it jumps. Takes at most
 * RC_HEAD_BYTES; returns how many. */
uint32_t rc_head(rc_state *s, const uint8_t *input, int32_t *head);
/* out[k..n) = plain bytes (RC_DATA) or base + difference, while RC_NEED_BYTES of input are left;
 * returns the next k. at: in, the place in the input of `have` bytes; out, the place after. */
uint32_t rc_block(rc_state *s, const uint8_t *input, uint32_t have, uint32_t *at,
    const uint8_t *base, uint8_t *out, uint32_t k, uint32_t n, uint32_t kind);

#endif
