# SPDX-License-Identifier: MIT
# Build rule of every native module. The module's own Makefile sets, then includes this:
#   MODULE            name of the module on the device, such as _svm
#   SRC               C files: the core and *_mod.c, the wrapper
#   CFLAGS_MODULE     flags for all builds             CFLAGS_<arch>    for one architecture
#   VARIANTS_<arch>   other builds MODULE_<variant> for one architecture, with
#   CFLAGS_<variant>  its flags
# Run with make ARCH=x64|armv6m|armv7emsp|xtensawin|rv32imc; results land in out/native/<arch>/.

NATIVE_DIR := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
MODULE_MAKEFILE := $(abspath $(firstword $(MAKEFILE_LIST)))
MODULE_DIR := $(patsubst %/,%,$(dir $(MODULE_MAKEFILE)))
ROOT := $(patsubst %/,%,$(dir $(NATIVE_DIR)))
OUT ?= $(ROOT)/out
ARCH ?= x64
export MPY_DIR ?= $(OUT)/micropython

# An Espressif toolchain on the PATH comes first; tools/xtensa stands in for it otherwise.
export PATH := $(OUT)/venv/bin:$(PATH):$(ROOT)/tools/xtensa

MOD := $(MODULE)$(addprefix _,$(VARIANT))
WORK := $(OUT)/native/$(ARCH)/work/$(MOD)
CACHE := $(ROOT)/out/native/cache
RESULT := $(OUT)/native/$(ARCH)/$(MOD).mpy

ifneq ($(CURDIR),$(WORK))

# In the source folder: enter the work folder, so that nothing is built beside the sources.
.PHONY: all names clean
all: $(RESULT) $(addprefix variant-,$(if $(VARIANT),,$(VARIANTS_$(ARCH))))

INPUTS := $(wildcard $(MODULE_DIR)/*.[chS] $(NATIVE_DIR)/common/*.[ch]) \
	$(MODULE_MAKEFILE) $(NATIVE_DIR)/native.mk \
	$(if $(filter xtensawin,$(ARCH)),$(wildcard $(ROOT)/tools/xtensa/*))

$(RESULT): $(INPUTS)
	@rm -rf $(WORK) && mkdir -p $(WORK) $(CACHE)
	@ln -s $(CACHE) $(WORK)/.mpy_ld_cache
	@$(MAKE) --no-print-directory -C $(WORK) -I $(MODULE_DIR) -f $(MODULE_MAKEFILE) \
		ARCH=$(ARCH) VARIANT=$(VARIANT) OUT=$(OUT) > $(WORK)/build.log 2>&1 \
		|| { cat $(WORK)/build.log >&2; exit 1; }
	@cp $(WORK)/$(MOD).mpy $@
	@echo "built out/native/$(ARCH)/$(MOD).mpy ($$(stat -c %s $@) bytes)"

variant-%:
	@$(MAKE) --no-print-directory -f $(MODULE_MAKEFILE) ARCH=$(ARCH) VARIANT=$* OUT=$(OUT)

names:
	@echo $(MODULE) $(VARIANTS_$(ARCH):%=$(MODULE)_%)

clean:
	rm -rf $(WORK) $(RESULT)

else

# In the work folder: MicroPython's own rules, with the sources found through VPATH.
VPATH = $(MODULE_DIR) $(NATIVE_DIR)/common
BUILD = build
# The compiler for RISC-V calls these in spite of all flags.
SRC_rv32imc = memory.c
SRC += $(SRC_$(ARCH))
# MicroPython's rules allow atomic instructions, which an ESP32-C3 does not have.
CORE_rv32imc = -march=rv32imc

CFLAGS_EXTRA += -ffp-contract=off -I$(MODULE_DIR) -I$(NATIVE_DIR)/common
CFLAGS_EXTRA += $(CORE_$(ARCH)) $(CFLAGS_MODULE) $(CFLAGS_$(ARCH)) $(if $(VARIANT),$(CFLAGS_$(VARIANT)))

# The first target of the included file is the default goal.
include $(MPY_DIR)/py/dynruntime.mk

# The linker writes the name of its result into a module, where it takes flash and heap: `_` is a
# name that every MicroPython has already. (In place of the rule there, of which make warns.)
$(BUILD)/$(MOD).native.mpy: $(SRC_O)
	$(MPY_LD) --arch $(ARCH) --qstrs $(CONFIG_H) $(MPY_LD_FLAGS) -o _ $^
	mv _ $@

# Only the compiler's helpers (soft float, division); libm does not link into a module.
ifneq ($(ARCH),x64)
LIBGCC := $(shell $(CROSS)gcc $(CFLAGS_ARCH) $(CORE_$(ARCH)) -print-libgcc-file-name)
MPY_LD_FLAGS += $(addprefix -l,$(LIBGCC))
endif

endif
