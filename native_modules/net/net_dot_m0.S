/* SPDX-License-Identifier: MIT
 * Two rows of weights with a column on a Cortex-M0: 4.9 instructions for each product. */
    .syntax unified
    .cpu cortex-m0
    .thumb
    .text

/* One channel of both rows. r0 weights, r1 column, r2 = 0, r3 = 4, sums in r4, r5. */
    .macro channel
    ldrsh   r6, [r1, r2]
    ldrsb   r7, [r0, r2]
    muls    r7, r6, r7
    adds    r4, r4, r7
    ldrsb   r7, [r0, r3]
    muls    r7, r6, r7
    adds    r5, r5, r7
    adds    r0, #1
    adds    r1, #2
    .endm

/* void net_dot_2x1(const int8_t *w, const int16_t *x, int32_t words, int32_t sums[2]) */
    .global net_dot_2x1
    .type net_dot_2x1, %function
    .thumb_func
net_dot_2x1:
    push    {r3-r7, lr}
    mov     r12, r8
    lsls    r2, r2, #3
    adds    r2, r2, r1
    mov     r8, r2
    ldm     r3!, {r4, r5}
    movs    r2, #0
    movs    r3, #4
1:  channel
    channel
    channel
    channel
    adds    r0, #4
    cmp     r1, r8
    bne     1b
    mov     r8, r12
    pop     {r3}
    stm     r3!, {r4, r5}
    pop     {r4-r7, pc}
    .size net_dot_2x1, . - net_dot_2x1
