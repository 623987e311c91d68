/* SPDX-License-Identifier: MIT
 * See frontend.h: mean, window, transform, bands. */
#include "frontend.h"

#include "fft.h"
#include "pair.h"

typedef struct {
    level_tables levels;
    fft_tables fft;
    const int16_t *window;
    const uint16_t *bands; /* first frequency and count of each */
    const uint32_t *weights;
    int32_t samples, axes, count, flags;
    uint32_t *estimate, *in, *spectrum, *level;
} frontend;

static int32_t even(int32_t n) {
    return n + (n & 1);
}

/* Numbers of the bands' weights, or -1 where a band leaves the spectrum. */
static int32_t weights_of(const frontend *f) {
    int32_t sum = 0;
    for (int32_t i = 0; i <= f->count; i++) {
        if (f->bands[2 * i] + f->bands[2 * i + 1] > f->fft.n + 1) {
            return -1;
        }
        sum += f->bands[2 * i + 1];
    }
    return sum;
}

static int32_t is_ordered(const fft_tables *t) {
    int32_t groups = fft_groups(t->n);
    for (int32_t i = 0; i < groups; i++) {
        if (t->order[i] >= groups) {
            return 0;
        }
    }
    return 1;
}

static int32_t has_good_head(const int16_t *head) {
    return head[F_MAGIC] == FRONTEND_MAGIC && head[F_VERSION] == FRONTEND_VERSION
        && head[F_BITS] >= 3 && head[F_BITS] <= 12 && head[F_WINDOW] >= 4
        && head[F_WINDOW] <= 1 << head[F_BITS] && head[F_AXES] >= 1 && head[F_AXES] <= 16
        && head[F_BANDS] >= 1 && head[F_BANDS] <= 256
        && (uint16_t)head[F_SMOOTHING] < 32 && (uint16_t)head[F_SNR_SHIFT] < 64
        && head[F_CORRECTION] > -32 && head[F_CORRECTION] < 32
        && (uint16_t)head[F_LOG_SHIFT] < 16 && (uint16_t)head[F_EVEN] <= 16384
        && (uint16_t)head[F_ODD] <= 16384;
}

/* Note where the parts of the tables are; false where they do not fit their size. */
static int32_t open_tables(frontend *f, frontend_bytes tables) {
    const int16_t *at = tables.at, *end = at + tables.bytes / 2;
    if (((uintptr_t)at & 3) || tables.bytes < 2 * F_HEAD || !has_good_head(at)) {
        return 0;
    }
    f->levels.head = at;
    f->samples = at[F_WINDOW];
    f->axes = at[F_AXES];
    f->count = at[F_BANDS];
    f->flags = at[F_FLAGS];
    int32_t n = f->fft.n = 1 << (at[F_BITS] - 1);
    int32_t numbers = F_HEAD + even(f->samples) + even(fft_groups(n)) + 3 * n / 2 + n
        + 2 * (f->count + 1) + (f->flags & FLAG_GAIN ? GAIN_NUMBERS : 0)
        + (f->flags & FLAG_LOG ? LOG_NUMBERS : 0);
    if (end - at < numbers) {
        return 0;
    }
    f->window = at + F_HEAD;
    f->fft.order = (const uint16_t *)f->window + even(f->samples);
    f->fft.turns = (const uint32_t *)(f->fft.order + even(fft_groups(n)));
    f->fft.splits = f->fft.turns + 3 * n / 4;
    f->bands = (const uint16_t *)(f->fft.splits + n / 2);
    f->weights = (const uint32_t *)(f->bands + 2 * (f->count + 1));
    int32_t weights = weights_of(f);
    f->levels.gain = (const int16_t *)(f->weights + weights);
    f->levels.log = (const uint16_t *)f->levels.gain + (f->flags & FLAG_GAIN ? GAIN_NUMBERS : 0);
    return weights >= 0 && tables.bytes == 2 * (numbers + 2 * weights) && is_ordered(&f->fft);
}

static int32_t mean_of(const frontend *f, const int16_t *x) {
    int32_t total = 0;
    for (int32_t i = 0; i < f->samples; i++) {
        total += x[i * f->axes];
    }
    int32_t mean = total / f->samples;
    return mean - (mean * f->samples > total);
}

/* Samples times the window, as large as 16 bits hold; returns by how many bits they grew. */
static int32_t windowed(const frontend *f, const int16_t *x) {
    int16_t *to = (int16_t *)f->in;
    int32_t mean = f->flags & FLAG_MEAN ? mean_of(f, x) : 0, most = 0, i;
    for (i = 0; i < f->samples; i++, x += f->axes) {
        int32_t v = *x - mean;
        v = v > 32767 ? 32767 : v < -32768 ? -32768 : v;
        v = v * f->window[i] >> 12;
        to[i] = (int16_t)v;
        v = (int16_t)(v < 0 ? -v : v); /* as the one of -32768, which is none */
        most = v > most ? v : most;
    }
    for (; i < 2 * f->fft.n; i++) {
        to[i] = 0;
    }
    int32_t shift = 15;
    for (; most; most >>= 1) {
        shift--;
    }
    for (i = 0; shift && i < f->samples; i++) {
        to[i] = (int16_t)((uint32_t)to[i] << shift);
    }
    return shift;
}

/* The magnitude of each band: root of a sum of energies with triangular weights. */
static void bands_of(const frontend *f, int32_t shift) {
    const uint32_t *w = f->weights;
    uint64_t falling = 0, rising = 0;
    for (int32_t i = 0; i <= f->count; i++) {
        const uint32_t *x = f->spectrum + f->bands[2 * i], *end = x + f->bands[2 * i + 1];
        for (; x < end; x++, w++) {
            uint32_t energy = (uint32_t)(pair_low(*x) * pair_low(*x))
                + (uint32_t)(pair_high(*x) * pair_high(*x));
            falling += (uint64_t)(*w & 0xffff) * energy;
            rising += (uint64_t)(*w >> 16) * energy;
        }
        if (i) {
            f->level[i - 1] = root_of(falling) >> shift;
        }
        falling = rising;
        rising = 0;
    }
}

static void store(const frontend *f, void *out, int32_t axis, int32_t is_wide) {
    const int16_t *head = f->levels.head;
    uint32_t multiplier = (uint16_t)head[F_MULTIPLIER];
    for (int32_t i = 0; i < f->count; i++) {
        int32_t at = axis * f->count + i;
        if (is_wide) {
            ((uint16_t *)out)[at] = (uint16_t)f->level[i];
        } else {
            int32_t v = (int32_t)((f->level[i] * multiplier + 32768) >> 16) + head[F_ZERO];
            ((int8_t *)out)[at] = (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
        }
    }
}

int32_t frontend_run(frontend_bytes tables, void *state, int32_t state_bytes,
    frontend_bytes samples, void *out, int32_t out_bytes) {
    frontend f;
    if (!open_tables(&f, tables)) {
        return FRONTEND_TABLES;
    }
    int32_t width = f.axes * f.count, n = f.fft.n;
    if (state_bytes != 4 * (width + n + n + 1 + f.count) || ((uintptr_t)state & 3)) {
        return FRONTEND_STATE;
    }
    if (samples.bytes != 2 * f.samples * f.axes || ((uintptr_t)samples.at & 1)) {
        return FRONTEND_SAMPLES;
    }
    int32_t is_wide = out_bytes == 2 * width;
    if ((out_bytes != width && !is_wide) || (is_wide && ((uintptr_t)out & 1))) {
        return FRONTEND_OUT;
    }
    f.estimate = state;
    f.in = f.estimate + width;
    f.spectrum = f.in + n;
    f.level = f.spectrum + n + 1;
    for (int32_t axis = 0; axis < f.axes; axis++) {
        int32_t shift = windowed(&f, (const int16_t *)samples.at + axis);
        fft_real(&f.fft, f.in, f.spectrum);
        bands_of(&f, shift);
        levels_run(&f.levels, f.level, f.estimate + axis * f.count, f.count);
        store(&f, out, axis, is_wide);
    }
    return 0;
}
