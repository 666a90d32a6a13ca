#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace: exact counts by place with threads, forks and execs under way; stacks as the program made them;
# filters, JSON, sums, profiles; threads that end in a call; what is refused, and in which words.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3

if ! "$CAIRN" trace -e syscall:getppid -- true >out 2>log; then
    grep -q 'needs root\|this kernel' log || { fail "the first trace" log; finish ""; }
    skip "all" "$(head -n 1 log)"
    exit 77
fi

cat >calls.c <<'EOF2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
static int null;
static long calls;
PLACE static void place_a(void) { if (write(null, "a", 1) != 1) abort(); }
PLACE static void place_b(void) { if (write(null, "bb", 2) != 2) abort(); }
PLACE static void place_c(void) { if (write(-1, "ccc", 3) != -1) abort(); }
PLACE static void middle(void (*place)(void)) { place(); __asm__ volatile(""); }
static void *work(void *arg)
{
    (void)arg;
    for (long i = 0; i < calls; i++) {
        middle(place_a);
        if (i % 2 == 0) middle(place_b);
        if (i % 10 == 0) middle(place_c);
    }
    return NULL;
}
static void *end_in_call(void *arg)
{
    (void)arg;
    syscall(SYS_exit, 0);
    return NULL;
}
static void on_signal(int number) { (void)number; place_b(); __asm__ volatile(""); }
int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    calls = atol(argv[1]);
    pthread_t threads[4], ended;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    pthread_create(&ended, NULL, end_in_call, NULL);
    pthread_join(ended, NULL);
    for (int i = atoi(argv[2]); i > 0; i--) {
        pid_t child = fork();
        if (child == 0) {
            place_a();
            if (i % 2) { execl("/bin/true", "true", (char *)0); abort(); }
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    static char other[65536];
    const stack_t own = {.ss_sp = other, .ss_size = sizeof other};
    sigaltstack(&own, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return 0;
}
EOF2
cc -O2 -fomit-frame-pointer -pthread -o calls calls.c || fail "the program is not built"

# --- counts, exact by place: 4 threads, forks and execs
calls=20000
forks=50
# count FILE PLACE: of a collapsed file.
count() {
    awk -v place="$2" '{ n = $NF } index($0, place ";") { sum += n } END { print sum + 0 }' "$1"
}
"$CAIRN" trace -f -e syscall:write -o sums.txt -- ./calls $calls $forks >out 2>log || fail "sums" log
same "calls from place_a" "$(count sums.txt place_a)" $((4 * calls + forks))
same "calls from place_b" "$(count sums.txt place_b)" $((4 * calls / 2 + 1))
same "calls from place_c" "$(count sums.txt place_c)" $((4 * calls / 10))
has log ", 0 lost" "nothing is lost"
has sums.txt "work;middle;place_b" "the callers stand in their order"
at_least 1 "$(grep -c 'main;.*on_signal;place_b' sums.txt)" "the stack goes on below a handler on a stack of its own"

"$CAIRN" trace -f --enter-only -e syscall:write -o enter.txt -- ./calls $calls $forks >out 2>log || fail "--enter-only" log
same "as they begin: place_a" "$(count enter.txt place_a)" $((4 * calls + forks))

# --- a new program is known before it runs, however late the tracer's next turn comes
loops=
for _ in 1 2 3; do
    timeout 300 sh -c 'while :; do :; done' &
    loops="$loops $!"
done
early=0
for _ in 1 2 3; do
    nice -n 5 "$CAIRN" trace -f -e 'syscall:write[count == 2]' -o early.txt -- ./calls 0 0 >out 2>log ||
        fail "an early stack" log
    early=$((early + $(grep -c 'main;.*on_signal;place_b' early.txt)))
done
# shellcheck disable=SC2086
kill $loops
wait 2>/dev/null
same "early stacks that go on below a handler on a stack of its own" "$early" 3

# --- errors alone, and the words of a filter
"$CAIRN" trace -f --failed=EBADF -e syscall:write -o failed.txt -- ./calls 100 0 >out 2>log || fail "--failed" log
same "failed calls, place_c" "$(count failed.txt place_c)" 40
same "failed calls, place_a" "$(count failed.txt place_a)" 0
for filter in 'count == 2 && ret == 2' 'count > 1 && !(count == 3)' 'count & 2 && ret >= 0'; do
    "$CAIRN" trace -f -e "syscall:write[$filter]" -o some.txt -- ./calls 100 0 >out 2>log || fail "filter $filter" log
    same "filter $filter: place_b" "$(count some.txt place_b)" 201
    same "filter $filter: others" "$(($(count some.txt place_a) + $(count some.txt place_c)))" 0
done
"$CAIRN" trace -e 'syscall:openat[path ~ "/dev/n*"]' -- ./calls 1 0 >out 2>log || fail "a pattern" log
same "opens of /dev/null" "$(grep -c 'openat(' out)" 1
has out 'path="/dev/null", flags=O_WRONLY|O_CLOEXEC' "arguments have names"
has out "  main" "the stack reaches main"

# --- a thread that ends in a call has no result
"$CAIRN" trace -e syscall:exit --json -- ./calls 1 0 >out 2>log || fail "exit" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of a thread that ends" out
import json
events = [json.loads(line) for line in open("out")]
assert len(events) == 5, len(events)  # four workers, and the one that calls it
by_hand = [e for e in events if any(f["function"] == "end_in_call" for f in e["stack"])]
assert len(by_hand) == 1 and all("result" not in e for e in events)
EOF2

# --- JSON: one object a line, with what was asked for
"$CAIRN" trace -e syscall:write --json -- ./calls 10 0 >out 2>log || fail "--json" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of writes" out
import json
events = [json.loads(line) for line in open("out")]
assert len(events) == 4 * 10 + 4 * 5 + 1 + 4, len(events)
places = {"1": "place_a", "2": "place_b", "3": "place_c"}
for e in events:
    names = [f["function"] for f in e["stack"]]
    assert places[e["args"]["count"]] in names, names
    assert e["cut"] is None and ("work" in names or "main" in names), names
    assert (e["error"] == "EBADF") == (e["args"]["count"] == "3")
    assert e["event"] == "syscall" and e["name"] == "write" and e["duration_ns"] > 0
threads = {}
for e in events:
    threads.setdefault(e["tid"], []).append(e["time_ns"])
assert len(threads) == 5 and all(times == sorted(times) for times in threads.values())
EOF2

# --- sums, bounds, a running process
"$CAIRN" trace --summary -e syscall:write -- ./calls 1000 0 >out 2>log || fail "--summary" log
has out "write" "the sums name the call"
has out "place_a" "the sums have stacks"
"$CAIRN" trace --max-events 3 -e syscall:write --json -- ./calls 1000 0 >out 2>log || fail "--max-events" log
same "no more events than asked" "$(wc -l <out)" 3
(while :; do /bin/true; done) &
loop=$!
"$CAIRN" trace -e syscall:execve -d 1 -p $loop --json >out 2>log || fail "what a running process starts" log
kill $loop
at_least 1 "$(grep -c '"name":"execve"' out)" "what a running process starts"
"$CAIRN" trace -f -e syscall:write -o sums.pb.gz -- ./calls 100 0 >out 2>log || fail "a profile" log
"$CAIRN" report --json --value events sums.pb.gz >out 2>log || fail "a profile is read" log

# --- what is refused says what to do
"$CAIRN" trace -e 'syscall:write[cnt > 3]' -- true >out 2>log && fail "a field that is none"
has log 'column 1: write has no field "cnt"' "a field that is none"
"$CAIRN" trace -e syscall:nosuch -- true >out 2>log && fail "a call that is none"
has log "no system call has that name" "a call that is none"
has log "cairn trace --list" "a call that is none: what to do"
"$CAIRN" trace -e syscall:write -p 999999999 >out 2>log && fail "a process that is none"
"$CAIRN" trace -- true >out 2>log
same "without an event" "$?" 2
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$CAIRN" cairn_copy && chmod 755 cairn_copy .
    setpriv --reuid=65534 --clear-groups ./cairn_copy trace --method=bpf -e syscall:write -- true >out 2>log &&
        fail "an ordinary user"
    has log "CAP_BPF" "an ordinary user"
fi

# --- names and arguments with escapes fool no terminal
"$CAIRN" trace -e syscall:openat -- sh -c "cat \"\$(printf 'a\\033[31mb')\"" >out 2>log
n_checks=$((n_checks + 1))
! grep -q "$(printf '\033')" out || fail "an escape reaches the terminal"

finish "trace: $n_checks checks"
