/* SPDX-License-Identifier: MIT
 * Walks a network program over one arena. Formats: net_format.h and docs/numerics.md. */
#ifndef NET_H
#define NET_H

#include <stdint.h>
#include "net_format.h"

/* Everything that a program works on. The program may lie in flash; it and the arena begin at a
 * multiple of 4. par: numbers that the caller sets and reads. */
typedef struct {
    const uint8_t *program, *input;
    uint8_t *arena;
    int32_t *par;
    uint32_t program_bytes, input_bytes, arena_bytes;
} net_call;

enum {
    NET_AT, /* where in the code to begin; on return where to go on */
    NET_UNTIL, /* where to end */
    NET_LABEL,
    NET_TRAINING, /* 0: no masks, nothing kept */
    NET_BUDGET, /* most instructions of this call */
    NET_PAGE_OP, /* on NET_PAGE: the instruction and its three operands */
    NET_PAGE_NUMBER,
    NET_PAGE_AT,
    NET_PAGE_N,
    NET_PARS
};

/* Returns NET_DONE, NET_MORE, NET_PAGE, NET_OTHER (the other module has the instruction at NET_AT;
 * NET_BUDGET is what is left) or a fault below 0; faults leave NET_AT at the fault. */
int32_t net_run(const net_call *call);

/* The same for float32 programs. */
int32_t net_run_f32(const net_call *call);

#endif
