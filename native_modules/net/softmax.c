/* SPDX-License-Identifier: MIT
 * Softmax and cross-entropy in integers. */
#include "net_kernels.h"
#include "net_math.h"

/* e[i] = 32768 * exp(scale * (x[i] - max)); returns the sum. */
static uint32_t exponentials(const int8_t *x, uint32_t n, const uint16_t *table, uint16_t *e) {
    int32_t most = -128;
    for (uint32_t i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t below = (uint32_t)(most - x[i]);
        e[i] = (uint16_t)(((uint32_t)table[below >> 4] * table[16 + (below & 15)] + 16384) >> 15);
        sum += e[i];
    }
    return sum;
}

int32_t net_softmax_loss_ref(const int8_t *x, uint32_t n, const uint16_t *table, uint32_t label,
    int8_t *g, int32_t *exponent, uint16_t *work) {
    uint32_t sum = exponentials(x, n, table, work), most = 0;
    int32_t share = 0;
    for (uint32_t i = 0; i < n; i++) {
        work[i] = (uint16_t)((((uint32_t)work[i] << 15) + sum / 2) / sum);
        int32_t error = work[i] - (i == label ? 32768 : 0);
        share = i == label ? work[i] : share;
        most = net_magnitude(error) > most ? net_magnitude(error) : most;
    }
    int s = net_gradient_shift((int32_t)most);
    for (uint32_t i = 0; i < n; i++) {
        g[i] = (int8_t)net_even_shift(work[i] - (i == label ? 32768 : 0), s);
    }
    *exponent = s - 15;
    return share;
}
