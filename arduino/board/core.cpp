// SPDX-License-Identifier: MIT
// Start of a bare Cortex-M program, one setup() and one loop(), and its console.
#include "Arduino.h"

extern "C" {
extern uint32_t _data_load[], _data[], _data_end[], _bss[], _bss_end[], _stack_top[];
extern void (*_init_start[])(), (*_init_end[])();
void reset();
}

Console Serial;

static int semihost(int operation, const void *argument) {
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void Console::print(const char *text) {
    semihost(4, text);
}

void Console::print(int number) {
    char digits[12], *at = digits + sizeof(digits);
    unsigned left = number < 0 ? 0u - (unsigned)number : (unsigned)number;
    *--at = 0;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (number < 0) {
        *--at = '-';
    }
    print(at);
}

extern "C" void reset() {
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88 |= 0xfu << 20; // CPACR: the floating point unit
    __asm volatile("dsb\nisb");
#endif
    for (uint32_t *to = _data, *from = _data_load; to < _data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = _bss; to < _bss_end;) {
        *to++ = 0;
    }
    for (void (**call)() = _init_start; call < _init_end; call++) {
        (*call)();
    }
    setup();
    loop();
    semihost(0x18, (const void *)0x20026); // the program has ended
    for (;;) {
    }
}

extern "C" void fault() {
    semihost(4, "fault\n");
    semihost(0x18, (const void *)0x20024);
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    _stack_top, (const void *)reset, (const void *)fault, (const void *)fault,
};
