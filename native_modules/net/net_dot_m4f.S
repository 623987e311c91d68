/* SPDX-License-Identifier: MIT
 * Dot products of a Cortex-M4: each SMLAD does two multiply-accumulates. Weights are paired
 * rows (net_order.h), inputs 16-bit columns (net_dot.h). */
    .syntax unified
    .cpu cortex-m4
    .thumb
    .text

/* Four products of one row with the pixels in r4, r5 (and r6, r7 when there are two). */
    .macro row_by_2 w, a, b
    sxtb16  lr, \w
    sxtb16  \w, \w, ror #8
    smlad   \a, lr, r4, \a
    smlad   \b, lr, r6, \b
    smlad   \a, \w, r5, \a
    smlad   \b, \w, r7, \b
    .endm

    .macro row_by_1 w, even, odd, a
    sxtb16  lr, \w
    sxtb16  \w, \w, ror #8
    smlad   \a, lr, \even, \a
    smlad   \a, \w, \odd, \a
    .endm

    .macro two_by_two
    ldrd    r3, r12, [r0], #8
    ldm     r1!, {r4-r7}
    row_by_2 r3, r8, r9
    row_by_2 r12, r10, r11
    .endm

    .macro two_by_one
    ldm.w   r0!, {r8-r11}
    ldm.w   r1!, {r4-r7}
    row_by_1 r8, r4, r5, r3
    row_by_1 r9, r4, r5, r12
    row_by_1 r10, r6, r7, r3
    row_by_1 r11, r6, r7, r12
    .endm

/* void net_dot_2x2(const int8_t *w, const int16_t *x, int32_t words, int32_t acc[4])
 * acc: row 0 with both pixels, row 1 with both. words >= 1, of 4 channels. */
    .global net_dot_2x2
    .type net_dot_2x2, %function
    .thumb_func
net_dot_2x2:
    push    {r3-r11, lr}
    ldm     r3, {r8-r11}
    lsrs    r2, r2, #1
    it      cs
    addcs   r2, r2, #1
    bcs     2f
1:  two_by_two
2:  two_by_two
    subs    r2, r2, #1
    bne     1b
    ldr     r3, [sp], #4
    stm     r3, {r8-r11}
    pop     {r4-r11, pc}
    .size net_dot_2x2, . - net_dot_2x2

/* void net_dot_2x1(const int8_t *w, const int16_t *x, int32_t words, int32_t acc[2]) */
    .global net_dot_2x1
    .type net_dot_2x1, %function
    .thumb_func
net_dot_2x1:
    push    {r3-r11, lr}
    ldrd    r3, r12, [r3]
    lsrs    r2, r2, #1
    bcc     1f
    ldrd    r8, r9, [r0], #8
    ldrd    r4, r5, [r1], #8
    row_by_1 r8, r4, r5, r3
    row_by_1 r9, r4, r5, r12
1:  adr     r5, 3f              /* enter the loop of four steps where r2 steps are left */
    ands    r4, r2, #3
    it      eq
    moveq   r4, #4
    mov     r6, #(3f - 2f) / 4
    mls     r5, r4, r6, r5
    adds    r2, r2, #3
    lsrs    r2, r2, #2
    beq.w   4f
    orr     r5, r5, #1
    bx      r5
    .p2align 2
2:  .rept 4
    two_by_one
    .endr
3:  subs    r2, r2, #1
    bne     2b
4:  pop     {r4}
    strd    r3, r12, [r4]
    pop     {r4-r11, pc}
    .size net_dot_2x1, . - net_dot_2x1

    .macro tap even, odd
    ldrd    r8, r9, [r1], #8
    smlabb  r10, r8, \even, r10
    smlatt  r12, r8, \even, r12
    smlabb  r11, r9, \odd, r11
    smlatt  lr, r9, \odd, lr
    .endm

/* void net_taps(const int16_t *x, const int16_t *w, int32_t taps, int32_t sums[4]) */
    .global net_taps
    .type net_taps, %function
    .thumb_func
net_taps:
    push    {r3-r11, lr}
    ldm     r3, {r10-r12, lr}
    lsrs    r2, r2, #1
    bcc     1f
    ldrd    r4, r5, [r0], #8
    tap     r4, r5
1:  cbz     r2, 3f
2:  ldm     r0!, {r4-r7}
    subs    r2, r2, #1
    tap     r4, r5
    tap     r6, r7
    bne     2b
3:  pop     {r3}
    stm     r3, {r10-r12, lr}
    pop     {r4-r11, pc}
    .size net_taps, . - net_taps
