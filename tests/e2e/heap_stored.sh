#!/bin/bash
# SPDX-License-Identifier: MIT
# States that nobody asked for by a folder: how many stay, what cairn heap list and clean make of them.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc python3
library=$BUILD/libcairn-heap.so
[ -e "$library" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
printf '%s\n' '#include <stdlib.h>' '#include <unistd.h>' \
    'int main(int n, char **w) { char *volatile p = malloc(1001), c; (void)p; (void)w;' \
    '    return n > 1 ? (int)read(0, &c, 1) : 0; }' >small.c
gcc -O1 -fno-builtin -w -o small small.c || exit 1
export XDG_RUNTIME_DIR=$PWD/runtime
folder=$XDG_RUNTIME_DIR/cairn-heap
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset CAIRN_HEAP_DIR

# state_of NAME MEMBER: of that file in the JSON of the list.
state_of() {
    "$CAIRN" heap list --json "$folder" | python3 -c 'import json, sys
print(*[s[sys.argv[2]] for s in json.load(sys.stdin)["states"] if s["path"].endswith(sys.argv[1])])' "$1" "$2"
}

# A bound of its own for what the ended leave; a running one is not counted.
mkfifo hold
LD_PRELOAD=$library ./small wait <hold &
living=$!
exec 3>hold
for _ in $(seq 200); do ls "$folder"/$living-*.heap >/dev/null 2>&1 && break; sleep 0.05; done
for _ in $(seq 20); do LD_PRELOAD=$library ./small; done
set -- "$folder"/*.heap
same "states of 20 that ended, and of one that runs" $# 18
same "the state of who runs" "$(find "$folder" -name "$living-*.heap" | wc -l)" 1
CAIRN_HEAP_MAX_MEMORY=1048576 LD_PRELOAD=$library ./small
set -- "$folder"/*.heap
same "a tenth of --max-memory: the last one that ended, the new one, and who runs" $# 3

# A name is anybody's.
: >"$folder/$(printf '7-8.\033[31mred.heap')"
ln -s "$PWD/small.c" "$folder/9-9.heap"
"$CAIRN" heap list "$folder" >out 2>log || fail "cairn heap list: exit status $?" log
has out "$folder:" "its folder"
has out './small wait' "the command"
same "who runs" "$(state_of "/$living-$(cut -d ' ' -f 22 /proc/$living/stat).heap" state)" running
same "no escape reaches the terminal" "$(grep -c "$(printf '\033')" out)" 0
hasnt out 9-9.heap "a link"
"$CAIRN" heap list >out 2>log || fail "the list of all folders" log
has out "$folder:" "among all folders"

"$CAIRN" heap clean --older-than 3600 "$folder" >out 2>log || fail "clean --older-than" log
has out "removed 0 states" "none is so old"
"$CAIRN" heap clean "$folder" >out 2>log || fail "clean" log
has out "; left 1 state" "one stays"
same "who runs, and what is no state" "$(find "$folder" -mindepth 1 | wc -l)" 2
[ -e small.c ] || fail "what a link led to is gone"
exec 3>&-
wait $living
same "now it has ended" "$(state_of .heap state)" ended
"$CAIRN" heap leaks "$folder"/$living-*.heap >out 2>log || fail "a state of who ended" log
"$CAIRN" heap clean "$folder" >out 2>log
has out "removed 1 state" "the last one"
"$CAIRN" heap clean "$PWD/nowhere" >out 2>log && fail "a folder that is not there"
has log "nowhere" "a folder that is not there"

# What `cairn heap run` waits for is its own, until it is killed itself.
"$CAIRN" heap run --force -o run.heap -- sh -c './small; read -r line' <hold >/dev/null 2>log &
wrapper=$!
exec 3>hold
for _ in $(seq 200); do
    folder=$(echo "$XDG_RUNTIME_DIR"/cairn-heap.*)
    "$CAIRN" heap list "$folder" 2>/dev/null | grep -q 'awaited.*small' && break
    sleep 0.05
done
"$CAIRN" heap list "$folder" >out 2>log
has out awaited "the state of who ended, in a run"
"$CAIRN" heap clean "$folder" >out 2>log
has out "removed 0 states" "a run that goes on"
{ kill -KILL $wrapper; exec 3>&-; wait $wrapper; } 2>/dev/null
for _ in $(seq 200); do "$CAIRN" heap list "$folder" | grep -q running || break; sleep 0.05; done
"$CAIRN" heap clean "$folder" >out 2>log
has out "removed 2 states" "a run that was killed"
[ ! -e "$folder" ] || fail "its folder stays"

finish "states that nobody clears up are bounded, listed and removed ($n_checks checks)"
