// SPDX-License-Identifier: MIT
// The ESP32 has MULUH and MULSH, QEMU's cores have not: a SIGILL handler does them, so that
// the very .mpy files that ship can be run.
#include <stdint.h>

#include "system.h"

#define SIGILL_NUMBER (4)
#define SA_SIGINFO_FLAG (4)

// struct sigcontext of Linux for Xtensa, which follows five words of struct ucontext.
typedef struct {
    uint32_t pc, ps, lbeg, lend, lcount, sar, acclo, acchi;
    uint32_t a[16];
} context_t;

void exit(int status);

static uint32_t high_word(uint32_t a, uint32_t b) {
    uint32_t a_low = a & 0xffff, a_high = a >> 16, b_low = b & 0xffff, b_high = b >> 16;
    uint32_t middle = (a_low * b_low >> 16) + (a_high * b_low & 0xffff) + (a_low * b_high & 0xffff);
    return a_high * b_high + (a_high * b_low >> 16) + (a_low * b_high >> 16) + (middle >> 16);
}

static void on_illegal_instruction(int signal, void *info, uint32_t *ucontext) {
    (void)signal;
    (void)info;
    context_t *context = (context_t *)(ucontext + 5);
    const uint8_t *code = (const uint8_t *)context->pc;
    uint32_t word = code[0] | code[1] << 8 | code[2] << 16;
    if ((word & 0xef000f) != 0xa20000) {
        xt_syscall(SYS_WRITE, 2, (long)"illegal instruction\n", 20, 0);
        exit(132);
    }
    uint32_t a = context->a[word >> 8 & 15], b = context->a[word >> 4 & 15];
    uint32_t high = high_word(a, b);
    if (word & 0x100000) { // MULSH: correct the unsigned product for the signs
        if ((int32_t)a < 0) {
            high -= b;
        }
        if ((int32_t)b < 0) {
            high -= a;
        }
    }
    context->a[word >> 12 & 15] = high;
    context->pc += 3;
}

void mulh_trap_init(void) {
    uint32_t action[5] = { (uint32_t)on_illegal_instruction, SA_SIGINFO_FLAG, 0, 0, 0 };
    xt_syscall(SYS_RT_SIGACTION, SIGILL_NUMBER, (long)action, 0, 8);
}
