#!/bin/bash
# SPDX-License-Identifier: MIT
# What cairn record samples: events beside CPU time, time off the CPU, and when each sample was.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# record NAME OPTIONS...: into NAME.pb.gz with names, and log.
record() {
    local out=$1
    shift
    "$CAIRN" record -f -o "$out.raw.pb.gz" "$@" >out.log 2>log || { fail "$out" log; return; }
    "$CAIRN" resolve "$out.raw.pb.gz" -f -o "$out.pb.gz" >out.log 2>&1 || fail "$out: resolve" out.log
}

# total NAME OPTIONS...: the sum of what report counts, to the unit; 0 where nothing is.
total() {
    local of=$1
    shift
    "$CAIRN" report --json -n 0 "$@" "$of.pb.gz" 2>/dev/null |
        python3 -c 'import json, sys; text = sys.stdin.read(); print(json.loads(text)["sum"] if text else 0)'
}

cc=${CC:-gcc}
"$cc" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -D_GNU_SOURCE -o prog \
    "$SRC/tests/e2e/off_cpu_programs.c" || exit 1
cat >fault.c <<'TEXT'
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((noinline)) static void touch(char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile char *)at)[i * 4096] = 1;
}
int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 2000; /* what a ring holds, if nobody reads */
    char *at = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, n * 4096, MADV_NOHUGEPAGE);
    touch(at, n);
    return 0;
}
TEXT
"$cc" -O2 -g -fno-omit-frame-pointer -o fault fault.c || exit 1

# What cannot be meant is refused with the reason.
refused() {
    local wanted=$1
    shift
    "$CAIRN" record -f -o no.pb.gz "$@" -- true >out.log 2>log && fail "$*: is taken"
    has log "$wanted" "$*"
}
refused "goes with none of" --off-cpu -e page-faults
refused "goes with none of" --off-cpu -F 99
refused "by BPF alone" --off-cpu --method=perf
refused "sampled by --frequency" -c 5
refused "either --count or --frequency" -e page-faults -c 5 -F 99
refused "CPU time alone" -e page-faults --method=ptrace
refused "--user-only leaves none" -e context-switches -u
refused "expected 1 to" -e page-faults -c 0
refused "event" -e lunch

"$CAIRN" record -o probe.txt -- true >probe.log 2>&1 ||
    { fail "the first recording" probe.log; exit 1; }
if grep -q 'by ptrace' probe.log; then
    echo "skipped: perf_event_open is refused here: $(head -1 probe.log)"
    exit 77
fi

# Page faults one by one, by each method that is there; the value is named by the event.
methods=perf
"$CAIRN" record --method=bpf -f -o probe.txt -- true >probe.log 2>&1 && methods="perf bpf"
[ "$methods" = perf ] && skip "by BPF" "$(head -1 probe.log)"
for method in $methods; do
    record "fault.$method" --method="$method" -e page-faults -- ./fault
    at_least 2000 "$(total "fault.$method")" "$method: page faults"
    at_least 1950 "$(total "fault.$method" --function=touch)" "$method: page faults in touch()"
    has log "page-faults (each)" "$method: what was counted is told"
    same "$method: the value's type" \
        "$("$CAIRN" report --json "fault.$method.pb.gz" | grep -oE '"page_faults"' | head -1)" '"page_faults"'
    record "hundred.$method" --method="$method" -e page-faults -c 100 -- ./fault
    has log "page-faults (1 in 100)" "$method: how many a sample stands for is told"
    at_least 2000 "$(total "hundred.$method")" "$method: page faults, by hundreds"
    # By frequency a sample stands for many.
    record "often.$method" --method="$method" -e page-faults -F 500 -- ./fault
    at_least 1 "$(total "often.$method")" "$method: page faults, by frequency"
    at_least "$(total "often.$method" --value=samples)" 1500 "$method: samples by frequency, at most"
    has log "page-faults (up to 500 a second)" "$method: the frequency is told"
    # What is lost at a program's end is told by no record any more; the events have counted it (Linux 6.0).
    if [ "$(uname -r | cut -d. -f1)" -ge 6 ]; then
        record "burst.$method" --method="$method" -e page-faults -- ./fault 60000
        lost=$(sed -n 's/.*; \([0-9]*\) lost.*/\1/p' log)
        at_least 60000 $(($(total "burst.$method") + lost)) "$method: page faults, and what was lost of them"
    fi
    # Those of all processes may be many.
    if "$CAIRN" record --method="$method" -a -e page-faults -d 0.5 -f -o all.pb.gz >out.log 2>log; then
        grep -qE "page-faults \(up to [0-9]+ a second\)|^cairn: 0 samples" log || fail "$method: of all" log
    else
        skip "$method: page faults of all" "$(head -1 log)"
    fi
done

# Context switches, where the kernel may be seen.
if "$CAIRN" record -e context-switches -f -o switch.raw.pb.gz -- ./prog nap 5 >out.log 2>log; then
    "$CAIRN" resolve switch.raw.pb.gz -f -o switch.pb.gz >out.log 2>&1
    at_least 5 "$(total switch)" "context switches"
else
    grep -q 'perf_event_paranoid' log || fail "context switches" log
    skip "context switches" "$(head -1 log)"
fi

# The CPU's counters: they are there, or it is said that they are not.
for event in cycles instructions cache-misses; do
    if "$CAIRN" record -e "$event" -f -o hard.raw.pb.gz -- ./prog busy >out.log 2>log; then
        "$CAIRN" resolve hard.raw.pb.gz -f -o hard.pb.gz >out.log 2>&1
        [ "$event" = cache-misses ] || at_least 1000 "$(total hard)" "$event"
    else
        has log "the CPU's counters are not there" "$event: is refused with the reason"
    fi
done

# With times nothing is summed, and each sample has one within the recording.
for method in $methods; do
    before=$(date +%s%N)
    record times --method="$method" -e cpu-clock -F 999 --timeline -- ./prog busy
    after=$(date +%s%N)
    python3 "$SRC/tests/e2e/record_times.py" times.raw.pb.gz "$before" "$after" >times.log 2>&1 ||
        fail "$method: times" times.log
    n_checks=$((n_checks + 1))
done

# Time off the CPU.
if [ "$methods" = perf ]; then
    "$CAIRN" record --off-cpu -f -o no.pb.gz -- true >out.log 2>log && fail "off the CPU without BPF"
    n_checks=$((n_checks + 1))
    finish "$n_checks checks hold"
fi
# napped NAME [N]: N times 20 ms in nap(), 10. On its way to sleep it may have lost the CPU to others, and
# been woken before it had it again: that is told as preempted, and nobody as its waker.
napped() {
    local slept preempted ended
    slept=$(total "$1" --label=off_cpu=sleep --function=nap)
    preempted=$(total "$1" --label=off_cpu=preempted --function=nap)
    at_least 20000000 "$slept" "$1: ns slept in nap()"
    at_least 150000000 $((slept + preempted)) "$1: ns slept in nap(), or preempted on the way"
    ended=$(total "$1" --value=samples --label=woken_by=interrupt)
    preempted=$(total "$1" --value=samples --label=off_cpu=preempted --function=nap)
    at_least 1 "$ended" "$1: times that a timer ended"
    at_least "${2:-10}" $((ended + preempted)) "$1: times that a timer ended, or came before the sleep"
}
record nap --off-cpu -- ./prog nap 10
napped nap
has log "times off the CPU" "the last line"
"$CAIRN" report -n 0 --sort total nap.pb.gz >nap.top 2>&1
has nap.top "_start" "whole"
hasnt nap.top "bpf_trace_run" "frames of the measuring itself"

record give --off-cpu -- ./prog give 10
at_least 9 "$(total give --value=samples --label=woken_by=giver)" "times that the giver woke"
at_least 50000000 "$(total give --label=woken_by=giver --function=take)" "ns waited for the giver"

record crowd --off-cpu -- ./prog crowd
at_least 50000000 "$(total crowd --label=off_cpu=preempted --function=crowd_one)" "ns waited for a CPU"

record fork --off-cpu -- ./prog fork 3
at_least 100000000 "$(total fork --label=off_cpu=sleep --function=nap)" "ns that children slept"

# Who waits for a child of vfork(2) has its return address in a register.
record parent --off-cpu -- ./prog vfork 5
at_least 80000000 "$(total parent --label=off_cpu=blocked --function=wait_for_child)" "ns in vfork()"
"$CAIRN" report -n 0 --sort total --label=off_cpu=blocked --function=wait_for_child parent.pb.gz >parent.top 2>&1
has parent.top "_start" "whole from vfork()"

# So has who waits for one of posix_spawn(3) no CFI where it waits.
record spawn --off-cpu -- ./prog spawn 5
at_least 80000000 "$(total spawn --label=off_cpu=blocked --function=spawn_child)" "ns in posix_spawn()"
"$CAIRN" report -n 0 --sort total --label=off_cpu=blocked --function=spawn_child spawn.pb.gz >spawn.top 2>&1
has spawn.top "_start" "whole from posix_spawn()"

# A program that waits before anybody has looked at it: its stack is copied.
record short --off-cpu -- sleep 0.3
has log "whole (100.0 %), 0 cut" "whole in a program that is new"
at_least 290000000 "$(total short --label=off_cpu=sleep)" "ns in a program that is new"

# With times each wait is by itself: one after the other, and none is summed. On a busy machine some are
# cut short, as above, but ten are as long as nap() sleeps.
before=$(date +%s%N)
record waits --off-cpu --timeline -- ./prog nap 15
after=$(date +%s%N)
python3 "$SRC/tests/e2e/record_waits.py" waits.raw.pb.gz "$before" "$after" 10 20000000 >times.log 2>&1 ||
    fail "times of waits" times.log
n_checks=$((n_checks + 1))
napped waits 15

# A process that only waits: what it does for ever is told at the end, for both threads.
./prog forever >ready &
target=$!
until grep -qs ready ready; do sleep 0.05; done
record forever --off-cpu -d 1 -p $target
at_least 1 "$(total forever --value=samples)" "a process that only waits"
at_least 1800000000 "$(total forever)" "ns that it waited, in two threads"
at_least 900000000 "$(total forever --function=forever_too)" "ns in the thread"
kill $target
wait $target 2>/dev/null

# A cgroup: who is in it or below, those that sleep already too, and nobody else.
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -e $root/cgroup.controllers ] || continue
    group=$root/cairn-what-$$
    mkdir -p $group/below 2>/dev/null && break
done
if [ ! -d "${group:-}" ]; then
    skip "a cgroup" "no cgroup of version 2 may be made here"
elif ! "$CAIRN" record --cgroup cairn-what-$$ -f -o group.raw.pb.gz -d 0.1 >out.log 2>log; then
    skip "a cgroup" "$(head -1 log)"
    rmdir "$group/below" "$group"
else
    ./prog forever >ready &
    inside=$!
    ./prog forever >ready.below &
    below=$!
    ./prog nap 1000000 >/dev/null &
    outside=$!
    until grep -qs ready ready && grep -qs ready ready.below; do sleep 0.05; done
    echo $inside >"$group/cgroup.procs" || fail "into the cgroup"
    echo $below >"$group/below/cgroup.procs" || fail "into the cgroup below"
    # shellcheck disable=SC2016 # the other shell goes into the group, then naps
    sh -c 'echo $$ >"$1/cgroup.procs"; exec ./prog nap 1000000' sh "$group" >/dev/null &
    napping=$!
    record group --off-cpu --cgroup cairn-what-$$ -d 1
    at_least 900000000 "$(total group --function=forever --label=pid=$inside)" "ns of who slept already"
    at_least 900000000 "$(total group --function=forever_too --label=pid=$below)" "ns in the cgroup below"
    at_least 100000000 "$(total group --function=nap --label=pid=$napping)" "ns of who naps in the cgroup"
    same "nobody else" "$(total group --label=pid=$outside)" 0
    record group --off-cpu --timeline --cgroup cairn-what-$$ -d 1
    at_least 100000000 "$(total group --function=nap --label=pid=$napping)" "the same, with times"
    kill $inside $below $outside $napping
    wait $inside $below $outside $napping 2>/dev/null
    rmdir "$group/below" "$group"
fi

finish "$n_checks checks hold"
