#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetch MicroPython's WebAssembly build with npm, as playground/package-lock.json pins it.
# usage: tools/playground_micropython.sh DIRECTORY
set -euo pipefail

target=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp playground/package.json playground/package-lock.json "$work"
(cd "$work" && npm ci --silent --ignore-scripts --no-audit --no-fund --cache "$work/cache")
mkdir -p "$target"
cp "$work"/node_modules/@micropython/micropython-webassembly-pyscript/micropython.{mjs,wasm} "$target"
