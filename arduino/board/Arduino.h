// SPDX-License-Identifier: MIT
// A stub of the Arduino core, for tests: Serial writes to QEMU's console (semihosting).
#ifndef ARDUINO_STUB_H
#define ARDUINO_STUB_H

#include <stddef.h>
#include <stdint.h>

struct Console {
    void begin(unsigned long) {}
    void print(const char *text);
    void print(int number);
    void println(const char *text) { print(text); print("\n"); }
    void println(int number) { print(number); print("\n"); }
    void print(long number) { print((int)number); }
};
extern Console Serial;

void setup();
void loop();

#endif
