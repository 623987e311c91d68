# SPDX-License-Identifier: MIT
# The C modules as part of a firmware: make ... USER_C_MODULES=THIS_REPOSITORY
# FROZEN_MANIFEST=THIS_REPOSITORY/device/manifest_natives.py freezes the Python beside them.
ACCLIMATE_DIR := $(USERMOD_DIR)

# Which to build in; the flash of a small board takes one or two of them.
ACCLIMATE_MODULES ?= codec svm svm_fit svm_linear frontend net ed25519 xchacha

ACCLIMATE_C_codec := $(addprefix codec/, codec_mod.c sha256.c crc32.c buffers.c rangecoder.c window.c)
ACCLIMATE_C_svm := $(addprefix svm/, svm_mod.c svm.c svm_fixed.c svm_float.c svm_linear.c svm_model.c)
ACCLIMATE_C_svm_fit := $(addprefix svm/, svm_fit_mod.c svm_fit.c)
ACCLIMATE_C_svm_linear := $(addprefix svm_linear/, linear_mod.c linear.c)
ACCLIMATE_C_frontend := $(addprefix frontend/, frontend_mod.c frontend.c fft.c levels.c)
ACCLIMATE_C_net := $(addprefix net/, net_mod.c net_run.c net_read.c net_bounds.c net_rows.c pool_window.c \
	net_forward.c conv_fast.c conv_quads.c depthwise_fast.c store.c dot.c elements.c \
	net_train.c softmax.c block.c gradient.c depthwise_gradient.c scatter.c update.c \
	weights.c gradient_fast.c weights_fast.c sums.c net_rare.c loss.c gates.c \
	norm.c lstm.c svdf.c attention.c decay.c random_step.c)
# The curve is Monocypher's (tools/monocypher_source.sh FOLDER): without it neither
# `_ed25519` nor `_xchacha` is built in.
MONOCYPHER_DIR ?= $(ACCLIMATE_DIR)/../out/monocypher
ifneq ($(wildcard $(MONOCYPHER_DIR)/monocypher.c),)
ACCLIMATE_C_ed25519 := $(addprefix ed25519/, ed25519_mod.c ed25519.c)
ACCLIMATE_C_xchacha := $(addprefix xchacha/, xchacha_mod.c xchacha.c)
CFLAGS_USERMOD += -I$(MONOCYPHER_DIR)
endif
# Each says itself for which core it is, and is empty for others.
ACCLIMATE_ASM := $(if $(filter net,$(ACCLIMATE_MODULES)),$(addprefix net/, net_dot_m0.S net_dot_m4f.S net_sums_m4f.S))

SRC_USERMOD_C += $(addprefix $(ACCLIMATE_DIR)/, \
	$(foreach name,$(ACCLIMATE_MODULES),$(ACCLIMATE_C_$(name))))
SRC_USERMOD_LIB_ASM += $(addprefix $(ACCLIMATE_DIR)/, $(ACCLIMATE_ASM))

# The same results bit for bit as on the host: no contraction of a product and a sum.
CFLAGS_USERMOD += -DACCLIMATE_USER_MODULE -DSVM_MODULE -DNET_FAST -ffp-contract=off \
	$(addprefix -I$(ACCLIMATE_DIR)/, common codec svm svm_linear net ed25519 xchacha frontend)

# Functions, classes and names of the frozen package in flash: docs/install.md.
ifneq ($(filter-out 0,$(ACCLIMATE_STATIC)),)
include $(ACCLIMATE_DIR)/static/static.mk
endif
