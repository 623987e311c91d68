/* SPDX-License-Identifier: MIT
 * One copy of net_store for the fast kernels. */
#include "net_store.h"
#include "net_store_fast.h"

void net_put(const net_conv_args *k, int32_t sum, uint32_t c, int32_t at, uint32_t bit) {
    net_store(k, sum, c, at, bit);
}
