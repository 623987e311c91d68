/* SPDX-License-Identifier: MIT
 * Inner loops of the backward pass in C, for boards without DSP and for the host. */
#include "net_sums.h"
#include "net_math.h"
#include "net_order.h"

#if !defined(__ARM_FEATURE_DSP)
void net_spread_2(const net_spread_args *s) {
    const int8_t *word = s->rows;
    int32_t *sums = s->sums, *others = s->others;
    for (int32_t n = s->words; n; n--, word += s->next, sums += 4, others += 4) {
        const int8_t *row = word, *second = word + s->apart;
        for (const int16_t *f = s->factors; f != s->end; f += 4) {
            for (uint32_t i = 0; i < 4; i++) {
                sums[i] += f[0] * row[i] + f[1] * second[i];
                others[i] += f[2] * row[i] + f[3] * second[i];
            }
            row += s->step;
            second += s->step;
        }
    }
}

void net_spread_1(const net_spread_args *s) {
    const int8_t *word = s->rows;
    int32_t *sums = s->sums;
    for (int32_t n = s->words; n; n--, word += s->next, sums += 4) {
        const int8_t *row = word;
        for (const int16_t *f = s->factors; f != s->end; f += 2, row += s->step) {
            for (uint32_t i = 0; i < 4; i++) {
                sums[i] += f[0] * row[i] + f[1] * row[4 + i];
            }
        }
    }
}

/* Moves a weight by a step that is not 0. */
static void move(net_steps_args *s, uint32_t at, int32_t step) {
    int8_t *w = s->w + net_in_row(s->step, at);
    int32_t to = *w - step, within = net_clamp(to, -127, 127);
    s->rails += to != within;
    s->moved += within != *w;
    *w = (int8_t)within;
}

void net_steps(net_steps_args *s) {
    uint32_t seed = s->seed, at = s->at;
    for (const int32_t *sums = s->sums; sums != s->end; sums++, at++) {
        int64_t product = (int64_t)(*sums + s->more) * s->c;
        uint32_t low = (uint32_t)product;
        int32_t high = (int32_t)(product >> 32);
        low = low >> s->down | (uint32_t)high << (32 - s->down);
        high >>= s->down;
        uint32_t sum = low + (net_draw(&seed) >> 1);
        high += sum < low;
        int32_t step = (int32_t)((uint32_t)high << 1 | sum >> 31);
        if (step) {
            move(s, at, step);
        }
    }
    s->seed = seed;
}

void net_region(net_region_args *s) {
    int32_t zero = (int16_t)s->zero;
    const int8_t *g = s->g, *x = s->x;
    for (int32_t row = s->rows; row; row--, g += s->g_pitch, x += s->x_pitch) {
        const int8_t *of_g = g, *of_x = x;
        for (int32_t n = s->columns; n; n--, of_g += s->g_step, of_x += s->x_step) {
            for (uint32_t i = 0; i < 4; i++) {
                s->sums[i] += of_g[i] * (of_x[i] + zero);
            }
        }
    }
}
#endif
