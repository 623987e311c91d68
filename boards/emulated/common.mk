# SPDX-License-Identifier: MIT
# Settings shared by the emulated ARM boards; each mpconfigboard.mk includes this.
CFLAGS += -DMP_CONFIGFILE='<$(abspath $(BOARD_DIR))/mpconfigboard.h>'
LDSCRIPT = $(BOARD_DIR)/board.ld
LDFLAGS += -L$(BOARD_DIR)/..
# The port's own main, which is replaced, wants some heap; ours takes all RAM that is left.
MICROPY_HEAP_SIZE = 4
