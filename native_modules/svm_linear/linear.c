/* SPDX-License-Identifier: MIT
 * SMO with second-order working sets (Fan, Chen, Lin 2005), written for few bytes of code. */
#include "linear.h"

#include "divide.h"

#define BIG (1 << 30)
#define ONE 65536
enum { WORK, X, ROWS, PAR };

typedef struct {
    int32_t *work, *par, *alpha, *v;
    int16_t *diagonal;
    int32_t *tags; /* the sample in each slot, -1 where there is none */
    int16_t *cache;
    const uint8_t *x;
    const int16_t *rows;
    int32_t n, d, slots;
    int32_t scale; /* binary places of alpha times kernel beyond the gradient's 16 */
    uint32_t sign; /* 128 when a byte is an int8, 0 when it is an uint8 */
} state;

static const uint8_t *sample(const state *s, int32_t k) {
    int32_t r = s->rows[k];
    return s->x + (r ^ (r >> 31)) * s->d;
}

/* Note where things are; false when a buffer is too small, unaligned or leads outside. */
static int32_t look(state *s, const lin_buffers *in) {
    int32_t *work = in->at[WORK], *par = in->at[PAR];
    int32_t n = in->bytes[ROWS] >> 1, half = (n + 1) >> 1;
    int32_t room = (in->bytes[WORK] >> 2) - LIN_HEAD - 2 * n - half;
    s->work = work;
    s->par = par;
    s->alpha = work + LIN_HEAD;
    s->v = s->alpha + n;
    s->diagonal = (int16_t *)(s->v + n);
    s->slots = (int32_t)divide((uint32_t)room, (uint32_t)(half + 1));
    s->tags = s->v + n + half;
    s->cache = (int16_t *)(s->tags + s->slots);
    s->x = in->at[X];
    s->rows = in->at[ROWS];
    s->n = n;
    s->d = par[L_FEATURES];
    s->sign = par[L_XTYPE] ? 0 : 128;
    s->scale = par[L_SCALE] - 16 - par[L_K_SHIFT];
    if (((uintptr_t)work | (uintptr_t)par | (uintptr_t)s->rows << 1) & 3
        || room < 2 * (half + 1)
        || (uint32_t)(s->d - 1) > 32766 || (uint32_t)(n - 1) > 32766) {
        return 0;
    }
    while (--n >= 0) {
        if (sample(s, n) - s->x > in->bytes[X] - s->d) {
            return 0;
        }
    }
    return 1;
}

static int32_t dot(const state *s, const uint8_t *a, const uint8_t *b) {
    int32_t k = s->d, total = 0;
    if (s->sign) {
        while (--k >= 0) {
            total += ((const int8_t *)a)[k] * ((const int8_t *)b)[k];
        }
    } else {
        while (--k >= 0) {
            total += a[k] * b[k];
        }
    }
    return total;
}

/* Kernel row of sample k; slots are taken in turn, but never that of sample keep. */
static const int16_t *kernel_row(const state *s, int32_t k, int32_t keep) {
    int32_t slot = 0, items = (s->n + 1) & ~1;
    while (slot < s->slots && s->tags[slot] != k) {
        slot++;
    }
    int32_t missing = slot == s->slots;
    if (missing) {
        do {
            slot = s->work[L_NEXT];
            s->work[L_NEXT] = slot + 1 == s->slots ? 0 : slot + 1;
        } while (s->tags[slot] == keep);
        s->tags[slot] = k;
    }
    int16_t *row = s->cache + slot * items;
    if (missing) {
        const uint8_t *a = sample(s, k);
        for (int32_t t = 0; t < s->n; t++) {
            int32_t value = dot(s, a, sample(s, t)) >> s->par[L_K_SHIFT];
            row[t] = (int16_t)(value < -32767 ? -32767 : value);
        }
    }
    return row;
}

static void start(const state *s) {
    int32_t *work = s->work, shift = 0, top = 0;
    for (int32_t k = 0; k < s->n; k++) {
        const uint8_t *a = sample(s, k);
        int32_t own = dot(s, a, a);
        s->v[k] = own;
        top = own > top ? own : top;
    }
    while (top > 32767) { /* a kernel value fills 16 bits */
        top >>= 1;
        shift++;
    }
    s->par[L_K_SHIFT] = shift;
    for (int32_t *at = work; at < s->v; at++) {
        *at = 0;
    }
    for (int32_t *at = s->tags; at < (int32_t *)s->cache; at++) {
        *at = -1;
    }
    for (int32_t k = 0; k < s->n; k++) {
        s->diagonal[k] = (int16_t)(s->v[k] >> shift);
        s->v[k] = s->rows[k] < 0 ? -ONE : ONE;
    }
    work[L_TOP] = top;
    work[L_MAG] = 2 * ONE - 1; /* bits that |v| has used so far */
}

/* How far alpha of sample k may rise (up) or fall. */
static int32_t room_of(const state *s, int32_t k, int32_t up) {
    int32_t alpha = s->alpha[k];
    if (s->rows[k] < 0) { /* signed alpha between -C and 0 */
        return up ? -alpha : alpha + s->par[L_C_NEG];
    }
    return up ? s->par[L_C_POS] - alpha : alpha;
}

/* Largest v that may rise and smallest that may fall; the place of the first. */
static int32_t extremes(const state *s, int32_t *top, int32_t *bottom) {
    int32_t index = -1, high = -BIG, low = BIG - 1;
    for (int32_t k = 0; k < s->n; k++) {
        int32_t now = s->v[k];
        if (now > high && room_of(s, k, 1) > 0) {
            high = now;
            index = k;
        }
        if (now < low && room_of(s, k, 0) > 0) {
            low = now;
        }
    }
    *top = high;
    *bottom = low;
    return index;
}

/* b / q with a mantissa of 14 bits, times 2^scale, at most 2^30. */
static int32_t quotient(int32_t b, int32_t q, int32_t scale) {
    while (b < BIG) {
        b <<= 1;
        scale--;
    }
    uint32_t m = divide((uint32_t)b, (uint32_t)q);
    while (m >= 16384) {
        m >>= 1;
        scale++;
    }
    if (scale > 16) {
        return BIG;
    }
    return scale >= 0 ? (int32_t)(m << scale) : (int32_t)(m >> (scale < -31 ? 31 : -scale));
}

/* Leading 14 bits of t; *shift: how far a product with them moves down to Q16. */
static int32_t split(const state *s, int32_t t, int32_t *shift) {
    *shift = s->scale;
    while (t >= 16384) {
        t >>= 1;
        --*shift;
    }
    return t;
}

/* Whether a step of t keeps every |v| below 2^30, by the bound on kernel values. */
__attribute__((noinline)) static int32_t is_safe(const state *s, int32_t t) {
    int32_t shift, m = split(s, t, &shift);
    uint32_t bound = (uint32_t)(m + 1) * 2 * (uint32_t)(s->work[L_TOP] + 1);
    uint32_t room = BIG - 1 - (uint32_t)s->work[L_MAG];
    return shift >= 0 ? bound >> (shift > 31 ? 31 : shift) < room
           : bound < room >> (shift < -31 ? 31 : -shift);
}

/* v -= t (row - other), in parts of t of 14 bits. */
static void apply(const state *s, int32_t t, const int16_t *row, const int16_t *other) {
    uint32_t mag = (uint32_t)s->work[L_MAG];
    while (t) {
        int32_t shift, m = split(s, t, &shift);
        t -= m << (s->scale - shift);
        if (shift > 30) {
            break;
        }
        int32_t up = shift < 0 ? -shift : 0;
        int32_t down = shift > 0 ? shift : 0;
        int32_t add = (1 << down) >> 1;
        for (int32_t k = 0; k < s->n; k++) {
            int32_t by = (m * (row[k] - other[k]) + add) >> down;
            int32_t now = s->v[k] - (int32_t)((uint32_t)by << up);
            s->v[k] = now;
            mag |= (uint32_t)(now ^ (now >> 31));
        }
    }
    s->work[L_MAG] = (int32_t)mag;
}

/* Second-order choice of the partner of i: gain^2 / q, gains cut to 8 bits, no division. */
static int32_t partner(const state *s, int32_t i, int32_t top, int32_t gap, const int16_t *row) {
    int32_t by = 0, half = s->work[L_TOP] > 16383, j = -1;
    uint32_t best = 0, best_q = 1;
    while (gap >> by > 255) {
        by++;
    }
    for (int32_t k = 0; k < s->n; k++) {
        int32_t b = (top - s->v[k]) >> by;
        if (b > 0 && room_of(s, k, 0) > 0) {
            int32_t q = (s->diagonal[i] + s->diagonal[k] - 2 * row[k]) >> half;
            q = q < 1 ? 1 : q;
            uint32_t gain = (uint32_t)(b * b);
            if (gain * best_q > best * (uint32_t)q) {
                best = gain;
                best_q = (uint32_t)q;
                j = k;
            }
        }
    }
    return j;
}

static int32_t iterate(const state *s) {
    int32_t top, bottom;
    int32_t i = extremes(s, &top, &bottom);
    if (top - bottom <= s->par[L_EPS]) {
        return LIN_CONVERGED;
    }
    const int16_t *row = kernel_row(s, i, -2);
    int32_t j = partner(s, i, top, top - bottom, row);
    int32_t q = s->diagonal[i] + s->diagonal[j] - 2 * row[j];
    int32_t t = quotient(top - s->v[j], q < 1 ? 1 : q, s->scale);
    int32_t room = room_of(s, i, 1);
    t = t < room ? t : room;
    room = room_of(s, j, 0);
    t = t < room ? t : room;
    while (t && !is_safe(s, t)) {
        t >>= 1;
    }
    if (!t) {
        return LIN_NO_PROGRESS;
    }
    const int16_t *other = kernel_row(s, j, i);
    s->alpha[i] += t;
    s->alpha[j] -= t;
    apply(s, t, row, other);
    return ++s->work[L_ITER] >= s->par[L_MAX_ITER] ? LIN_CAPPED : LIN_RUNNING;
}

/* Gap, bias (mean over free vectors, else the middle) and count: a usable model. */
static void finish(const state *s) {
    int32_t top, bottom, count = 0, free = 0, total = 0;
    extremes(s, &top, &bottom);
    int32_t gap = top - bottom, middle = (top + bottom) >> 1;
    for (int32_t k = 0; k < s->n; k++) {
        if (s->alpha[k]) {
            count++;
            if (room_of(s, k, s->rows[k] >= 0) > 0) {
                free++;
                total += s->v[k] - middle;
            }
        }
    }
    /* Further apart, the sum of up to n differences may not fit. */
    if (free && gap < (int32_t)divide(BIG, (uint32_t)s->n)) {
        int32_t mean = (int32_t)divide((uint32_t)(total < 0 ? -total : total), (uint32_t)free);
        middle += total < 0 ? -mean : mean;
    }
    s->work[L_GAP] = gap > 0 ? gap : 0;
    s->work[L_BIAS] = middle;
    s->work[L_COUNT] = count;
}

/* Weight of feature t, cut by `by` binary places and rounded. */
static int64_t weight(const state *s, int32_t t, int32_t by) {
    int64_t total = 0;
    for (int32_t k = 0; k < s->n; k++) {
        int32_t x = (int32_t)((sample(s, k)[t] ^ s->sign) - s->sign);
        total += (int64_t)((s->alpha[k] >> 12) * x) * 4096; /* no multiplication of 64 bits */
        total += (s->alpha[k] & 4095) * x;
    }
    for (; by; by--) {
        total = (total + (by == 1)) >> 1;
    }
    return total;
}

/* As svm_fixed_collapse: weights in 16 bits, weights times inputs plus bias below 2^30. */
static void collapse(const state *s, int32_t *w) {
    int32_t bias = s->work[L_BIAS], by = 0, t;
    uint32_t limit = divide(s->sign ? 1 << 22 : 1 << 21, (uint32_t)s->d) - 1;
    uint64_t most = 0;
    limit = limit < 32766 ? limit : 32766;
    for (t = 0; t < s->d; t++) {
        int64_t one = weight(s, t, 0);
        one ^= one >> 63;
        most = (uint64_t)one > most ? (uint64_t)one : most;
    }
    int32_t up = s->par[L_SCALE] - 16;
    uint32_t size = (uint32_t)(bias ^ (bias >> 31));
    while (most > limit || up > 29 || (up > 0 && size >> (29 - up))) {
        most >>= 1;
        up--;
        by++;
    }
    w[0] = up + 16;
    w[1] = up >= 0 ? (int32_t)((uint32_t)bias << up) : bias >> (up < -31 ? 31 : -up);
    int16_t *weights = (int16_t *)(w + 2);
    weights[s->d - 1 + (s->d & 1)] = 0;
    for (t = 0; t < s->d; t++) {
        weights[t] = (int16_t)weight(s, t, by);
    }
}

int32_t lin_run(const lin_buffers *in, int32_t steps, int32_t *w, int32_t w_bytes) {
    state s;
    int32_t status = LIN_RUNNING;
    if (in->bytes[PAR] < LIN_PARS * 4 || !look(&s, in)) {
        return LIN_BAD_ARGUMENT;
    }
    if (w) {
        if (w_bytes < 2 * (s.d + (s.d & 1)) + 8 || ((uintptr_t)w & 3)) {
            return LIN_BAD_ARGUMENT;
        }
        collapse(&s, w);
    } else if (steps < 0) {
        start(&s);
    } else if (!s.work[L_STATUS]) {
        for (; steps > 0 && !status; steps--) {
            status = iterate(&s);
        }
        s.work[L_STATUS] = status;
        finish(&s);
    }
    return s.work[L_STATUS];
}

int32_t lin_decide(const int16_t *weights, int32_t bytes, const uint8_t *row, int32_t d,
    int32_t is_unsigned) {
    uint32_t sign = is_unsigned ? 0 : 128;
    int32_t total = ((const int32_t *)weights)[-1];
    d = d * 2 > bytes ? 0 : d;
    while (--d >= 0) {
        total += weights[d] * (int32_t)((row[d] ^ sign) - sign);
    }
    return total;
}
