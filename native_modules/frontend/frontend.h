/* SPDX-License-Identifier: MIT
 * From a window of samples to the levels of its bands: sound or motion. */
#ifndef ACCLIMATE_FRONTEND_H
#define ACCLIMATE_FRONTEND_H

#include <stdint.h>

/* First numbers of the tables, 16 bits each; what follows them is in docs/features.md. */
enum {
    F_MAGIC, F_VERSION, F_WINDOW, F_BITS, F_AXES, F_BANDS, F_FLAGS, F_EVEN, F_ODD, F_LEAST,
    F_SMOOTHING, F_SNR_SHIFT, F_CORRECTION, F_LOG_SHIFT, F_MULTIPLIER, F_ZERO, F_HEAD
};
enum { FRONTEND_MAGIC = 0x4641, FRONTEND_VERSION = 1 };
enum { FLAG_MEAN = 1, FLAG_NOISE = 2, FLAG_GAIN = 4, FLAG_LOG = 8 };
enum { GAIN_NUMBERS = 126, LOG_NUMBERS = 130 };
enum { FRONTEND_TABLES = -1, FRONTEND_STATE = -2, FRONTEND_SAMPLES = -3, FRONTEND_OUT = -4 };

typedef struct {
    const void *at;
    int32_t bytes;
} frontend_bytes;

/* state: words for the estimates of the noise, and for work. out: two
 * bytes a band for the levels themselves, one for int8. Returns 0, or which argument does not fit. */
int32_t frontend_run(frontend_bytes tables, void *state, int32_t state_bytes,
    frontend_bytes samples, void *out, int32_t out_bytes);

/* levels.c: root, noise, gain and logarithm of each band; `estimate` is kept between windows. */
typedef struct {
    const int16_t *head, *gain;
    const uint16_t *log;
} level_tables;
uint32_t root_of(uint64_t square);
void levels_run(const level_tables *t, uint32_t *level, uint32_t *estimate, int32_t bands);

#endif
