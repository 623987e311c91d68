/* SPDX-License-Identifier: MIT
 * CRC-32 (that of zlib) in 4 bytes, little-endian; starts at ff ff ff ff, inverted at the end. */
#ifndef ACCLIMATE_CRC32_H
#define ACCLIMATE_CRC32_H

#include <stdint.h>

void crc32_update(uint8_t *crc, const uint8_t *data, uint32_t n);

#endif
