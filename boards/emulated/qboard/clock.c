// SPDX-License-Identifier: MIT
// Time functions of the port from a hardware timer. With QEMU's -icount the timer counts
// instructions: see boards/emulated/README.md.
#include "py/mphal.h"
#include "py/runtime.h"

#include "soc.h"

#if defined(CMSDK_TIMER)

void clock_init(void) {
    TIMER_RELOAD = 0xffffffffu;
    TIMER_VALUE = 0xffffffffu;
    TIMER_CTRL = 1;
}

uint32_t clock_ticks(void) {
    return 0xffffffffu - TIMER_VALUE;
}

#elif defined(QEMU_SOC_VIRT)

void clock_init(void) {
}

uint32_t clock_ticks(void) {
    return TIMER_VALUE;
}

#else

void clock_init(void) {
    TIMER_MODE = 0;
    TIMER_BITMODE = 3;
    TIMER_PRESCALER = 0;
    TIMER_START = 1;
}

uint32_t clock_ticks(void) {
    TIMER_CAPTURE = 1;
    return TIMER_CC0;
}

#endif

// The timer wraps after minutes: extend it, provided that somebody looks once per wrap.
static uint64_t clock_ticks_64(void) {
    static uint32_t high, last;
    uint32_t now = clock_ticks();
    if (now < last) {
        high++;
    }
    last = now;
    return (uint64_t)high << 32 | now;
}

mp_uint_t mp_hal_ticks_ms(void) {
    return clock_ticks_64() / (CLOCK_HZ / 1000);
}

mp_uint_t mp_hal_ticks_us(void) {
    return clock_ticks_64() / (CLOCK_HZ / 1000000);
}

mp_uint_t mp_hal_ticks_cpu(void) {
    return clock_ticks();
}

uint64_t mp_hal_time_ns(void) {
    return clock_ticks_64() * 1000 / (CLOCK_HZ / 1000000);
}

void mp_hal_delay_us(mp_uint_t us) {
    uint64_t end = clock_ticks_64() + (uint64_t)us * (CLOCK_HZ / 1000000);
    while (clock_ticks_64() < end) {
    }
}

void mp_hal_delay_ms(mp_uint_t ms) {
    uint64_t end = clock_ticks_64() + (uint64_t)ms * (CLOCK_HZ / 1000);
    while (clock_ticks_64() < end) {
        mp_handle_pending(true);
        board_poll_interrupt();
    }
}
