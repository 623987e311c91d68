# SPDX-License-Identifier: MIT
# Everything that is built lands in out/, and again only when its inputs change.
# `make help` lists what there is to do; the longer steps are scripts in tools/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON := out/venv/bin/python
BOARD ?=
PORT ?=
NAME ?=
PYTEST_ARGS ?=
export BOARD PORT
# Python's files are compiled once, and not by each of some hundred processes of the tests.
unexport PYTHONDONTWRITEBYTECODE

# ---- what this machine can build; read again by every sub-make, that is after set-up -------

have = $(if $(shell command -v $(1)),yes)
HOST_CC := $(call have,gcc)
ARM_CC := $(call have,arm-none-eabi-gcc)
XTENSA_CC := $(or $(call have,xtensa-esp32-elf-gcc),$(call have,clang-22))
RISCV_CC := $(and $(call have,riscv64-unknown-elf-gcc),$(filter /%,$(shell \
	riscv64-unknown-elf-gcc --print-file-name=picolibc.specs 2> /dev/null)))
COMPILER := $(HOST_CC)$(ARM_CC)$(XTENSA_CC)$(RISCV_CC)
SOURCE := $(if $(wildcard out/stamps/no-source),,$(and $(COMPILER),$(call have,apt-get)))
NPM := $(call have,npm)
WASM_CC := $(and $(call have,clang-22),$(call have,wasm-ld-22))
ESP32_TOOLS := $(and $(call have,clang-22),$(call have,xtensa-lx106-elf-ld))

MODULES := $(patsubst native_modules/%/Makefile,%,$(wildcard native_modules/*/Makefile))
ARCHS := $(if $(SOURCE),$(if $(HOST_CC),x64) $(if $(ARM_CC),armv6m armv7emsp) \
	$(if $(XTENSA_CC),xtensawin) $(if $(RISCV_CC),rv32imc))
ARM_BOARDS := nrf52840 samd21 stm32f767 rp2350
QEMU_BOARDS := $(ARM_BOARDS) rv32
FIRMWARE := $(if $(SOURCE),$(if $(HOST_CC),desktop-f32) $(if $(ARM_CC),$(ARM_BOARDS)) $(if $(RISCV_CC),rv32) \
	$(if $(and $(ESP32_TOOLS),$(wildcard boards/emulated/esp32)),esp32))

ARCH_OF_nrf52840 := armv7emsp
ARCH_OF_samd21 := armv6m
ARCH_OF_esp32 := xtensawin
ARCH_OF_rv32 := rv32imc
ARCH_OF_stm32f767 := armv7emsp
ARCH_OF_rp2350 := armv7emsp

# ---- what people run ----------------------------------------------------------------------

.PHONY: help setup demo test test-slow bench lint house docs mutants built firmware native stage twin sanitized wheel playground arduino clean
help:
	@echo "make demo [BOARD=nrf52840|samd21|esp32|rv32|stm32f767|rp2350] [PORT=/dev/ttyACM0]   the main job, on real input"
	@echo "make test [PYTEST_ARGS=...]     set up, build and test everything that runs here"
	@echo "make test-slow                  the long tests, such as pure Python in an emulator"
	@echo "make bench NAME=svm             measure, print a table, write out/bench/NAME.json"
	@echo "make lint                       check style and types of the Python files"
	@echo "make house                      what is public, what an install takes, circles, lines"
	@echo "make docs                       build the site of tutorials, how-tos and reference in out/site"
	@echo "make mutants [NAME=all] [SEED=1]       small faults in the core: do the tests notice?"
	@echo "make native stage twin firmware sanitized     build one kind of thing"
	@echo "make playground                 build the page that acclimate playground serves"
	@echo "make wheel                      build source package and wheel with native modules, and the emulators' firmware"
	@echo "make arduino                    write out/arduino/Acclimate, a library for the Arduino IDE"
	@echo "make clean                      remove out/"

# A demo needs no board; with none, what is not offered here is left out and named.
PACKAGES_OF_esp32 := xtensa
PACKAGES_OF_rv32 := riscv
DEMO_PACKAGES := base $(if $(BOARD),$(or $(PACKAGES_OF_$(BOARD)),arm)) \
	$(if $(PORT),arm xtensa riscv)
DEMO_BOARDS := desktop $(QEMU_BOARDS) esp32
demo:
	@$(if $(filter-out $(DEMO_BOARDS),$(BOARD)),echo "make demo BOARD=$(BOARD): one of $(DEMO_BOARDS)"; exit 2,:)
	@$(MAKE) setup PACKAGES="$(DEMO_PACKAGES)" VENV=out/stamps/venv
	@$(MAKE) demo-parts
	@$(PYTHON) -m acclimate_host.demo

DEMO_ARCHS := $(filter $(if $(PORT),%,$(or $(ARCH_OF_$(BOARD)),x64)),$(ARCHS))
.PHONY: demo-parts
demo-parts: $(DEMO_ARCHS:%=out/stage/%/.done) out/stage/py/.done \
		$(foreach board,$(filter $(BOARD),$(FIRMWARE)),firmware-$(board)) \
		$(if $(and $(filter samd21,$(BOARD)),$(ARM_CC)),out/firmware/samd21-learning/firmware.elf \
		out/firmware/samd21-verdict/firmware.elf)
	@$(if $(DEMO_ARCHS),:,echo "left out: native modules (they need gcc and apt); pure Python runs")

test:
	@$(MAKE) setup
	@$(MAKE) lint
	@$(MAKE) built out/stamps/numpy1
	@$(PYTEST) $(or $(PYTEST_ARGS),-m "not slow" $(WORKERS))

test-slow:
	@$(MAKE) setup
	@$(MAKE) built
	@$(PYTEST) -m slow $(or $(PYTEST_ARGS),$(WORKERS))

# tests/conftest.py says what stays together in one worker.
PYTEST := nice -n 5 $(PYTHON) -m pytest
WORKERS := --numprocesses $(shell nproc)

bench:
	@$(if $(filter $(NAME),$(BENCHES)),:,echo "make bench NAME=$(NAME): one of $(BENCHES)"; exit 2)
	@$(MAKE) setup
	@$(MAKE) built out/stamps/bench
	@mkdir -p out/bench
	@$(PYTHON) -m bench.$(NAME)
BENCHES = papers $(basename $(notdir $(shell grep -l '^if __name__' bench/*.py)))

lint: out/stamps/venv-dev
	@out/venv/bin/ruff check .
	@out/venv/bin/ruff format --check --quiet .
	@$(PYTHON) tools/stubs.py
	@$(PYTHON) -m mypy
	@[ ! -e out/stamps/stubs ] || $(PYTHON) -m mypy --config-file tools/mypy_micropython.ini

house: out/stamps/venv-dev
	@$(PYTHON) tools/house.py

docs: out/stamps/venv-dev $(if $(NPM),playground)
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict 2>&1 | { grep -v '^INFO' || true; }
	@echo "out/site/index.html; to search as well: $(PYTHON) -m http.server -d out/site"

SEED ?= 1
mutants: out/stamps/venv-dev twin
	@mkdir -p out/bench
	@$(PYTHON) tools/mutants.py $(NAME) --seed $(SEED) $(if $(TESTS),--tests $(TESTS))

clean:
	rm -rf out

# ---- set-up -------------------------------------------------------------------------------

PACKAGES ?= base arm xtensa riscv net page
VENV ?= out/stamps/venv-dev
setup:
	@tools/packages.sh $(PACKAGES)
	@$(MAKE) -s $(VENV)
	@rm -f out/stamps/no-source
	@$(MAKE) -s source

.PHONY: source
source:
ifneq ($(COMPILER),)
	@$(MAKE) -s out/stamps/micropython 2> >(grep -v '^make' >&2) || { touch out/stamps/no-source; \
		echo "left out: MicroPython's source, which comes through apt"; }
else
	@echo "left out: MicroPython's source, as there is no compiler for it"
endif

# What the demo and all builds need; tests and the site need everything.
out/stamps/venv: pyproject.toml tools/venv.sh
	@echo "installing Python packages for the demo in out/venv: about a minute, 0.5 GB"
	@mkdir -p out/stamps
	@tools/venv.sh out/venv demo,desktop,build
	@touch $@

out/stamps/venv-dev: pyproject.toml tools/venv.sh
	@echo "installing Python packages for all tests in out/venv: some minutes, 1.8 GB"
	@mkdir -p out/stamps
	@tools/venv.sh out/venv dev
	@touch out/stamps/venv $@

# What is measured beside ours.
out/stamps/bench: pyproject.toml out/stamps/venv-dev
	@tools/venv.sh out/venv dev,bench
	@touch $@

# A second numpy, which one test puts before that of the environment.
out/stamps/numpy1: | out/stamps/venv-dev
	@$(PYTHON) -m pip install -q --only-binary :all: --no-deps --target out/numpy1 'numpy<2' \
		|| echo "left out: numpy 1, for which this Python has no wheel"
	@touch $@

out/stamps/micropython: tools/micropython_source.sh
	@echo "fetching MicroPython's source into out/micropython"
	@mkdir -p out/stamps
	@tools/micropython_source.sh out/micropython
	@touch $@

# Curve arithmetic of the module ed25519, with its licence.
out/stamps/monocypher: tools/monocypher_source.sh | out/stamps/venv
	@echo "fetching Monocypher's source into out/monocypher"
	@mkdir -p out/stamps
	@tools/monocypher_source.sh out/monocypher $(PYTHON)
	@touch $@

# ---- built things -------------------------------------------------------------------------

built: native-parts twin sanitized stage firmware $(if $(NPM),playground)
	@$(if $(NPM),:,echo "left out: the page, as there is no npm")
	@tools/left_out.sh "$(ARCHS)" "$(FIRMWARE)"

firmware: $(FIRMWARE:%=firmware-%) $(if $(filter samd21,$(FIRMWARE)),firmware-samd21-learning firmware-samd21-capsules firmware-samd21-verdict) \
	$(if $(filter nrf52840,$(FIRMWARE)),firmware-nrf52840-f30 firmware-nrf52840-natives firmware-stm32f103)
.PHONY: $(addprefix firmware-,$(QEMU_BOARDS) desktop-f32 esp32)
$(QEMU_BOARDS:%=firmware-%) firmware-esp32: firmware-%: out/firmware/%/firmware.elf
.PHONY: firmware-stm32f103
firmware-stm32f103: out/firmware/stm32f103/firmware.elf
.PHONY: firmware-samd21-learning
firmware-samd21-learning: out/firmware/samd21-learning/firmware.elf
.PHONY: firmware-samd21-capsules
firmware-samd21-capsules: out/firmware/samd21-capsules/firmware.elf
.PHONY: firmware-samd21-verdict
firmware-samd21-verdict: out/firmware/samd21-verdict/firmware.elf
.PHONY: firmware-nrf52840-f30
firmware-nrf52840-f30: out/firmware/nrf52840-f30/firmware.elf
firmware-desktop-f32: out/firmware/desktop-f32/micropython

DEVICE_FILES := $(shell find device -name '*.py')
FREEZER := tools/frozen.py host/acclimate_host/connect/merge.py
BOARD_FILES := $(wildcard boards/emulated/*.* boards/emulated/frozen/* boards/emulated/qboard/*)
STATIC := $(wildcard tools/static_freeze/*.py native_modules/static/*) native_modules/micropython.mk
NEEDS := | out/stamps/venv out/stamps/micropython out/stamps/monocypher

.SECONDEXPANSION:
$(QEMU_BOARDS:%=out/firmware/%/firmware.elf): out/firmware/%/firmware.elf: tools/firmware.sh \
		$(BOARD_FILES) $$(wildcard boards/emulated/$$*/*) $(NEEDS)
	@tools/firmware.sh $*

out/firmware/samd21-learning/firmware.elf: tools/firmware.sh $(BOARD_FILES) \
		$(wildcard boards/emulated/samd21/* native_modules/svm/*.[ch]) $(STATIC) \
		$(DEVICE_FILES) $(FREEZER) host/acclimate_host/demo/on_board.py $(NEEDS)
	@tools/firmware.sh samd21 learning

out/firmware/stm32f103/firmware.elf: tools/firmware.sh $(BOARD_FILES) \
		$(wildcard boards/emulated/stm32f103/*) $(DEVICE_FILES) $(FREEZER) $(STATIC) $(NEEDS)
	@tools/firmware.sh stm32f103 online

out/firmware/nrf52840-f30/firmware.elf: tools/firmware.sh $(BOARD_FILES) \
		$(wildcard boards/emulated/nrf52840/*) $(NEEDS)
	@tools/firmware.sh nrf52840 f30

.PHONY: firmware-nrf52840-natives
firmware-nrf52840-natives: out/firmware/nrf52840-natives/firmware.elf
out/firmware/nrf52840-natives/firmware.elf: tools/firmware.sh $(BOARD_FILES) $(DEVICE_FILES) \
		$(wildcard boards/emulated/nrf52840/* device/*.py native_modules/micropython.mk \
		native_modules/*/*.[chS]) $(STATIC) tests/host/static_kinds.py $(NEEDS)
	@tools/firmware.sh nrf52840 natives

out/firmware/samd21-capsules/firmware.elf: tools/firmware.sh $(BOARD_FILES) \
		$(wildcard boards/emulated/samd21/*) $(DEVICE_FILES) $(FREEZER) $(STATIC) \
		host/acclimate_host/testing/nor.py $(NEEDS)
	@tools/firmware.sh samd21 capsules

out/firmware/samd21-verdict/firmware.elf: tools/firmware.sh $(BOARD_FILES) \
		$(wildcard boards/emulated/samd21/*) $(DEVICE_FILES) $(FREEZER) $(STATIC) \
		host/acclimate_host/demo/update_small_board.py $(NEEDS)
	@tools/firmware.sh samd21 verdict

out/firmware/desktop-f32/micropython: tools/desktop_f32.sh $(NEEDS)
	@tools/desktop_f32.sh

out/firmware/esp32/firmware.elf: tools/firmware_esp32.sh $(wildcard tools/xtensa/*) \
		$(BOARD_FILES) $(wildcard boards/emulated/esp32/*) $(NEEDS)
	@tools/firmware_esp32.sh

# Each module's own Makefile knows what is out of date; .done is touched only when it was.
# A demo brought no compiler for boards, so the set-up comes first; sub-makes look for them again.
native:
	@$(MAKE) setup PACKAGES="base arm xtensa riscv" VENV=out/stamps/venv
	@$(MAKE) native-parts
	@$(MAKE) native-left-out
.PHONY: native-parts native-left-out
native-left-out:
	@tools/left_out.sh "$(ARCHS)"
native-parts: $(ARCHS:%=out/native/%/.done)
.PHONY: always
$(ARCHS:%=out/native/%/.done): out/native/%/.done: always $(NEEDS)
	@tools/native.sh $* $(MODULES)

stage: out/stage/py/.done $(ARCHS:%=out/stage/%/.done)
out/stage/py/.done $(ARCHS:%=out/stage/%/.done): out/stage/%/.done: tools/stage.py \
		host/acclimate_host/connect/package.py host/acclimate_host/connect/merge.py pyproject.toml $(DEVICE_FILES) $$(if $$(filter-out py,$$*),out/native/$$*/.done) | out/stamps/venv
	@$(PYTHON) tools/stage.py $*
	@touch $@

# ---- the page -----------------------------------------------------------------------------

PAGE := out/playground
playground: $(PAGE)/site/index.html
$(PAGE)/micropython/micropython.mjs: playground/package-lock.json tools/playground_micropython.sh
	@tools/playground_micropython.sh $(@D)
	@touch $@

$(PAGE)/core.wasm: tools/playground_core.sh playground/core/core.c \
		$(wildcard native_modules/svm/*.[ch] native_modules/net/*.[ch] native_modules/common/*.h)
	@$(if $(WASM_CC),tools/playground_core.sh $@,echo "left out: C cores of the page: no clang-22, lld-22")

$(PAGE)/plans.json: tools/playground_plans.py $(wildcard host/acclimate_host/poet/*.py) | out/stamps/venv-dev
	@$(PYTHON) tools/playground_plans.py $@

$(PAGE)/site/index.html: tools/playground.py $(PAGE)/micropython/micropython.mjs $(PAGE)/core.wasm $(PAGE)/plans.json \
		$(wildcard playground/* playground/python/*) $(DEVICE_FILES) host/acclimate_host/testing/nor.py \
		host/acclimate_host/connect/merge.py host/acclimate_host/connect/package.py \
		$(wildcard host/acclimate_host/teach/*.py host/acclimate_host/teach/sensors/*.py)
	@$(PYTHON) tools/playground.py $(PAGE)/micropython $(PAGE)/plans.json $(PAGE)/core.wasm $(@D)

# Each part of out/dist is made again only when something in it changed. Firmware that only tests
# use is not in it. Of the wheel's files none may be left of an earlier one in build/.
PACKED := bench boards device docs emulators examples host native_modules playground tests tools .ci
PACKED_FILES := $(shell find $(PACKED) -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*') \
	$(wildcard *.md *.py *.toml *.yml *.cff *.in LICENSE licenses/*) Makefile
EMULATORS := $(filter-out desktop-f32,$(FIRMWARE)) $(if $(filter samd21,$(FIRMWARE)),samd21-learning samd21-capsules \
	samd21-verdict stm32f103)
wheel: out/stamps/venv-dev $(if $(NPM),playground)
	@$(MAKE) -s out/dist/.packages $(if $(EMULATORS),out/dist/.emulators) out/dist/.mip
	@ls out/dist/*

out/dist/.packages: $(PACKED_FILES) $(ARCHS:%=out/native/%/.done) $(wildcard $(PAGE)/site/*) | out/stamps/venv-dev
	@rm -rf build out/dist/acclimate-*
	@mkdir -p $(@D)
	@$(PYTHON) -m build -q --no-isolation --outdir out/dist . > out/wheel.log 2>&1 || { tail out/wheel.log; exit 1; }
	@rm -rf build
	@touch $@

out/dist/.emulators: $(wildcard emulators/* emulators/acclimate_emulators/*) device/acclimate/__init__.py \
		$(EMULATORS:%=out/firmware/%/firmware.elf) | out/stamps/venv-dev
	@rm -rf emulators/build out/dist/acclimate_emulators-*
	@mkdir -p $(@D)
	@$(PYTHON) -m pip wheel -q --no-deps --no-build-isolation -w out/dist ./emulators
	@rm -rf emulators/build
	@touch $@

out/dist/.mip: tools/mip.py $(wildcard host/acclimate_host/connect/*.py) $(DEVICE_FILES) \
		$(ARCHS:%=out/native/%/.done) | out/stamps/venv-dev
	@rm -rf out/dist/mip
	@mkdir -p $(@D)
	@$(PYTHON) tools/mip.py out/dist/mip py $(ARCHS)
	@touch $@

arduino: out/stamps/venv
	@$(PYTHON) tools/arduino_library.py out/arduino

# ---- the C cores for CPython ("twin"), plain and with sanitizers ----------------------------

TWIN_FLAGS := -std=c99 -ffp-contract=off -Wall -Wextra -Werror -shared -fPIC -Inative_modules/common \
	-Iout/monocypher
CORES := $(if $(HOST_CC),$(MODULES))
twin: $(CORES:%=out/twin/libacclimate_%.so)
sanitized: $(CORES:%=out/sanitized/libacclimate_%.so)
# sha512.c is part of ed25519.c, as a native module is smallest from one text.
core_files = $(filter-out %_mod.c %/sha512.c,$(wildcard native_modules/$(1)/*.c))

out/twin/libacclimate_%.so: $$(wildcard native_modules/$$*/*.[ch] native_modules/common/*.h) | out/stamps/monocypher
	@mkdir -p $(@D)
	@gcc -O2 $(TWIN_FLAGS) $(call core_files,$*) -o $@ -lm
	@echo "built $@"

out/sanitized/libacclimate_%.so: $$(wildcard native_modules/$$*/*.[ch] native_modules/common/*.h) | out/stamps/monocypher
	@mkdir -p $(@D)
	@gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
		$(TWIN_FLAGS) $(call core_files,$*) -o $@ -lm
	@echo "built $@"
