#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks of a program that another tracer has return probes and single-stepped probes in: the page of uprobes stands
# where return addresses were.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc

cat >probed.c <<'EOF2'
#include <time.h>
#define PLACE __attribute__((noinline, noclone))
PLACE int waits(int n) { struct timespec t = {0, 200000}; nanosleep(&t, 0); __asm__ volatile(""); return n + 1; }
PLACE int inner(int n) { int k = waits(n); __asm__ volatile(""); return k + 1; }
PLACE int outer(int n) { int k = inner(n); __asm__ volatile(""); return k + 1; }
PLACE int again(int n) { int k = n ? again(n - 1) : outer(n); __asm__ volatile(""); return k + 1; }
PLACE int steps(int n) { for (volatile int i = 0; i < 3; i++) ; return n; }
PLACE int stepper(int n) { for (int i = 0; i < 200; i++) n = steps(n) + 1; return n; }
int main(void) { for (int n = 0;; n++) { again(2); stepper(n); } }
EOF2
cc -O2 -o probed probed.c || fail "the program is not built"
./probed &
pid=$!
# shellcheck disable=SC2064
trap "kill $pid; wait" EXIT
# The other tracer.
"$CAIRN" trace -v --no-stack --summary -e uretprobe:./probed:outer -e uretprobe:./probed:again -e uretprobe:./probed:inner \
    -e uprobe:./probed:steps -p $pid >other.out 2>other.log &
other=$!
for _ in $(seq 100); do grep -q "tracing has begun" other.log && break; kill -0 $other 2>/dev/null || break; sleep 0.1; done
if ! kill -0 $other 2>/dev/null; then
    grep -q 'no code of this file\|not allowed\|needs' other.log || { fail "the other tracer" other.log; exit 1; }
    skip "all" "$(head -n 1 other.log)"
    exit 77
fi
sleep 0.3

# is_whole FILE WORDS: all stacks are, but for a few of a busy machine's.
is_whole() {
    cut=$(grep -oE '[0-9,]+ cut' "$1" | tr -dc '0-9\n' | head -n 1)
    at_most 3 "${cut:-999}" "$2: stacks that are cut"
}

"$CAIRN" record -f --method=bpf -F 499 -d 1 -o record.txt -p $pid >out 2>log || fail "record" log
is_whole log "samples of a program with probes of others"
grep -q '^\[uprobes\]\|^0x' record.txt && fail "a stack that begins at the page of uprobes" record.txt
"$CAIRN" record -f --off-cpu -d 1 -o waits.txt -p $pid >out 2>log || fail "record --off-cpu" log
is_whole log "waits of a program with probes of others"
has waits.txt "main;again;again;again;outer;inner;waits;" "the true callers of a wait"
"$CAIRN" trace -f -d 1 -e syscall:clock_nanosleep -o calls.txt -p $pid >out 2>log || fail "trace" log
is_whole log "calls of a program with probes of others"
has calls.txt "main;again;again;again;outer;inner;waits;" "the true callers of a system call"

"$CAIRN" stack --no-stop $pid >out 2>log || fail "stack" log
for _ in $(seq 20); do grep -q waits out && break; "$CAIRN" stack --no-stop $pid >out 2>log || fail "stack" log; done
if grep -q '\[iterator\]' out; then
    hasnt out "cut:" "the stack of a thread that sleeps"
    same "the frames of again" "$(grep -c ' again ' out)" 3
fi

# --- where the kernel's list is out of reach the cut says what stands there
"$CAIRN" record -f --method=dump -F 499 -d 1 -o copies.txt -p $pid >out 2>log || fail "record by copies" log
has log "address replaced by a uprobe" "the reason of a cut, by copies"
has copies.txt "[uprobes]+0x" "the page has its name"
hasnt log "outside of known code" "a page that is known"
"$CAIRN" trace --method=ptrace -f -d 1 --summary -e syscall:clock_nanosleep -p $pid >out 2>log || fail "trace by ptrace" log
has log " address replaced by a uprobe" "the reason of a cut, by ptrace"

kill -INT $other
wait $other
finish "uprobes_of_others: $n_checks checks"
