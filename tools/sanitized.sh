#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Run a command with the sanitizers' runtime loaded, so that it can load out/sanitized/*.so.
# usage: tools/sanitized.sh COMMAND...      such as: tools/sanitized.sh out/venv/bin/python x.py
set -euo pipefail

# Python itself does not free everything at its end.
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" exec "$@"
