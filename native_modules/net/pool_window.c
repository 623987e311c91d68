/* SPDX-License-Identifier: MIT
 * What lies in the window of a pool: for its outputs and for its gradient. */
#include "net_kernels.h"

int32_t net_window(const net_conv_args *k, uint32_t c, int32_t row, int32_t column, int is_max,
    uint32_t *more) {
    int32_t found = is_max ? -129 : 0;
    int32_t top = row * k->stride_h - k->pad_top, left = column * k->stride_w - k->pad_left;
    *more = 0;
    for (int32_t r = top < 0 ? 0 : top; r < top + k->kh && r < k->h; r++) {
        for (int32_t t = left < 0 ? 0 : left; t < left + k->kw && t < k->w_in; t++) {
            uint32_t at = (uint32_t)(r * k->w_in + t);
            int32_t x = k->x[at * k->cin + c];
            if (!is_max) {
                found += x;
                ++*more;
            } else if (x > found) {
                found = x;
                *more = at + 1;
            }
        }
    }
    return found;
}
