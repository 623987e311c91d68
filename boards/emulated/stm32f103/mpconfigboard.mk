# SPDX-License-Identifier: MIT
# Stand-in for the STM32F103: Cortex-M3 without an FPU, 20 KiB RAM at 0x20000000.
# More flash than the real chip's 64 KiB: MicroPython with a REPL does not fit there.
QEMU_ARCH = arm
QEMU_MACHINE = mps2-an385
CFLAGS += -mthumb -mcpu=cortex-m3 -mfloat-abi=soft
CFLAGS += -DQEMU_SOC_MPS2 -DMICROPY_HW_MCU_NAME='"Cortex-M3"'
SRC_BOARD_O = shared/runtime/gchelper_native.o shared/runtime/gchelper_thumb2.o
MPY_CROSS_FLAGS += -march=armv7m
MICROPY_VFS_LFS1 = 1
include $(BOARD_DIR)/../common.mk
