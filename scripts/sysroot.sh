#!/bin/sh
# SPDX-License-Identifier: MIT
# sysroot.sh ARCH FOLDER: the libraries that cairn needs, for Debian's ARCH (arm64, armhf), unpacked
# into FOLDER beside a meson cross file, FOLDER.ini, that says where they are. apt-get works on
# lists of its own there: nothing is installed, no foreign architecture is added to this system, no
# root is needed. A folder that is whole is left alone.
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
[ ! -e "$root.ini" ] || exit 0
command -v apt-get >/dev/null || {
    echo "sysroot.sh: this system has no apt-get" >&2
    exit 1
}

apt_root=$root/apt
mkdir -p "$apt_root/lists/partial" "$apt_root/cache/archives/partial"
: >"$apt_root/status"
cat >"$apt_root/apt.conf" <<CONF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
Dir::State "$apt_root";
Dir::State::lists "$apt_root/lists";
Dir::State::status "$apt_root/status";
Dir::Cache "$apt_root/cache";
Acquire::Languages "none";
CONF
APT_CONFIG=$apt_root/apt.conf
export APT_CONFIG

cd "$apt_root/cache"
# One list that a mirror is just replacing is no failure, as long as the packages can be had.
apt-get -qq -o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=false update \
    >"$apt_root/update.log" 2>&1 || :
apt-get -qq -o APT::Sandbox::User="$(id -un)" download \
    zlib1g zlib1g-dev libzstd1 libzstd-dev liblzma5 liblzma-dev libiberty-dev libcmocka0 libcmocka-dev || {
    cat "$apt_root/update.log" >&2
    exit 1
}
for package in ./*.deb; do
    dpkg -x "$package" "$root"
done

cat >"$root.ini" <<INI
# Written by scripts/sysroot.sh; comes before cross/*.ini, which use these names.
[constants]
sysroot = '$root'
libraries = '$root/usr/lib/$triple'
more_libraries = '$root/lib/$triple'
headers = '$root/usr/include'
more_headers = '$root/usr/include/$triple'
INI
