#!/bin/bash
# SPDX-License-Identifier: MIT
# heap.sh LIBRARY PROGRAMS [EMULATOR...]: the heap tracker on another CPU or C library than the
# one that e2e/heap_preload runs on: each way to get memory is counted exactly, however the program ends.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
library=$(realpath "$1")
programs=$(realpath "$2")
shift 2
[ $# = 0 ] || need "$1"
folder=$(mktemp -d "${TMPDIR:-/tmp}/cairn-e2e.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
work=$folder/states
mkdir -m 700 "$work"

# tracked CASE: with its states alone in $work. What they say is in the file `said`.
if [ $# = 0 ]; then
    rounds=100000
    run() { env CAIRN_HEAP_DIR="$work" LD_PRELOAD="$library" "$programs" "$1" $rounds; }
else
    rounds=3000
    emulator=("$@")
    run() { "${emulator[@]}" -E CAIRN_HEAP_DIR="$work" -E LD_PRELOAD="$library" "$programs" "$1" $rounds; }
fi
tracked() {
    rm -f "$work"/*
    { run "$1" >out; } 2>shell
    same "$1: status" $? "$2"
    for file in "$work"/*.heap; do python3 "$SRC/tests/support/heap_state.py" "$file"; done >said 2>&1
    has said 'counts agree' "$1"
    hasnt said 'counts differ' "$1"
}

for row in "leaks 0" "exit 0" "kill 137"; do
    # shellcheck disable=SC2086 # two words
    tracked $row
    for line in "1001 5" "1002 1" "1003 1" "1004 1" "1005 1" "1024 1" "1043 1" "1007 1" "1008 1" \
        "5242880 1" "1011 1" "1012 1" "4001 1"; do
        has said "size $line" "$row"
    done
    hasnt said 'size 2001' "$row: freed"
    hasnt said 'size 2002' "$row: freed by realloc"
    hasnt said 'loss' "$row"
done

tracked threads 0
has said 'size 3001 1600' "destructors of threads"
hasnt said 'size 50 ' "blocks of threads that ended"

tracked signals 0
has said 'size 1001 1' "signals"

tracked deep 0
has said 'size 1001 1' "deep"
grep -q '^stacks .* depth 1024$' said || fail "deep: 1,024 frames" said

tracked many 0
has out 20000 "many: output"
has said 'size 1000 10000' "many"

tracked race 0
same "race: blocks of its own" "$(grep -cE '^size (2[4-9]|3[01]|2[0-5][0-9][0-9]) ' said)" 0

if [ $# = 0 ]; then
    tracked fork 0
    same "fork: states" "$(find "$work" -name '*.heap' | wc -l)" 2
    has said 'size 2001 1' "fork: the child's block"
    has said 'loss inherited 1 0' "fork: the parent's block"
else
    skip "fork" "qemu-user 7.2 says that it wipes pages in a child, and wipes none; guest/arm64 has it"
fi

finish "the tracker counts exactly here, too ($n_checks checks)"
