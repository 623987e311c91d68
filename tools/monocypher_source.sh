#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetch Monocypher's C (BSD-2-Clause or CC0) out of the source package of pymonocypher, through pip.
# pip checks the checksum that the index gives.
# usage: tools/monocypher_source.sh DIRECTORY PYTHON
set -euo pipefail

target=$(realpath -m "$1")
python=$2
work=$target.download
rm -rf "$target" "$work"
mkdir -p "$work"
"$python" -m pip download -q --no-binary :all: --no-deps --no-build-isolation -d "$work" \
    'pymonocypher>=4.0.3,<4.1' 2> "$work/log" || { tail -n 3 "$work/log" >&2; exit 1; }
tar -xzf "$work"/pymonocypher-*.tar.gz -C "$work" --strip-components=1
mkdir "$target"
# Everything becomes static, so that a compiler leaves out what a module does not use, and a firmware
# can have two modules with it.
for file in monocypher.c monocypher.h; do
    sed -E -e 's/^(int|void|u32|uint32_t|u64|uint64_t) +crypto_/static &/' \
        -e 's/^(extern )?const crypto_argon2_extras/static const crypto_argon2_extras/' \
        "$work/$file" > "$target/$file"
done
cp "$work/LICENSE.txt" "$target/"
rm -rf "$work"
