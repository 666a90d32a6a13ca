#!/bin/sh
# SPDX-License-Identifier: MIT
# vmlinux.sh OUT: puts OUT/vmlinux there, a Debian 12 kernel with its debug information (590 MB of it), out
# of the archive's -dbg package. Backported kernels are passed over, so that figures stay comparable.
# Nothing is installed; it needs the network once.
set -eu
[ $# -eq 1 ] || { sed -n '3,5s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
[ ! -f vmlinux ] || exit 0
package=$(apt-cache search --names-only '^linux-image-6\.1\..*cloud-amd64-dbg$' | sort -V | sed -n '$s/ .*//p')
[ -n "$package" ] || { echo "vmlinux.sh: no linux-image-6.1.*-cloud-amd64-dbg in the package lists: apt-get update" >&2; exit 1; }
scratch=$(mktemp -d -p .)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && apt-get -qq download "$package" && dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards './usr/lib/debug/boot/vmlinux-*')
mv "$scratch"/usr/lib/debug/boot/vmlinux-* vmlinux
