#!/bin/sh
# SPDX-License-Identifier: MIT
# sysroot.sh ARCH FOLDER: the libraries that cairn needs, for Debian's ARCH (arm64, armhf), unpacked
# into FOLDER (packages.sh) beside a meson cross file, FOLDER.ini, that says where they are. A folder
# that is whole is left alone.
set -eu

arch=$1
case $arch in
arm64) triple=aarch64-linux-gnu ;;
armhf) triple=arm-linux-gnueabihf ;;
*)
    echo "sysroot.sh: no cross build for $arch" >&2
    exit 2
    ;;
esac
mkdir -p "$2"
root=$(CDPATH='' cd -- "$2" && pwd)
bpf=
[ "$arch" = armhf ] || bpf='libbpf1 libbpf-dev libelf1 libelf-dev'
# shellcheck disable=SC2086 # words
"$(dirname "$0")/packages.sh" "$arch" - "$root" zlib1g zlib1g-dev libzstd1 libzstd-dev liblzma5 liblzma-dev \
    libiberty-dev libncurses-dev libcmocka0 libcmocka-dev $bpf
[ ! -e "$root.ini" ] || exit 0

cat >"$root.ini" <<INI
# Written by scripts/sysroot.sh; comes before cross/*.ini, which use these names.
[constants]
sysroot = '$root'
libraries = '$root/usr/lib/$triple'
more_libraries = '$root/lib/$triple'
headers = '$root/usr/include'
more_headers = '$root/usr/include/$triple'
INI
