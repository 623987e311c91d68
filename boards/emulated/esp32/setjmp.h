// SPDX-License-Identifier: MIT
#ifndef QXT_SETJMP_H
#define QXT_SETJMP_H
typedef int jmp_buf[17];
int setjmp(jmp_buf) __attribute__((returns_twice));
void longjmp(jmp_buf, int) __attribute__((noreturn));
#endif
