# SPDX-License-Identifier: MIT
# Stand-in for the SAMD21: Cortex-M0, 256 KiB flash at 0, 32 KiB RAM at 0x20000000.
QEMU_ARCH = arm
QEMU_MACHINE = microbit
CFLAGS += -mthumb -mcpu=cortex-m0 -mfloat-abi=soft
CFLAGS += -DQEMU_SOC_NRF51 -DMICROPY_HW_MCU_NAME='"Cortex-M0"'
SRC_BOARD_O = shared/runtime/gchelper_native.o shared/runtime/gchelper_thumb1.o
MPY_CROSS_FLAGS += -march=armv6m
MICROPY_VFS_LFS1 = 1
include $(BOARD_DIR)/../common.mk
