/* SPDX-License-Identifier: MIT
 * Weight decay: section 6 of docs/numerics.md. */
#include "net_math.h"
#include "net_rare.h"
#include "net_update.h"

void net_weight_decay(int8_t *w, uint32_t n, net_state *state, uint32_t factor, int32_t exponent) {
    net_factor f = { (int32_t)(((uint32_t)state->rate_mantissa * factor) >> 14),
        state->rate_exponent + exponent + 14 };
    for (uint32_t i = 0; i < n; i++) {
        int32_t size = (int32_t)net_magnitude(w[i]);
        int32_t step = net_clamp(net_random_step(w[i], f, &state->seed), -size, size);
        state->moved += step != 0;
        w[i] = (int8_t)(w[i] - step);
    }
}
