// SPDX-License-Identifier: MIT
/* LLVM 22/23's own va_start/va_arg are wrong for the Xtensa windowed ABI; this reads the same save
 * area correctly. */
#ifndef QXT_STDARG_H
#define QXT_STDARG_H
typedef struct {
    char *reg, *stk;
    unsigned ndx, sndx;
} qva_t;
typedef qva_t va_list[1];
#define __GNUC_VA_LIST 1
typedef va_list __gnuc_va_list;
struct qva_raw {
    char *stk, *reg;
    int ndx;
};
static inline __attribute__((always_inline)) void *qva_next(qva_t *a, unsigned size) {
    unsigned al = size > 4 ? 7 : 3, n = (a->ndx + al) & ~al;
    size = (size + 3) & ~3u;
    if (n + size <= 24) {
        a->ndx = n + size;
        return a->reg + n;
    }
    a->ndx = 24;
    n = (a->sndx + al) & ~al;
    a->sndx = n + size;
    return a->stk + n;
}
#define va_start(ap, last)                                                                        \
    do {                                                                                          \
        __builtin_va_list _r;                                                                     \
        __builtin_va_start(_r, last);                                                             \
        struct qva_raw *_q = (struct qva_raw *)(void *)&_r;                                       \
        __asm__ volatile("" : "+r"(_q) : : "memory");                                             \
        (ap)->ndx = _q->ndx;                                                                      \
        (ap)->reg = _q->reg - _q->ndx;                                                            \
        (ap)->stk = _q->stk + 32;                                                                 \
        (ap)->sndx = 0;                                                                           \
    } while (0)
#define va_arg(ap, T) (*(T *)qva_next((ap), sizeof(T)))
#define va_end(ap) ((void)0)
#define va_copy(d, s) (*(d) = *(s))
#endif
