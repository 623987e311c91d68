/* SPDX-License-Identifier: MIT */
#include "crc32.h"

void crc32_update(uint8_t *crc, const uint8_t *data, uint32_t n) {
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t value = crc[0] | (uint32_t)crc[1] << 8 | (uint32_t)crc[2] << 16
        | (uint32_t)crc[3] << 24;
    for (uint32_t i = 0; i < n; i++) {
        value ^= data[i];
        value = value >> 4 ^ table[value & 15];
        value = value >> 4 ^ table[value & 15];
    }
    for (uint32_t i = 0; i < 4; i++) {
        crc[i] = (uint8_t)(value >> 8 * i);
    }
}
