// SPDX-License-Identifier: MIT
// What ESP32 firmware offers to our code, as far as it means something under qemu-xtensa.
#include <alloca.h>
#include <stdint.h>

#define MICROPY_CONFIG_ROM_LEVEL (MICROPY_CONFIG_ROM_LEVEL_EXTRA_FEATURES)
#define MICROPY_ENABLE_COMPILER (1)
#define MICROPY_ENABLE_GC (1)
#define MICROPY_ENABLE_FINALISER (1)
#define MICROPY_NLR_SETJMP (1)
#define MICROPY_FLOAT_IMPL (MICROPY_FLOAT_IMPL_FLOAT)
#define MICROPY_LONGINT_IMPL (MICROPY_LONGINT_IMPL_MPZ)
#define MICROPY_ERROR_REPORTING (MICROPY_ERROR_REPORTING_NORMAL)
#define MICROPY_PERSISTENT_CODE_LOAD (1)
#define MICROPY_EMIT_XTENSAWIN (1)
#define MICROPY_ENABLE_EXTERNAL_IMPORT (1)
#define MICROPY_HELPER_REPL (1)
#define MICROPY_KBD_EXCEPTION (1)
#define MICROPY_ENABLE_SCHEDULER (1)
#define MICROPY_STACK_CHECK (1)
#define MICROPY_ALLOC_PATH_MAX (256)
#define MICROPY_MAKE_POINTER_CALLABLE(p) ((void *)(p))
#define MICROPY_TRACKED_ALLOC (0)

#define MICROPY_VFS (1)
#define MICROPY_READER_VFS (1)
#define MICROPY_PY_OS (1)
#define MICROPY_PY_IO (1)
#define MICROPY_PY_SYS_STDFILES (1)
#define MICROPY_PY_SYS_STDIO_BUFFER (1)
#define MICROPY_PY_SELECT (1)
#define MICROPY_PY_TIME (1)
#define MICROPY_PY_BINASCII (1)
#define MICROPY_PY_HASHLIB (1)
#define MICROPY_PY_UCTYPES (1)
#define MICROPY_PY_JSON (1)
#define MICROPY_PY_RANDOM (1)
#define MICROPY_PY_MACHINE (0)
#define MICROPY_PY_ASYNCIO (0)
#define MICROPY_PY_FRAMEBUF (0)
#define MICROPY_PY_DEFLATE (1) // CRC-32 of binascii needs it
#define MICROPY_PY_SSL (0)
#define MICROPY_PY_CRYPTOLIB (0)
#define MICROPY_PY_BUILTINS_HELP (0)
#define MICROPY_PY_BUILTINS_COMPLEX (0)
#define MICROPY_PY_CMATH (0)

typedef int32_t mp_int_t;
typedef uint32_t mp_uint_t;
typedef long mp_off_t;
#define MP_SSIZE_MAX (0x7fffffff)
#define MP_STATE_PORT MP_STATE_VM

#define MICROPY_HW_BOARD_NAME "Emulated ESP32"
#define MICROPY_HW_MCU_NAME "Xtensa LX6 (QEMU de233_fpu)"

// Native code lies beside Python's heap, as in ESP32 firmware: exec.c.
#include <stddef.h>
void *board_commit_code(void *code, size_t len, void *relocations);
void board_forget_code(void);
#define MP_PLAT_COMMIT_EXEC(buf, len, reloc) board_commit_code(buf, len, reloc)
#define MICROPY_PORT_INIT_FUNC board_forget_code()

// Let Ctrl-C through while the program runs.
void board_poll_interrupt(void);
#define MICROPY_VM_HOOK_LOOP board_poll_interrupt();
