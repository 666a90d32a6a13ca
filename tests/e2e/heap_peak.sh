#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that had many small blocks once: its state's file shrinks after the peak, what is left is exact,
# from outside too while leaves come and go, and the next peak is recorded as the first.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc python3
library=$BUILD/libcairn-heap.so
[ -e "$library" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
gcc -O1 -fno-builtin -o peak "$SRC/tests/e2e/heap_peak.c" || exit 1

kept=1011 # blocks, as heap_peak.c counts them: at each end 500, and 11 between
states=$(mktemp -d /dev/shm/cairn-peak-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$states"' EXIT
mkfifo lines said
CAIRN_HEAP_DIR=$states LD_PRELOAD=$library ./peak <lines >said &
pid=$!
exec 3>lines 4<said

# tell WORD: the program does that.
tell() {
    echo "$1" >&3
    read -r -t 60 line <&4 || line="nothing in a minute"
    same "$1" "$line" "done"
}

# kib: that the state's file takes.
kib() { stat -c %b "$states"/*.heap | awk '{ print int($1 / 2) }'; }

# exact WHEN: the kept blocks are there, and nothing else.
exact() {
    python3 "$SRC/tests/support/heap_state.py" "$states"/*.heap >said.txt 2>&1
    has said.txt "size 111 $kept" "$1"
    same "$1: other blocks" "$(grep -c '^size' said.txt)" 1
    has said.txt 'counts agree' "$1"
    hasnt said.txt 'loss' "$1"
}

tell up
first=$(kib)
[ "$first" -ge 8000 ] || fail "at the peak the file takes $first KiB"
tell down
tell on
after=$(kib)
for _ in 1 2 3 4 5 6 7 8; do
    [ $((after * 3)) -gt "$first" ] || break
    tell on
    after=$(kib)
done
[ $((after * 3)) -le "$first" ] || fail "after the peak it takes $after of $first KiB still"
exact "after the peak"

tell up
second=$(kib)
if [ "$second" -lt $((first - 64)) ] || [ "$second" -gt $((first + 640)) ]; then
    fail "at the second peak it takes $second KiB, at the first $first"
fi
tell down
exact "after the second peak"

# Read while leaves are given back and made: the kept blocks are there each time.
echo churn >&3
n=0
while ! read -r -t 0.05 line <&4; do
    "$CAIRN" heap leaks --json --top 0 "$pid" >out 2>err || fail "heap leaks while it runs"
    hasnt err damaged "while it runs"
    python3 - <<'PY' || fail "look $n: the kept blocks are not all there"
import json
leaks = json.load(open("out"))["leaks"]
raise SystemExit(not any(k["blocks"] >= 1011 for k in leaks))
PY
    n=$((n + 1))
done
[ "$n" -gt 0 ] || fail "nothing was read while it ran"
exact "in the end"
exec 3>&-
wait $pid
same "the program's status" $? 0

finish "the file took $first KiB, then $after, then $second; read $n times meanwhile; $n_checks checks"
