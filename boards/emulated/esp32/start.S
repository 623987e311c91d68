# SPDX-License-Identifier: MIT
# Entry, system calls and setjmp for the windowed ABI under qemu-xtensa (Linux user mode).
	.text
	.global _start
	.type _start,@function
	.p2align 2
_start:
	or a2, a1, a1
	movi a3, -16
	and a1, a1, a3
	addi a1, a1, -64
	movi a0, 0
	l32i a10, a2, 0
	addi a11, a2, 4
	movi a8, main
	callx8 a8
	or a6, a10, a10
	movi a2, 118
	syscall
	.size _start, .-_start

	.global xt_syscall
	.type xt_syscall,@function
	.p2align 2
xt_syscall:	# (n, a, b, c, d)  -> regs a2, a6, a3, a4, a5
	entry a1, 32
	or a7, a6, a6
	or a6, a3, a3
	or a3, a4, a4
	or a4, a5, a5
	or a5, a7, a7
	syscall
	retw
	.size xt_syscall, .-xt_syscall

	.global xt_syscall6
	.type xt_syscall6,@function
	.p2align 2
xt_syscall6:	# (n, a, b, c, d, e, f)  -> regs a2, a6, a3, a4, a5, a8, a9
	entry a1, 32
	l32i a9, a1, 32
	or a8, a7, a7
	or a10, a6, a6
	or a6, a3, a3
	or a3, a4, a4
	or a4, a5, a5
	or a5, a10, a10
	syscall
	retw
	.size xt_syscall6, .-xt_syscall6

	.global xt_spill
	.type xt_spill,@function
	.p2align 2
xt_spill:	# (depth)
	entry a1, 32
	addi a10, a2, -1
	beqz a2, 1f
	movi a8, xt_spill
	callx8 a8
1:	retw
	.size xt_spill, .-xt_spill

	.global setjmp
	.type setjmp,@function
	.p2align 2
setjmp:
	entry a1, 48
	movi a10, 10
	movi a8, xt_spill
	callx8 a8
	addi a3, a1, -16
	l32i a4, a3, 0
	s32i a4, a2, 0
	l32i a5, a3, 4
	s32i a5, a2, 4
	l32i a4, a3, 8
	s32i a4, a2, 8
	l32i a4, a3, 12
	s32i a4, a2, 12
	addi a5, a5, -16
	l32i a4, a5, 0
	s32i a4, a2, 48
	l32i a6, a5, 4
	s32i a6, a2, 52
	l32i a4, a5, 8
	s32i a4, a2, 56
	l32i a4, a5, 12
	s32i a4, a2, 60
	s32i a0, a2, 64
	extui a3, a0, 30, 2
	blti a3, 2, 2f
	slli a3, a3, 4
	sub a5, a6, a3		# start of overflow area
	addi a6, a6, -16	# end
	addi a7, a2, 16
1:	l32i a4, a5, 0
	s32i a4, a7, 0
	addi a5, a5, 4
	addi a7, a7, 4
	blt a5, a6, 1b
2:	movi a2, 0
	retw
	.size setjmp, .-setjmp

	.global longjmp
	.type longjmp,@function
	.p2align 2
longjmp:
	entry a1, 48
	movi a10, 10
	movi a8, xt_spill
	callx8 a8
	addi a4, a1, -16
	l32i a5, a2, 0
	s32i a5, a4, 0
	l32i a6, a2, 4		# caller sp
	s32i a6, a4, 4
	l32i a5, a2, 8
	s32i a5, a4, 8
	l32i a5, a2, 12
	s32i a5, a4, 12
	addi a6, a6, -16
	l32i a5, a2, 48
	s32i a5, a6, 0
	l32i a7, a2, 52
	s32i a7, a6, 4
	l32i a5, a2, 56
	s32i a5, a6, 8
	l32i a5, a2, 60
	s32i a5, a6, 12
	l32i a0, a2, 64
	extui a4, a0, 30, 2
	blti a4, 2, 2f
	slli a4, a4, 4
	sub a4, a7, a4
	addi a7, a7, -16
	addi a6, a2, 16
1:	l32i a5, a6, 0
	s32i a5, a4, 0
	addi a4, a4, 4
	addi a6, a6, 4
	blt a4, a7, 1b
2:	movi a5, 1
	or a2, a3, a3
	moveqz a2, a5, a3
	retw
	.size longjmp, .-longjmp
