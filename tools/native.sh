#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Build the native modules for one architecture, and remove those that are no longer made.
# usage: tools/native.sh ARCH MODULE...
set -euo pipefail

arch=$1
shift
folder=out/native/$arch
mkdir -p "$folder"

made=" "
for module in "$@"; do
    make -s -C "native_modules/$module" ARCH="$arch"
    made+="$(make -s -C "native_modules/$module" ARCH="$arch" names) "
done

changed=$(find "$folder" -maxdepth 1 -name '*.mpy' -newer "$folder/.done" 2> /dev/null || true)
for file in "$folder"/*.mpy; do
    name=$(basename "$file" .mpy)
    if [ -e "$file" ] && [[ "$made" != *" $name "* ]]; then
        rm "$file"
        changed+=$file
    fi
done

# The stage is made again only when .done is newer.
if [ ! -e "$folder/.done" ] || [ -n "$changed" ]; then
    touch "$folder/.done"
fi
