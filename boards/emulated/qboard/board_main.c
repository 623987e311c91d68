// SPDX-License-Identifier: MIT
// Start as the ports of real boards do, with all free RAM as heap. It replaces the qemu
// port's own main by ld's --wrap.
#include "py/gc.h"
#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stackctrl.h"

#include "soc.h"

// Kept for C functions entered when Python's limit is all but reached: what the nrf and samd
// ports keep.
#if !defined(QEMU_SOC_NRF51)
#define STACK_MARGIN_BYTES (400)
#else
#define STACK_MARGIN_BYTES (1024)
#endif

extern char _ebss[], _heap_end[], _estack[];

static void fpu_init(void) {
    #if defined(__ARM_FP)
    REG(0xE000ED88) |= 0xfu << 20; // CPACR: full access to coprocessors 10 and 11
    __asm volatile ("dsb\nisb");
    #endif
}

int __wrap_main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fpu_init();
    clock_init();
    flash_init();
    mp_stack_ctrl_init();
    mp_stack_set_limit((uintptr_t)_estack - (uintptr_t)_heap_end - STACK_MARGIN_BYTES);
    board_run(_ebss, _heap_end);
}
