#!/bin/bash
# SPDX-License-Identifier: MIT
# Blocks one by one of a program whose segments lie elsewhere in memory than in its file, told where
# the program is not: the numbers are those of the file that --symbols has.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc nm readelf
[ -e "$BUILD/libcairn-heap.so" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
cat >lose.c <<'EOP'
#include <stdlib.h>
__asm__(".text\n.globl other_one\n.type other_one, %function\nother_one: .fill 8192, 1, 0\n.size other_one, 8192");
__attribute__((noinline)) void *lose_it(void) { void *volatile p = malloc(1001); return p; }
int main(void) { return lose_it() == NULL; }
EOP

# rel_of FILE PATTERN: what stands behind it in the line of lose_it, as a number.
rel_of() {
    printf '%d' "0x$(sed -n "s/.*$2\([0-9a-f]*\).*lose_it.*/\1/p" "$1" | head -1)"
}

# try NAME COMPILER OPTION...: within lose_it in both forms, here and elsewhere.
try() {
    local name=$1 at size
    shift
    mkdir -p "$name/there" "$name/kept"
    "$@" -g -O1 -fno-builtin -fPIE -pie -Wl,--build-id -o "$name/there/lose" lose.c 2>log ||
        { skip "$name" "$1 does not link so"; return; }
    readelf -lW "$name/there/lose" | grep -qE '^ +LOAD +0x(0*[1-9a-f][0-9a-f]*) 0x' ||
        { fail "$name: one segment"; return; }
    at=$((0x$(nm "$name/there/lose" | sed -n 's/ T lose_it$//p')))
    size=$((0x$(nm -S "$name/there/lose" | sed -n 's/^[0-9a-f]* \([0-9a-f]*\) T lose_it$/\1/p')))
    same "$name: the file has it elsewhere" "$(readelf -lW "$name/there/lose" |
        awk '$1 == "LOAD" && / E / { print $2 == substr($3, 1, 2) substr($3, length($3) - 5) ? "no" : "yes" }' | tail -1)" yes
    "$CAIRN" heap run -f -o "$name/lose.heap" -- "$name/there/lose" 2>log || fail "$name: run" log
    for where in here elsewhere; do
        dir=$name/there
        [ $where = here ] || { mv "$name/there/lose" "$name/kept"; cp /bin/true "$name/there/lose"; dir=$name/kept; }
        "$CAIRN" heap leaks --format tracker -s "$dir" "$name/lose.heap" >out 2>log
        rel=$(rel_of out 'lose+0x')
        same "$name, $where: tracker, in lose_it" $((rel > at && rel <= at + size)) 1
        "$CAIRN" resolve -s "$dir" --lines out -o - --force >named 2>log
        has named '/lose.c:3))' "$name, $where: read back"
        "$CAIRN" heap leaks --format ndk -s "$dir" "$name/lose.heap" >out 2>log
        rel=$(rel_of out 'pc ')
        same "$name, $where: ndk, in lose_it" $((rel >= at && rel < at + size)) 1
    done
    debug_only "$name"
}
# Where only the debug file is, whose program headers know no offsets, names are right or missing.
debug_only() {
    mkdir -p "$1/debug"
    objcopy --only-keep-debug "$1/kept/lose" "$1/debug/lose.debug" && rm "$1/there/lose"
    "$CAIRN" heap leaks -s "$1/debug" "$1/lose.heap" >out 2>log
    [ "$1" != lld ] || has out 'lose_it (lose.c:3)' "$1, debug file alone"
    hasnt out 'other_' "$1, debug file alone"
    "$CAIRN" heap leaks --format tracker -s "$1/debug" "$1/lose.heap" >out 2>log
    "$CAIRN" resolve -s "$1/kept" --lines out -o - >named 2>log
    hasnt named 'other_' "$1, debug file alone: read back"
}
try "ld" gcc -Wl,-Ttext=0x52340
try "lld" clang -fuse-ld=lld

finish "addresses count from the load base, wherever the file is ($n_checks checks)"
