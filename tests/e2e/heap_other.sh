#!/bin/bash
# SPDX-License-Identifier: MIT
# Another allocator beside C++, preloaded or linked: every block once. What goes past the tracker, by names
# of the allocator's own or by RTLD_DEEPBIND, is said, and then not "every block recorded".
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ gcc python3
library=$BUILD/libcairn-heap.so
[ -e "$library" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
source=$SRC/tests/e2e/heap_other.cc
states=$PWD/states
mkdir -m 700 "$states"
g++ -std=c++17 -O1 -fno-builtin -o other "$source" || exit 1

# right CASE PRELOADED COMMAND...: ten live blocks of each kind, no loss.
right() {
    local name=$1 preload=$2 size
    shift 2
    rm -f "$states"/*
    CAIRN_HEAP_DIR=$states LD_PRELOAD=$preload "$@" 2>log || fail "$name: exit status $?" log
    python3 "$SRC/tests/support/heap_state.py" "$states"/*.heap >said 2>&1
    for size in 3001 3002 3003 3004 3005; do has said "size $size 10" "$name"; done
    has said 'counts agree' "$name"
    hasnt said 'loss' "$name"
}

# said CASE TEXT COMMAND...: by `cairn heap run`; an empty text: every block recorded.
said() {
    local name=$1 text=$2
    shift 2
    "$CAIRN" heap run -f -o run.heap -- "$@" >out 2>log || fail "$name: exit status $?" log
    if [ -z "$text" ]; then
        has log 'every block recorded' "$name"
        hasnt log 'NOT SEEN' "$name"
    else
        has log "$text" "$name"
        hasnt log 'every block recorded' "$name"
    fi
}

right "the C library's" "$library" ./other
others=0
for name in jemalloc mimalloc tcmalloc tcmalloc_minimal; do
    for file in /usr/lib/*/lib"$name".so.[0-9]; do
        [ -e "$file" ] || continue
        others=$((others + 1))
        right "$name preloaded" "$library:$file" ./other
        hasnt said 'other_names' "$name preloaded"
        g++ -std=c++17 -O1 -fno-builtin -o linked "$source" -Wl,--no-as-needed "$file" && right "$name linked" "$library" ./linked
        said "$name linked" "" ./linked
    done
done
[ $others -gt 0 ] || skip "another allocator" "none is installed"

if [ -e /usr/include/jemalloc/jemalloc.h ]; then
    g++ -std=c++17 -O1 -fno-builtin -DJEMALLOC -o own_names "$source" -ljemalloc || fail "with jemalloc.h"
    said "mallocx" "mallocx, sdallocx" ./own_names
else
    skip "mallocx" "jemalloc.h is missing"
fi

# The library of the program's RUNPATH alone is found by its name: dlopen sees the program call it.
mkdir where
printf '#include <stdlib.h>\nvoid *volatile kept;\nint lose(void) { kept = malloc(4001); free(malloc(4002)); return !kept; }\n' >lose.c
gcc -O1 -fno-builtin -shared -fPIC -o where/liblose.so lose.c && g++ -std=c++17 -O1 -fno-builtin -o opens "$source" \
    -Wl,--enable-new-dtags,-rpath,"\$ORIGIN/where" || exit 1
said "dlopen" "" ./opens plain liblose.so
said "RTLD_DEEPBIND" "RTLD_DEEPBIND" ./opens deep liblose.so
said "dlmopen" "dlmopen" ./opens apart liblose.so

finish "each block is counted once, or what is not seen is said ($n_checks checks)"
