// SPDX-License-Identifier: MIT
// MicroPython with an ESP32's instruction set, float and file system, run by qemu-xtensa:
//   qemu-xtensa -cpu de233_fpu micropython.elf FLASH_FILE
// The console is standard input and output; the flash is the file.
#include <stdint.h>

#include "py/gc.h"
#include "py/mphal.h"
#include "py/mpstate.h"
#include "py/runtime.h"
#include "py/stackctrl.h"
#include "shared/runtime/interrupt_char.h"

#include "soc.h"
#include "system.h"

// Without PSRAM: the 64 KB that MicroPython begins with, and the largest block that the system
// lends it as it grows: of the 111 KiB of D/IRAM in boot logs, 108 KB (micropython issue 3533).
#define HEAP_BYTES ((64 + 108) * 1024)
#define STACK_BYTES (16 * 1024)
#define POLL_EVERY (4096)
#define GC_SPILL_DEPTH (10)

int errno;
void exit(int status);
void flash_map(const char *path);

static char heap[HEAP_BYTES] __attribute__((aligned(16)));

void board_poll_interrupt(void) {
    static unsigned countdown = POLL_EVERY;
    if (mp_interrupt_char == -1 || --countdown != 0) {
        return;
    }
    countdown = POLL_EVERY;
    if (console_has_input(0) && mp_hal_stdin_rx_chr() == mp_interrupt_char) {
        mp_sched_keyboard_interrupt();
    }
}

// Recurse so that the register windows of all callers are spilled to the stack.
static __attribute__((noinline)) void collect_below(volatile unsigned depth) {
    if (depth < GC_SPILL_DEPTH) {
        collect_below(depth + 1);
    } else {
        volatile uint32_t sp = (uint32_t)__builtin_frame_address(0) - 16;
        gc_collect_root((void **)sp, ((mp_uint_t)MP_STATE_THREAD(stack_top) - sp) / 4);
    }
}

void gc_collect(void) {
    gc_collect_start();
    collect_below(0);
    gc_collect_end();
}

void nlr_jump_fail(void *value) {
    (void)value;
    mp_hal_stdout_tx_str("FATAL: uncaught exception\r\n");
    exit(99);
}

int main(int argc, char **argv) {
    int stack_top;
    mulh_trap_init();
    if (argc != 2) {
        mp_hal_stdout_tx_str("usage: micropython.elf FLASH_FILE\r\n");
        exit(2);
    }
    flash_map(argv[1]);
    flash_init();
    MP_STATE_THREAD(stack_top) = (char *)&stack_top;
    mp_stack_set_limit(STACK_BYTES - 1024);
    board_run(heap, heap + sizeof(heap));
}
