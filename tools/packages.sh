#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Install the Debian packages of some groups, as root or through sudo. Without either it says
# what to ask an administrator for, and succeeds: what needs those packages is left out.
# usage: tools/packages.sh GROUP...        groups: base arm xtensa riscv net page
set -euo pipefail

declare -A groups=(
    [base]="python3-venv gcc libc6-dev xz-utils"
    [net]="nginx-light mosquitto"
    [page]="npm chromium clang-22 lld-22"
    [arm]="gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
    [riscv]="gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc"
    [xtensa]="clang-22 libclang-rt-22-dev llvm-22 binutils-xtensa-lx106 picolibc-xtensa-lx106-elf qemu-user"
)

is_installed() {
    [ "$1" != npm ] || ! command -v npm > /dev/null || return 0  # another Node.js brings its own
    dpkg-query -W -f '${Status}' "$1" 2> /dev/null | grep -q 'install ok installed'
}

missing=()
for group in "$@"; do
    for package in ${groups[$group]}; do
        is_installed "$package" || missing+=("$package")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get > /dev/null; then
    echo "packages: no apt-get here; left out what needs: ${missing[*]}"
    exit 0
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2> /dev/null; then
        echo "packages: neither root nor sudo; left out what needs: ${missing[*]}"
        echo "packages: an administrator can run: apt-get install ${missing[*]}"
        exit 0
    fi
    as_root=(sudo -n)
fi

apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o DPkg::Lock::Timeout=300 "$@" > out/packages.log 2>&1 || {
        tail -n 5 out/packages.log >&2
        return 1
    }
}

mkdir -p out
echo "packages: installing ${missing[*]}"
apt_get update || echo "packages: apt-get update failed; trying with the lists there are" >&2
offered=()
for package in "${missing[@]}"; do
    if apt-cache show "$package" > /dev/null 2>&1; then
        offered+=("$package")
    else
        echo "packages: $package is not offered here; left out what needs it"
    fi
done
[ ${#offered[@]} -gt 0 ] || exit 0
apt_get install -y --no-install-recommends "${offered[@]}" || {
    echo "packages: installation failed; what needs ${offered[*]} may be left out" >&2
}
