/* SPDX-License-Identifier: MIT
 * Ed25519 (RFC 8032): does a signature belong to a message and a key? */
#ifndef ACCLIMATE_ED25519_H
#define ACCLIMATE_ED25519_H

#include <stdint.h>

/* Tell whether key is one that a board takes: canonical, on the curve, not of small order. */
int ed25519_is_key(const uint8_t key[32]);

/* Tell whether signature is the one of the message's n bytes. Canonical A, R and S; A not of small
 * order; R = [S]B - [h]A without the cofactor. Takes about 2 KB of stack. */
int ed25519_verify(const uint8_t signature[64], const uint8_t key[32], const uint8_t *message,
    uint32_t n);

#endif
