/* SPDX-License-Identifier: MIT
 * What lies in the window of a pool: for its outputs and for its gradient. */
#include "net_kernels.h"

int32_t net_window(const net_conv_args *k, uint32_t c, int32_t row, int32_t column, int is_max,
    uint32_t *more) {
    int32_t found = is_max ? -129 : 0, count = 0, cin = k->cin;
    int32_t top = row * k->stride_h - k->pad_top, left = column * k->stride_w - k->pad_left;
    int32_t bottom = top + k->kh, right = left + k->kw;
    top = top < 0 ? 0 : top;
    left = left < 0 ? 0 : left;
    bottom = bottom > k->h ? k->h : bottom;
    right = right > k->w_in ? k->w_in : right;
    for (; top < bottom; top++) {
        int32_t first = top * k->w_in + left, n = right - left;
        if (n == k->w_in) { /* rows follow each other */
            n *= bottom - top;
            top = bottom;
        }
        const int8_t *x = k->x + (uint32_t)(first * cin) + c;
        if (!is_max) {
            count += n > 0 ? n : 0;
            for (; n > 0; n--, x += cin) {
                found += *x;
            }
            continue;
        }
        for (int32_t i = 0; i < n; i++, x += cin) {
            if (*x > found) {
                found = *x;
                count = first + i + 1;
            }
        }
    }
    *more = (uint32_t)count;
    return found;
}
