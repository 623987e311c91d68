/* SPDX-License-Identifier: MIT
 * Losses but for softmax, in integers: section 4 of docs/numerics.md. */
#include "net_block.h"
#include "net_rare.h"

/* How far output i is from its target, in 1/16 of a step. */
static int32_t squared_distance(const net_loss_args *k, uint32_t i) {
    int32_t target = k->table ? k->table[((const int8_t *)k->target)[i] + 128]
        : ((const int16_t *)k->target)[i];
    return 16 * k->x[i] - target;
}

/* g = factor * d, stored as one block; `most` is the largest |d|. */
static void store_one(const net_loss_args *k, uint32_t i, int32_t d, int s) {
    k->g[i] = (int8_t)net_even_shift(d * (int32_t)k->factor, s);
}

int net_squared_loss(const net_loss_args *k, int32_t *share) {
    uint32_t sum = 0, most = 0, limit = (uint32_t)k->limit;
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t d = net_magnitude(squared_distance(k, i)), over = d > limit ? d - limit : 0;
        uint32_t more = d * d - over * over;
        sum = more > INT32_MAX - sum ? INT32_MAX : sum + more;
        most = d - over > most ? d - over : most;
    }
    int s = net_block_shift((int32_t)(most * k->factor), 0);
    for (uint32_t i = 0; i < k->n; i++) {
        store_one(k, i, net_clamp(squared_distance(k, i), -k->limit, k->limit), s);
    }
    *share = (int32_t)sum;
    return s;
}

/* How far the probability of output i is from 0 or 1, in 1/32768. */
static int32_t binary_distance(const net_loss_args *k, uint32_t i, const uint16_t *exponentials) {
    int32_t above = k->x[i] - k->zero;
    uint32_t size = net_magnitude(above);
    uint32_t e = ((uint32_t)exponentials[size >> 4] * exponentials[16 + (size & 15)] + 16384) >> 15;
    uint32_t whole = 32768 + e;
    int32_t p = (int32_t)(((1u << 30) + whole / 2) / whole);
    p = above < 0 ? 32768 - p : p;
    return ((const uint8_t *)k->target)[i] ? p - 32768 : p;
}

int net_binary_loss(const net_loss_args *k, const uint16_t *exponentials, int32_t *share) {
    uint32_t product = 32768, halved = 0, most = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t d = net_magnitude(binary_distance(k, i, exponentials));
        most = d > most ? d : most;
        product = product * (d < 32768 ? 32768 - d : 1) >> 15;
        product += !product;
        for (; product < 32768; product *= 2) {
            halved += halved < 32767;
        }
    }
    int s = net_block_shift((int32_t)(most * k->factor), 0);
    for (uint32_t i = 0; i < k->n; i++) {
        store_one(k, i, binary_distance(k, i, exponentials), s);
    }
    *share = (int32_t)(halved << 16 | product);
    return s;
}
