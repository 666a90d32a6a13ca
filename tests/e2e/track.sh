#!/bin/bash
# SPDX-License-Identifier: MIT
# libcairn-track, loaded by dlopen: what libraries ask for that are bound lazily or at once, loaded before or
# after hook(); whoever frees it. And `cairn hook slots`, which shows where their slots lead.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ readelf python3
track=$BUILD/libcairn-track.so.0
mkdir -m 700 states
export CAIRN_HEAP_DIR=$PWD/states

# What may be mapped by hand: no TLS, no libc, and no name that comes before a program's.
hasnt <(readelf -lW "$track") TLS "segments"
hasnt <(readelf -dW "$track") NEEDED "dynamic section"
readelf --dyn-syms -W "$track" >symbols
same "imports" "$(awk '$7 == "UND" && $8 != "" { print $8 }' symbols | sort | tr '\n' ' ')" "_dl_debug_addr _r_debug "
same "exports" "$(awk '$7 != "UND" && $8 !~ /^(cairn_|memory_tracker_|Name$|$)/ { print $8 }' symbols)" ""

g++ -g -O1 -std=c++17 -Wall -Wextra -Werror -I "$SRC/include" "$SRC/tests/e2e/track/track.cc" -o track -ldl -pthread ||
    fail "track.cc does not compile"
sample() {
    g++ -g -O1 -fno-builtin -fno-optimize-sibling-calls -std=c++17 -fPIC -shared "$SRC/tests/e2e/track/sample.cc" "$@" ||
        fail "sample.cc does not compile"
}
sample -Wl,-z,lazy -o libsample_lazy.so
sample -Wl,-z,now -fno-plt -o libsample_now.so
# A pointer that the loader stores in a read-only segment.
printf '.section .rodata.table, "a"\n.balign 8\n.globl table\ntable: .%sbyte malloc, free\n.section .note.GNU-stack, ""\n' \
    "$(getconf LONG_BIT | sed 's/64/8/; s/32/4/')" >table.s
sample table.s -Wl,-z,notext -o libsample_text.so
has <(readelf -dW libsample_text.so) TEXTREL "relocations of text"
for library in lazy now text; do
    for case in functions moved choice later-functions later-moved unload; do
        ./track "$track" "$PWD/libsample_$library.so" $case >out 2>log || fail "$library, $case: status $?" out
        has out ok "$library, $case"
        rm -f states/*
    done
done
for case in threads child; do
    ./track "$track" "$PWD/libsample_lazy.so" $case >out 2>log || fail "$case: status $?" out
    has out ok "$case"
    rm -f states/*
done

# Slots of a file and of a process.
"$CAIRN" hook slots libsample_lazy.so free malloc@GLIBC_2.2.5 >out 2>log || [ "$(uname -m)" != x86_64 ] || fail "slots" log
has out JUMP_SLOT "slots of a file"
has out 'free@GLIBC' "slots of a file"
"$CAIRN" hook slots --json libsample_now.so free >out || fail "slots --json"
same "no JUMP_SLOT with -fno-plt" "$(ask 'any("JUMP" in s["relocation"] for s in j["slots"])')" False
same "a pointer in data" "$(ask 'any(s["pointer"] for s in j["slots"])')" True
"$CAIRN" hook slots libsample_lazy.so free no_such_function >out 2>log && fail "a name that is not there"
has log 'no slot of no_such_function' "a name that is not there"
has out free "the others are listed"
"$CAIRN" hook slots libsample_lazy.so 2>log
same "no name: status" $? 2
"$CAIRN" hook slots /etc/passwd free 2>log && fail "no ELF file"
has log /etc/passwd "no ELF file"
head -c 2000 libsample_lazy.so >cut.so
"$CAIRN" hook slots cut.so free 2>log && fail "a file that is cut off"
has log cut.so "a file that is cut off"
sleep 100 &
pid=$!
for _ in $(seq 400); do # until it has become sleep, with its libc
    [ "$(cat /proc/$pid/comm)" = sleep ] && grep -q 'libc\|musl' /proc/$pid/maps && break
    sleep 0.05
done
"$CAIRN" hook slots --json $pid malloc >out 2>log || fail "slots of a process" log
same "malloc leads into libc" "$(ask 'any("libc" in s.get("leads_into", "") for s in j["slots"])')" True
kill $pid
finish "libcairn-track: functions, threads, unloading, fork; cairn hook slots"
