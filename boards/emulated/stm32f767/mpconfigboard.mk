# SPDX-License-Identifier: MIT
# Stand-in for the STM32F767: Cortex-M7 with a double FPU, 512 KiB RAM at 0x20000000.
QEMU_ARCH = arm
QEMU_MACHINE = mps2-an500
CFLAGS += -mthumb -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -Wno-float-conversion
CFLAGS += -DQEMU_SOC_MPS2 -DFLASH_BASE=0x60000000u -DMICROPY_HW_MCU_NAME='"Cortex-M7"'
SRC_BOARD_O = shared/runtime/gchelper_native.o shared/runtime/gchelper_thumb2.o
# The port brings mathematics for single floats only.
SRC_BOARD_O += $(SRC_LIB_LIBM_DBL_C:.c=.o) $(SRC_LIB_LIBM_DBL_SQRT_SW_C:.c=.o)
MPY_CROSS_FLAGS += -march=armv7emdp
MICROPY_VFS_LFS2 = 1
include $(BOARD_DIR)/../common.mk
