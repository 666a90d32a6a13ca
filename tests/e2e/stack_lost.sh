#!/bin/bash
# SPDX-License-Identifier: MIT
# Core files whose program is not at hand, and which do not hold its code, as the kernel writes them:
# frame pointers lead on, as a guess that is marked.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

ulimit -c unlimited
options="-O1 -g0 -fno-omit-frame-pointer -fno-optimize-sibling-calls"

# Empties the segments with code of a 64-bit little-endian core file.
cat >blank.py <<'TEXT'
import struct, sys
core = bytearray(open(sys.argv[1], "rb").read())
table, = struct.unpack_from("<Q", core, 32)
size, n = struct.unpack_from("<HH", core, 54)
for at in range(table, table + n * size, size):
    kind, flags = struct.unpack_from("<II", core, at)
    if kind == 1 and flags & 1:
        struct.pack_into("<Q", core, at + 32, 0)
open(sys.argv[2], "wb").write(core)
TEXT

# leads_on CASE CORE: by frame pointers up to main and on.
leads_on() {
    /usr/bin/python3 blank.py "$2" bare.core || fail "$1: blank.py"
    "$CAIRN" stack --why bare.core >stack.txt 2>log || fail "$1" log
    at_least 6 "$(grep -c 'fp guess' stack.txt)" "$1: frames by frame pointers"
    # Of deep() the same return address four times: it is called at one place.
    same "$1: calls of deep() by itself" \
        "$(grep 'fp guess' stack.txt | awk '{ print $2 }' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $1 }')" 4
}

if [ "$(uname -m)" = x86_64 ]; then
    # shellcheck disable=SC2086 # a list
    "${CC:-gcc}" $options -o prog "$SRC/tests/e2e/lost_program.c" >log 2>&1 || { fail "build" log; exit 1; }
    rm -f core*
    (./prog) >/dev/null 2>&1
    core=
    for file in core*; do
        [ ! -e "$file" ] || core=$file
    done
    rm prog
    if [ -n "$core" ]; then
        leads_on "x86-64" "$core"
        has stack.txt 'whole: outermost' "x86-64: libc is at hand"
    else
        skip "x86-64" "no core file is left (kernel.core_pattern?)"
    fi
fi

if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
    # shellcheck disable=SC2086 # a list
    aarch64-linux-gnu-gcc $options -static -o prog "$SRC/tests/e2e/lost_program.c" >log 2>&1 ||
        { fail "build for aarch64" log; exit 1; }
    rm -f qemu_*.core
    qemu-aarch64 ./prog >/dev/null 2>&1
    core=
    for file in qemu_*.core; do
        [ ! -e "$file" ] || core=$file
    done
    rm prog
    if [ -n "$core" ]; then
        leads_on "aarch64" "$core"
    else
        skip "aarch64" "qemu-aarch64 leaves no core file"
    fi
else
    skip "aarch64" "qemu-aarch64 or its compiler is missing"
fi

finish "$n_checks checks hold"
