/* SPDX-License-Identifier: MIT
 * Monocypher's AEAD (see tools/monocypher_source.sh), which authenticates before it decrypts. */
#include "xchacha.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#include "monocypher.c"
#pragma GCC diagnostic pop

int xchacha_unlock(uint8_t *data, uint32_t n, const uint8_t *key, const uint8_t *nonce,
    const uint8_t *ad, uint32_t ad_bytes) {
    return crypto_aead_unlock(data, data + n, key, nonce, ad, ad_bytes, data, n) == 0;
}
