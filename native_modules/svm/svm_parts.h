/* SPDX-License-Identifier: MIT
 * The parts of a model file, one after the other; static, as each reader is one text. */
#include "svm_read.h"

typedef struct {
    uint8_t *at;
    uint32_t left;
} part;

/* The next bytes, padded to words; a null pointer where the file has no more. */
static void *take(part *from, uint32_t bytes) {
    uint8_t *at = from->at;
    bytes = (bytes + 3) & ~3u;
    if (bytes > from->left) {
        return 0;
    }
    from->at += bytes;
    from->left -= bytes;
    return at;
}

/* Whether words are floats that are numbers. */
static int32_t are_finite(const uint32_t *words, uint32_t count) {
    while (count--) {
        if (words[count] << 1 >= 0xff000000u) {
            return 0;
        }
    }
    return 1;
}
