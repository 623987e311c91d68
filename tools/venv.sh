#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Make the project's virtual environment and install the repository in it, editable, with EXTRAS.
# usage: tools/venv.sh DIRECTORY EXTRAS
set -euo pipefail

venv=$1
extras=$2
python=${PYTHON3:-python3}

die() {
    echo "venv: $*" >&2
    exit 1
}

command -v "$python" > /dev/null || die "$python not found; install Python 3.10 or newer"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die "$("$python" --version) is too old; set PYTHON3 to Python 3.10 or newer"

if ! "$venv/bin/python" -c 'import pip' 2> /dev/null; then
    rm -rf "$venv"
    if "$python" -c 'import ensurepip' 2> /dev/null; then
        "$python" -m venv "$venv"
    elif "$python" -c 'import virtualenv' 2> /dev/null; then
        "$python" -m virtualenv -q "$venv"
    elif "$python" -c 'import pip' 2> /dev/null; then
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip -q --python "$venv/bin/python" install pip
    else
        die "Python has neither ensurepip nor pip; as root: apt-get install python3-venv"
    fi
fi
"$venv/bin/python" -m pip install -qq --disable-pip-version-check -e ".[$extras]"
