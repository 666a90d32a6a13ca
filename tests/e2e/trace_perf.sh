#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn trace by perf events: system calls and tracepoints with copied stacks, where BPF is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/trace_lib.sh
. "$SRC/tests/support/trace_lib.sh"
need cc
cc -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread -o program "$SRC/tests/e2e/trace_program.c" || exit 1
trace() { "$CAIRN" trace --method=perf "$@"; }

if ! trace --summary -e syscall:write ./program counts 1 >out 2>err; then
    echo "refused here: $(head -n 1 err)"
    exit 77
fi
has err "attached by perf events at sys_enter and sys_exit" "the way that was taken"

# --- every call is counted or lost, and no stack is cut
trace --summary -e 'syscall:write[fd == 3]' ./program counts 500 >out 2>err || fail "counts" err
has err " 0 cut" "counts"
awk '/events seen/ {
    gsub(/,/, ""); seen = $2
    for (i = 3; i <= NF; i++) {
        if ($i == "counted") counted = $(i - 1)
        if ($i == "lost") lost = $(i - 1)
        if ($i == "returned") pending = $(i - 2) # the last ends may be among the lost records
    }
    exit !(seen == 2000 && counted > 0 && counted + lost + pending == seen)
}' err || fail "2,000 calls are counted or lost" err

# --- few calls: all are there, with arguments, result, duration and stack
trace -e 'syscall:openat[ret < 0]' ./program traps >out 2>err || fail "traps" err
has out '= -1 ENOENT <' "result and duration"
has err " 0 cut" "traps"
trace -e syscall:exit_group ./program counts 1 >out 2>err || fail "exit_group" err
has out "exit_group(status=0)" "a call that never returns"

# --- execve(2) by another thread than the first one, which it comes back as
cat >calls.c <<'EOF'
#include <pthread.h>
#include <unistd.h>
static void *run(void *arg)
{
    execl("/bin/true", "true", (char *)0);
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pause();
}
EOF
cc -pthread -o calls calls.c || exit 1
trace -e syscall:execve ./calls >out 2>err || fail "execve of a thread" err
has out "execve(" "execve of a thread"
has out "= 0 <" "the result of execve of a thread"

# --- tracepoints: fields, the kernel's filter, its frames
trace -e 'tracepoint:sched:sched_process_exec[filename ~ "*/true"]' sh -c '/bin/true; /bin/ls /' >out 2>err ||
    fail "a tracepoint" err
same "events that pass the filter" "$(grep -c 'sched_process_exec(' out)" 1
has out 'filename="/bin/true"' "a field"
# The kernel's language matches these two otherwise than ours: they are evaluated behind it.
cp /bin/true 9true
for pattern in '9t*' '*true'; do
    trace -e "tracepoint:task:task_rename[newcomm ~ \"$pattern\"]" sh -c './9true; :' >out 2>err || fail "$pattern" err
    same "names like $pattern" "$(grep -c 'newcomm="9true"' out)" 1
done
# --- a user is known of processes that have ended, too
trace -e "tracepoint:task:task_rename[uid == $(id -u) && newcomm == \"9true\"]" sh -c './9true; :' >out 2>err ||
    fail "uid" err
same "events of a user" "$(grep -c 'newcomm="9true"' out)" 1
trace --user-only -e tracepoint:sched:sched_process_fork sh -c '/bin/true; /bin/true' >out 2>err || fail "fork" err
has out "parent_comm=" "a fork"
trace --no-stack -e 'syscall:write[fd == 3]' ./program counts 100 >out 2>err || fail "--no-stack" err
has err "400 events seen" "--no-stack"

# --- by itself where BPF is refused
drop='-bpf,-sys_admin'
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "without CAP_BPF" "it needs root and setpriv"
elif ! setpriv --bounding-set "$drop" --inh-caps "$drop" true 2>err; then
    skip "without CAP_BPF" "$(head -n 1 err)"
else
    setpriv --bounding-set "$drop" --inh-caps "$drop" "$CAIRN" trace -e tracepoint:sched:sched_process_exec \
        sh -c /bin/true >out 2>err || fail "without CAP_BPF" err
    has err "attached by perf events at 1 tracepoint" "without CAP_BPF"
fi

# --- what it cannot
trace -e uprobe:libc.so.6:fopen ./program counts 1 >out 2>err && fail "a uprobe by perf" out
has err "by perf events system calls and tracepoints can be traced" "a uprobe by perf"
finish "trace_perf: $n_checks checks"
