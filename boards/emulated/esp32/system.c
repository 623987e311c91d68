// SPDX-License-Identifier: MIT
// Console, clock and flash file of the port.
#include <stdint.h>

#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stream.h"

#include "soc.h"
#include "system.h"

#define POLLIN_FLAG (1)
#define OPEN_READ_WRITE_CREATE (0x42)
#define PROT_READ_WRITE (3)
#define MAP_SHARED_FIXED (0x11)
#define STATE_BYTES (4096)

void exit(int status) {
    xt_syscall(SYS_EXIT_GROUP, status, 0, 0, 0);
    for (;;) {
    }
}

void abort(void) {
    exit(97);
}

int console_has_input(int timeout_ms) {
    struct {
        int32_t fd;
        int16_t events, revents;
    } console = { 0, POLLIN_FLAG, 0 };
    return xt_syscall(SYS_POLL, (long)&console, 1, timeout_ms, 0) > 0;
}

int mp_hal_stdin_rx_chr(void) {
    uint8_t byte;
    if (xt_syscall(SYS_READ, 0, (long)&byte, 1, 0) != 1) {
        exit(0); // the host closed the console
    }
    return byte;
}

mp_uint_t mp_hal_stdout_tx_strn(const char *text, size_t size_bytes) {
    for (size_t done = 0; done < size_bytes;) {
        long n = xt_syscall(SYS_WRITE, 1, (long)text + done, size_bytes - done, 0);
        if (n <= 0) {
            exit(1);
        }
        done += n;
    }
    return size_bytes;
}

uintptr_t mp_hal_stdio_poll(uintptr_t flags) {
    uintptr_t ready = flags & MP_STREAM_POLL_WR;
    if ((flags & MP_STREAM_POLL_RD) && console_has_input(0)) {
        ready |= MP_STREAM_POLL_RD;
    }
    return ready;
}

static uint64_t clock_ns(void) {
    uint32_t now[2]; // seconds, microseconds
    xt_syscall(SYS_GETTIMEOFDAY, (long)now, 0, 0, 0);
    return (uint64_t)now[0] * 1000000000u + now[1] * 1000u;
}

uint32_t clock_ticks(void) {
    return mp_hal_ticks_us();
}

mp_uint_t mp_hal_ticks_ms(void) {
    return clock_ns() / 1000000;
}

mp_uint_t mp_hal_ticks_us(void) {
    return clock_ns() / 1000;
}

mp_uint_t mp_hal_ticks_cpu(void) {
    return mp_hal_ticks_us();
}

uint64_t mp_hal_time_ns(void) {
    return clock_ns();
}

void mp_hal_delay_us(mp_uint_t us) {
    uint64_t end = clock_ns() + (uint64_t)us * 1000;
    while (clock_ns() < end) {
    }
}

void mp_hal_delay_ms(mp_uint_t ms) {
    uint64_t end = clock_ns() + (uint64_t)ms * 1000000;
    while (clock_ns() < end) {
        mp_handle_pending(true);
        board_poll_interrupt();
    }
}

// Map the file at the address of the flash: what is programmed there is kept.
void flash_map(const char *path) {
    long size_bytes = FLASH_BYTES + STATE_BYTES;
    long fd = xt_syscall(SYS_OPEN, (long)path, OPEN_READ_WRITE_CREATE, 0644, 0);
    if (fd < 0 || xt_syscall(SYS_FTRUNCATE, fd, size_bytes, 0, 0) < 0
        || (uint32_t)xt_syscall6(SYS_MMAP2, FLASH_BASE, size_bytes, PROT_READ_WRITE,
            MAP_SHARED_FIXED, fd, 0) != FLASH_BASE) {
        mp_hal_stdout_tx_str("cannot map the flash file\r\n");
        exit(2);
    }
}
