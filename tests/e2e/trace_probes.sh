#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace at functions of programs and at tracepoints: exact counts, whole stacks through return addresses that
# probes have replaced, places that the kernel need not single-step, fields, filters, and what is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3

if ! "$CAIRN" trace --summary -e 'uprobe:/bin/true:0x0' -- true >out 2>log && ! grep -q 'no code of this file' log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi

cat >lib.c <<'EOF2'
__attribute__((noinline)) int in_library(int n) { __asm__ volatile(""); return n + 1; }
EOF2
cat >calls.c <<'EOF2'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
int in_library(int n);
static int calls;
/* A push at its begin, for it calls; a leaf has none. */
PLACE int pushes(int n, const char *text) { int k = in_library(n); __asm__ volatile(""); return k + (int)strlen(text); }
PLACE int leaf(int n) { __asm__ volatile(""); return n * 3; }
PLACE int deep(int n) { int k = n ? deep(n - 1) : leaf(1); __asm__ volatile(""); return k + 1; }
PLACE static int middle(int n) { int k = pushes(n, "four"); __asm__ volatile(""); return k; }
static void *work(void *arg) { for (int i = 0; i < calls; i++) middle(i); return arg; }
int main(int argc, char **argv)
{
    pthread_t threads[4];
    calls = argc > 1 ? atoi(argv[1]) : 1;
    if (argc > 2) { char line[8]; if (!fgets(line, sizeof line, stdin)) return 1; }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (fork() == 0) _exit(middle(7) & 0);
    wait(NULL);
    return deep(20) == 24 ? 0 : 1;
}
EOF2
flags="-O2 -pthread"
[ "$(uname -m)" = x86_64 ] && flags="$flags -fcf-protection=full"
# shellcheck disable=SC2086
{ cc $flags -shared -fPIC -o libplace.so lib.c && cc $flags -o calls calls.c -L. -lplace -Wl,-rpath,"$PWD" &&
    cc $flags -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -o framed calls.c -L. -lplace \
        -Wl,-rpath,"$PWD"; } || fail "the programs are not built"

# count FILE PLACE: of a collapsed file, stacks that have the place innermost.
count() { awk -v place="$2" '{ n = $NF; sub(" " n "$", "") } $0 ~ ";" place "$" { sum += n } END { print sum + 0 }' "$1"; }

# --- exact, with threads and a fork
n=20000
"$CAIRN" trace -f -e uprobe:./calls:pushes -e uprobe:libplace.so:in_library -o sums.txt -- ./calls $n >out 2>log ||
    fail "counts" log
same "hits of pushes" "$(count sums.txt pushes)" $((4 * n + 1))
same "hits of in_library" "$(count sums.txt in_library)" $((4 * n + 1))
has log ", 0 lost" "nothing is lost"
has log ", 0 cut" "stacks are whole"
has sums.txt "work;middle;pushes" "the callers of pushes"
has sums.txt "main;middle;pushes;in_library" "the callers in the child"
"$CAIRN" trace --no-inherit -f -e uprobe:./calls:pushes -o sums.txt -- ./calls 10 >out 2>log || fail "--no-inherit" log
same "without children" "$(count sums.txt pushes)" 40

# --- a plain name is the command's own library before one of that name elsewhere
mkdir -p elsewhere && cc -shared -fPIC -x c -o elsewhere/libplace.so - <<'EOF2'
int another(void) { return 1; }
EOF2
cp elsewhere/libplace.so elsewhere/calls && cp calls elsewhere/run
PATH=$PWD/elsewhere:$PATH "$CAIRN" trace --summary -e uprobe:libplace.so:in_library -e uprobe:calls:leaf -- ./calls 1 >out 2>log ||
    fail "the command's own files" log
same "the command's own library" "$(awk '/libplace/ { print $1; exit }' out)" 5
(cd elsewhere && "$CAIRN" trace --summary -e uprobe:libplace.so:in_library -- ./run 1) >out 2>log || fail "RUNPATH" log
same "a library of RUNPATH before one beside the command" "$(awk '/libplace/ { print $1; exit }' out)" 5

# --- a probe at an endbr64 stands behind it; at what is stepped the last line says so
if [ "$(uname -m)" = x86_64 ]; then
    "$CAIRN" trace --summary -e uprobe:./calls:pushes -- ./calls 1 >out 2>log || fail "a push" log
    has log "emulates" "a function that begins with endbr64 and a push"
    "$CAIRN" trace --summary -e uprobe:./calls:leaf -- ./calls 1 >out 2>log || fail "a leaf" log
    has log "single-steps" "a function that begins with anything else"
    "$CAIRN" trace -e uprobe:./calls:pushes+2 -- ./calls 1 >out 2>log && fail "inside an instruction"
    has log "no instruction begins there" "inside an instruction"
    "$CAIRN" trace -f -e uprobe:./calls:pushes+4 -o sums.txt -- ./calls 2 >out 2>log || fail "an offset" log
    same "hits at an offset" "$(count sums.txt pushes)" 9
fi

# --- what functions are given and return
"$CAIRN" trace -e 'uprobe:./calls:pushes[arg0 == 7]' -- ./calls 5 >out 2>log || fail "an argument" log
same "the call with 7" "$(grep -c 'pushes(arg0=0x7,' out)" 1
"$CAIRN" trace -e 'uretprobe:./calls:pushes[ret == 12]' --json -- ./calls 5 >out 2>log || fail "a result" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of a return" out
import json
events = [json.loads(line) for line in open("out")]
assert len(events) == 1, len(events)
e = events[0]
assert (e["event"], e["name"], e["result"], e["args"]) == ("uretprobe", "uretprobe:./calls:pushes", 12, {}), e
names = [f["function"] for f in e["stack"]]
assert names[0] == "middle" and "main" in names and e["cut"] is None, names
EOF2

# --- return addresses that probes have replaced: nested, recursive, by frame pointers
for program in calls framed; do
    "$CAIRN" trace -f -e uretprobe:./$program:middle -e uretprobe:./$program:middle -e uretprobe:./$program:main \
        -e uprobe:libplace.so:in_library -e uretprobe:./$program:deep -e uprobe:./$program:leaf -o sums.txt \
        -- ./$program 100 >out 2>log || fail "$program: returns" log
    has log ", 0 cut" "$program: stacks through replaced return addresses are whole"
    has sums.txt "main;middle;pushes;in_library" "$program: the true callers"
    same "$program: returns of deep" "$(awk '/;main;(deep;)*deep [0-9]+$/ || /;main [0-9]+$/ { n += $NF } END { print n }' sums.txt)" \
        $((21 + 2))
    same "$program: the caller of all" "$(grep -c ';main;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;deep;leaf ' sums.txt)" 1
done

# --- a running process: its library by the plain name, also when the file is gone
mkfifo gate
./calls 5 wait <gate &
pid=$!
exec 3>gate
for _ in $(seq 100); do grep -q libplace "/proc/$pid/maps" && break; sleep 0.05; done
cp libplace.so other.so && rm libplace.so && mv other.so libplace.so
"$CAIRN" trace -v -f -e uprobe:libplace.so:in_library -o sums.txt -p $pid >out 2>log &
tracer=$!
for _ in $(seq 100); do grep -q "tracing has begun" log && break; sleep 0.1; done
echo >&3
wait $pid
wait $tracer || fail "a deleted library" log
exec 3>&-
same "hits in a library whose file is gone" "$(count sums.txt in_library)" 21

# --- tracepoints: fields by name, the kernel's frames above the program's
if [ -d /sys/kernel/tracing/events/sched ]; then
    "$CAIRN" trace --json -e 'tracepoint:sched:sched_process_fork[child_pid > 1 && comm == "sh"]' -- sh -c '/bin/true; /bin/true' \
        >out 2>log || fail "a tracepoint" log
    /usr/bin/python3 - <<'EOF2' || fail "JSON of a tracepoint" out
import json
events = [json.loads(line) for line in open("out")]
assert events, "no event"
for e in events:
    assert e["event"] == "tracepoint" and e["name"] == "tracepoint:sched:sched_process_fork", e
    assert e["args"]["parent_comm"] == '"%s"' % e["comm"] and int(e["args"]["parent_pid"]) == e["tid"], e["args"]
    modules = [f["module"] for f in e["stack"]]
    first = next(i for i, m in enumerate(modules) if not m.startswith("["))
    assert first > 0 and all(m.startswith("[kernel") for m in modules[:first]), modules
EOF2
    "$CAIRN" trace --user-only -e tracepoint:sched:sched_process_fork -- sh -c '/bin/true; /bin/true' >out 2>log ||
        fail "--user-only" log
    hasnt out "  k  " "no frames of the kernel"
    "$CAIRN" trace -e 'tracepoint:sched:sched_process_fork[child_pit == 1]' -- true >out 2>log && fail "a field that is none"
    has log 'has no field "child_pit"' "a field that is none"
    "$CAIRN" trace -e 'tracepoint:sched:no_such_*' -- true >out 2>log && fail "a tracepoint that is none"
    has log "no such tracepoint" "a tracepoint that is none"
    has log "cairn trace --list" "a tracepoint that is none: what to do"
    "$CAIRN" trace --summary -e 'tracepoint:sched:sched_process_*[child_pid > 1]' -- sh -c '/bin/true; /bin/true' >out 2>log ||
        fail "a pattern with a filter" log
    has out "tracepoint:sched:sched_process_fork" "of a pattern those that have the field"
    hasnt out "tracepoint:sched:sched_process_exec" "of a pattern none that lacks the field"
    "$CAIRN" trace --list 'tracepoint:sched:sched_process_*' >out 2>log || fail "--list" log
    has out "tracepoint:sched:sched_process_exec" "--list"
else
    skip "tracepoints" "tracefs is not mounted"
fi

# --- functions of the kernel
if "$CAIRN" trace -f -e kprobe:vfs_read -e kretprobe:vfs_read -o sums.txt -- cat /proc/version >out 2>log; then
    has sums.txt "vfs_read" "a function of the kernel"
else
    has log "kprobes" "why there is no kprobe"
    skip "kprobes" "this kernel has none"
fi

# --- what is refused
"$CAIRN" trace -e uprobe:./calls:no_such_function -- ./calls >out 2>log && fail "no such function"
has log 'no_such_function' "no such function"
"$CAIRN" trace -e uprobe:./nowhere:f -- ./calls >out 2>log && fail "no such file"
has log "there is no such file" "no such file"

finish "trace_probes: $n_checks checks"
