# SPDX-License-Identifier: MIT
# RISC-V without floating point, as the ESP32-C3: 256 KiB RAM at 0x80100000.
QEMU_ARCH = riscv32
QEMU_MACHINE = virt
# No atomics. The compiler knows no libraries for this name: the linker hears it without Zicsr.
RV32_ARCH = rv32imc_zicsr
LIBS = -march=rv32imc
CFLAGS += -DQEMU_SOC_VIRT -DMICROPY_HW_MCU_NAME='"RV32IMC"'
SRC_BOARD_O = shared/runtime/gchelper_native.o shared/runtime/gchelper_rv32i.o
MPY_CROSS_FLAGS += -march=rv32imc
MICROPY_VFS_LFS2 = 1
include $(BOARD_DIR)/../common.mk
