// SPDX-License-Identifier: MIT
// Life of an emulated board between its resets, as the ports of real boards have it.
#include "py/gc.h"
#include "py/mphal.h"
#include "py/runtime.h"
#include "shared/runtime/pyexec.h"

#include "soc.h"

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

void board_run(void *heap_start, void *heap_end) {
    for (;;) {
        gc_init(heap_start, heap_end);
        mp_init();
        run_until_soft_reset();
        mp_printf(&mp_plat_print, "MPY: soft reboot\n");
        gc_sweep_all();
        mp_deinit();
    }
}
