/* SPDX-License-Identifier: MIT
 * Two rows of weights with a column on a Cortex-M0: 4.9 instructions for each product. */
#if defined(__ARM_ARCH_6M__)
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
    lsls    r2, r2, #3
    adds    r2, r2, r1
    mov     r12, r2
    ldm     r3!, {r4, r5}
    movs    r2, #0
    movs    r3, #4
1:  channel
    channel
    channel
    channel
    adds    r0, #4
    cmp     r1, r12
    bne     1b
    pop     {r3}
    stm     r3!, {r4, r5}
    pop     {r4-r7, pc}
    .size net_dot_2x1, . - net_dot_2x1

/* One byte of r3, less r5, to the column r0. */
    .macro widened at
    ldrb    r2, [r3, #\at]
    sxtb    r2, r2
    subs    r2, r2, r5
    strh    r2, [r0, #2 * \at]
    .endm

/* void net_widen(int16_t *column, uint32_t pixels, uint32_t lane, const int8_t *from, uint32_t n,
 *     int32_t zero); pixels is 1, lane 0 */
    .global net_widen
    .type net_widen, %function
    .thumb_func
net_widen:
    push    {r4-r6, lr}
    ldr     r4, [sp, #16]
    ldr     r5, [sp, #20]
    lsrs    r6, r4, #2
    beq     2f
1:  widened 0
    widened 1
    widened 2
    widened 3
    adds    r3, #4
    adds    r0, #8
    subs    r6, #1
    bne     1b
2:  movs    r6, #3
    ands    r4, r6
    beq     5f
    movs    r1, #4
3:  movs    r2, #0              /* what fills the word */
    subs    r4, #1
    bmi     4f
    ldrb    r2, [r3]
    sxtb    r2, r2
    subs    r2, r2, r5
    adds    r3, #1
4:  strh    r2, [r0]
    adds    r0, #2
    subs    r1, #1
    bne     3b
5:  pop     {r4-r6, pc}
    .size net_widen, . - net_widen
#endif
