#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Build the C cores as a WebAssembly module that shares the memory of the page's MicroPython.
# usage: tools/playground_core.sh RESULT
set -euo pipefail

result=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=(playground/core/core.c native_modules/svm/svm{,_fixed,_float,_linear}.c)
for source in native_modules/net/*.c; do
    case $source in
        *_mod.c | */net_float.c) ;;
        *) sources+=("$source") ;;
    esac
done
for source in "${sources[@]}"; do
    clang-22 --target=wasm32 -O2 -fPIC -ffreestanding -fvisibility=hidden -nostdlib -std=c99 \
        -ffp-contract=off -Wall -Wextra -Werror -Inative_modules/svm -Inative_modules/net \
        -Inative_modules/common -c "$source" -o "$work/$(basename "$source" .c).o"
done
mkdir -p "$(dirname "$result")"
wasm-ld-22 --experimental-pic -shared --no-entry --strip-all --gc-sections --import-memory \
    "$work"/*.o -o "$result"
chmod 644 "$result"
echo "built $result ($(stat -c %s "$result") bytes)"
