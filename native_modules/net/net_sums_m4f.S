/* SPDX-License-Identifier: MIT
 * Inner loops of the backward pass for a Cortex-M4; contracts and structures: net_sums.h. */
#if defined(__ARM_FEATURE_DSP)
    .syntax unified
    .cpu cortex-m4
    .fpu fpv4-sp-d16
    .thumb
    .text

    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .equ SPREAD_STEP, 4
    .equ SPREAD_APART, 8
    .equ SPREAD_NEXT, 12
    .equ SPREAD_FACTORS, 16
    .equ SPREAD_END, 20
    .equ SPREAD_SUMS, 24
    .equ SPREAD_WORDS, 32

/* Words r2 and r3 of two rows: columns 0 and 1 of both to r2 and r12, the others to r3. */
    .macro two_columns
    pkhbt   r12, r2, r3, lsl #16
    pkhtb   r3, r3, r2, asr #16
    sxtb16  r2, r12
    sxtb16  r12, r12, ror #8
    .endm

    .macro other_columns
    sxtb16  r2, r3
    sxtb16  r3, r3, ror #8
    .endm

/* Two rows at r0 with four factors at r1. s0: step, s1: apart. */
    .macro spread_2
    ldr     r2, [r0]
    vmov    r12, s1
    ldr     r3, [r0, r12]
    vmov    lr, s0
    add     r0, r0, lr
    two_columns
    ldr     lr, [r1], #4
    smlad   r4, r2, lr, r4
    smlad   r5, r12, lr, r5
    ldr     lr, [r1], #4
    smlad   r8, r2, lr, r8
    smlad   r9, r12, lr, r9
    other_columns
    smlad   r10, r2, lr, r10
    smlad   r11, r3, lr, r11
    ldr     lr, [r1, #-8]
    smlad   r6, r2, lr, r6
    smlad   r7, r3, lr, r7
    .endm

function net_spread_2
    push    {r4-r11, lr}
    ldr     r1, [r0, #SPREAD_WORDS]
    ldr     r2, [r0]
    push    {r0, r1, r2}
    vldr    s0, [r0, #SPREAD_STEP]
    vldr    s1, [r0, #SPREAD_APART]
    vldr    s2, [r0, #SPREAD_END]
    ldrd    r2, r3, [r0, #SPREAD_SUMS]
    vmov    s3, r2
    vmov    s4, r3
    ldrd    r2, r3, [r0, #SPREAD_FACTORS]
    vmov    s5, r2
    subs    r3, r3, r2
    lsls    r3, r3, #28         /* the sign: an odd count of pairs, 8 bytes each */
    vmov    s6, r3
1:  vmov    r2, s3
    vmov    r3, s4
    ldm     r2, {r4-r7}
    ldm     r3, {r8-r11}
    vmov    r1, s5
    vmov    r2, s6
    ldr     r0, [sp, #8]
    cmp     r2, #0
    bmi     3f
2:  spread_2
3:  spread_2
    vmov    lr, s2
    cmp     r1, lr
    bne     2b
    vmov    r2, s3
    vmov    r3, s4
    stm     r2!, {r4-r7}
    stm     r3!, {r8-r11}
    vmov    s3, r2
    vmov    s4, r3
    ldrd    r4, r5, [sp]
    ldr     r0, [sp, #8]
    ldr     r6, [r4, #SPREAD_NEXT]
    add     r0, r0, r6
    str     r0, [sp, #8]
    subs    r5, r5, #1
    str     r5, [sp, #4]
    bne     1b
    pop     {r0, r1, r2, r4-r11, pc}
    .size net_spread_2, . - net_spread_2

/* Two rows at r0 with the two factors of \factor. r8: step. */
    .macro spread_1 factor
    ldrd    r2, r3, [r0]
    add     r0, r0, r8
    two_columns
    smlad   r4, r2, \factor, r4
    smlad   r5, r12, \factor, r5
    other_columns
    smlad   r6, r2, \factor, r6
    smlad   r7, r3, \factor, r7
    .endm

    .macro spread_4
    ldm     r1!, {r9, r10, r11, lr}
    spread_1 r9
    spread_1 r10
    spread_1 r11
    spread_1 lr
    .endm

/* s0: rows, s1: end of the sums, s2: factors, s4: pairs of rows, s5: sums, s6: end of the factors */
function net_spread_1
    push    {r0, r4-r11, lr}
    vldr    s0, [r0]
    ldr     r8, [r0, #SPREAD_STEP]
    ldr     r1, [r0, #SPREAD_SUMS]
    ldr     r2, [r0, #SPREAD_WORDS]
    vmov    s5, r1
    add     r2, r1, r2, lsl #4
    vmov    s1, r2
    ldrd    r1, r2, [r0, #SPREAD_FACTORS]
    vmov    s2, r1
    vmov    s6, r2
    subs    r2, r2, r1
    lsrs    r2, r2, #2
    vmov    s4, r2
1:  vmov    r0, s5
    vmov    r1, s2
    vmov    r2, s4
    ldm     r0, {r4-r7}
    vmov    r0, s0
    tst     r2, #15
    beq     5f
    tst     r2, #1
    beq     2f
    ldr     lr, [r1], #4
    spread_1 lr
    vmov    r2, s4
2:  tst     r2, #2
    beq     3f
    ldrd    r9, r10, [r1], #8
    spread_1 r9
    spread_1 r10
    vmov    r2, s4
3:  tst     r2, #4
    beq     4f
    spread_4
    vmov    r2, s4
4:  tst     r2, #8
    beq     4f
    spread_4
    spread_4
    vmov    r2, s4
4:  lsrs    r2, r2, #4
    beq     6f
5:  .rept 4
    spread_4
    .endr
    vmov    r2, s6
    cmp     r1, r2
    bne     5b
6:  vmov    r0, s5
    stm     r0!, {r4-r7}
    vmov    s5, r0
    vmov    r2, s0
    vmov    r3, s1
    add     r2, r2, #8
    vmov    s0, r2
    cmp     r0, r3
    bne     1b
    pop     {r0, r4-r11, pc}
    .size net_spread_1, . - net_spread_1

/* One tap of 4 channels: sums at \sums with pixels r8, r9. */
    .macro scatter sums, low, high
    ldm     \sums, {r4-r7}
    smlabb  r4, r8, \low, r4
    smlatt  r5, r8, \low, r5
    smlabb  r6, r9, \high, r6
    smlatt  r7, r9, \high, r7
    stm     \sums!, {r4-r7}
    .endm

/* void net_scatter(const net_scatter_args *s) */
function net_scatter
    push    {r4-r11, lr}
    ldm     r0, {r0, r1, r2, r3, r12, lr} /* pixels taps columns kernel sums step */
    cmp     r3, #3
    beq     3f
    push    {r2, r3, lr}
1:  ldrd    r8, r9, [r0], #8
    mov     r2, r1
    mov     lr, r12
    ldr     r3, [sp, #4]
2:  ldrd    r10, r11, [r2], #8
    scatter lr, r10, r11
    subs    r3, r3, #1
    bne     2b
    ldrd    r2, r3, [sp, #4]
    add     r12, r12, r3
    ldr     r2, [sp]
    subs    r2, r2, #1
    str     r2, [sp]
    bne     1b
    pop     {r1, r2, r3, r4-r11, pc}
3:  add     r2, r0, r2, lsl #3  /* three taps stay in registers */
    vmov    s0, r2
    sub     lr, lr, #48
    vmov    s1, lr
    ldm     r1, {r1, r2, r3, r10, r11, lr}
4:  ldrd    r8, r9, [r0], #8
    scatter r12, r1, r2
    scatter r12, r3, r10
    scatter r12, r11, lr
    vmov    r8, s1
    vmov    r9, s0
    add     r12, r12, r8
    cmp     r0, r9
    bne     4b
    pop     {r4-r11, pc}
    .size net_scatter, . - net_scatter

/* uint32_t net_bits(const int32_t *sums, uint32_t words) */
function net_bits
    push    {r4-r6, lr}
    movs    r6, #0
1:  ldm     r0!, {r2-r5}
    eor     r2, r2, r2, asr #31
    eor     r3, r3, r3, asr #31
    eor     r4, r4, r4, asr #31
    eor     r5, r5, r5, asr #31
    orrs    r2, r2, r3
    orrs    r4, r4, r5
    orrs    r6, r6, r2
    orrs    r6, r6, r4
    subs    r1, r1, #1
    bne     1b
    mov     r0, r6
    pop     {r4-r6, pc}
    .size net_bits, . - net_bits

/* \most is the larger of it and the magnitude of \x. */
    .macro larger x, most
    eor     r12, \x, \x, asr #31
    sub     r12, r12, \x, asr #31
    cmp     r12, \most
    it      hi
    movhi   \most, r12
    .endm

/* int32_t net_most(const int32_t *sums, uint32_t words) */
function net_most
    push    {r4-r6, lr}
    movs    r6, #0
1:  ldm     r0!, {r2-r5}
    larger  r2, r6
    larger  r3, r6
    larger  r4, r6
    larger  r5, r6
    subs    r1, r1, #1
    bne     1b
    mov     r0, r6
    pop     {r4-r6, pc}
    .size net_most, . - net_most

/* void net_clear(int32_t *sums, uint32_t words) */
function net_clear
    push    {r4, lr}
    movs    r2, #0
    movs    r3, #0
    movs    r4, #0
    mov     r12, #0
1:  stm     r0!, {r2-r4, r12}
    subs    r1, r1, #1
    bne     1b
    pop     {r4, pc}
    .size net_clear, . - net_clear

/* void net_fold_row(const net_fold_args *f) */
function net_fold_row
    push    {r4-r11, lr}
    ldm     r0, {r0-r9}         /* g step columns to ratio half fold */
1:  ldr     r10, [r0]
    add     r0, r0, r1
    sxtb    r11, r10
    mla     r11, r11, r4, r8
    sxtb    r12, r10, ror #8
    mla     r12, r12, r5, r8
    asr     r11, r11, r9
    asr     r12, r12, r9
    pkhbt   r11, r11, r12, lsl #16
    sxtb    r12, r10, ror #16
    asr     r10, r10, #24
    mla     r12, r12, r6, r8
    mla     r10, r10, r7, r8
    asr     r12, r12, r9
    asr     r10, r10, r9
    pkhbt   r12, r12, r10, lsl #16
    strd    r11, r12, [r3], #8
    subs    r2, r2, #1
    bne     1b
    pop     {r4-r11, pc}
    .size net_fold_row, . - net_fold_row

/* x / 2^r4, halves to even; r5 = 2^(r4 - 1) - 1. */
    .macro even_shift x
    lsr     lr, \x, r4
    and     lr, lr, #1
    add     \x, \x, lr
    add     \x, \x, r5
    asr     \x, \x, r4
    .endm

/* void net_store_words(const int32_t *sums, uint32_t words, int8_t *at, uint32_t step, int s) */
function net_store_words
    push    {r4-r8, r9, lr}
    ldr     r4, [sp, #28]
    mov     r5, #1
    lsl     r5, r5, r4
    lsrs    r5, r5, #1
    it      ne
    subne   r5, r5, #1
1:  ldm     r0!, {r6-r9}
    cbz     r4, 2f
    even_shift r6
    even_shift r7
    even_shift r8
    even_shift r9
2:  pkhbt   r6, r6, r8, lsl #16
    pkhbt   r7, r7, r9, lsl #16
    uxtb16  r6, r6
    uxtb16  r7, r7
    orr     r6, r6, r7, lsl #8
    str     r6, [r2]
    add     r2, r2, r3
    subs    r1, r1, #1
    bne     1b
    pop     {r4-r8, r9, pc}
    .size net_store_words, . - net_store_words

    .equ STEPS_MORE, 12
    .equ STEPS_DOWN, 16
    .equ STEPS_SEED, 20
    .equ STEPS_W, 24
    .equ STEPS_STEP, 28
    .equ STEPS_AT, 32
    .equ STEPS_RAILS, 36
    .equ STEPS_MOVED, 40

/* void net_steps(net_steps_args *s) */
function net_steps
    push    {r0, r4-r11, lr}
    ldrd    r6, r3, [r0, #STEPS_MORE]
    ldr     r5, [r0, #STEPS_SEED]
    ldm     r0, {r0, r1, r2}    /* sums end c */
    rsb     r4, r3, #32
    vmov    s0, r0
1:  ldr     r7, [r0], #4
    eor     r5, r5, r5, lsl #13
    add     r7, r7, r6
    smull   r8, r9, r7, r2
    eor     r5, r5, r5, lsr #17
    lsr     r8, r8, r3
    lsl     r7, r9, r4
    eor     r5, r5, r5, lsl #5
    orr     r8, r8, r7
    asr     r9, r9, r3
    adds    r8, r8, r5, lsr #1
    adc     r9, r9, #0
    adds    r8, r8, r8
    adcs    r9, r9, r9
    bne     3f
2:  cmp     r0, r1
    bne     1b
    pop     {r0}
    str     r5, [r0, #STEPS_SEED]
    pop     {r4-r11, pc}
3:  ldr     r12, [sp]           /* r9: a step that is not 0 */
    vmov    r7, s0
    sub     r7, r0, r7
    ldr     r8, [r12, #STEPS_AT]
    ldrd    r10, r11, [r12, #STEPS_W]
    add     r7, r8, r7, lsr #2
    subs    r7, r7, #1
    and     r8, r7, #3
    lsrs    r7, r7, #2
    mla     r7, r7, r11, r8
    ldrsb   r8, [r10, r7]
    sub     r9, r8, r9
    add     r11, r9, #127
    cmp     r11, #254
    bls     4f
    ldr     r11, [r12, #STEPS_RAILS]
    cmp     r9, #0
    ite     gt
    movgt   r9, #127
    mvnle   r9, #126
    add     r11, r11, #1
    str     r11, [r12, #STEPS_RAILS]
4:  cmp     r9, r8
    beq     2b
    ldr     r11, [r12, #STEPS_MOVED]
    strb    r9, [r10, r7]
    add     r11, r11, #1
    str     r11, [r12, #STEPS_MOVED]
    b       2b
    .size net_steps, . - net_steps

    .equ REGION_PITCHES, 16
    .equ REGION_ROWS, 24
    .equ REGION_ZERO, 32
    .equ REGION_SUMS, 36

/* void net_region(net_region_args *s) */
function net_region
    push    {r0, r4-r11, lr}
    ldr     r12, [r0, #REGION_ZERO]
    add     r1, r0, #REGION_SUMS
    ldm     r1, {r4-r7}
1:  ldr     r0, [sp]
    ldr     lr, [r0, #REGION_ROWS + 4]
    ldm     r0, {r0-r3}         /* g x g_step x_step */
2:  ldr     r8, [r0]
    ldr     r9, [r1]
    add     r0, r0, r2
    add     r1, r1, r3
    sxtb16  r10, r8
    sxtb16  r8, r8, ror #8
    sxtab16 r11, r12, r9
    sxtab16 r9, r12, r9, ror #8
    smlabb  r4, r10, r11, r4
    smlatt  r6, r10, r11, r6
    smlabb  r5, r8, r9, r5
    smlatt  r7, r8, r9, r7
    subs    lr, lr, #1
    bne     2b
    ldr     lr, [sp]
    ldrd    r0, r1, [lr]
    ldrd    r2, r3, [lr, #REGION_PITCHES]
    add     r0, r0, r2
    add     r1, r1, r3
    strd    r0, r1, [lr]
    ldr     r2, [lr, #REGION_ROWS]
    subs    r2, r2, #1
    str     r2, [lr, #REGION_ROWS]
    bne     1b
    add     lr, lr, #REGION_SUMS
    stm     lr, {r4-r7}
    pop     {r0, r4-r11, pc}
    .size net_region, . - net_region
#endif
