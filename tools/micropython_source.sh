#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetch MicroPython's source from Debian's archive through apt; works as any user.
# apt checks the signed index of the newer suite and, by it, the checksum of the tarball.
# usage: tools/micropython_source.sh DIRECTORY
set -euo pipefail

command -v apt-get > /dev/null || {
    echo "micropython: the source comes from Debian's archive, and there is no apt-get here" >&2
    exit 1
}
command -v xz > /dev/null || {
    echo "micropython: xz is missing; as root: apt-get install xz-utils" >&2
    exit 1
}
version=1.25.0+ds-1
suite=trixie
target=$(realpath -m "$1")
work=$target.download

rm -rf "$target" "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
cd "$work"

# The archive that this machine already uses, whatever its host.
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -E '/debian/?$' | sort -u | head -n 1)
[ -n "$archive" ] || {
    echo "micropython: apt knows no Debian archive (no URI that ends in /debian)" >&2
    exit 1
}
echo "deb-src $archive $suite main" > sources.list

own_lists=(
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
    -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
)
if [ "$(id -u)" = 0 ]; then
    own_lists+=(-o APT::Sandbox::User=root)
fi
apt-get "${own_lists[@]}" -qq update
apt-get "${own_lists[@]}" -qq source --download-only "micropython=$version"

# The upstream tarball alone: Debian's patches only concern its own packaging.
mkdir "$target"
tar -xJf micropython_*.orig.tar.xz -C "$target" --strip-components=1
cd /
rm -rf "$work"
