#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn trace without rights: of a command by seccomp and ptrace, of a running process by ptrace.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/trace_lib.sh
. "$SRC/tests/support/trace_lib.sh"
need cc
chmod 755 "$WORK"
mkdir -p open && chmod 777 open && cd open || exit 1
cc -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread -o program "$SRC/tests/e2e/trace_program.c" || exit 1
cc -O2 -g -fomit-frame-pointer -Wall -Wextra -o plain "$SRC/tests/e2e/trace_plain.c" || exit 1
echo '#include <unistd.h>
void in_library(int fd) { if (write(fd, "library", 7) != 7) _exit(1); }' >library.c
cc -O2 -g -fPIC -shared -o library.so library.c || exit 1
cp "$CAIRN" cairn && chmod 755 cairn

# As an ordinary user, if that is possible.
nobody='' method=--method=ptrace
if [ "$(id -u)" != 0 ]; then
    method=''
elif command -v setpriv >/dev/null; then
    nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
    $nobody ./cairn version >/dev/null 2>&1 && method='' || nobody=''
fi
[ -z "$method" ] || skip "an ordinary user" "root has to take the way by --method=ptrace"
trace() { $nobody ./cairn trace $method "$@"; }
# In the background by that itself: $! of a function is a shell.

if ! trace --summary -e syscall:write ./program counts 1 >out 2>err; then
    echo "refused here: $(head -n 1 err)"
    exit 77
fi
has err "attached by seccomp and ptrace" "the way that was taken"

# --- four threads, three places; exact, while processes come and go
trace --summary -e 'syscall:write[fd == 3]' ./program counts 1500 >out 2>err || fail "counts" err
counted 1500
trace --enter-only -f -o counts.txt -e 'syscall:write[fd == 3]' ./program counts 300 2>err || fail "-o" err
collapsed 300

# --- every stack is another one: none is taken for one that was remembered
trace -f -o many.txt -e 'syscall:write[fd == 3]' ./program many 2000 2>err || fail "many stacks" err
has err "2,000 whole, 0 cut" "many stacks"
same "different stacks" "$(grep -c 'write$\|write ' many.txt)" 2000

# --- a register that no stack depends on does not make another one
trace --summary -e 'syscall:write[fd == 3]' ./plain counter >out 2>err || fail "counter" err
has err "400 whole, 0 cut" "a counter in the frame pointer's register"
recognized=$(sed -n 's/.*; \([0-9,]*\) recognized.*/\1/p' err | tr -d ,)
at_least 380 "${recognized:-0}" "recognized with a counter in the frame pointer's register"

# --- what tracers get wrong
trace --limit 0 -e syscall:write,openat,execve,vfork,pause,exit_group ./program traps >out 2>err || fail "traps" err
stack_of '"handler"' stack
for name in handler on_other_stack traps main; do has stack "$name" "a handler on its own stack"; done
stack_of '"assembly"' stack
has stack "#0   by_assembly" "inline assembly"
if [ "$(uname -m)" = x86_64 ] && ! grep -q "^no int 0x80 here" out; then
    grep -q 'write(fd=3[<,].*\[32-bit call\] = ' out || fail "int 0x80" out
fi
stack_of '"vforked"' stack
for name in in_vfork main; do has stack "$name" "vfork"; done
stack_of '"deep"' stack
for name in deep_and_large main; do has stack "$name" "a deep stack"; done
has out 'path="/no/such/file", flags=O_RDONLY|O_CLOEXEC, mode=00) = -1 ENOENT' "openat"
has out "pause() = ? (the thread exited in the call)" "a thread that dies in the call"
stack_of 'path="/bin/true"' stack
has stack traps "execve has the stack of the old program"
has out "true[" "the new program"
has out "exit_group(status=0)" "exit_group"
has err " 0 cut" "traps"
has err " 0 lost" "traps"

# --- a library that comes later, and a thread that is renamed
trace -e 'syscall:write[fd == 3]' ./plain dlopen ./library.so >out 2>err || fail "dlopen" err
has out in_library "a library that was mapped while it ran"
has err "1 whole, 0 cut" "a library that was mapped while it ran"
trace --no-stack -e 'syscall:write[fd == 3]' ./plain names >out 2>err || fail "names" err
has out 'plain['  "the first name"
has out 'renamed[' "the second name"

# --- results and filters; an end by number, behind which the command goes on
trace --no-stack --failed=ENOENT -e 'syscall:%file' ./program traps >out 2>err || fail "--failed" err
hasnt out " = 0" "--failed"
has out "/no/such/file" "--failed"
trace --no-stack -e 'syscall:openat[path ~ "/no/*"]' ./program traps >out 2>err || fail "~" err
same "one event is left by a pattern" "$(grep -c openat out)" 1
trace --no-stack --slower-than 95ms -e syscall:epoll_wait,write ./plain eintr 1 >out 2>err || fail "--slower-than" err
hasnt out "write(" "--slower-than"
has out "epoll_wait(" "--slower-than"
trace -f --timeline -o line.pb.gz -e 'syscall:write[fd == 3]' ./program counts 10 2>err || fail "--timeline" err
has err "40 on the timeline" "--timeline"
trace --max-events 5 -e 'syscall:write[fd == 3]' sh -c './program counts 50; echo all' >out 2>err || fail "--max-events" err
has err "5 counted" "--max-events"
has out "all" "the command goes on behind --max-events"
trace --every 3 --depth 2 --summary -e 'syscall:write[fd == 3]' ./program counts 75 >out 2>err || fail "--every" err
has err "100 counted" "--every"
has err "200 filtered out" "--every"
has err "100 whole, 0 cut;" "--depth"
has out place_ "--depth keeps the innermost frames"
hasnt out call_often "--depth leaves out the others"
trace --snapshot --every 500 --max-events 3 -e 'syscall:write[fd == 3]' ./program counts 5000 >out 2>err || fail "--snapshot" err
at_least 4 "$(grep -c '^thread ' out)" "threads of a snapshot"
has out pthread_join "what the other threads do"
trace --json -e 'syscall:write[count == 3]' ./program counts 8 >out 2>err || fail "--json" err
python3 - out <<'PYTHON' || fail "--json" out
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert len(events) == 8, len(events)
for event in events:
    assert event["args"]["buf"] == '"ccc"' and event["result"] == 3 and "cpu" not in event, event
    names = [frame["function"] for frame in event["stack"]]
    assert names.count("deeper") == 4 and "place_c" in names and event["cut"] is None, names
PYTHON
trace -e 'syscall:write[cpu == 1]' true >out 2>err && fail "a filter by cpu is taken"
has err "asks for cpu" "a filter by cpu"
[ -n "$method" ] || { trace -e uprobe:./program:main ./program counts 1 >out 2>err && fail "a probe is taken"; }
[ -n "$method" ] || has err "CAP_BPF" "a probe needs rights"

# --- where it would be attached
trace --explain -e uprobe:./program:place_a -e syscall:openat >out 2>err || fail "--explain" err
has out "syscall:openat" "--explain of a call"
at=$(sed -n 's/^  at .*+0x\([0-9a-f]*\)$/\1/p' out)
bytes=$(sed -n 's/^  bytes *//p' out)
n_bytes=$(echo "$bytes" | wc -w)
same "--explain: the bytes are those of the file" "$bytes" \
    "$(od -An -v -tx1 -j "$((0x${at:-0}))" -N "$n_bytes" program | xargs)"
grep -q '^  by .*uprobe' out || fail "--explain: no cost" out
trace --explain -e uprobe:./program:no_such_function >out 2>err && fail "--explain of nothing"

# --- what the program sees: EINTR where a signal came, and nowhere else; its exit status
./plain eintr 2 >wanted
trace --no-stack -e syscall:all ./plain eintr 2 >out 2>err || fail "eintr" err
same "what calls return" "$(cat wanted)" "$(grep -v '^[0-9][0-9]:' out)"
trace --summary -e syscall:write sh -c 'exit 3' >out 2>err || fail "an exit status" err
has err "exit status 3" "an exit status"
trace --summary -e syscall:write ./none >out 2>err && fail "a command that is not there"
has err "none" "a command that is not there"
if [ "$(uname -m)" = x86_64 ]; then
    trace --no-stack -e syscall:getppid ./plain x32 >out 2>err || fail "x32" err
    has err "makes x32 system calls" "x32"
    same "a number of both" "$(grep -c 'getppid()' out)" 1
fi
if [ -n "$nobody" ]; then
    cp /bin/true set_uid && chmod 4755 set_uid
    trace --summary -e syscall:openat sh -c './set_uid; exit 0' >out 2>err || fail "set-uid" err
    has err "set_uid is set-uid" "a set-uid program is said"
fi

# --- ended: by a signal that goes on to the command, and by one that cannot be passed on
poll_until() { # COMMAND...: up to 20 s
    for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    fail "waited in vain: $*"
}
child_of() { pgrep -P "$1" -x plain; }
# shellcheck disable=SC2317 # by poll_until
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*[ZX] ' "/proc/$1/status"; }
$nobody ./cairn trace $method -v --summary -e syscall:write ./plain spin >out 2>err &
tracer=$!
poll_until child_of $tracer
poll_until grep -q '^wchar: [1-9]' "/proc/$(child_of $tracer)/io"
kill -TERM $tracer
wait $tracer || fail "SIGTERM" err
has err "ended by signal 15" "SIGTERM reaches the command"
has out " write" "SIGTERM: what came is printed"
$nobody ./cairn trace $method -v --summary -e syscall:write ./plain spin >out 2>err &
tracer=$!
poll_until grep -q "has begun" err
poll_until child_of $tracer
child=$(child_of $tracer)
kill -KILL $tracer
wait $tracer 2>/dev/null
poll_until gone "$child"
trace -d 0.2 --summary -e syscall:clock_nanosleep,nanosleep sh -c 'sleep 0.1; sleep 2; echo done' >out 2>err ||
    fail "-d" err
has err "runs on" "-d"
has out "done" "the command goes on behind -d"

# --- a child whose parent was killed before it could tell of it: it runs on
# shellcheck disable=SC2086 # words
timeout -s KILL 100 $nobody ./cairn trace $method --no-stack --summary -e syscall:getppid ./plain orphans 8 >out 2>err ||
    fail "children of parents that were killed" err
has out "orphans 8" "children of parents that were killed"

# --- a running process: slow, and said so; it goes on as before
$nobody ./program wait &
pid=$!
poll_until grep -q '^State:.*S' /proc/$pid/status
$nobody ./cairn trace $method -v -d 30 --max-events 2 -e syscall:pause -p $pid >live 2>err &
tracer=$!
poll_until grep -q "has begun" err
for _ in $(seq 100); do
    kill -STOP $pid; sleep 0.05; kill -CONT $pid
    kill -0 $tracer 2>/dev/null || break
    sleep 0.1
done
wait $tracer || fail "-p" err
has err "warning: without rights for BPF each system call" "-p says that it is slow"
has err "attached by ptrace" "-p"
for name in waits main; do has live "$name" "the stack of a running process"; done
has /proc/$pid/status "TracerPid:	0" "it is let go"
kill $pid
$nobody ./plain eintr 30 >got 2>&1 &
pid=$!
poll_until grep -q begins got
for _ in 1 2 3; do trace -d 0.15 --no-stack -e syscall:epoll_wait -p $pid >live 2>err || fail "-p again" err; done
wait $pid
if [ "$(uname -m)" = x86_64 ]; then
    same "waits that an attach would end" "$(grep -c 'epoll_wait 0' got)" 30
fi
has got "with a signal -1 Interrupted" "a signal still ends a wait"
if [ -n "$nobody" ]; then
    sleep 30 &
    trace -e syscall:read -p $! >out 2>err && fail "another user's process is taken"
    has err "uid 0" "another user's process"
    kill $!
fi

# --- real programs: what they print is the same
real() { # NAME COMMAND...
    name=$1
    shift
    "$@" >wanted 2>&1
    trace -f -o real.txt -e syscall:openat,read,write "$@" >out 2>err || fail "$name" err
    same "$name prints the same" "$(cat out)" "$(cat wanted)"
    has err " 0 lost" "$name"
    has err ", 0 cut" "$name"
}
! command -v sqlite3 >/dev/null || real sqlite3 sqlite3 :memory: \
    'create table t(n); with recursive c(n) as (select 1 union all select n+1 from c where n<500) insert into t select n from c; select sum(n) from t;'
[ ! -x /usr/bin/python3 ] || real python3 /usr/bin/python3 -S -c \
    'import subprocess, threading; t = [threading.Thread(target=open, args=("/etc/hostname",)) for _ in range(4)]; [x.start() for x in t]; [x.join() for x in t]; print(subprocess.run(["echo", "x"], capture_output=True).stdout)'

finish "trace_plain: $n_checks checks"
