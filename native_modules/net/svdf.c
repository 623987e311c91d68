/* SPDX-License-Identifier: MIT
 * A recurrent layer (SVDF) as TensorFlow Lite Micro has it in int8: section 3 of docs/numerics.md. */
#include "net_math.h"
#include "net_rare.h"

/* What a filter sees now: its number before it is stored. */
static int32_t seen(const net_svdf_args *k, uint32_t f) {
    const net_svdf_record *r = k->record;
    int32_t most = k->bytes == 1 ? INT8_MAX : INT16_MAX;
    int32_t sum = net_row_dot(k->wf + f * k->cin, k->x, k->cin, r->zero_x);
    sum = net_requantize(sum, r->multiplier[0], r->shift[0]);
    return net_clamp(sum, -most - 1, most) + r->zero_state;
}

/* Moves the numbers of a filter down and weighs them. Sums wrap around as those of the reference
 * do: unsigned, for which C defines it. */
#define WEIGHED(name, type) \
    static uint32_t name(const type *w, type *state, uint32_t memory, type last, int32_t zero) { \
        uint32_t sum = 0; \
        while (--memory) { \
            type value = state[1]; \
            *state++ = value; \
            sum += (uint32_t)*w++ * (uint32_t)(value - zero); \
        } \
        *state = last; \
        return sum + (uint32_t)*w * (uint32_t)(last - zero); \
    }

WEIGHED(weighed8, int8_t)
WEIGHED(weighed16, int16_t)

static uint32_t filter(const net_svdf_args *k, uint32_t f) {
    uint32_t at = f * k->memory;
    int32_t last = seen(k, f), zero = k->record->zero_state;
    if (k->bytes == 1) {
        return weighed8((const int8_t *)k->wt + at, (int8_t *)k->state + at, k->memory,
            (int8_t)last, zero);
    }
    return weighed16((const int16_t *)k->wt + at, (int16_t *)k->state + at, k->memory,
        (int16_t)last, zero);
}

void net_svdf(const net_svdf_args *k) {
    const net_svdf_record *r = k->record;
    uint32_t f = 0;
    for (uint32_t u = 0; u < k->n; u++) {
        uint32_t sum = (uint32_t)k->bias[u];
        for (uint32_t end = f + k->rank; f < end; f++) {
            sum += filter(k, f);
        }
        int32_t y = net_requantize((int32_t)sum, r->multiplier[1], r->shift[1]);
        k->y[u] = (int8_t)net_clamp(y + r->zero_y, -128, 127);
    }
}
