/* SPDX-License-Identifier: MIT
 * Products of two tensors, blocks that change places, and the gradients of both and of tables:
 * sections 3 and 5 of docs/numerics.md. */
#include "net_block.h"
#include "net_rare.h"

void net_multiply(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y,
    uint32_t n, uint32_t m) {
    for (uint32_t i = 0, j = 0; i < n; i++, j = j + 1 < m ? j + 1 : 0) {
        int32_t product = (a[i] - rule->zero_a) * (b[j] - rule->zero_b);
        product = net_requantize(product, rule->multiplier_y, rule->shift_y) + rule->zero_y;
        y[i] = (int8_t)net_clamp(product, rule->low, rule->high);
    }
}

/* What element i of the gradient is multiplied with. */
static int32_t factor_of(const net_product_args *k, uint32_t i) {
    int32_t x = k->x[i % k->f];
    return k->table ? k->table[x + 128] : x - k->zero;
}

static int32_t product_sum(const net_product_args *k, uint32_t j) {
    int32_t sum = 0;
    for (uint32_t i = j; i < k->n; i += k->m) {
        sum += k->g[i] * factor_of(k, i);
    }
    return sum;
}

int net_product_gradient(const net_product_args *k) {
    uint32_t most = 0;
    for (uint32_t j = 0; j < k->m; j++) {
        uint32_t size = net_magnitude(product_sum(k, j));
        most = size > most ? size : most;
    }
    int first = 0, factor = (int32_t)k->factor;
    while (net_even_shift((int32_t)most, first) > INT16_MAX) {
        first++;
    }
    int s = net_block_shift(net_even_shift((int32_t)most, first) * factor, 0);
    for (uint32_t j = 0; j < k->m; j++) {
        int32_t sum = net_even_shift(product_sum(k, j), first) * factor;
        k->y[j] = (int8_t)net_even_shift(sum, s);
    }
    return first + s;
}

static int32_t gathered_sum(const net_gathered_args *k, uint32_t block, uint32_t i) {
    const uint16_t *places = k->starts + k->blocks + 1;
    int32_t sum = 0;
    for (uint32_t at = k->starts[block]; at < k->starts[block + 1]; at++) {
        sum += k->g[places[at] * k->n + i];
    }
    return sum;
}

int net_gather_gradient(const net_gathered_args *k) {
    uint32_t most = 0, elements = k->blocks * k->n;
    int s = 0;
    for (int stores = 0; stores < 2; stores++) {
        for (uint32_t at = 0, block = 0, i = 0; at < elements; at++) {
            int32_t sum = gathered_sum(k, block, i);
            uint32_t size = net_magnitude(sum);
            most = size > most ? size : most;
            if (stores) {
                k->y[at] = (int8_t)net_even_shift(sum, s);
            }
            i = i + 1 < k->n ? i + 1 : 0;
            block += !i;
        }
        s = net_block_shift((int32_t)most, 0);
    }
    return s;
}
