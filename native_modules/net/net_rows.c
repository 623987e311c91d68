/* SPDX-License-Identifier: MIT
 * Finds the row of an output channel in a layer's weights. */
#include "net_rows.h"

net_row net_row_of(const net_conv_args *k, const int8_t *w, uint32_t c, uint32_t channels) {
    uint32_t rows = k->cout, depth = channels * k->kh * k->kw;
    if (!depth) {
        return (net_row){ w, 4, 0 };
    }
    if (k->groups > 1) {
        uint32_t groups = k->groups;
        /* Hidden from the compiler, which else takes a signed division: one more routine. */
        __asm__("" : "+r"(groups));
        rows /= groups;
        w += c / rows * net_rows_bytes(rows, depth);
        c %= rows;
    }
    return (net_row){ w + net_row_start(c, depth), net_row_step(rows, c), channels };
}
