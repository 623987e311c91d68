// SPDX-License-Identifier: MIT
#include "AcclimateCapsule.h"

#include <string.h>

extern "C" {
#include "layout.h"
#include "sha256.h"
}

namespace acclimate {

namespace {

uint32_t number(const uint8_t *at, int bytes) {
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) {
        value = value << 8 | at[i];
    }
    return value;
}

const uint8_t *entry(const uint8_t *capsule, int index) {
    return capsule + AC_H_BYTES + AC_S_BYTES * index;
}

// Bytes that a section takes, fill included; 0 for a bound, which has a number in place of a size.
size_t taken(const uint8_t *entry) {
    return entry[AC_S_TYPE] >= AC_FIRST_BOUND ? 0 : (number(entry + AC_S_SIZE, 3) + 3) / 4 * 4;
}

// The table says how long a capsule is: no section of one that passes leads out of it.
bool looksRight(const uint8_t *capsule, size_t bytes) {
    if (bytes < AC_H_BYTES + AC_S_BYTES || memcmp(capsule, "ACAP", 4) != 0
        || capsule[AC_H_FORMAT] != AC_HEADER_FORMAT || capsule[AC_H_SECTIONS] < 1
        || capsule[AC_H_SECTIONS] > AC_SECTIONS_MAX) {
        return false;
    }
    size_t total = AC_H_BYTES + AC_S_BYTES * (size_t)capsule[AC_H_SECTIONS];
    if (bytes < total) {
        return false;
    }
    for (int i = 0; i < capsule[AC_H_SECTIONS]; i++) {
        total += taken(entry(capsule, i));
    }
    return total == bytes;
}

bool isSame(const uint8_t *a, const uint8_t *b, size_t bytes) {
    uint8_t differs = 0; // as long for any two, so that nothing is told by the time
    for (size_t i = 0; i < bytes; i++) {
        differs |= a[i] ^ b[i];
    }
    return differs == 0;
}

void hmac(const uint8_t *key, size_t keyBytes, const uint8_t *data, size_t bytes, uint8_t *out) {
    sha256_state state;
    uint8_t pad[64], inner[AC_TAG_BYTES];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(pad); i++) {
            pad[i] = (i < keyBytes ? key[i] : 0) ^ (round ? 0x5c : 0x36);
        }
        sha256_start(&state);
        sha256_update(&state, pad, sizeof(pad));
        sha256_update(&state, round ? inner : data, round ? sizeof(inner) : bytes);
        sha256_finish(&state, round ? out : inner);
    }
}

} // namespace

bool capsuleIsWhole(const uint8_t *capsule, size_t bytes) {
    if (!looksRight(capsule, bytes)) {
        return false;
    }
    sha256_state state;
    uint8_t found[AC_TAG_BYTES];
    sha256_start(&state);
    sha256_update(&state, capsule, AC_H_DIGEST);
    sha256_update(&state, capsule + AC_H_BYTES, bytes - AC_H_BYTES);
    sha256_finish(&state, found);
    return isSame(found, capsule + AC_H_DIGEST, sizeof(found));
}

bool capsuleIsAuthentic(const uint8_t *capsule, size_t bytes, const uint8_t *key,
    size_t keyBytes) {
    if (!looksRight(capsule, bytes) || keyBytes > 64) {
        return false;
    }
    uint8_t found[AC_TAG_BYTES];
    // The tag is the signature's second half, and covers all that stands in front of it.
    const size_t signedBytes = AC_H_SIGNATURE + AC_SIGNATURE_BYTES - AC_TAG_BYTES;
    hmac(key, keyBytes, capsule, signedBytes, found);
    return isSame(found, capsule + signedBytes, sizeof(found));
}

const uint8_t *capsuleSection(const uint8_t *capsule, size_t bytes, uint8_t type,
    size_t *length) {
    if (!looksRight(capsule, bytes)) {
        return nullptr;
    }
    size_t at = AC_H_BYTES + AC_S_BYTES * (size_t)capsule[AC_H_SECTIONS];
    for (int i = 0; i < capsule[AC_H_SECTIONS]; i++) {
        const uint8_t *found = entry(capsule, i);
        if (found[AC_S_TYPE] == type && type < AC_FIRST_BOUND) {
            *length = number(found + AC_S_SIZE, 3);
            return capsule + at;
        }
        at += taken(found);
    }
    return nullptr;
}

} // namespace acclimate
