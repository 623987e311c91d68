/* SPDX-License-Identifier: MIT
 * The same results as the C core, slowly and by other means. */
#ifndef ACCLIMATE_FUZZ_REFERENCE_H
#define ACCLIMATE_FUZZ_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

uint32_t reference_crc32(const uint8_t *data, size_t n); /* before the last inversion */
void reference_sha256(const uint8_t *data, size_t n, uint8_t *digest);
void reference_instructions(const uint8_t *code, size_t have, const uint8_t *base, uint8_t *out,
    size_t total, int32_t *heads, size_t heads_max);

#endif
