/* SPDX-License-Identifier: MIT
 * Inner loops of a Cortex-M4: each SMLAD does two multiply-accumulates. Weights are paired rows
 * (net_order.h), inputs 16-bit columns; contracts and the structures' fields: net_dot.h. */
#if defined(__ARM_FEATURE_DSP)
    .syntax unified
    .cpu cortex-m4
    .fpu fpv4-sp-d16
    .thumb
    .text

    .equ ROWS_BIAS, 12
    .equ ROWS_SHIFT, 20
    .equ ROWS_Y, 24
    .equ ROWS_PAIRS, 32
    .equ ROWS_ZERO, 36
    .equ ROWS_NARROW, 40
    .equ ROWS_LOW, 44

    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

/* A word of one row with two pixels, r4 r5 and r6 r7. */
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

/* A sum to an int8: \m is twice the multiplier, \s one less than the shift to the right, \zero
 * 1 + 2 * zero_y. SMMLAR gives (sum * multiplier + 2^30) >> 31; the rest rounds away from zero,
 * adds the zero point and limits. */
    .macro scale sum, m, s, zero, bits=8
    smmlar  \sum, \sum, \m, \sum
    add     \sum, \sum, \sum, asr #31
    asr     \sum, \sum, \s
    add     \sum, \sum, \zero
    ssat    \sum, #\bits, \sum, asr #1
    .endm

/* Four int8 to one word, bytes a b c d; changes the registers. */
    .macro pack a, b, c, d
    pkhbt   \a, \a, \c, lsl #16
    pkhbt   \b, \b, \d, lsl #16
    uxtb16  \a, \a
    uxtb16  \b, \b
    orr     \a, \a, \b, lsl #8
    .endm

/* Four int8 in x, each within low and high. */
    .macro limit x, low, high
    ssub8   lr, \x, \low
    sel     \x, \x, \low
    ssub8   lr, \x, \high
    sel     \x, \high, \x
    .endm

/* With r3 = net_rows: keep w (r0), take the next two multipliers to r4, r5, their shifts to r6,
 * r7 and zero to r0. */
    .macro next_scales
    str     r0, [r3]
    ldrd    r1, r2, [r3, #ROWS_BIAS]
    adds    r1, r1, #8
    ldrd    r4, r5, [r2], #8
    strd    r1, r2, [r3, #ROWS_BIAS]
    ldr     r1, [r3, #ROWS_SHIFT]
    ldrsb   r6, [r1], #1
    ldrsb   r7, [r1], #1
    str     r1, [r3, #ROWS_SHIFT]
    ldrd    r0, r2, [r3, #ROWS_ZERO]
    lsls    r4, r4, #1
    lsls    r5, r5, #1
    mvns    r6, r6
    mvns    r7, r7
    .endm

function net_dot_2x2
    push    {r3-r11, lr}
    ldm     r3, {r8-r11}
    movs    r3, #0
    push    {r3}
    b       2f
function net_rows_2x2
    adr     r3, 1f
    adds    r3, r3, #1
    push    {r3-r11, lr}
    push    {r0}
    .p2align 2
1:  ldm     r0, {r0-r3}
    ldrd    r8, r10, [r3]
    mov     r9, r8
    mov     r11, r10
2:  lsrs    r2, r2, #1
    it      cs
    addcs   r2, r2, #1
    bcs     4f
3:  two_by_two
4:  two_by_two
    subs    r2, r2, #1
    bne     3b
    ldr     r3, [sp]
    cbnz    r3, store_pair
    pop     {r0, r3}
    stm     r3, {r8-r11}
    pop     {r4-r11, pc}
store_pair:
    next_scales
    scale   r8, r4, r6, r0
    scale   r9, r4, r6, r0
    scale   r10, r5, r7, r0
    scale   r11, r5, r7, r0
    pack    r8, r10, r9, r11
    cbz     r2, 6f
    ldrd    r0, r1, [r3, #ROWS_LOW]
    limit   r8, r0, r1
6:  ldrd    r1, r2, [r3, #ROWS_Y]
    strh    r8, [r1], #2
    lsrs    r8, r8, #16
    strh    r8, [r2], #2
    strd    r1, r2, [r3, #ROWS_Y]
    ldr     r1, [r3, #ROWS_PAIRS]
    mov     r0, r3
    subs    r1, r1, #1
    str     r1, [r3, #ROWS_PAIRS]
    it      ne
    ldrne   pc, [sp, #4]        /* the next pair */
    pop     {r0, r3-r11, pc}
    .size net_rows_2x2, . - net_rows_2x2

function net_dot_2x1
    push    {r3-r11, lr}
    ldrd    r3, r12, [r3]
    movs    r4, #0
    push    {r4}
    b       2f
function net_rows_2x1
    adr     r3, 1f
    adds    r3, r3, #1
    push    {r3-r11, lr}
    push    {r0}
    .p2align 2
1:  ldm     r0, {r0-r3}
    ldrd    r3, r12, [r3]
2:  lsrs    r2, r2, #1
    bcc     3f
    ldrd    r8, r9, [r0], #8
    ldrd    r4, r5, [r1], #8
    row_by_1 r8, r4, r5, r3
    row_by_1 r9, r4, r5, r12
3:  adr     r5, 5f              /* enter the loop of four steps where r2 steps are left */
    ands    r4, r2, #3
    it      eq
    moveq   r4, #4
    mov     r6, #(5f - 4f) / 4
    mls     r5, r4, r6, r5
    adds    r2, r2, #3
    lsrs    r2, r2, #2
    beq.w   6f
    orr     r5, r5, #1
    bx      r5
    .p2align 2
4:  .rept 4
    two_by_one
    .endr
5:  subs    r2, r2, #1
    bne     4b
6:  mov     r8, r3
    ldr     r3, [sp]
    cbnz    r3, 7f
    pop     {r0, r3}
    strd    r8, r12, [r3]
    pop     {r4-r11, pc}
7:  mov     r9, r8              /* y is the same for both pixels */
    mov     r10, r12
    mov     r11, r12
    b       store_pair
    .size net_rows_2x1, . - net_rows_2x1

    .equ TAPS_SCALES, 28
    .equ TAPS_Y, 60
    .equ TAPS_Y_STEP, 64
    .equ TAPS_ZERO, 76
    .equ TAPS_MASK, 92
    .equ TAPS_SEGMENTS, 108

/* One tap of 4 channels, x in \even and \odd. */
    .macro tap even, odd
    ldrd    r8, r9, [r1], #8
    smlabb  r10, r8, \even, r10
    smlatt  r12, r8, \even, r12
    smlabb  r11, r9, \odd, r11
    smlatt  lr, r9, \odd, lr
    .endm

    .macro scale_lane sum, lane
    ldrd    r4, r5, [r0, #TAPS_SCALES + 8 * \lane]
    scale   \sum, r4, r5, r6, 16
    .endm

/* Four channels of a pixel, sums in r10 r11 r12 lr, to r3. r0: net_taps_args. A bit of the mask
 * says that a value is within its limits: 16 bits of it equal what is stored. */
    .macro store_lanes
    ldrd    r6, r7, [r0, #TAPS_ZERO]
    scale_lane r10, 0
    scale_lane r11, 1
    scale_lane r12, 2
    scale_lane lr, 3
    pkhbt   r4, r10, r12, lsl #16
    pkhbt   r5, r11, lr, lsl #16
    ssat16  r8, #8, r4
    ssat16  r9, #8, r5
    uxtb16  r10, r8
    uxtb16  r11, r9
    orr     r10, r10, r11, lsl #8
    cbz     r7, 71f
    ldrd    r6, r7, [r0, #TAPS_ZERO + 8]
    limit   r10, r6, r7
    sxtb16  r8, r10
    sxtb16  r9, r10, ror #8
71: ldr     r7, [r0, #TAPS_MASK]
    str     r10, [r3]
    cbz     r7, 72f
    eors    r4, r4, r8
    eor     r5, r5, r9
    ldr     r8, [r0, #TAPS_MASK + 12]
    movs    r6, #0
    usub16  r4, r6, r4
    sel     r4, r8, r6
    usub16  r5, r6, r5
    sel     r5, r8, r6
    ldrb    r6, [r7]
    orr     r4, r4, r5, lsl #1
    ldrd    r8, r9, [r0, #TAPS_MASK + 4]
    orr     r4, r4, r4, lsr #16
    lsl     r4, r4, r9
    orrs    r6, r6, r4
    strb    r6, [r7]
    add     r7, r7, r8
    str     r7, [r0, #TAPS_MASK]
72:
    .endm

/* On to the next pixel; the flags say whether there is one. */
    .macro next_pixel
    ldrd    r4, r5, [r0, #TAPS_Y_STEP]
    ldr     r6, [r0, #TAPS_Y_STEP + 8]
    ldr     r7, [r0]
    add     r3, r3, r4
    add     r7, r7, r6
    subs    r5, r5, #1
    str     r7, [r0]
    str     r5, [r0, #TAPS_Y_STEP + 4]
    .endm

function net_taps
    push    {r3-r11, lr}
    ldm     r3, {r10-r12, lr}
    movs    r4, #0
    push    {r4}
    b       2f
function net_taps_row
    push    {r3-r11, lr}
    push    {r0}
    ldr     r3, [r0, #TAPS_Y]
1:  ldm     r0, {r0-r2, r10-r12, lr}
2:  lsrs    r2, r2, #1
    bcc     3f
    ldrd    r4, r5, [r0], #8
    tap     r4, r5
3:  cbz     r2, 5f
4:  ldm     r0!, {r4-r7}
    subs    r2, r2, #1
    tap     r4, r5
    tap     r6, r7
    bne     4b
5:  ldr     r0, [sp]
    cbnz    r0, 6f
    stm     r3, {r10-r12, lr}
    pop     {r0, r3-r11, pc}
6:  store_lanes
    next_pixel
    bne     1b
    pop     {r0, r3-r11, pc}
    .size net_taps_row, . - net_taps_row

/* 4 bytes of x with the weights of two output channels. */
    .macro quad a, b
    ldm     r1!, {r6-r9}
    smlad   \a, r4, r6, \a
    smlad   \b, r4, r8, \b
    smlad   \a, r5, r7, \a
    smlad   \b, r5, r9, \b
    .endm

function net_quads_row
    push    {r3-r11, lr}
    push    {r0}
    vldr    s0, [r0, #TAPS_Y]
    vldr    s1, [r0, #TAPS_SEGMENTS]
    vldr    s2, [r0, #TAPS_SEGMENTS + 4]
1:  ldm     r0, {r0-r2, r10-r12, lr}
    vmov    r3, s1
2:  ldr     r4, [r0], #4
    subs    r2, r2, #1
    sxtb16  r5, r4, ror #8
    sxtb16  r4, r4
    quad    r10, r11
    quad    r12, lr
    bne     2b
    subs    r3, r3, #1
    beq     3f
    vmov    r2, s2
    ldr     r4, [sp]
    add     r0, r0, r2
    ldr     r2, [r4, #8]
    b       2b
3:  vmov    r3, s0
    ldr     r0, [sp]
    store_lanes
    next_pixel
    vmov    s0, r3
    bne     1b
    str     r3, [r0, #TAPS_Y]
    pop     {r0, r3-r11, pc}
    .size net_quads_row, . - net_quads_row
#endif
