/* SPDX-License-Identifier: MIT
 * See window.h. Whole numbers only: a sum of 4096 samples of 16 bits fits 32. */
#include "window.h"

static int8_t limited(int32_t v) {
    return (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
}

/* Quotient rounded down, as Python does; n > 0. */
static int32_t floor_of(int32_t a, int32_t n) {
    int32_t q = a / n;
    return q * n > a ? q - 1 : q;
}

static int32_t deviation(const int16_t *at, const int16_t *end, int32_t step, int32_t mean) {
    int32_t total = 0;
    for (; at < end; at += step) {
        int32_t v = *at - mean;
        total += v < 0 ? -v : v;
    }
    return total;
}

/* How often the channel passes from below `down` to above `up`, or back. */
static int32_t crossings(const int16_t *at, const int16_t *end, int32_t step, int32_t down,
    int32_t up) {
    int32_t count = 0, side = 0;
    for (; at < end; at += step) {
        int32_t now = *at > up ? 1 : *at < down ? -1 : 0;
        if (now) {
            count += now + side == 0;
            side = now;
        }
    }
    return count;
}

int32_t window_features(const int16_t *window, int32_t channels, int32_t samples, int32_t shift,
    int32_t kinds, int8_t *out) {
    const int16_t *end = window + channels * samples;
    int8_t *to = out;
    for (int32_t channel = 0; channel < channels; channel++, window++) {
        int32_t total = 0, low = *window, high = *window;
        for (const int16_t *at = window; at < end; at += channels) {
            int32_t v = *at;
            total += v;
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        int32_t mean = floor_of(total, samples);
        int32_t dev = deviation(window, end, channels, mean) / samples;
        int32_t dead = dev >> 2;
        if (kinds & WINDOW_MEAN) {
            *to++ = limited(mean >> shift);
        }
        if (kinds & WINDOW_DEV) {
            *to++ = limited(dev >> (shift ? shift - 1 : 0));
        }
        if (kinds & WINDOW_MIN) {
            *to++ = limited(low >> shift);
        }
        if (kinds & WINDOW_MAX) {
            *to++ = limited(high >> shift);
        }
        if (kinds & WINDOW_CROSS) {
            *to++ = limited(4 * crossings(window, end, channels, mean - dead, mean + dead));
        }
    }
    return (int32_t)(to - out);
}
