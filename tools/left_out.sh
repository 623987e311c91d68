#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Name what this machine could not build, so that a smaller run is not taken for a whole one.
# usage: tools/left_out.sh "ARCHS BUILT" ["FIRMWARE BUILT"]
set -euo pipefail

absent() {
    for name in $1; do
        case " $2 " in
            *" $name "*) ;;
            *) printf '%s ' "$name" ;;
        esac
    done
}

archs=$(absent "x64 armv6m armv7emsp xtensawin rv32imc" "$1")
[ -z "$archs" ] || echo "left out: native modules for $archs"
[ $# -gt 1 ] || exit 0
firmware=$(absent "desktop-f32 nrf52840 samd21 stm32f767 rp2350 esp32 rv32" "$2")
[ -z "$firmware" ] || echo "left out: firmware for $firmware"
