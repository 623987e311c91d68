# SPDX-License-Identifier: MIT
QBOARD_DIR := $(USERMOD_DIR)
SRC_USERMOD_C += $(addprefix $(QBOARD_DIR)/, board_main.c board_run.c clock.c console.c flash.c qboard.c)
CFLAGS_USERMOD += -I$(QBOARD_DIR)
LDFLAGS_USERMOD += -Wl,--wrap=main -Wl,--wrap=mp_hal_stdio_poll -Wl,--wrap=mp_hal_stdin_rx_chr
