/* SPDX-License-Identifier: MIT
 * Coverage-guided fuzzing of the C core of updates, beside slow references written from the
 * documented formats. The first byte of an input chooses the function. A difference aborts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "crc32.h"
#include "buffers.h"
#include "rangecoder.h"
#include "reference.h"
#include "sha256.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "accepted_bad: %s, line %d\n", #condition, __LINE__); \
            abort(); \
        } \
    } while (0)

/* A copy of exactly n bytes, so that a read beyond it is seen. */
static uint8_t *exact(const uint8_t *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    if (n) {
        memcpy(copy, data, n);
    }
    return copy;
}

static void sums(const uint8_t *data, size_t n) {
    uint8_t *copy = exact(data, n), crc[4] = {255, 255, 255, 255}, out[32], wanted[32];
    size_t cut = n ? data[0] % (n + 1) : 0;
    crc32_update(crc, copy, (uint32_t)cut);
    crc32_update(crc, copy + cut, (uint32_t)(n - cut));
    uint32_t value = crc[0] | (uint32_t)crc[1] << 8 | (uint32_t)crc[2] << 16
        | (uint32_t)crc[3] << 24;
    CHECK(value == reference_crc32(copy, n));
    sha256_state s;
    sha256_start(&s);
    sha256_update(&s, copy, (uint32_t)cut);
    sha256_update(&s, copy + cut, (uint32_t)(n - cut));
    sha256_finish(&s, out);
    reference_sha256(copy, n, wanted);
    CHECK(!memcmp(out, wanted, 32));
    free(copy);
}

static void comparison(const uint8_t *data, size_t n) {
    size_t half = n / 2, k = 0;
    uint8_t *a = exact(data, half), *b = exact(data + half, half);
    while (k < half && a[k] == b[k]) {
        k++;
    }
    CHECK(buffers_common_prefix(a, b, (uint32_t)half) == k);
    buffers_copy(a, b, (uint32_t)half);
    CHECK(!memcmp(a, b, half));
    free(a);
    free(b);
}

#define HEADS_MAX 64

/* As device/acclimate/store/delta.py uses it: windows of input, blocks of output. */
static void instructions(const uint8_t *data, size_t n) {
    if (n < 6) {
        return;
    }
    uint32_t total = 1u + data[0], window = 60 + data[1] % 100;
    const uint8_t *code = data + 2;
    size_t have = n - 2, taken = 0, fill = 0;
    uint8_t *input = malloc(window), *out = calloc(total, 1), *base = malloc(total);
    for (uint32_t i = 0; i < total; i++) {
        base[i] = (uint8_t)(i * 7 + data[i % n]);
    }
    rc_state s;
    int32_t heads[4 * HEADS_MAX] = {0}, wanted_heads[4 * HEADS_MAX] = {0};
    uint32_t at = 0, k = 0, end = 0, count = 0;
    int started = 0;
    while (k < total) {
        memmove(input, input + at, fill - at);
        fill -= at;
        at = 0;
        while (fill < window) {
            input[fill++] = taken < have ? code[taken] : 0;
            taken++;
        }
        if (!started) {
            rc_start(&s, input);
            at = 4;
            started = 1;
        }
        if (k == end) {
            if (count == HEADS_MAX) {
                break;
            }
            int32_t *head = heads + 4 * count++;
            uint32_t used = rc_head(&s, input + at, head);
            CHECK(used <= RC_HEAD_BYTES);
            at += used;
            if (head[0] != RC_COPY) {
                end = k + ((uint32_t)head[1] < total - k ? (uint32_t)head[1] : total - k);
            }
            continue;
        }
        uint32_t kind = (uint32_t)heads[4 * (count - 1)], next;
        next = rc_block(&s, input, window, &at, base, out, k, end, kind);
        CHECK(next >= k && next <= end && at <= window);
        CHECK(next > k || at > 0);
        k = next;
    }
    uint8_t *wanted = calloc(total, 1);
    reference_instructions(code, have, base, wanted, total, wanted_heads, HEADS_MAX);
    CHECK(!memcmp(out, wanted, total));
    CHECK(!memcmp(heads, wanted_heads, sizeof(heads)));
    free(wanted);
    free(input);
    free(out);
    free(base);
}

static unsigned long counts[3];

static void print_counts(void) {
    static const char *const names[3] = {"crc32_and_sha256", "buffers", "rangecoder"};
    for (int i = 0; i < 3; i++) {
        fprintf(stderr, "function %s %lu\n", names[i], counts[i]);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    atexit(print_counts);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static void (*const functions[3])(const uint8_t *, size_t) = {sums, comparison, instructions};
    if (!n) {
        return 0;
    }
    int which = data[0] % 4 < 2 ? data[0] % 4 : 2;
    counts[which]++;
    functions[which](data + 1, n - 1);
    return 0;
}
