/* SPDX-License-Identifier: MIT
 * What the updates of biases and of weights share: section 6 of docs/numerics.md. */
#ifndef NET_UPDATE_H
#define NET_UPDATE_H

#include "net_kernels.h"

typedef struct {
    int32_t c;
    int32_t e;
} net_factor;

/* C and E of one channel, for steps in 1/2^bits. */
net_factor net_channel_factor(const net_update_rule *rule, uint32_t ratio, int bits);

/* a * c * 2^e, rounded at random. */
int32_t net_random_step(int32_t a, net_factor f, uint32_t *seed);

/* old - step within +-most (a step of 0 changes nothing), and what is counted. */
int32_t net_moved_by(const net_update_rule *rule, int32_t old, int64_t step, int32_t most);

/* Bits of a weight's step that the optimizer's state has. */
int net_state_bits(const net_update_rule *rule);

/* Weight number i of the layer, at w, has the gradient sum a. */
void net_move_weight(const net_update_rule *rule, int8_t *w, uint32_t i, int32_t a, net_factor f);

/* Whether the channel keeps its parameters; counted. */
int net_is_dead(const net_update_rule *rule, uint32_t c);

/* v within +-most; v mu / 256, halves to even. */
int32_t net_within(int64_t v, int32_t most);
int64_t net_decayed(int64_t v, int32_t mu);

#endif
