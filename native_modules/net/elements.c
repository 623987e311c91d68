/* SPDX-License-Identifier: MIT
 * Addition, pools and padding in plain C. */
#include "net_kernels.h"
#include "net_math.h"

int8_t net_add_one(const net_add_rule *rule, int32_t a, int32_t b) {
    int32_t left = net_requantize((a - rule->zero_a) * (1 << 20), rule->multiplier_a,
        rule->shift_a);
    int32_t right = net_requantize((b - rule->zero_b) * (1 << 20), rule->multiplier_b,
        rule->shift_b);
    int32_t sum = net_requantize(left + right, rule->multiplier_y, rule->shift_y);
    return (int8_t)net_clamp(sum + rule->zero_y, rule->low, rule->high);
}

void net_add(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y,
    uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        y[i] = net_add_one(rule, a[i], b[i]);
    }
}

void net_pool(const net_conv_args *k, int is_max) {
    int8_t *y = k->y;
    for (int32_t r = 0; r < k->oh; r++) {
        for (int32_t t = 0; t < k->ow; t++) {
            for (uint32_t c = 0; c < k->cin; c++) {
                uint32_t n;
                int32_t found = net_window(k, c, r, t, is_max, &n);
                if (!is_max && n) {
                    /* Unsigned: a Cortex-M0 then needs one routine of division, not two. */
                    uint32_t size = (net_magnitude(found) + n / 2) / n;
                    found = found > 0 ? (int32_t)size : -(int32_t)size;
                }
                *y++ = (int8_t)net_clamp(found, k->low, k->high);
            }
        }
    }
}

void net_pad(const net_conv_args *k) {
    int8_t *y = k->y;
    for (int32_t r = 0; r < k->oh; r++) {
        int32_t row = r - k->pad_top;
        for (int32_t t = 0; t < k->ow; t++) {
            int32_t column = t - k->pad_left;
            int is_inside = row >= 0 && row < k->h && column >= 0 && column < k->w_in;
            for (uint32_t c = 0; c < k->cin; c++) {
                *y++ = is_inside ? k->x[((uint32_t)row * k->w_in + (uint32_t)column) * k->cin + c]
                    : k->low;
            }
        }
    }
}
