# SPDX-License-Identifier: MIT
# Stand-in for the RP2350: Cortex-M33 with a single FPU, 512 KiB RAM at 0x38000000.
QEMU_ARCH = arm
QEMU_MACHINE = mps2-an505
CFLAGS += -mthumb -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard
CFLAGS += -DQEMU_SOC_IOTKIT -DFLASH_BASE=0x80000000u -DMICROPY_HW_MCU_NAME='"Cortex-M33"'
# The helper of the other boards is for a Cortex-M4 only.
SRC_BOARD_O = shared/runtime/gchelper_generic.o
MPY_CROSS_FLAGS += -march=armv7emsp
MICROPY_VFS_LFS2 = 1
include $(BOARD_DIR)/../common.mk
