#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record on real processes: what it finds, what it refuses and how it says so. Cases that this
# machine cannot do are skipped one by one, with the reason.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

cc=${CC:-gcc}
"$cc" -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
    -o prog "$SRC/tests/e2e/record_programs.c" -ldl || exit 1
cat >library.c <<'TEXT'
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void spin_once(void)
{
    for (unsigned i = 0; i < 2000000; i++)
        sink += i;
}
void library_spin(double seconds)
{
    const time_t end = time(NULL) + (time_t)seconds + 1;
    while (time(NULL) < end)
        spin_once();
}
TEXT
"$cc" -O2 -g -fno-omit-frame-pointer -fPIC -shared -o libspin.so library.c || exit 1

"$CAIRN" record -o probe.txt -- ./prog spin 0.1 >probe.log 2>&1 ||
    { fail "the first recording" probe.log; exit 1; }
if grep -q 'by ptrace' probe.log; then
    echo "skipped: perf_event_open is refused here: $(head -1 probe.log)"
    exit 77
fi

# A command, named: nearly all in spin(), nearly all whole.
TIMEFORMAT=%U # what it had of the CPU: on a busy machine that is less than its two seconds
{ time "$CAIRN" record -F 199 -o spin.txt -- ./prog spin 2 2>log; } 2>cpu || fail "a command" log
at_least 90 "$(share spin.txt ';spin(;|$| )')" "share of spin"
at_least 90 "$(share spin.txt 'main;spin;spin_once')" "share of main;spin;spin_once"
whole=$(sed -n 's/.*whole (\([0-9]*\).*/\1/p' log)
at_least 95 "${whole:-0}" "whole stacks of a program with frame pointers"
n=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
at_least "$(awk '{ printf "%d", 199 * $1 / 2 }' cpu)" "${n:-0}" "samples at 199 Hz"
at_least 1 "${n:-0}" "samples at 199 Hz"

# A process that runs, its later threads, and a duration that is kept to.
./prog late 6 &
target=$!
sleep 0.1
start=$(date +%s%N)
"$CAIRN" record -F 199 -d 2 -o late.txt -p $target 2>log || fail "a running process" log
took=$((($(date +%s%N) - start) / 1000000))
at_least 1900 "$took" "a duration of 2 s, in ms"
took=$(sed -n 's/^cairn: .* in \([0-9]*\)\.\([0-9]\) s.*/\1\200/p' log) # naming it takes longer
at_least "${took:-9999}" 3000 "a duration of 2 s, in ms, at most"
at_least 90 "$(share late.txt 'late_spin;spin')" "share of a thread that started later"
kill -0 $target 2>/dev/null || fail "the target did not survive"
kill $target
wait $target 2>/dev/null

# A library that is opened later, a child, another program in the same process.
"$CAIRN" record -F 199 -o load.txt -- ./prog load 1 "$WORK/libspin.so" 2>log || fail "load" log
at_least 85 "$(share load.txt 'library_spin;spin_once')" "share of a library opened later"
"$CAIRN" record -F 199 -o fork.txt -- ./prog fork 1 2>log || fail "fork" log
at_least 85 "$(share fork.txt 'main;.*spin;spin_once')" "share of a forked child"
cp prog other
"$CAIRN" record -F 199 -o exec.pb.gz -- ./prog exec 1 "$WORK/other" 2>log || fail "exec" log
"$CAIRN" resolve exec.pb.gz --force -o exec.named.pb.gz 2>log || fail "exec: resolve" log
"$CAIRN" report exec.named.pb.gz >exec.top 2>&1 || fail "exec: report" exec.top
has exec.top other "the program after exec"
has exec.top prog "the program before exec"

# Threads that end before their first sample are not passed over in silence.
"$CAIRN" record -o brief.txt -- ./prog brief 2 2>log || fail "brief" log
n=$(sed -n 's/^cairn: \([0-9]*\) samples\{0,1\} in.*/\1/p' log)
[ "${n:-0}" -ge 60 ] || has log " missed (" "threads that are too brief"

# Whoever only sleeps gives none, and is told what does.
sleep 600 &
target=$!
until grep -q '^State:.S' /proc/$target/status; do sleep 0.05; done
"$CAIRN" record -d 0.3 -o idle.pb.gz -p $target 2>log || fail "a program that sleeps" log
kill $target
wait $target 2>/dev/null
has log "off-cpu what a program waits for" "no samples"
tail -1 log >last
has last "cairn: 0 samples in" "no samples: the quality line is the last"

# Deeper than the kernel walks: said, not hidden.
"$CAIRN" record --method=perf -F 199 -o deep.txt -- ./prog deep 1 2>log || fail "deep" log
has log "deeper than $(cat /proc/sys/kernel/perf_event_max_stack) frames" "a deep stack"

# Ctrl-C ends cleanly with the data written.
./prog spin 20 &
target=$!
"$CAIRN" record -F 199 -o stop.pb.gz -p $target 2>log &
recorder=$!
sleep 1.5
kill -INT $recorder
wait $recorder || fail "Ctrl-C: exit status" log
[ -s stop.pb.gz ] || fail "Ctrl-C: nothing written" log
has log "samples in" "Ctrl-C"
kill -9 $target
wait $target 2>/dev/null

# A target that vanishes meanwhile is no failure.
./prog spin 20 &
target=$!
"$CAIRN" record -F 199 -o gone.pb.gz -p $target 2>log &
recorder=$!
for _ in $(seq 100); do # on a busy machine it takes a while
    [ -n "$(find /proc/$recorder/fd -lname '*perf_event*' 2>/dev/null)" ] && break
    sleep 0.1
done
sleep 1
kill -9 $target
wait $target 2>/dev/null
wait $recorder || fail "a target that vanishes" log
has log "samples in" "a target that vanishes"
"$CAIRN" record -p $target 2>log && fail "a target that is gone was recorded"
has log "no such process" "a target that is gone"

# How the command ended is told; a command that is not there is not recorded.
"$CAIRN" record -o exit.pb.gz -- ./prog exit 3 2>log || fail "exit status" log
has log "exit status 3" "exit status"
"$CAIRN" record -o signal.pb.gz -- ./prog signal 2>log || fail "signal" log
has log "signal 6" "a command that aborts"
"$CAIRN" record -o none.pb.gz -- no-such-program-cairn 2>log && fail "no such command"
has log "no-such-program-cairn: cannot be started" "no such command"
[ ! -e none.pb.gz ] || fail "no such command: something was written"

# Outputs: nothing is replaced unasked, endings choose the format, bad use is said.
"$CAIRN" record -o exit.pb.gz -- true 2>log && fail "an existing file was replaced"
has log "--force" "an existing file"
for out in x.html x.svg x.pb.gz; do
    "$CAIRN" record -o $out -- ./prog spin 0.3 2>log || fail "$out" log
    [ -s $out ] || fail "$out is empty"
done
"$CAIRN" record -o x.pdf -- true 2>log && fail "an unknown ending"
has log "the ending says nothing" "an unknown ending"
"$CAIRN" record 2>log && fail "nothing to record"
"$CAIRN" record -p 1 -- true 2>log && fail "a pid and a command"
"$CAIRN" record -F 100000000 -- true 2>log && fail "too high a frequency"

if [ "$(id -u)" = 0 ]; then
    SUDO_UID=65534 SUDO_GID=65534 "$CAIRN" record -o sudo.pb.gz -- true 2>log || fail "sudo" log
    [ "$(stat -c %u sudo.pb.gz)" = 65534 ] || fail "under sudo the file is not the caller's"
else
    skip "a file made under sudo" "needs root"
fi

# By ptrace, on purpose: the same answer.
"$CAIRN" record --method=ptrace -F 199 -o ptrace.txt -- ./prog spin 2 2>log || fail "ptrace" log
has log "by ptrace" "ptrace"
at_least 90 "$(share ptrace.txt 'main;spin;spin_once')" "share of spin by ptrace"
"$CAIRN" record --method=ptrace -F 199 -o pl.txt -- ./prog late 1 2>log || fail "ptrace late" log
at_least 80 "$(share pl.txt 'late_spin;spin')" "share of a later thread by ptrace"
"$CAIRN" record --method=ptrace -o px.pb.gz -- ./prog exit 3 2>log || fail "ptrace exit" log
has log "exit status 3" "exit status by ptrace"
# CPU time from before the recording is in no sample.
./prog spin 600 &
old=$!
cpu_ms() { awk '{ printf "%d", $1 / 1e6 }' /proc/$old/schedstat; }
until [ "$(cpu_ms)" -ge 1000 ]; do sleep 0.1; done
before=$(cpu_ms)
"$CAIRN" record --method=ptrace -F 199 -d 0.3 -o old.pb.gz -p $old 2>log || fail "ptrace of a process" log
most=$(($(cpu_ms) - before + 20)) # the kernel updates the time of a running thread at ticks
kill $old
"$CAIRN" convert --value cpu -o old.txt old.pb.gz 2>log || fail "ptrace of a process, its CPU time" log
at_most $most "$(awk '{ sum += $NF } END { printf "%d", sum / 1e6 }' old.txt)" "ptrace of a process: CPU time in ms"

# Where perf_event_open is refused, as in a container: ptrace for a command, said aloud; for a
# process that runs, or on demand, a refusal that names the way out.
./prog deny 1 "$CAIRN" record -F 199 -o denied.txt -- ./prog spin 1 2>log
case $? in
77) skip "a refused perf_event_open" "seccomp filters are not allowed here" ;;
0)
    has log "seccomp" "refused by a filter"
    has log "--cap-add PERFMON" "refused by a filter"
    has log "sampling by ptrace instead" "refused by a filter"
    at_least 90 "$(share denied.txt 'main;spin;spin_once')" "share of spin where perf is refused"
    ./prog deny 1 "$CAIRN" record --method=perf -o d.pb.gz -- true 2>log &&
        fail "perf was refused, and used"
    ./prog deny 38 "$CAIRN" record -p $$ -o d.pb.gz 2>log && fail "ENOSYS was taken for success"
    has log "ENOSYS" "a kernel without perf events"
    ./prog deny 13 "$CAIRN" record -p $$ -o d.pb.gz 2>log && fail "EACCES was taken for success"
    has log "kernel.perf_event_paranoid is" "EACCES"
    ;;
*) fail "the fall-back to ptrace" log ;;
esac

# Somebody without rights is refused with the setting's name, or falls back to ptrace.
if [ "$(id -u)" != 0 ]; then
    skip "a user without rights" "needs root to become one"
elif ! command -v setpriv >/dev/null; then
    skip "a user without rights" "setpriv is missing"
else
    mkdir nobody && chmod 777 nobody && chmod 755 . && cp "$CAIRN" prog nobody/
    as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    (cd nobody && $as_nobody ./cairn record -p 1) 2>log && fail "pid 1 was recorded by nobody"
    has log "another user" "another user's process"
    has log "setcap" "another user's process"
    (cd nobody && $as_nobody ./cairn record -F 199 -o n.txt -- ./prog spin 1) 2>log ||
        fail "nobody's own command" log
    at_least 90 "$(share nobody/n.txt 'main;spin;spin_once')" "share of spin as nobody"
fi

# Real programs: frames from their own module, and a reason for every stack that is cut.
real() {
    name=$1
    shift
    if ! command -v "$1" >/dev/null; then
        skip "$name" "not installed"
        return
    fi
    "$CAIRN" record -F 499 -o "$name.txt" -- "$@" >/dev/null 2>log || fail "$name" log
    has log "samples in" "$name"
    n=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
    at_least 50 "${n:-0}" "samples of $name"
}
real python3 /usr/bin/python3 -c 'print(sum(hash(str(i)) % 7 for i in range(2000000)))'
real sqlite3 sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c
    where x < 2000000) select sum(x % 7) from c;'
if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
    redis-server --port 0 --unixsocket "$WORK/redis.sock" --save '' >/dev/null &
    target=$!
    sleep 0.5
    redis-benchmark -s "$WORK/redis.sock" -n 200000 -q >/dev/null 2>&1 &
    load=$! # which may try for ever to get back to a server that has ended
    "$CAIRN" record -F 499 -d 2 -o redis.txt -p $target 2>log || fail "redis-server" log
    has log "samples in" "redis-server"
    redis-cli -s "$WORK/redis.sock" ping >answer 2>&1
    has answer PONG "redis-server answers afterwards"
    kill $load $target 2>/dev/null
    wait 2>/dev/null
else
    skip "redis-server" "not installed"
fi

finish "$n_checks checks hold"
