#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn trace: each call with its whole stack, counts that are exact, and calls that are easily got wrong.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/trace_lib.sh
. "$SRC/tests/support/trace_lib.sh"
program=$WORK/trace_program
need cc
cc -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread -o "$program" "$SRC/tests/e2e/trace_program.c" || exit 1

"$CAIRN" trace --list 'syscall:open*' >list || fail "--list" list
has list syscall:openat "--list"
hasnt list syscall:read "--list"
"$CAIRN" trace --list usd:a >list 2>err && fail "--list takes a kind that is none"
has err 'list "usd:a": expected NAME, syscall:NAME, tracepoint:GROUP:NAME or usdt:FILE:PROVIDER:NAME' "--list: no kind"
for none in syscall:nothing nothing '*:no_such_group:*'; do
    "$CAIRN" trace --list "$none" >list 2>err && fail "--list $none finds something"
    has err "list \"$none\": this kernel has no such event" "--list $none"
done
"$CAIRN" trace -e 'syscall:openat[ret <]' true 2>err && fail "a wrong filter is taken"
has err "filter: column 6" "a wrong filter"
"$CAIRN" trace -e syscall:nothing true 2>err && fail "a wrong name is taken"
has err "no system call has that name" "a wrong name"
"$CAIRN" trace -e syscall:read 2>err && fail "no target is taken"
has err "no target" "no target"

if ! "$CAIRN" trace --summary -e syscall:write true >out 2>err; then
    echo "refused here: $(head -n 1 err)"
    exit 77
fi

# Four threads, three places; exact, while processes come and go.
each=${TRACE_CALLS:-250000}
"$CAIRN" trace --summary -e 'syscall:write[fd == 3]' "$program" counts "$each" >out 2>err || fail "counts" err
counted "$each"

# More stacks than the kernel has space for at a time.
"$CAIRN" trace -f -o many.txt -e 'syscall:write[fd == 3]' "$program" many 100000 2>err || fail "many stacks" err
has err "100,000 counted, 0 lost" "many stacks"
has err "100,000 whole, 0 cut" "many stacks"
same "different stacks" "$(grep -c 'write$\|write ' many.txt)" 100000

# The same counted as they begin, and in a profile.
"$CAIRN" trace --enter-only -f -o counts.txt -e 'syscall:write[fd == 3]' "$program" counts 1000 2>err ||
    fail "-o" err
collapsed 1000
"$CAIRN" trace -f -o counts.pb.gz -e 'syscall:write[fd == 3]' "$program" counts 1000 2>err || fail "-o raw" err
"$CAIRN" report --json counts.pb.gz >report.json 2>&1 || fail "report" report.json
"$CAIRN" trace -f -o counts.html -e syscall:write "$program" counts 10 2>err || fail "-o html" err

# Traps.
"$CAIRN" trace --limit 0 -e syscall:write,openat,execve,vfork,pause,exit_group "$program" traps >out 2>err ||
    fail "traps" err
stack_of '"handler"' stack
for name in handler "on_other_stack" traps main; do has stack "$name" "a handler on its own stack"; done
hasnt stack "cut:" "a handler on its own stack"
stack_of '"assembly"' stack
has stack "#0   by_assembly" "inline assembly"
has stack main "inline assembly"
if grep -q "^no int 0x80 here" out; then
    skip "int 0x80" "this kernel has no table of 32-bit calls"
elif [ "$(uname -m)" = x86_64 ]; then
    # On a busy machine the program has ended before its descriptors are asked for.
    grep -q 'write(fd=3[<,].*\[32-bit call\] = ' out || fail "int 0x80" out
    stack_of '[32-bit call]' stack
    has stack "#0   by_old_gate" "int 0x80"
    # One name is the call in each table.
    "$CAIRN" trace --no-stack --failed -e mmap "$program" traps >mapped 2>err || fail "-e mmap" err
    grep -q 'mmap2(addr=NULL, .*\[32-bit call\] = -1 EINVAL' mapped || fail "mmap2 by the name mmap" mapped
    "$CAIRN" trace --no-stack --failed -e 'syscall:%memory,!mmap' "$program" traps >mapped 2>err || fail "!mmap" err
    hasnt mapped mmap "!mmap"
fi
stack_of '"vforked"' stack
for name in in_vfork main; do has stack "$name" "vfork"; done
stack_of '"deep"' stack
has stack deep_and_large "a deep stack"
has stack main "a deep stack"
hasnt stack "cut:" "a deep stack"
has out 'openat(dirfd=AT_FDCWD, path="/no/such/file", flags=O_RDONLY|O_CLOEXEC, mode=00) = -1 ENOENT' "openat"
has out "pause() = -1 ERESTARTNOHAND" "a thread that dies in the call"
stack_of 'path="/bin/true"' stack
has stack traps "execve has the stack of the old program"
has out "exit_group(status=0)" "exit_group"
has err " 0 lost" "traps"

# Filters: in the kernel, here, and of all events.
"$CAIRN" trace --no-stack --failed=ENOENT -e 'syscall:%file' "$program" traps >out 2>err || fail "--failed" err
hasnt out " = 0" "--failed"
has out "/no/such/file" "--failed"
"$CAIRN" trace --no-stack -e 'syscall:openat[path ~ "/no/*"]' "$program" traps >out 2>err || fail "~" err
same "one event is left by a pattern" "$(grep -c openat out)" 1
has err "1 counted, 0 lost" "a pattern"
"$CAIRN" trace --max-events 5 -e syscall:write "$program" counts 1000 >out 2>err || fail "--max-events" err
has err "5 counted" "--max-events"

"$CAIRN" trace --every 4 --depth 1 -f -o every.txt -e 'syscall:write[fd == 3]' "$program" counts 100 2>err || fail "--every" err
has err "100 counted, 0 lost" "--every"
same "--depth" "$(grep -vc '^[^;]*write.* [0-9]*$' every.txt)" 0

# JSON: an object a line.
"$CAIRN" trace --json -e 'syscall:write[count == 3]' "$program" counts 8 >out 2>err || fail "--json" err
python3 - out <<'PYTHON' || fail "--json" out
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert len(events) == 8, len(events)
for event in events:
    assert event["name"] == "write" and event["args"]["buf"] == '"ccc"' and event["result"] == 3, event
    names = [frame["function"] for frame in event["stack"]]
    assert names.count("deeper") == 4 and "place_c" in names and event["cut"] is None, names
PYTHON

# A running process: the stack is that of cairn stack. Nothing stays attached when cairn is killed.
"$program" wait &
pid=$!
"$CAIRN" trace -v -e syscall:pause,rt_sigreturn -p $pid >live 2>err &
tracer=$!
for _ in $(seq 100); do grep -q "has begun" err && break; sleep 0.1; done
for _ in 1 2 3; do # each time the call ends, and begins again
    kill -STOP $pid
    sleep 0.2
    kill -CONT $pid
    sleep 0.2
done
"$CAIRN" stack $pid >sleeping 2>&1
sleep 0.3
names() { sed -n 's/^  #[0-9]* *\([^ ]*\).*/\1/p' "$1"; }
awk '/ pause\(\)/ { if (n++) exit; next } n' live >stack
[ -n "$(names stack)" ] || fail "no stack of a running process" live
same "the stack is that of cairn stack" "$(names stack)" "$(names sleeping)"
n_attached() { bpftool prog list 2>/dev/null | grep -c "name cairn_trace" || :; }
if command -v bpftool >/dev/null; then
    before=$(n_attached)
    at_least 1 "$before" "programs while it runs"
    kill -KILL $tracer
    wait $tracer 2>/dev/null
    for _ in $(seq 50); do [ "$(n_attached)" -lt "$before" ] && break; sleep 0.1; done
    at_most $((before - 1)) "$(n_attached)" "programs when it was killed"
else
    skip "killed" "bpftool is missing"
    kill -KILL $tracer
fi
kill -KILL $pid

# Without rights.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod a+rx "$WORK"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$CAIRN" trace --method=bpf -e syscall:write true >out 2>err &&
        fail "an ordinary user may trace by BPF"
    grep -q "hint:" err || fail "the refusal has no hint" err
fi

finish "counts of $(commas $((4 * each))) calls are exact"
