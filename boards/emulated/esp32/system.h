// SPDX-License-Identifier: MIT
// The Linux system calls (Xtensa numbers) that the port makes under qemu-xtensa.
#ifndef ACCLIMATE_ESP32_SYSTEM_H
#define ACCLIMATE_ESP32_SYSTEM_H

#define SYS_OPEN (8)
#define SYS_READ (12)
#define SYS_WRITE (13)
#define SYS_POLL (16)
#define SYS_FTRUNCATE (23)
#define SYS_MMAP2 (80)
#define SYS_EXIT_GROUP (119)
#define SYS_GETTIMEOFDAY (192)
#define SYS_RT_SIGACTION (226)

// Result, or minus the error number.
long xt_syscall(long number, long a, long b, long c, long d);
long xt_syscall6(long number, long a, long b, long c, long d, long e, long f);

// True when a byte can be read from the console within timeout_ms.
int console_has_input(int timeout_ms);

// Catch MULUH and MULSH, which the ESP32 has and QEMU's cores lack, and do the multiplication.
void mulh_trap_init(void);

#endif // ACCLIMATE_ESP32_SYSTEM_H
