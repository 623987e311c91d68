/* SPDX-License-Identifier: MIT
 * Softmax and cross-entropy in integers. */
#include "net_block.h"
#include "net_kernels.h"

/* e[i] = 32768 * exp(scale * (x[i] - max)); returns the sum, 1 where a damaged table gives 0. */
static uint32_t exponentials(const int8_t *x, uint32_t n, const uint16_t *table, int32_t *e) {
    int32_t most = -128;
    for (uint32_t i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t below = (uint8_t)(most - x[i]); /* a damaged program may put e over x */
        e[i] = (int32_t)(((uint32_t)table[below >> 4] * table[16 + (below & 15)] + 16384) >> 15);
        sum += (uint32_t)e[i];
    }
    return sum + !sum;
}

int32_t net_softmax_loss(const int8_t *x, uint32_t n, const uint16_t *table, uint32_t label,
    int8_t *g, int32_t *exponent, int32_t *work) {
    uint32_t sum = exponentials(x, n, table, work);
    for (uint32_t i = 0; i < n; i++) {
        work[i] = (int32_t)((((uint32_t)work[i] << 15) + sum / 2) / sum);
    }
    int32_t share = work[label];
    work[label] = share - 32768;
    *exponent = net_store_block(work, n, g, 1, 0, g, 0, 0, 0) - 15;
    return share;
}
