#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds libtiny.so anew: lld puts its code at a vaddr that is not its offset in the file.
set -eu
cd "$(dirname "$0")"
clang++-14 -g -gdwarf-5 -O2 -fPIC -shared -nostdlib -fuse-ld=lld -Wl,--build-id=0xc0ffee00 \
    -Wl,-z,norelro -fdebug-prefix-map="$PWD"=/src -fno-ident tiny.cpp -o libtiny.so
