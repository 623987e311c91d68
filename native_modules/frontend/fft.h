/* SPDX-License-Identifier: MIT
 * Fourier transform of real numbers of 16 bits. Each stage divides by its radix, so that nothing
 * overflows: the result is that of the transform over the number of samples. Every bit is that
 * of the transform in TensorFlow Lite Micro's micro_frontend (docs/features.md). */
#ifndef ACCLIMATE_FFT_H
#define ACCLIMATE_FFT_H

#include <stdint.h>

typedef struct {
    int32_t n;              /* pairs: half of the samples; a power of two from 4 on */
    const uint16_t *order;  /* first input of each butterfly of the first stage */
    const uint32_t *turns;  /* exp(-2 pi i k / n), 3 n / 4 of them, 15 binary places */
    const uint32_t *splits; /* exp(-pi i (k / n + 1/2)), k from 1 to n / 2 */
} fft_tables;

/* Butterflies of the first stage: it has radix 4 where n is a power of four, else 2. */
int32_t fft_groups(int32_t n);
/* in: n pairs of samples. out: n + 1 pairs, real and imaginary part of each frequency. */
void fft_real(const fft_tables *t, const uint32_t *in, uint32_t *out);

#endif
