# SPDX-License-Identifier: MIT
# Static freezing: functions, classes and names of the frozen package lie in flash, too.
# Included by ../micropython.mk where ACCLIMATE_STATIC=1 is given. Which packages; and how many modules
# may have names that change: each takes 16 bytes of RAM.
ACCLIMATE_STATIC_PACKAGE ?= acclimate
ACCLIMATE_STATIC_GLOBALS ?= 14
export ACCLIMATE_STATIC_PACKAGE ACCLIMATE_STATIC_GLOBALS
ACCLIMATE_FREEZER := $(ACCLIMATE_DIR)/../tools/static_freeze
SRC_USERMOD_C += $(ACCLIMATE_DIR)/static/static.c
CFLAGS_USERMOD += -DACCLIMATE_STATIC_GLOBALS=$(ACCLIMATE_STATIC_GLOBALS) -I$(ACCLIMATE_DIR)

# This number is part of the interpreter's root pointers: all is made again when it changes.
QSTR_GLOBAL_DEPENDENCIES += $(BUILD)/acclimate/globals.h
$(BUILD)/acclimate/globals.h: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '// $(ACCLIMATE_STATIC_GLOBALS)' | cmp -s - $@ || echo '// $(ACCLIMATE_STATIC_GLOBALS)' > $@

MAKE_MANIFEST = $(PYTHON) $(ACCLIMATE_FREEZER) $(TOP)/tools/makemanifest.py

# Classes in flash need objects of these files that the files keep to themselves.
$(BUILD)/acclimate/%.c: $(TOP)/py/%.c $(wildcard $(ACCLIMATE_FREEZER)/*.py)
	$(Q)$(PYTHON) $(ACCLIMATE_FREEZER) --changed $< $@
$(BUILD)/py/objtype.o: $(BUILD)/acclimate/objtype.c
	$(call compile_c)
$(BUILD)/py/modio.o: $(BUILD)/acclimate/modio.c
	$(call compile_c)
