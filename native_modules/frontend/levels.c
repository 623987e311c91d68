/* SPDX-License-Identifier: MIT
 * What happens to the magnitude of each band: see docs/features.md. */
#include "frontend.h"

static int32_t bits_of(uint32_t x) {
    int32_t n = 0;
    for (int32_t step = 16; step; step >>= 1) {
        if (x >> step) {
            x >>= step;
            n += step;
        }
    }
    return n + (int32_t)x;
}

/* Rounded to the nearest. */
uint32_t root_of(uint64_t square) {
    uint64_t left = square, root = 0, bit = 1ull << 62;
    while (bit > left) {
        bit >>= 2;
    }
    for (; bit; bit >>= 2) {
        uint64_t tried = root + bit;
        root >>= 1;
        if (left >= tried) {
            left -= tried;
            root += bit;
        }
    }
    /* A small number's root stays in 16 bits. */
    uint32_t most = square >> 32 ? 0xffffffff : 0xffff;
    return (uint32_t)root + (left > root && root != most);
}

/* The noise follows the level slowly; what is above it is left. */
static uint32_t without_noise(const int16_t *head, uint32_t level, uint32_t *estimate, int32_t is_odd) {
    uint32_t smoothing = (uint16_t)head[is_odd ? F_ODD : F_EVEN], bits = (uint32_t)head[F_SMOOTHING];
    uint32_t up = level << bits;
    uint32_t noise = (uint32_t)(((uint64_t)up * smoothing
        + (uint64_t)*estimate * (16384 - smoothing)) >> 14);
    *estimate = noise;
    uint32_t left = noise > up ? 0 : (up - noise) >> bits;
    uint32_t least = (uint32_t)(((uint64_t)level * (uint16_t)head[F_LEAST]) >> 14);
    return left > least ? left : least;
}

/* A table of parabolas, one for each number of bits. */
static int32_t gain_of(uint32_t x, const int16_t *gain) {
    if (x <= 2) {
        return gain[x];
    }
    int32_t bits = bits_of(x);
    const int16_t *at = gain + 4 * bits - 6;
    int32_t fraction = (int32_t)((bits < 11 ? x << (11 - bits) : x >> (bits - 11)) & 1023);
    int32_t y = (at[2] * fraction >> 5) + at[1] * 32;
    y = (int32_t)((uint32_t)y * (uint32_t)fraction);
    return (int16_t)(((y + 16384) >> 15) + at[0]);
}

static uint32_t with_gain(uint32_t level, int32_t gain, int32_t shift) {
    uint32_t snr = (uint32_t)(((uint64_t)level * (uint64_t)(int64_t)gain) >> shift);
    return snr < 8192 ? snr * snr >> 20 : (snr >> 6) - 64;
}

static uint32_t log_of(uint32_t x, const uint16_t *table, int32_t shift) {
    int32_t whole = bits_of(x) - 1;
    uint32_t fraction = x - (1u << whole);
    fraction = whole < 16 ? fraction << (16 - whole) : fraction >> (whole - 16);
    uint32_t at = fraction >> 9;
    int32_t between = (table[at + 1] - table[at]) * (int32_t)(fraction & 511) >> 16;
    uint32_t log2 = ((uint32_t)whole << 16) + fraction + table[at] + (uint32_t)between;
    uint32_t natural = (uint32_t)((45426ull * log2 + 32768) >> 16);
    return ((natural << shift) + 32768) >> 16;
}

void levels_run(const level_tables *t, uint32_t *level, uint32_t *estimate, int32_t bands) {
    const int16_t *head = t->head;
    int32_t flags = head[F_FLAGS], correction = head[F_CORRECTION];
    for (int32_t i = 0; i < bands; i++) {
        uint32_t x = level[i];
        if (flags & FLAG_NOISE) {
            x = without_noise(head, x, &estimate[i], i & 1);
        }
        if (flags & FLAG_GAIN) {
            x = with_gain(x, gain_of(estimate[i], t->gain), head[F_SNR_SHIFT]);
        }
        if (flags & FLAG_LOG) {
            x = correction < 0 ? x >> -correction : x << correction;
            x = x > 1 ? log_of(x, t->log, head[F_LOG_SHIFT]) : 0;
        }
        level[i] = x < 0xffff ? x : 0xffff;
    }
}
