# SPDX-License-Identifier: MIT
# Stand-in for the nRF52840: Cortex-M4F, 1 MiB flash at 0, 256 KiB RAM at 0x20000000.
QEMU_ARCH = arm
QEMU_MACHINE = mps2-an386
CFLAGS += -mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard
CFLAGS += -DQEMU_SOC_MPS2 -DMICROPY_HW_MCU_NAME='"Cortex-M4F"'
SRC_BOARD_O = shared/runtime/gchelper_native.o shared/runtime/gchelper_thumb2.o
MPY_CROSS_FLAGS += -march=armv7emsp
MICROPY_VFS_LFS2 = 1
include $(BOARD_DIR)/../common.mk
