#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace by short names: signals with who sends and who gets them, page faults with and without their
# tracepoints, exec, fork and exit, malloc, mmap and brk.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3

cat >short.c <<'EOF2'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
static volatile int sink;
static char *pages;
PLACE static void handler(int s) { char *volatile p = malloc(7777); free(p); sink = s; }
PLACE static void raises(void) { raise(SIGUSR1); sink = 1; }
PLACE static void writes(void) { for (int i = 0; i < 32; i++) pages[i * 4096L] = 1; sink = 2; }
PLACE static void reads(void) { for (int i = 32; i < 48; i++) sink += pages[i * 4096L]; sink = 3; }
int main(int argc, char **argv)
{
    static char stack[1 << 16];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pages = mmap(NULL, 48 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, 48 * 4096, MADV_NOHUGEPAGE);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) { pause(); return 0; }
    raises();
    writes();
    reads();
    return 0;
}
EOF2
cc -O2 -g -pthread -o short short.c || fail "the program is not built"
if ! "$CAIRN" trace --summary -e brk -- ./short >out 2>log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi
has out "  brk" "brk"
count() { awk -v place="$2" '{ n = $NF; sub(" " n "$", "") } $0 ~ ";" place "$" { sum += n } END { print sum + 0 }' "$1"; }

# --- malloc by its size, below a handler on a stack of its own; system calls
"$CAIRN" trace --json -e 'malloc[size == 7777]' -e 'mmap[length == 196608]' -- ./short >out 2>log || fail "malloc" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of malloc" out
import json
events = [json.loads(line) for line in open("out")]
assert [e["event"] for e in events] == ["syscall", "uprobe"], events
e = events[1]
names = [f["function"] for f in e["stack"]]
assert e["args"] == {"size": "7777"} and e["cut"] is None, e
assert names[1] == "handler" and "raises" in names and "main" in names, names
EOF2
if cc -O2 -static -o fixed short.c -pthread 2>/dev/null; then
    "$CAIRN" trace --no-stack -e 'malloc[size == 7777]' -- ./fixed >out 2>log || fail "malloc of a static program" log
    same "malloc of a static program" "$(grep -c 'malloc(size=7777)' out)" 1
else
    skip "malloc of a static program" "cc -static does not work here"
fi

# --- page faults by perf's software event: where tracefs is not there, or on other CPUs
"$CAIRN" trace -f -e software:page-faults -o sums.txt -- ./short >out 2>log || fail "page faults by perf" log
same "faults of writes" "$(count sums.txt writes)" 32
same "faults of reads" "$(count sums.txt reads)" 16
has log ", 0 lost" "page faults by perf: nothing is lost"
"$CAIRN" trace -e software:cpu-clock -- ./short >out 2>log && fail "another software event"
has log "expected software:page-faults" "another software event"

# --- names that are none
"$CAIRN" trace -e signal:NOSUCH -- true >out 2>log && fail "no such signal"
has log "there is no such signal" "no such signal"
"$CAIRN" trace -e signal -- true >out 2>log && fail "signal without a name"
has log "signal:NAME" "signal without a name"
"$CAIRN" trace --list 'e*' >out 2>log || fail "--list" log
has out "exec" "--list has short names"

if [ ! -d /sys/kernel/tracing/events/sched ]; then
    "$CAIRN" trace -e page-fault --summary -- ./short >out 2>log || fail "page-fault without tracefs" log
    has log "software event of perf" "page-fault without tracefs"
    skip "tracepoints" "tracefs is not mounted"
    finish "trace_short: $n_checks checks" # exits
fi

# --- page faults by their tracepoints, with what was tried
if [ -d /sys/kernel/tracing/events/exceptions ]; then
    "$CAIRN" trace -f -e 'page-fault[error_code & write && error_code & user]' -o sums.txt -- ./short >out 2>log ||
        fail "page-fault" log
    same "page-fault of writes" "$(count sums.txt 'writes;[^ ]*')" 32
    has log ", 0 lost" "page-fault: nothing is lost"
    "$CAIRN" trace --user-only -e page-fault -- ./short >out 2>log || fail "page-fault as lines" log
    has out "error_code=write|not_present|user" "a write"
    has out "error_code=read|not_present|user" "a read"
    has log ", 0 lost" "page-fault as lines: nothing is lost"
else
    skip "page-fault" "this kernel has no tracepoints exceptions:page_fault_*"
fi

# --- signals: of the process itself, and of another one
"$CAIRN" trace --user-only -e signal:USR1 -- ./short >out 2>log || fail "a signal" log
same "sent once" "$(grep -c 'signal_generate(sig=SIGUSR1' out)" 1
same "delivered once" "$(grep -c 'signal_deliver(sig=SIGUSR1' out)" 1
has out "raises" "who raises it"
has log ", 0 cut" "signals: whole stacks"
"$CAIRN" trace --no-stack -e "signal:10[comm == \"short\"]" -- ./short >out 2>log || fail "a signal by its number" log
same "a filter behind a number" "$(grep -c 'sig=SIGUSR1' out)" 2
"$CAIRN" trace --no-stack -e 'signal:*' -- ./short >out 2>log || fail "all signals" log
has out "sig=SIGUSR1" "all signals"
./short wait &
pid=$!
"$CAIRN" trace -v -e signal:SIGTERM -p $pid >out 2>log &
tracer=$!
for _ in $(seq 200); do grep -q "tracing has begun" log && break; sleep 0.05; done
sh -c "kill $pid; sleep 0.3"
wait $tracer || fail "a signal of another process" log
wait $pid
same "sent by another process" "$(grep -c "sh\[[0-9]*\]  tracepoint:signal:signal_generate(sig=SIGTERM.*pid=$pid" out)" 1

# --- programs that start and end
"$CAIRN" trace --json -e exec -e fork -e exit -- sh -c './short; ./short; exit 0' >out 2>log || fail "exec, fork, exit" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of exec, fork, exit" out
import json
from collections import Counter
events = [json.loads(line) for line in open("out")]
n = Counter(e["name"].rsplit("_", 1)[1] for e in events)
assert n == {"exec": 3, "fork": 2, "exit": 3}, n
for e in events:
    if e["name"].endswith("exit") and e["comm"] == "short":
        names = [f["function"] for f in e["stack"]]
        assert "main" in names or "__libc_start_main_impl" in names or any("exit" in (x or "") for x in names), names
        assert e["args"]["comm"] == '"short"', e["args"]
EOF2
has log ", 0 lost" "exec, fork, exit: nothing is lost"
"$CAIRN" trace --no-stack -e 'exec[filename ~ "*short"]' -- sh -c './short; exit 0' >out 2>log || fail "exec with a filter" log
same "exec with a filter" "$(grep -c sched_process_exec out)" 1

finish "trace_short: $n_checks checks"
