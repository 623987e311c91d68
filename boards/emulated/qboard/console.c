// SPDX-License-Identifier: MIT
// Console of the emulated ARM boards: tells whether there is input, and lets Ctrl-C through
// while a program runs. It replaces the port's own functions by ld's --wrap.
#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stream.h"
#include "shared/runtime/interrupt_char.h"

#include "soc.h"
#include "uart.h"

#define POLL_EVERY (64) // turns of the interpreter's loops
#define RING_BYTES (64) // a power of two

int __real_mp_hal_stdin_rx_chr(void);

// What came while the program ran and was not Ctrl-C; the line holds what does not fit.
static uint8_t ring[RING_BYTES];
static unsigned ring_read, ring_written;

#if defined(QEMU_SOC_IOTKIT)

// The port has no UART at this place.
void uart_init(void) {
    UART_DIVIDER = 16;
    UART_CTRL = 3; // send and receive
}

int uart_rx_chr(void) {
    return (UART_STATE & UART_STATE_RXFULL) ? (int)UART_DATA : UART_RX_NO_CHAR;
}

void uart_tx_strn(const char *text, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i++) {
        while (UART_STATE & UART_STATE_TXFULL) {
        }
        UART_DATA = (uint8_t)text[i];
    }
}

#endif

static int uart_has_input(void) {
    #if defined(CMSDK_UART)
    return (UART_STATE & UART_STATE_RXFULL) != 0;
    #elif defined(QEMU_SOC_VIRT)
    return (UART_LINE_STATE & UART_LINE_STATE_RECEIVED) != 0;
    #else
    return UART_RXDRDY != 0;
    #endif
}

uintptr_t __wrap_mp_hal_stdio_poll(uintptr_t flags) {
    uintptr_t ready = flags & MP_STREAM_POLL_WR;
    if ((flags & MP_STREAM_POLL_RD) && (ring_read != ring_written || uart_has_input())) {
        ready |= MP_STREAM_POLL_RD;
    }
    return ready;
}

int __wrap_mp_hal_stdin_rx_chr(void) {
    if (ring_read != ring_written) {
        return ring[ring_read++ % RING_BYTES];
    }
    return __real_mp_hal_stdin_rx_chr();
}

// Called from the interpreter's loops and while it waits.
void board_poll_interrupt(void) {
    static unsigned countdown = POLL_EVERY;
    if (--countdown != 0) {
        return;
    }
    countdown = POLL_EVERY;
    while (mp_interrupt_char != -1 && uart_has_input() && ring_written - ring_read < RING_BYTES) {
        int byte = __real_mp_hal_stdin_rx_chr();
        if (byte == mp_interrupt_char) {
            ring_read = ring_written; // as other ports: what was typed before it is void
            mp_sched_keyboard_interrupt();
        } else {
            ring[ring_written++ % RING_BYTES] = (uint8_t)byte;
        }
    }
}
