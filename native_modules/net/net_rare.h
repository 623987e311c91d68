/* SPDX-License-Identifier: MIT
 * Instructions that few programs have, in a module of their own: net_rare.c. */
#ifndef NET_RARE_H
#define NET_RARE_H

#include "net_read.h"

/* One of them; 0 where `op` is none. */
int net_rare(net_reader *r, uint32_t op);

/* A loss over n outputs x, which puts their gradient into g. Section 4 of docs/numerics.md. */
typedef struct {
    const int8_t *x;
    const void *target;
    const int16_t *table; /* targets are int8 and mean what lies here, or NULL */
    int8_t *g;
    uint32_t n, factor;
    int32_t limit, zero;
} net_loss_args;

/* Each puts what is reported into *share and returns the exponent of g less that of `factor`. */
int net_squared_loss(const net_loss_args *k, int32_t *share);
int net_binary_loss(const net_loss_args *k, const uint16_t *exponentials, int32_t *share);

/* n weights move towards 0 by rate * factor * 2^exponent of themselves. */
void net_weight_decay(int8_t *w, uint32_t n, net_state *state, uint32_t factor, int32_t exponent);

#endif
