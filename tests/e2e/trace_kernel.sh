#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn trace --kernel-only: stacks of tracepoints have the kernel's frames and no others, by BPF and by perf events.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need python3
event='tracepoint:sched:sched_process_exec'

# frames KIND: "kernel" or "user" for each frame of the JSON in `out`; innermost first, runs are one word.
frames() {
    python3 -c 'import json
words = []
for line in open("out"):
    event = json.loads(line)
    assert event["cut"] is None, event["cut"]
    assert event["stack"], "no stack"
    for frame in event["stack"]:
        is_kernel = int(frame["address"], 16) >> 63
        words += [["user", "kernel"][is_kernel]] if words[-1:] != [["user", "kernel"][is_kernel]] else []
print(*words)'
}
n=0
for method in bpf perf; do
    if ! "$CAIRN" trace --method=$method --json -e $event sh -c 'exec true' >out 2>err; then
        skip "$method" "$(head -n 1 err)"
        continue
    fi
    n=$((n + 1))
    if ! grep -q '"address":"0xffff' out; then
        skip "$method" "the kernel's frames are not shown here"
        continue
    fi
    "$CAIRN" trace --method=$method --json --kernel-only -e $event sh -c 'exec true' >out 2>err || fail "$method" err
    same "$method: frames" "$(frames)" kernel
    has err "stacks, the kernel's frames alone: " "$method: the last lines"
    has err " 0 cut" "$method: the last lines"
    hasnt err "of the stack are copied" "$method: no user memory is read"
    "$CAIRN" trace --method=$method --json --user-only -e $event sh -c 'exec true' >out 2>err || fail "$method" err
    hasnt out '"address":"0xffff' "$method: --user-only"
    "$CAIRN" trace --method=$method --kernel-only --summary -e $event sh -c 'true; /bin/true; /bin/true' >out 2>err || fail "$method" err
    hasnt out "main  " "$method: sums"
    "$CAIRN" trace --method=$method --kernel-only -e syscall:read true >out 2>err && fail "$method: a system call"
    has err "syscall:read: has no frames of the kernel" "$method: a system call"
done
[ $n -gt 0 ] || exit 77
"$CAIRN" trace --kernel-only -e uprobe:libc.so.6:malloc true >out 2>err && fail "a function of a program"
has err "uprobe:libc.so.6:malloc: has no frames of the kernel" "a function of a program"
"$CAIRN" trace --kernel-only --user-only -e $event true >out 2>err && fail "both"
has err "one of them" "both"
finish "trace_kernel: $n_checks checks"
