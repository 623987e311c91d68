// SPDX-License-Identifier: MIT
// Options shared by the emulated ARM boards, on top of the qemu port's own: what the
// firmware of the real boards has and the qemu port leaves out.
#include <mpconfigport.h>

#undef MICROPY_PY_TIME
#define MICROPY_PY_TIME (1)
#undef MICROPY_PY_SELECT
#define MICROPY_PY_SELECT (1)
#undef MICROPY_PY_SYS_STDIO_BUFFER
#define MICROPY_PY_SYS_STDIO_BUFFER (1)
#define MICROPY_ENABLE_FINALISER (1)
#define MICROPY_PY_MACHINE_MEMX (1)

// Let Ctrl-C through while the program runs.
void board_poll_interrupt(void);
#define MICROPY_VM_HOOK_LOOP board_poll_interrupt();
