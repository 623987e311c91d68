#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Run a command in a clone of the last commit on a bare Debian 12: Debian's smallest base with
# git, make and Python, made by debootstrap (as root). Mirror, certificates and pip's settings are
# those of this machine. The command's mounts and processes end with it.
# usage: tools/fresh_machine.sh [--user] COMMAND...
#   --user   without root and sudo; python3-venv is there, a compiler is not
set -euo pipefail

suite=bookworm
who=root
if [ "${1:-}" = --user ]; then
    who=maker
    shift
fi
folder=$PWD/out/fresh
base=$folder/base
machine=$folder/$who

die() {
    echo "fresh_machine: $*" >&2
    exit 2
}

# The URI that this machine's apt has for an archive whose path ends in $1.
archive() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
        grep -E "/$1/?\$" | sort -u | head -n 1
}

make_base() {
    local debian security
    debian=$(archive debian) || die "apt knows no Debian archive (no URI that ends in /debian)"
    security=$(archive debian-security || true)
    rm -rf "$base" "$base.new"
    mkdir -p "$folder"
    echo "fresh_machine: making a bare Debian ($suite)"
    debootstrap --variant=minbase --include=ca-certificates,git,make,python3 \
        "$suite" "$base.new" "$debian" > "$base.log" 2>&1 || die "failed, see out/fresh/base.log"
    {
        echo "deb $debian $suite main"
        echo "deb $debian $suite-updates main"
        [ -z "$security" ] || echo "deb $security $suite-security main"
    } > "$base.new/etc/apt/sources.list"
    { apt-config dump | grep '^Acquire::' || true; } > "$base.new/etc/apt/apt.conf.d/90machine"
    mv "$base.new" "$base"
}

copy_settings() {
    local path
    for path in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
        cp -L "$path" "$machine$path"
    done
    for path in /etc/pip.conf /etc/xdg/pip; do
        mkdir -p "$machine${path%/*}"
        [ ! -e "$path" ] || cp -a "$path" "$machine${path%/*}/"
    done
}

# usage: inside USER COMMAND...      in the clone, once there is one
inside() {
    local settings=(LANG=C.UTF-8 HOME="/srv/$1" USER="$1" PATH=/usr/bin:/bin) name
    [ "$1" = maker ] || settings+=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
    for name in http_proxy https_proxy no_proxy PIP_CERT PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
        [ -z "${!name:-}" ] || settings+=("$name=${!name}")
    done
    unshare --mount --pid --fork --kill-child bash -euc '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        cd "$1"
        exec chroot --userspec="$2" . env -i "${@:3}"' - \
        "$machine" "$1" "${settings[@]}" sh -c '[ ! -d ~ ] || cd ~; [ ! -d acclimate ] || cd acclimate; exec "$@"' - \
        "${@:2}"
}

[ $# -gt 0 ] || die "expected a command, such as: tools/fresh_machine.sh make test"
[ "$(id -u)" = 0 ] || die "making another machine needs root"
for program in debootstrap unshare git; do
    command -v "$program" > /dev/null || die "$program is missing; apt-get install it"
done

[ -d "$base" ] || make_base
rm -rf "$machine"
cp -a "$base" "$machine"
copy_settings
mkdir "$machine/srv/$who"
git clone -q --bare . "$machine/srv/origin.git"
if [ "$who" = maker ]; then
    inside root apt-get -qq update
    inside root apt-get -qq install -y --no-install-recommends python3-venv > "$machine.log" 2>&1 ||
        die "python3-venv could not be installed, see out/fresh/$who.log"
    chroot "$machine" useradd --home-dir /srv/maker maker
    chroot "$machine" chown -R maker: /srv/maker /srv/origin.git
fi
inside "$who" git clone -q /srv/origin.git acclimate
inside "$who" "$@"
