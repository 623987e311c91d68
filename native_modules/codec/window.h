/* SPDX-License-Identifier: MIT
 * Features of a window of sensor samples; acclimate/features.py says what they are. */
#ifndef ACCLIMATE_WINDOW_H
#define ACCLIMATE_WINDOW_H

#include <stdint.h>

enum { WINDOW_MEAN = 1, WINDOW_DEV = 2, WINDOW_MIN = 4, WINDOW_MAX = 8, WINDOW_CROSS = 16 };

/* Features of all channels of `samples` interleaved samples, those of `kinds`, to out; how many.
 * channels 1..16, samples 4..4096, shift 0..8. */
int32_t window_features(const int16_t *window, int32_t channels, int32_t samples, int32_t shift,
    int32_t kinds, int8_t *out);

#endif
