// SPDX-License-Identifier: MIT
// Registers and memory map of the emulated chips.
#ifndef ACCLIMATE_QBOARD_SOC_H
#define ACCLIMATE_QBOARD_SOC_H

#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))

#if defined(QEMU_SOC_MPS2)

#define CLOCK_HZ (25000000u)
#define CMSDK_TIMER (0x40000000u)
#define CMSDK_UART (0x40004000u)

#elif defined(QEMU_SOC_IOTKIT)

// The same devices at their secure addresses.
#define CLOCK_HZ (20000000u)
#define CMSDK_TIMER (0x50000000u)
#define CMSDK_UART (0x50200000u)

#elif defined(QEMU_SOC_NRF51)

// nRF51 TIMER0 counts up at 16 MHz.
#define CLOCK_HZ (16000000u)
#define TIMER_START REG(0x40008000)
#define TIMER_CAPTURE REG(0x40008040)
#define TIMER_MODE REG(0x40008504)
#define TIMER_BITMODE REG(0x40008508)
#define TIMER_PRESCALER REG(0x40008510)
#define TIMER_CC0 REG(0x40008540)
#define UART_RXDRDY REG(0x40002108)

// Flash behind the program, erased and written by the flash controller (NVMC);
// it is lost when QEMU ends:
//   0x40000  64 KiB  filesystem
//   0x50000  64 KiB  raw, for capsules
#define FLASH_NVMC (1)
#define NVMC_READY REG(0x4001E400)
#define NVMC_CONFIG REG(0x4001E504)
#define NVMC_ERASEPAGE REG(0x4001E508)
#define FLASH_BASE (0x40000u)
#define FLASH_BYTES (0x20000u)
#define FLASH_PAGE_BYTES (1024u)
#define FLASH_FS_START (0x40000u)
#define FLASH_FS_BYTES (64u * 1024u)
#define FLASH_RAW_START (0x50000u)
#define FLASH_RAW_BYTES (64u * 1024u)

#elif defined(QEMU_SOC_VIRT)

// The timer of QEMU's RISC-V machine counts up at 10 MHz.
#define CLOCK_HZ (10000000u)
#define TIMER_VALUE REG(0x0200BFF8)
#define UART_LINE_STATE (*(volatile uint8_t *)0x10000005)
#define UART_LINE_STATE_RECEIVED (1u)
// Its flash is a part of its RAM, which is a file:
#define FLASH_BASE (0x80800000u)
#define FLASH_FS_BYTES (1024u * 1024u) // an ESP32-C3 has more

#elif defined(QEMU_SOC_LINUX)

// qemu-xtensa in user mode has no timer: the clock is the host's, in microseconds.
#define CLOCK_HZ (1000000u)
#define FLASH_FS_BYTES (1024u * 1024u) // an ESP32 has more

#else
#error "unknown emulated chip"
#endif

#if defined(CMSDK_TIMER)
// It counts down.
#define TIMER_CTRL REG(CMSDK_TIMER)
#define TIMER_VALUE REG(CMSDK_TIMER + 4)
#define TIMER_RELOAD REG(CMSDK_TIMER + 8)
#define UART_DATA REG(CMSDK_UART)
#define UART_STATE REG(CMSDK_UART + 4)
#define UART_CTRL REG(CMSDK_UART + 8)
#define UART_DIVIDER REG(CMSDK_UART + 16)
#define UART_STATE_TXFULL (1u)
#define UART_STATE_RXFULL (2u)
#endif

#if !defined(FLASH_NVMC)
// NOR flash that is a file: QEMU's PSRAM region, or mapped there by boards/emulated/esp32:
//   0x21000000  256 KiB  filesystem; 1 MiB on ESP32 and ESP32-C3
//   0x21100000    1 MiB  raw, for capsules
//   0x21200000    4 KiB  state of this emulation: magic, totals, erases of each page
#if !defined(FLASH_BASE)
#define FLASH_BASE (0x21000000u)
#endif
#define FLASH_BYTES (0x200000u)
#define FLASH_PAGE_BYTES (4096u)
#define FLASH_FS_START FLASH_BASE
#if !defined(FLASH_FS_BYTES)
#define FLASH_FS_BYTES (256u * 1024u)
#endif
#define FLASH_RAW_START (FLASH_BASE + 0x100000u)
#define FLASH_RAW_BYTES (1024u * 1024u)
#define FLASH_STATE (FLASH_BASE + 0x200000u)
#endif

// Start the clock; call once.
void clock_init(void);

// Timer ticks since clock_init, low 32 bits.
uint32_t clock_ticks(void);

// Prepare a flash that has never been used; call once.
void flash_init(void);

// Run MicroPython on the heap between the two addresses, from one soft reset to the next:
// _boot.py, boot.py, main.py and the REPL. Never returns.
void board_run(void *heap_start, void *heap_end) __attribute__((noreturn));

#endif // ACCLIMATE_QBOARD_SOC_H
