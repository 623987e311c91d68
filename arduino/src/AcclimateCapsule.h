// SPDX-License-Identifier: MIT
// Is a capsule whole, and from somebody with the key? Reads it where it lies.
#ifndef ACCLIMATE_CAPSULE_ARDUINO_H
#define ACCLIMATE_CAPSULE_ARDUINO_H

#include <stddef.h>
#include <stdint.h>

namespace acclimate {

// SHA-256 of the whole capsule, all 32 bytes compared.
bool capsuleIsWhole(const uint8_t *capsule, size_t bytes);

// HMAC-SHA-256 of its header under a key of at most 64 bytes.
bool capsuleIsAuthentic(const uint8_t *capsule, size_t bytes, const uint8_t *key,
    size_t keyBytes);

// The first section of a type (1 program, 2 weights, 3 operators, 4 meta): its place and length;
// nullptr where there is none, or where the table says another length than `bytes`.
const uint8_t *capsuleSection(const uint8_t *capsule, size_t bytes, uint8_t type, size_t *length);

} // namespace acclimate

#endif
