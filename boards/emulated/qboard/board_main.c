// SPDX-License-Identifier: MIT
// Main loop as the ports of real boards have it: all free RAM is heap, then _boot.py,
// boot.py, main.py and the REPL. It replaces the qemu port's own by ld's --wrap.
#include "py/gc.h"
#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stackctrl.h"
#include "py/stream.h"
#include "shared/runtime/pyexec.h"

#include "soc.h"

// Kept for C functions entered when Python's limit is all but reached: what the nrf and samd
// ports keep.
#if defined(QEMU_SOC_MPS2)
#define STACK_MARGIN_BYTES (400)
#else
#define STACK_MARGIN_BYTES (1024)
#endif

extern char _ebss[], _heap_end[], _estack[];

static int uart_has_input(void) {
    #if defined(QEMU_SOC_MPS2)
    return (UART_STATE & UART_STATE_RXFULL) != 0;
    #else
    return UART_RXDRDY != 0;
    #endif
}

uintptr_t __wrap_mp_hal_stdio_poll(uintptr_t flags) {
    uintptr_t ready = flags & MP_STREAM_POLL_WR;
    if ((flags & MP_STREAM_POLL_RD) && uart_has_input()) {
        ready |= MP_STREAM_POLL_RD;
    }
    return ready;
}

static void fpu_init(void) {
    #if defined(__ARM_FP)
    REG(0xE000ED88) |= 0xfu << 20; // CPACR: full access to coprocessors 10 and 11
    __asm volatile ("dsb\nisb");
    #endif
}

static void run_until_soft_reset(void) {
    pyexec_frozen_module("_boot.py", false);
    if (pyexec_mode_kind == PYEXEC_MODE_FRIENDLY_REPL) {
        pyexec_file_if_exists("boot.py");
        pyexec_file_if_exists("main.py");
    }
    int stop = 0;
    while (!stop) {
        if (pyexec_mode_kind == PYEXEC_MODE_RAW_REPL) {
            stop = pyexec_raw_repl();
        } else {
            stop = pyexec_friendly_repl();
        }
    }
}

int __wrap_main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fpu_init();
    clock_init();
    flash_init();
    mp_stack_ctrl_init();
    mp_stack_set_limit((uintptr_t)_estack - (uintptr_t)_heap_end - STACK_MARGIN_BYTES);
    for (;;) {
        gc_init(_ebss, _heap_end);
        mp_init();
        run_until_soft_reset();
        mp_printf(&mp_plat_print, "MPY: soft reboot\n");
        gc_sweep_all();
        mp_deinit();
    }
}
