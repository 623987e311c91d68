// SPDX-License-Identifier: MIT
// Run-time routines that no windowed Xtensa library in Debian provides: 64-bit and float helpers.
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned u32;
typedef int i32;
typedef union {
    float f;
    u32 u;
} fu;
u64 __ashldi3(u64 a, int b) {
    u32 lo = (u32)a, hi = (u32)(a >> 32);
    if (b & 32) {
        hi = lo << (b & 31);
        lo = 0;
    } else if (b) {
        hi = (hi << b) | (lo >> (32 - b));
        lo <<= b;
    }
    return ((u64)hi << 32) | lo;
}
u64 __lshrdi3(u64 a, int b) {
    u32 lo = (u32)a, hi = (u32)(a >> 32);
    if (b & 32) {
        lo = hi >> (b & 31);
        hi = 0;
    } else if (b) {
        lo = (lo >> b) | (hi << (32 - b));
        hi >>= b;
    }
    return ((u64)hi << 32) | lo;
}
i64 __ashrdi3(i64 a, int b) {
    u32 lo = (u32)a;
    i32 hi = (i32)(a >> 32);
    if (b & 32) {
        lo = (u32)(hi >> (b & 31));
        hi >>= 31;
    } else if (b) {
        lo = (lo >> b) | ((u32)hi << (32 - b));
        hi >>= b;
    }
    return (i64)(((u64)(u32)hi << 32) | lo);
}
u64 __muldi3(u64 a, u64 b) {
    u32 al = (u32)a, bl = (u32)b, ah = (u32)(a >> 32), bh = (u32)(b >> 32);
    u32 a0 = al & 0xffff, a1 = al >> 16, b0 = bl & 0xffff, b1 = bl >> 16;
    u32 p0 = a0 * b0, p1 = a0 * b1, p2 = a1 * b0, p3 = a1 * b1;
    u32 m = (p0 >> 16) + (p1 & 0xffff) + (p2 & 0xffff);
    u32 lo = (m << 16) | (p0 & 0xffff);
    u32 hi = p3 + (p1 >> 16) + (p2 >> 16) + (m >> 16) + al * bh + ah * bl;
    return ((u64)hi << 32) | lo;
}
static u64 udm(u64 n, u64 d, u64 *r) {
    u32 nl = (u32)n, nh = (u32)(n >> 32), dl = (u32)d, dh = (u32)(d >> 32), ql = 0, qh = 0, rl = 0,
        rh = 0;
    for (int i = 0; i < 64; i++) {
        rh = (rh << 1) | (rl >> 31);
        rl = (rl << 1) | (nh >> 31);
        nh = (nh << 1) | (nl >> 31);
        nl <<= 1;
        qh = (qh << 1) | (ql >> 31);
        ql <<= 1;
        if (rh > dh || (rh == dh && rl >= dl)) {
            u32 t = rl - dl;
            rh = rh - dh - (rl < dl);
            rl = t;
            ql |= 1;
        }
    }
    *r = ((u64)rh << 32) | rl;
    return ((u64)qh << 32) | ql;
}
u64 __udivdi3(u64 a, u64 b) {
    u64 r;
    return udm(a, b, &r);
}
u64 __umoddi3(u64 a, u64 b) {
    u64 r;
    udm(a, b, &r);
    return r;
}
i64 __divdi3(i64 a, i64 b) {
    u64 r, q = udm(a < 0 ? -(u64)a : (u64)a, b < 0 ? -(u64)b : (u64)b, &r);
    return ((a < 0) != (b < 0)) ? -(i64)q : (i64)q;
}
i64 __moddi3(i64 a, i64 b) {
    u64 r;
    udm(a < 0 ? -(u64)a : (u64)a, b < 0 ? -(u64)b : (u64)b, &r);
    return a < 0 ? -(i64)r : (i64)r;
}
float __divsf3(float x, float y) {
    fu a = {x}, b = {y}, r;
    u32 s = (a.u ^ b.u) & 0x80000000u;
    int ea = (a.u >> 23) & 255, eb = (b.u >> 23) & 255;
    u32 ma = a.u & 0x7fffff, mb = b.u & 0x7fffff;
    if (ea == 255) {
        if (ma || eb == 255) {
            r.u = 0x7fc00000;
            return r.f;
        }
        r.u = s | 0x7f800000;
        return r.f;
    }
    if (eb == 255) {
        if (mb) {
            r.u = 0x7fc00000;
            return r.f;
        }
        r.u = s;
        return r.f;
    }
    if (!eb && !mb) {
        if (!ea && !ma) {
            r.u = 0x7fc00000;
            return r.f;
        }
        r.u = s | 0x7f800000;
        return r.f;
    }
    if (!ea) {
        if (!ma) {
            r.u = s;
            return r.f;
        }
        int k = __builtin_clz(ma) - 8;
        ma <<= k;
        ea = 1 - k;
    } else {
        ma |= 0x800000;
    }
    if (!eb) {
        int k = __builtin_clz(mb) - 8;
        mb <<= k;
        eb = 1 - k;
    } else {
        mb |= 0x800000;
    }
    int e = ea - eb + 127;
    u32 q = 0, rem = ma;
    if (rem < mb) {
        rem <<= 1;
        e--;
    }
    for (int i = 0; i < 25; i++) {
        q <<= 1;
        if (rem >= mb) {
            rem -= mb;
            q |= 1;
        }
        rem <<= 1;
    }
    u32 st = rem != 0; /* q has 25 bits: 24 + round */
    if (e >= 255) {
        r.u = s | 0x7f800000;
        return r.f;
    }
    if (e <= 0) {
        int sh = 1 - e;
        if (sh > 25) {
            r.u = s;
            return r.f;
        }
        st |= (q & ((1u << sh) - 1)) != 0;
        q >>= sh;
        e = 0;
        u32 m = q >> 1;
        if ((q & 1) && (st || (m & 1))) {
            m++;
        }
        r.u = s + m;
        return r.f;
    }
    u32 m = q >> 1;
    if ((q & 1) && (st || (m & 1))) {
        m++;
    }
    r.u = s + ((u32)(e - 1) << 23) + m;
    return r.f;
}
i64 __fixsfdi(float x) {
    fu a = {x};
    int e = ((a.u >> 23) & 255) - 150;
    u64 m = (a.u & 0x7fffff) | 0x800000;
    if (e < -24) {
        return 0;
    }
    m = e >= 0 ? m << e : m >> -e;
    return (a.u >> 31) ? -(i64)m : (i64)m;
}
u64 __fixunssfdi(float x) {
    return (u64)__fixsfdi(x);
}
float __floatundisf(u64 v) {
    return (float)(u32)(v >> 32) * 4294967296.0f + (float)(u32)v;
}
float __floatdisf(i64 v) {
    return v < 0 ? -__floatundisf(-(u64)v) : __floatundisf((u64)v);
}
float nearbyintf(float x) {
    fu a = {x};
    int e = (a.u >> 23) & 255;
    if (e >= 150) {
        return x;
    }
    fu t = {8388608.0f};
    t.u |= a.u & 0x80000000u;
    volatile float y = x + t.f;
    y = y - t.f;
    fu r = {y};
    r.u |= a.u & 0x80000000u;
    return r.f;
}
typedef union {
    double d;
    u64 u;
} du;
double __extendsfdf2(float x) {
    fu a = {x};
    du r;
    u64 s = (u64)(a.u >> 31) << 63;
    u32 e = (a.u >> 23) & 255;
    u64 m = a.u & 0x7fffff;
    if (e == 255) {
        r.u = s | 0x7ff0000000000000ull | (m << 29);
    } else if (!e) {
        if (!m) {
            r.u = s;
        } else {
            int k = __builtin_clz((u32)m) - 8;
            m = (m << k) & 0x7fffff;
            r.u = s | ((u64)(1 - k + 896) << 52) | (m << 29);
        }
    } else {
        r.u = s | ((u64)(e + 896) << 52) | (m << 29);
    }
    return r.d;
}
float __truncdfsf2(double x) {
    du a;
    a.d = x;
    fu r;
    u32 s = (u32)(a.u >> 63) << 31;
    int e = (int)(a.u >> 52) & 0x7ff;
    u64 m = a.u & 0xfffffffffffffull;
    if (e == 0x7ff) {
        r.u = s | 0x7f800000 | (m ? 0x400000 : 0);
        return r.f;
    }
    e -= 896;
    if (e >= 255) {
        r.u = s | 0x7f800000;
        return r.f;
    }
    u32 mm;
    u64 rem, half;
    if (e > 0) {
        mm = (u32)(m >> 29);
        rem = m & 0x1fffffff;
        half = 0x10000000;
        r.u = s | ((u32)e << 23) | mm;
    } else {
        m |= 1ull << 52;
        int sh = 30 - e;
        if (sh > 54) {
            r.u = s;
            return r.f;
        }
        mm = (u32)(m >> sh);
        rem = m & ((1ull << sh) - 1);
        half = 1ull << (sh - 1);
        r.u = s | mm;
    }
    if (rem > half || (rem == half && (mm & 1))) {
        r.u++;
    }
    return r.f;
}
double __floatsidf(int v) {
    du r;
    if (!v) {
        r.u = 0;
        return r.d;
    }
    u32 u = v < 0 ? -(u32)v : (u32)v;
    int k = __builtin_clz(u);
    r.u = ((u64)(v < 0) << 63) | ((u64)(1023 + 31 - k) << 52) |
          (((u64)u << (k + 21)) & 0xfffffffffffffull);
    return r.d;
}
double __floatunsidf(u32 u) {
    du r;
    if (!u) {
        r.u = 0;
        return r.d;
    }
    int k = __builtin_clz(u);
    r.u = ((u64)(1023 + 31 - k) << 52) | (((u64)u << (k + 21)) & 0xfffffffffffffull);
    return r.d;
}
float fabsf(float x) {
    fu a = {x};
    a.u &= 0x7fffffff;
    return a.f;
}
float copysignf(float x, float y) {
    fu a = {x}, b = {y};
    a.u = (a.u & 0x7fffffff) | (b.u & 0x80000000u);
    return a.f;
}
float nanf(const char *t) {
    fu a;
    a.u = 0x7fc00000;
    return a.f;
}
int __finitef(float x) {
    fu a = {x};
    return ((a.u >> 23) & 255) != 255;
}
float logf(float);
float log2f(float x) {
    return logf(x) * 1.44269504f;
}
