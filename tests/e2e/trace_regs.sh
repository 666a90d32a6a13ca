#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn trace --regs: the registers of a program at system calls, functions and tracepoints, in lines and JSON, by every
# method.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3
case $(uname -m) in
x86_64) names="r12 r13 rbx" ;;
aarch64) names="x20 x21 x22" ;;
*) echo "skipped: $(uname -m) has other registers" && exit 77 ;;
esac
cc -O2 -g -no-pie -fno-omit-frame-pointer -o regs "$SRC/tests/e2e/trace_regs.c" || exit 1

# registers KIND: of each event in `out` the known words, whether ip is that of the stack, and of a call its number.
registers() {
    python3 - "$1" "$names" <<'PYTHON'
import json, platform, sys
kind, names = sys.argv[1], sys.argv[2].split()
for line in open("out"):
    event = json.loads(line)
    regs = event["registers"]
    words = [regs[name] for name in names]
    user = [frame for frame in event["stack"] if not int(frame["address"], 16) >> 63]
    ok = words == ["0x1111", "0x2222", "0x3333"] and (not user or user[0]["address"] == regs["ip"])
    if kind == "syscall" and platform.machine() == "x86_64":
        ok = ok and regs["rax"] == hex(110)
    print("ok" if ok else (words, regs))
PYTHON
}
n=0
for method in bpf perf ptrace; do
    if ! "$CAIRN" trace --method=$method --summary -e syscall:getppid ./regs >out 2>err; then
        skip "$method" "$(head -n 1 err)"
        continue
    fi
    n=$((n + 1))
    for more in '' --no-stack --enter-only; do
        # shellcheck disable=SC2086 # none or one
        "$CAIRN" trace --method=$method --regs --json $more -e syscall:getppid ./regs >out 2>err || fail "$method $more" err
        [ -z "$more" ] || [ "$more" = --enter-only ] || sed -i 's/}$/,"stack":[]}/' out
        same "$method $more: registers at a system call" "$(registers syscall | xargs)" "ok ok ok"
    done
    "$CAIRN" trace --method=$method --regs -e syscall:getppid ./regs >out 2>err || fail "$method" err
    same "$method: a line for each event" "$(grep -c 'getppid() = ' out)" 3
    has out "${names%% *} 0x0000000000001111" "$method: lines"
    has out "  ip  0x" "$method: lines"
    "$CAIRN" trace --method=$method --json -e syscall:getppid ./regs >out 2>err || fail "$method" err
    hasnt out registers "$method: without --regs"
    point=tracepoint:syscalls:sys_enter_getppid
    [ $method != ptrace ] || continue # it has system calls alone
    if "$CAIRN" trace --method=$method --regs --json -e $point ./regs >out 2>err && [ -s out ]; then
        same "$method: registers at a tracepoint" "$(registers tracepoint | xargs)" "ok ok ok"
        if [ $method = bpf ]; then
            "$CAIRN" trace --regs --kernel-only --json -e $point ./regs >out 2>err || fail "--kernel-only" err
            same "with the kernel's frames alone" "$(registers tracepoint | xargs)" "ok ok ok"
        fi
    else
        skip "$method: a tracepoint" "$(head -n 1 err)"
    fi
done
[ $n -gt 0 ] || exit 77
for event in uprobe uretprobe uprobe+uretprobe; do
    if "$CAIRN" trace --method=bpf --regs --json -e $event:./regs:marked ./regs >out 2>err; then
        [ $event = uretprobe ] || same "$event" "$(registers $event | xargs)" "ok ok ok"
        same "$event: events" "$(grep -c '"registers":{"ip":"0x' out)" 3
    else
        skip "$event" "$(head -n 1 err)"
    fi
done
for option in --summary --top -ox.txt; do
    "$CAIRN" trace --regs $option -e syscall:getppid ./regs >out 2>err && fail "--regs $option"
    has err "--regs prints registers with each event" "--regs $option"
done
finish "trace_regs: $n_checks checks"
