/* SPDX-License-Identifier: MIT
 * Updates of weights over the inner loops of net_sums.h: the sums of two output channels, or of
 * four channels of a depthwise layer, at once. */
#include "net_kernels.h"
#include "net_fast.h"
#include "net_format.h"
#include "net_math.h"
#include "net_order.h"
#include "net_sums.h"
#include "net_update.h"
#include "net_work.h"

/* A region of outputs whose inputs through one tap all exist. */
typedef struct {
    int32_t top, left, rows, columns;
} region;

static int32_t at_least(int32_t x, int32_t stride) {
    return x <= 0 ? 0 : (x + stride - 1) / stride;
}

/* The region of tap (i, t). */
static region region_of(const net_conv_args *k, int32_t i, int32_t t) {
    region r;
    r.top = at_least(k->pad_top - i, k->stride_h);
    r.left = at_least(k->pad_left - t, k->stride_w);
    int32_t bottom = at_least(k->h + k->pad_top - i, k->stride_h);
    int32_t right = at_least(k->w_in + k->pad_left - t, k->stride_w);
    r.rows = (bottom < k->oh ? bottom : k->oh) - r.top;
    r.columns = (right < k->ow ? right : k->ow) - r.left;
    return r;
}

/* Where the input of a region begins, in pixels. */
static int32_t first_input(const net_conv_args *k, const region *r, int32_t i, int32_t t) {
    return (r->top * k->stride_h - k->pad_top + i) * k->w_in + r->left * k->stride_w - k->pad_left
        + t;
}

/* ---- one row of weights --------------------------------------------------------------------- */

/* Weights at .. at + n of a row (state: the number of the first) move by their sums plus `more`. */
typedef struct {
    const net_update_rule *rule;
    int8_t *w;
    uint32_t step; /* from word to word */
    net_factor factor;
} moving;

/* Steps of plain descent whose factor is 2^-62 .. 2^-32. */
static void move_small(const moving *m, uint32_t at, const int32_t *sums, uint32_t n,
    int32_t more) {
    net_state *state = m->rule->state;
    net_steps_args s;
    s.sums = sums;
    s.end = sums + n;
    s.c = m->factor.c;
    s.more = more;
    s.down = (uint32_t)(-m->factor.e - 31);
    s.seed = state->seed;
    s.w = m->w;
    s.step = m->step;
    s.at = at;
    s.rails = state->rails;
    s.moved = state->moved;
    net_steps(&s);
    state->seed = s.seed;
    state->rails = s.rails;
    state->moved = s.moved;
}

static void move_row(const moving *m, uint32_t at, uint32_t state, const int32_t *sums, uint32_t n,
    int32_t more) {
    if (n && m->rule->optimizer == NET_OPT_PLAIN && m->factor.e < -31 && m->factor.e > -63) {
        move_small(m, at, sums, n, more);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        net_move_weight(m->rule, m->w + net_in_row(m->step, at + i), state + i, sums[i] + more,
            m->factor);
    }
}

/* ---- layers with paired rows ---------------------------------------------------------------- */

typedef struct {
    const net_update_rule *rule;
    const net_weight_args *a;
    int32_t *sums[2]; /* of one tap of the first row, of all taps of the second */
    int16_t *factors;
    int32_t total[2]; /* of the gradients */
    uint32_t c, tap;
} job;

/* n pixels' gradients of channels c and c + 1, two pixels together. */
static void take_gradients(job *j, const int8_t *g, uint32_t n) {
    uint32_t step = j->a->layer->cout;
    int16_t *to = j->factors;
    for (; n; n -= 2, to += 4) {
        int32_t second = n > 1;
        to[0] = g[0];
        to[2] = g[1];
        j->total[0] += g[0];
        j->total[1] += g[1];
        to[1] = second ? g[step] : 0;
        to[3] = second ? g[step + 1] : 0;
        if (!second) {
            break;
        }
        g += step;
        j->total[0] += g[0];
        j->total[1] += g[1];
        g += step;
    }
}

/* The last channels, which do not fill a word. */
static void spread_rest(const job *j, const int8_t *x, uint32_t apart, uint32_t n) {
    uint32_t split = j->a->layer->split;
    for (uint32_t i = split & ~3u; i < split; i++) {
        const int8_t *from = x + i;
        for (uint32_t p = 0; p < n; p++, from += apart) {
            const int16_t *f = j->factors + (p >> 1) * 4 + (p & 1);
            j->sums[0][i] += *from * f[0];
            j->sums[1][i] += *from * f[2];
        }
    }
}

/* n <= NET_GATHERED pixels at x, `apart` bytes from each to the next. */
static void spread_pixels(job *j, const int8_t *g, const int8_t *x, uint32_t apart, uint32_t n) {
    net_spread_args s;
    uint32_t split = j->a->layer->split, pairs = n >> 1;
    take_gradients(j, g, n);
    s.words = (int32_t)(split >> 2);
    s.next = 4;
    s.step = 2 * apart;
    s.sums = j->sums[0];
    s.others = j->sums[1];
    if (pairs && s.words) {
        s.rows = x;
        s.apart = apart;
        s.factors = j->factors;
        s.end = j->factors + 4 * pairs;
        net_spread_2(&s);
    }
    if ((n & 1) && s.words) {
        /* Without a second row: the same once more, which meets zeros. */
        s.rows = x + (n - 1) * apart;
        s.apart = 0;
        s.factors = j->factors + 4 * pairs;
        s.end = s.factors + 4;
        net_spread_2(&s);
    }
    if (split & 3) {
        spread_rest(j, x, apart, n);
    }
}

/* The sums of one tap, of channels c and c + 1. */
static void sum_tap(job *j, int32_t i, int32_t t) {
    const net_conv_args *k = j->a->layer;
    region r = region_of(k, i, t);
    uint32_t split = k->split, apart = split * k->stride_w;
    int32_t x = first_input(k, &r, i, t), row = k->stride_h * k->w_in;
    if (r.columns == k->ow && r.columns == k->w_in && k->stride_h * k->stride_w == 1) {
        r.columns *= r.rows; /* pixels only follow each other */
        r.rows = 1;
    }
    for (uint32_t n = 0; n < split; n++) {
        j->sums[0][n] = j->sums[1][n] = 0;
    }
    j->total[0] = j->total[1] = 0;
    for (int32_t y = 0; y < r.rows && r.columns > 0; y++, x += row) {
        const int8_t *from = j->a->x + (uint32_t)x * split;
        const int8_t *g = j->a->g + ((r.top + y) * k->ow + r.left) * k->cout + (int32_t)j->c;
        uint32_t n;
        for (uint32_t left = (uint32_t)r.columns; left; left -= n, g += n * k->cout) {
            n = left < NET_GATHERED ? left : NET_GATHERED;
            spread_pixels(j, g, from, apart, n);
            from += n * apart;
        }
    }
}

/* How row c of the weights moves; 0 where the channel is dead. */
static int get_moving(const job *j, uint32_t c, moving *m) {
    const net_conv_args *k = j->a->layer;
    m->rule = j->rule;
    m->step = 8;
    m->w = (int8_t *)k->wt + net_row_start(c, (uint32_t)k->split * k->kh * k->kw);
    if (net_is_dead(j->rule, c)) {
        return 0;
    }
    m->factor = net_channel_factor(j->rule, j->rule->ratio[c], net_state_bits(j->rule));
    return 1;
}

static void two_rows(job *j) {
    const net_conv_args *k = j->a->layer;
    uint32_t split = k->split, depth = split * k->kh * k->kw, at = 0, state = j->c * depth;
    int32_t *others = j->sums[1], zero = k->zero_x;
    moving first, second;
    int alive = get_moving(j, j->c, &first);
    for (int32_t i = 0; i < k->kh; i++) {
        for (int32_t t = 0; t < k->kw; t++, at += split, j->sums[1] += split) {
            sum_tap(j, i, t);
            if (alive) {
                move_row(&first, at, state + at, j->sums[0], split, -zero * j->total[0]);
            }
            for (uint32_t n = 0; n < split && depth > split; n++) {
                j->sums[1][n] -= zero * j->total[1];
            }
        }
    }
    j->sums[1] = others;
    if (get_moving(j, j->c + 1, &second)) {
        int32_t more = depth > split ? 0 : -zero * j->total[1];
        move_row(&second, 0, state + depth, others, depth, more);
    }
}

/* One pixel: the sums are products. */
static void one_pixel(job *j) {
    const net_conv_args *k = j->a->layer;
    int32_t zero = k->zero_x;
    moving m;
    for (j->c = 0; j->c < k->cout; j->c++) {
        int32_t g = j->a->g[j->c], *sum = j->sums[0];
        for (const int8_t *x = j->a->x, *end = x + k->split; x != end;) {
            *sum++ = g * (*x++ - zero);
        }
        if (get_moving(j, j->c, &m)) {
            m.step = net_row_step(k->cout, j->c);
            move_row(&m, 0, j->c * k->split, j->sums[0], k->split, 0);
        }
    }
}

void net_weight_update_fast(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    job j;
    j.rule = rule;
    j.a = a;
    j.sums[0] = a->work;
    j.sums[1] = a->work + k->split;
    j.factors = (int16_t *)(j.sums[1] + (uint32_t)k->split * k->kh * k->kw);
    if (k->groups == 1 && k->h * k->w_in * k->oh * k->ow * k->kh * k->kw == 1 && !k->pad_top
        && !k->pad_left) {
        one_pixel(&j);
    } else if (k->groups > 1 || (k->cout & 1) || a->work_bytes < net_weight_work(k, 0)) {
        net_weight_update_plain(rule, a);
    } else {
        for (j.c = 0; j.c < k->cout; j.c += 2) {
            two_rows(&j);
        }
    }
}

/* ---- depthwise layers ----------------------------------------------------------------------- */

/* The sums of four channels for one tap, which lie `taps` apart. */
static void sum_lanes(const net_weight_args *a, uint32_t c, int32_t i, int32_t t, uint32_t taps,
    int32_t *sums) {
    const net_conv_args *k = a->layer;
    region r = region_of(k, i, t);
    net_region_args s;
    s.sums[0] = s.sums[1] = s.sums[2] = s.sums[3] = 0;
    if (r.rows > 0 && r.columns > 0) {
        s.g = a->g + (r.top * k->ow + r.left) * k->cout + (int32_t)c;
        s.x = a->x + first_input(k, &r, i, t) * (int32_t)k->split + (int32_t)c;
        s.g_step = k->cout;
        s.x_step = (uint32_t)k->split * k->stride_w;
        s.g_pitch = (uint32_t)k->ow * k->cout;
        s.x_pitch = (uint32_t)k->split * k->stride_h * k->w_in;
        s.rows = r.rows;
        s.columns = r.columns;
        s.zero = ((uint32_t)-k->zero_x & 0xffffu) * 0x10001u;
        net_region(&s);
    }
    for (uint32_t n = 0; n < 4; n++, sums += taps) {
        *sums = s.sums[n];
    }
}

void net_depthwise_update_fast(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw, c = 0;
    if (a->work_bytes < net_weight_work(k, 1)) {
        net_depthwise_update_plain(rule, a, 0);
        return;
    }
    for (; c + 4 <= k->split; c += 4) {
        int32_t *sums = a->work;
        for (int32_t i = 0; i < k->kh; i++) {
            for (int32_t t = 0; t < k->kw; t++) {
                sum_lanes(a, c, i, t, taps, sums++);
            }
        }
        sums = a->work;
        for (uint32_t n = c; n < c + 4; n++, sums += taps) {
            moving m = { rule, (int8_t *)k->wt + n * taps, 4, { 0, 0 } };
            if (!net_is_dead(rule, n)) {
                m.factor = net_channel_factor(rule, rule->ratio[n], net_state_bits(rule));
                move_row(&m, 0, n * taps, sums, taps, 0);
            }
        }
    }
    net_depthwise_update_plain(rule, a, c);
}
