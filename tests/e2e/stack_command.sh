#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn stack on real processes and core files: every thread, named; who is stopped and who is not;
# what it says where there is nothing to show. Cases that this machine cannot do are skipped one by
# one, with the reason.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

pids=""
trap 'kill -9 $pids 2>/dev/null' EXIT

# start FILE COMMAND...: its first line of output goes to FILE, its pid to $pid.
start() {
    out=$1
    shift
    "$@" >"$out" 2>/dev/null &
    pid=$!
    pids="$pids $pid"
    for _ in $(seq 200); do
        [ -s "$out" ] && break
        sleep 0.05
    done
    sleep 0.2
}

# stack FILE OPTION...: both outputs in FILE and FILE.err.
stack() {
    file=$1
    shift
    "$CAIRN" stack "$@" >"$file" 2>"$file.err"
}

cc=${CC:-gcc}
"$cc" -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o prog \
    "$SRC/tests/e2e/stack_command.c" || exit 1

start threads ./prog threads 50
if ! stack out "$pid"; then
    grep -q 'Operation not permitted\|Permission denied' out.err || fail "the first look" out.err
    echo "skipped: this process may not look into others: $(head -1 out.err)"
    exit 77
fi

# Threads that sleep are not stopped, and all is there, lines included.
same "threads" "$(grep -c '^thread ' out)" 50
same "threads read without a stop" "$(grep -c -E '\[(iterator|memory)\]$' out)" 50
same "whole stacks" "$(grep -c ' held_outer  .*stack_command.c:' out)" 50
same "cut stacks" "$(grep -c 'cut:' out)" 0
has out "in poll(0, 0, 1000000)" "the system call"
hasnt out.err "EINTR" "a warning where nobody was stopped"
stack merged --merge "$pid"
has merged "49 threads \"prog\":" "equal stacks together"
same "how those were read" \
    "$(grep -c -E '^49 threads "prog":( [0-9]+(-[0-9]+)?)+  \[(iterator|memory)\]$' merged)" 1
stack merged --merge --method=ptrace "$pid"
has merged "[ptrace: held " "how long threads of equal stacks were held"
stack merged --merge --why "$pid"
same "whole stacks of those" "$(grep -c '^  whole: outermost$' merged)" 2
has merged "  [cfi]" "how their frames were found"
stack out --merge --regs "$pid" && fail "registers of merged threads gave no error"
stack json --json --regs "$pid"
python3 - json "$pid" <<'TEXT' || fail "JSON" json.err
import json, sys
threads = json.load(open(sys.argv[1]))["processes"][0]["threads"]
assert len(threads) == 50, len(threads)
assert threads[0]["tid"] == int(sys.argv[2])
for thread in threads:
    assert thread["method"] in ("iterator", "memory") and thread["whole"], thread
    assert thread["syscall"]["name"] == "poll" or thread["syscall"]["number"] >= 0
    names = [line["function"] for frame in thread["frames"] for line in frame["lines"]]
    assert "held_inner" in names and "held_outer" in names, names
    assert "ip" in thread["registers"]
TEXT
stack json --json --merge "$pid"
python3 - json <<'TEXT' || fail "JSON of equal stacks" json.err
import json, sys
stack = json.load(open(sys.argv[1]))["processes"][0]["stacks"][0]
assert len(stack["tids"]) == stack["seen"] == 49, stack
assert sum(stack["methods"].values()) == 49 and set(stack["methods"]) <= {"iterator", "memory"}, stack
assert stack["whole"] and stack["end"] == "outermost" and stack["held_ns"] == 0, stack
assert not stack["frames"][-1]["kernel"], stack
TEXT

# By ptrace: the same stacks, and it is said.
stack out --method=ptrace --user-only "$pid"
same "threads held" "$(grep -c '\[ptrace: held [0-9.]* us\]$' out)" 50
same "whole stacks by ptrace" "$(grep -c ' held_outer  ' out)" 50
has out.err "50 of 50 threads were stopped" "the stops are told"
[ "$(uname -m)" = x86_64 ] || has out.err "EINTR" "what a stop can do is told"
stack out --consistent "$pid"
same "whole stacks of one moment" "$(grep -c ' held_outer  ' out)" 50
same "traced afterwards" "$(grep -l 'TracerPid:.[1-9]' /proc/"$pid"/task/*/status | wc -l)" 0
same "stopped afterwards" "$(cat /proc/"$pid"/task/*/stat | grep -c ') [Tt] ')" 0

# Often, into a profile.
stack out -n 3 -i 10 "$pid"
has out "147 of 150 stacks, 49 threads" "stacks are counted over looks"
stack out -n 3 -i 10 -o looks.txt "$pid"
same "counts of the profile" "$(awk '{ n += $NF } END { print n }' looks.txt)" 150
has looks.txt "held_outer;held_inner;" "a named profile"
stack out -o looks.txt "$pid" && fail "a file was replaced without --force"
stack out -o looks.pb.gz "$pid" || fail "a raw profile" out.err
"$CAIRN" report looks.pb.gz >/dev/null 2>&1 || fail "the report of a raw profile"

# A name, and a wrong one.
cp prog cairn_stack_e2e
start named ./cairn_stack_e2e threads 2
stack out cairn_stack_e2e
has out "process $pid: ./cairn_stack_e2e threads 2" "a process by its name"
stack out no_such_process_here && fail "a wrong name gave no error"
has out.err "no process of that name" "a wrong name"
stack out " " && fail "an empty name gave no error"
has out.err '" " is neither a process' "an empty name"
stack out --symbols /no-such-folder cairn_stack_e2e
same "warnings of a folder" "$(grep -c "/no-such-folder: no such folder" out.err)" 1
stack out 999999999 && fail "a wrong pid gave no error"

# On a CPU.
start spin ./prog spin
stack out "$pid"
has out "spin_inner" "a thread that runs"
has out " running" "the state"
stack out --no-stop "$pid"
hasnt out "ptrace" "--no-stop"
# It may have to wait for its turn.
for _ in $(seq 50); do
    stack out --method=sample "$pid"
    grep -q '\[sample\]$' out && break
    grep -q 'cannot be sampled\|is not sampled' out && break
done
if grep -q 'cannot be sampled\|is not sampled' out; then
    skip "a thread that samples itself" "$(grep 'no stack' out)"
else
    has out "[sample]" "a thread that samples itself"
    has out "spin_outer  " "the frames of a sample"
    hasnt out.err "were stopped" "a sample is no stop"
fi

# Names that would write on a terminal.
start name ./prog name
stack out "$pid"
has out '\x1b[2J' "an escape is shown as text"
same "bytes of control" "$(tr -d '\n' <out | grep -cP '[\x00-\x1f]')" 0
stack json --json "$pid"
python3 -m json.tool <json >/dev/null || fail "JSON of a hostile name" json

# The main thread has ended, the process has not.
start leader ./prog leader
stack out "$pid"
has out "zombie" "a main thread that has ended"
has out "held_inner" "another thread goes on"
stack merged --merge "$pid"
has merged "no stack: it has ended" "why a merged thread has no stack"

# A thread of the kernel.
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
    stack out 2 || fail "a thread of the kernel" out.err
    has out "a thread of the kernel" "a thread of the kernel"
else
    skip "a thread of the kernel" "none is to be seen here"
fi

# A static program, one whose file is gone, and one of 32 bits.
if "$cc" -D_GNU_SOURCE -static -O2 -g -fno-optimize-sibling-calls -pthread -o static_prog \
    "$SRC/tests/e2e/stack_command.c" 2>/dev/null; then
    start static ./static_prog threads 2
    stack out "$pid"
    same "stacks of a static program" "$(grep -c ' held_outer  ' out)" 2
else
    skip "a static program" "no static libc"
fi
cp prog gone_prog
start gone ./gone_prog threads 2
rm gone_prog
stack out "$pid"
same "whole stacks of a program that is gone" "$(grep -c 'cut:' out)" 0
same "named stacks of a program that is gone" "$(grep -c ' held_outer  .*stack_command.c:' out)" 2
cp prog replaced_prog
start replaced ./replaced_prog threads 2
"$cc" -D_GNU_SOURCE -O0 -pthread -o replaced_prog.new "$SRC/tests/e2e/stack_command.c"
mv replaced_prog.new replaced_prog
stack out "$pid"
same "named stacks of a program that was replaced" \
    "$(grep -c ' held_outer  .*stack_command.c:' out)" 2
same "words about a file that was read all the same" "$(cat out.err)" ""
if "$cc" -D_GNU_SOURCE -m32 -O2 -g -fno-optimize-sibling-calls -pthread -o prog32 \
    "$SRC/tests/e2e/stack_command.c" 2>/dev/null; then
    start m32 ./prog32 threads 2
    stack out "$pid"
    same "stacks of a 32-bit program" "$(grep -c ' held_outer  ' out)" 2
else
    skip "a 32-bit program" "$cc -m32 does not link here"
fi

# A thousand threads.
start many ./prog threads 1000
stack out --user-only "$pid"
same "a thousand threads" "$(grep -c ' held_outer  ' out)" 1000

# Nobody's system call ends when nobody is stopped; by ptrace some do, which shows that the test can
# tell.
start eintr ./prog eintr
sleep 0.3
# shellcheck disable=SC2046
stack out --no-stop $(grep -x '[0-9]*' eintr)
sleep 4
same "calls that went on" "$(grep -c ': waited' eintr)" 4
start eintr ./prog eintr
sleep 0.3
# shellcheck disable=SC2046
stack out --method=ptrace $(grep -x '[0-9]*' eintr)
if [ "$(uname -m)" = x86_64 ]; then
    sleep 4
    same "calls that went on after a stop" "$(grep -c ': waited' eintr)" 4
else
    sleep 0.5
    [ "$(grep -c ': EINTR' eintr)" -gt 0 ] || fail "a stop ended no call" eintr
fi

# The frame between a signal's handler and what it interrupted: nobody has called it, and its address
# is exact. One byte early lies another function, or none.
cat >handler.c <<'END'
#include <signal.h>
#include <unistd.h>
static void on_signal(int number)
{
    (void)number;
    for (;;)
        pause();
}
int main(void)
{
    signal(SIGUSR1, on_signal);
    write(1, "up\n", 3);
    raise(SIGUSR1);
    return 0;
}
END
gcc -O1 -g -static -o handler handler.c
start handling ./handler
stack out "$pid" || fail "a signal's handler" out.err
has out "  on_signal  " "the handler"
has out "__restore_rt" "the signal's frame by its name"
has out "  main  " "what was interrupted"

# A core file.
if command -v gcore >/dev/null; then
    start cored ./prog threads 3
    gcore -o core "$pid" >/dev/null 2>&1
    stack out "core.$pid" || fail "a core file" out.err
    same "stacks of a core file" "$(grep -c ' held_outer  ' out)" 3
    has out "core.$pid: core file" "its name"
    hasnt out "ended by" "gcore stopped it, no signal ended it"
    mv prog moved # as to another machine
    stack out "core.$pid" --exe moved || fail "a program that is elsewhere" out.err
    same "stacks by a program that is elsewhere" "$(grep -c ' held_outer  .*stack_command.c:' out)" 3
    same "cut stacks by a program that is elsewhere" "$(grep -c 'cut:' out)" 0
    same "words about it" "$(cat out.err)" ""
    stack out "core.$pid" --exe no_such_program && fail "a program that is not there gave no error"
    has out.err "the program no_such_program: No such file or directory" "a program that is not there"
    mv moved prog
    stack merged --merge "core.$pid"
    has merged "2 threads: " "threads without names"
else
    skip "a core file" "gcore is missing"
fi

# Another user's process.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    start other ./prog threads 2
    cp "$CAIRN" cairn_copy
    chmod 755 cairn_copy .
    folder=$(pwd)
    if setpriv --reuid=65534 --regid=65534 --clear-groups "$folder/cairn_copy" --version >/dev/null 2>&1; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$folder/cairn_copy" stack --no-cache \
            "$pid" >out 2>out.err && fail "another user's process was shown"
        has out.err "hint:" "what to do about another user's process"
    else
        skip "another user" "nobody cannot reach this folder"
    fi
else
    skip "another user" "needs root and setpriv"
fi

# What real programs are doing.
for program in redis-server nginx; do
    command -v $program >/dev/null || skip "$program" "it is not installed"
done
if command -v redis-server >/dev/null; then
    start redis redis-server --port 0 --unixsocket "$PWD/redis.sock" --save ''
    stack out "$pid"
    same "cut stacks of redis" "$(grep -c 'cut:' out)" 0
    has out "in epoll_wait(" "what redis waits in"
fi
if command -v nginx >/dev/null; then
    cat >nginx.conf <<TEXT
daemon off;
worker_processes 2;
pid $PWD/nginx.pid;
error_log stderr notice;
events {}
http {
    access_log off;
    server { listen unix:$PWD/nginx.sock; }
}
TEXT
    nginx -p "$PWD" -c "$PWD/nginx.conf" >nginx.out 2>&1 &
    pid=$!
    pids="$pids $pid"
    for _ in $(seq 200); do
        workers=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
        [ "$(echo "$workers" | wc -w)" = 2 ] && break
        sleep 0.05
    done
    pids="$pids $workers"
    sleep 0.5
    # shellcheck disable=SC2086
    stack out --no-stop "$pid" $workers
    same "processes of nginx" "$(grep -c '^process ' out)" 3
    same "cut stacks of nginx" "$(grep -c 'cut:' out)" 0
    has out "in epoll_wait(" "what a worker of nginx waits in"
fi
start python python3 -c 'import time; print(1, flush=True); time.sleep(100)'
stack out "$pid"
same "cut stacks of python" "$(grep -c 'cut:' out)" 0

finish "every thread of every program was shown"
