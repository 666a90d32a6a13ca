#!/bin/sh
# SPDX-License-Identifier: MIT
# musl.sh FOLDER: the kernel's headers, which musl-gcc does not see, as links in FOLDER, and FOLDER.ini,
# which says to cross/musl.ini where they are.
set -eu

mkdir -p "$1"
root=$(CDPATH='' cd -- "$1" && pwd)
ln -sfn /usr/include/linux /usr/include/asm-generic "$root"
ln -sfn "/usr/include/$(uname -m)-linux-gnu/asm" "$root/asm"
printf "[constants]\nheaders = '%s'\n" "$root" >"$root.ini"
