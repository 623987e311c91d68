/* SPDX-License-Identifier: MIT
 * Authenticated decryption with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03). */
#ifndef ACCLIMATE_XCHACHA_H
#define ACCLIMATE_XCHACHA_H

#include <stdint.h>

/* Decrypt the first n bytes in place; the 16 bytes after them are their tag. Return 1; or 0 where
 * the tag is wrong, and the bytes are as they were. key: 32 bytes, nonce: 24. */
int xchacha_unlock(uint8_t *data, uint32_t n, const uint8_t *key, const uint8_t *nonce,
    const uint8_t *ad, uint32_t ad_bytes);

#endif
