#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn trace: results are the same numbers in lines, JSON and filters, of functions and system calls, by every method;
# and a filter on what an event lacks is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3
cc -O2 -g -Wall -Wextra -o results "$SRC/tests/e2e/trace_results.c" || exit 1
cc -O2 -g -pthread -o program "$SRC/tests/e2e/trace_program.c" || exit 1

# results METHOD EVENT OPTION...: the results in JSON, one word for each event; "-1/EBADF" with an error.
results() {
    method=$1
    event=$2
    shift 2
    "$CAIRN" trace --method="$method" --no-stack --json "$@" -e "$event" ./results 32 >out 2>err || fail "$event" err
    python3 -c 'import json
for line in open("out"):
    e = json.loads(line)
    if e["args"].get("fd") != "3" and "ld.so" not in str(e["args"]) and "libc" not in str(e["args"]):
        print(e["result"], e["error"] or "", sep="/" * bool(e["error"]))' | xargs
}
methods=''
for method in bpf perf ptrace; do
    if "$CAIRN" trace --method="$method" --summary -e syscall:close ./results >out 2>err; then
        methods="$methods $method"
    else
        skip "$method" "$(head -n 1 err)"
    fi
done
[ -n "$methods" ] || exit 77

# --- system calls: the kernel's filter, the one of user space (||), and the two options
for method in $methods; do
    bad='-9/EBADF -9/EBADF -9/EBADF'
    for filter in 'ret < 0' 'ret == -9' 'errno == EBADF' 'ret == -9 || comm ~ "no*"' '!(ret >= 0)'; do
        same "$method: close[$filter]" "$(results "$method" "syscall:close[fd == -1 && ($filter)]")" "$bad"
    done
    same "$method: --failed" "$(results "$method" 'syscall:close[fd == -1]' --failed=EBADF)" "$bad"
    same "$method: none" "$(results "$method" 'syscall:close[fd == -1 && ret >= 0]')" ""
    same "$method: openat" "$(results "$method" 'syscall:openat,open[ret < 0]')" \
        "-2/ENOENT -2/ENOENT -2/ENOENT"
    same "$method: access" "$(results "$method" 'syscall:access,faccessat[mode == 0 && ret == 0]')" "0 0 0"
    # by perf the instruction is read later, when the program has ended
    if [ "$method" != perf ] && [ "$(uname -m)" = x86_64 ] && ./results 32 2>/dev/null; then
        same "$method: a 32-bit call" "$(results "$method" 'syscall:close[fd == 999 && ret < 0 && errno == EBADF]')" -9/EBADF
    fi
    "$CAIRN" trace --method="$method" --no-stack --failed -e syscall:exit_group,close ./results >out 2>err || fail "exit_group" err
    hasnt out exit_group "$method: a call without a result did not fail"
    "$CAIRN" trace --method="$method" --enter-only --failed -e syscall:close ./results >out 2>err && fail "--enter-only --failed"
    has err 'has no field "ret"' "$method: --enter-only has no results"
    "$CAIRN" trace --method="$method" --no-stack --slower-than 1ns -e syscall:pause,write ./program traps >out 2>err || fail "traps" err
    has out 'write(' "$method: calls with a duration"
    hasnt out 'pause() = ?' "$method: a call whose thread exited in it has no duration"
done
case $methods in
*bpf*) ;;
*) finish "trace_results: $n_checks checks" ;;
esac

# --- functions: as their type says, in the kernel's filter and in the other
ones='-1 -1 -1'
for kind in uretprobe uprobe+uretprobe; do
    for filter in 'ret < 0' 'ret == -1' 'ret == -1 || pid == 1' '!(ret != -1)'; do
        same "$kind: an int[$filter]" "$(results bpf "$kind:./results:minus_one/ret:d32[$filter]")" "$ones"
        same "$kind: close[$filter]" "$(results bpf "$kind:libc.so.6:close[$filter]")" "$ones"
    done
    same "$kind: unsigned" "$(results bpf "$kind:./results:minus_one/ret:u32[ret > 5]")" "4294967295 4294967295 4294967295"
    same "$kind: rubbish above" "$(results bpf "$kind:./results:dirty/ret:d32[ret == -2]")" "-2 -2 -2"
    same "$kind: a long" "$(results bpf "$kind:./results:wide[ret == -3 || pid == 1]")" "-3 -3 -3"
    same "$kind: none" "$(results bpf "$kind:./results:minus_one/ret:d32[ret >= 0]")" ""
    "$CAIRN" trace --no-stack -e "$kind:./results:minus_one/ret:d32" ./results >out 2>err || fail "$kind" err
    has out ") = -1" "$kind: the line"
    "$CAIRN" trace -e "$kind:./results:wide[errno == 3]" ./results >out 2>err && fail "$kind: errno"
    has err 'has no field "errno"' "$kind: errno is of system calls"
done

# --- what an event lacks is refused; of several events that one is left out, and said
for field in ret errno duration; do
    for event in uprobe:./results:wide tracepoint:sched:sched_process_exec; do
        "$CAIRN" trace -e "${event}[$field == 0]" ./results >out 2>err && fail "${event}[$field]"
        has err "column 1: $event has no field \"$field\"" "${event}[$field]"
    done
done
"$CAIRN" trace --no-stack --failed -e uprobe:./results:wide -e syscall:close ./results >out 2>err || fail "two events" err
has err "warning: uprobe:./results:wide: left out" "an event without a result is left out"
has out "close(fd=-1) = -1 EBADF" "the other one is traced"
hasnt out wide "an event without a result is left out"
finish "trace_results: $n_checks checks"
