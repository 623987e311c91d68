#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Build MicroPython's desktop binary with 32-bit floats, as boards have them.
# usage: tools/desktop_f32.sh
set -euo pipefail

build=$PWD/out/firmware/desktop-f32
rm -rf "$build"
mkdir -p "$build"
log=$build/build.log
export MICROPY_GIT_TAG=v1.25.0 MICROPY_GIT_HASH=debian
make -j"$(nproc)" -C out/micropython/ports/unix VARIANT=standard BUILD="$build" \
    CFLAGS_EXTRA=-DMICROPY_FLOAT_IMPL=MICROPY_FLOAT_IMPL_FLOAT FROZEN_MANIFEST= \
    MICROPY_PY_SSL=0 MICROPY_SSL_MBEDTLS=0 MICROPY_PY_FFI=0 MICROPY_PY_BTREE=0 \
    MICROPY_PY_BLUETOOTH=0 > "$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "desktop-f32 failed; the whole log is out/firmware/desktop-f32/build.log" >&2
    exit 1
}
echo "built out/firmware/desktop-f32/micropython"
