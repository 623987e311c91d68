/* SPDX-License-Identifier: MIT
 * A step of a parameter, rounded at random. */
#include "net_math.h"
#include "net_update.h"

/* Section 6: a * c * 2^e, rounded at random. */
int32_t net_random_step(int32_t a, net_factor f, uint32_t *seed) {
    int64_t t = (int64_t)a * f.c;
    uint32_t u = net_draw(seed);
    int32_t d = -f.e;
    if (d <= 0) {
        int64_t most = d < -31 ? 0 : INT64_C(1) << (31 + d);
        if (t > most || t < -most) {
            return t > 0 ? INT32_MAX : -INT32_MAX;
        }
        t = d < -31 ? 0 : t * (INT64_C(1) << -d);
    } else {
        if (d > 31) {
            t >>= d - 31 > 63 ? 63 : d - 31;
            d = 31;
        }
        t = (t + (u >> (32 - d))) >> d;
    }
    return t > INT32_MAX ? INT32_MAX : t < -INT32_MAX ? -INT32_MAX : (int32_t)t;
}
