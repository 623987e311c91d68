/* SPDX-License-Identifier: MIT
 * What updates share: the step of one parameter, rounded at random, and the biases. */
#include "net_update.h"
#include "net_format.h"
#include "net_math.h"

/* C and E of one channel, for steps in 1/2^bits. */
net_factor net_channel_factor(const net_update_rule *rule, uint32_t ratio, int bits) {
    int64_t c = (int64_t)((1u << 30) / ratio) * rule->p;
    net_factor f = {0, rule->e + bits};
    while (c > INT32_MAX) {
        c >>= 1;
        f.e++;
    }
    f.c = (int32_t)c;
    return f;
}

/* old - step within +-most, and what is counted. */
int32_t net_moved_by(const net_update_rule *rule, int32_t old, int64_t step, int32_t most) {
    if (!step) {
        return old;
    }
    int64_t to = old - step;
    if (to > most || to < -most) {
        ++rule->state->rails;
        to = to > 0 ? most : -most;
    }
    rule->state->moved += to != old;
    return (int32_t)to;
}

int net_is_dead(const net_update_rule *rule, uint32_t c) {
    int dead = rule->ratio[c] < 8;
    rule->state->dead += (uint32_t)dead;
    return dead;
}

#if !defined(NET_DENSE)
int32_t net_within(int64_t v, int32_t most) {
    return v > most ? most : v < -most ? -most : (int32_t)v;
}

/* v mu / 256, halves to even. */
int64_t net_decayed(int64_t v, int32_t mu) {
    int64_t x = v * mu, down = x >> 8;
    int32_t rest = (int32_t)(x & 255);
    return down + (rest > 128 || (rest == 128 && (down & 1)));
}
#endif

void net_bias_update(const net_update_rule *rule, const int8_t *g, int32_t *bias,
    uint32_t pixels, uint32_t channels) {
    for (uint32_t c = 0; c < channels; c++) {
        if (net_is_dead(rule, c)) {
            continue;
        }
        int32_t a = 0;
        for (uint32_t p = 0; p < pixels; p++) {
            a += g[p * channels + c];
        }
        int64_t step = net_random_step(a, net_channel_factor(rule, rule->ratio[c], 0), &rule->state->seed);
#if !defined(NET_DENSE)
        if (rule->v) {
            int32_t *v = (int32_t *)rule->v + c;
            step = *v = net_within(net_decayed(*v, rule->momentum) + step, INT32_MAX);
            if (!rule->move) {
                continue;
            }
            *v = rule->optimizer == NET_OPT_ACCUMULATE ? 0 : *v;
        }
#endif
        bias[c] = net_moved_by(rule, bias[c], step, 1 << 30);
    }
}
