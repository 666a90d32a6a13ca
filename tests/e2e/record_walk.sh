#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record by unwind tables, walked in the kernel: stacks of programs without frame pointers.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# CPU time in ticks: of all CPUs but what they were idle, and of this script with all that it has waited for.
all_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat; }
own_ticks() { awk '{ print $14 + $15 + $16 + $17 }' /proc/$$/stat; }

# busy_by COMMAND...: runs it; `others` is the CPU time that others took meanwhile, in permille of one CPU.
busy_by() {
    local all own since code hz
    all=$(all_ticks) own=$(own_ticks) since=$(date +%s%N) hz=$(getconf CLK_TCK)
    "$@"
    code=$?
    since=$((($(date +%s%N) - since) * hz / 1000000000 + 1))
    others=$((1000 * ($(all_ticks) - all - $(own_ticks) + own) / since))
    return $code
}

# Where others take a tenth of a CPU, the recorder may be late: a program may have ended, and its file be
# another's, before it was looked at. Such samples have to say so, and do not count.
is_quiet() { [ "$others" -lt 100 ]; }

# record NAME OPTIONS...: into NAME.txt and log.
record() {
    local out=$1
    shift
    busy_by "$CAIRN" record --method=bpf -F 999 -f -o "$out.txt" "$@" >out.log 2>log || fail "$out" log
}

cc=${CC:-gcc}
"$cc" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o prog \
    "$SRC/tests/e2e/walk_programs.c" || exit 1
if ! "$CAIRN" record --method=bpf -o probe.txt -- ./prog deep 0.1 1 >probe.log 2>&1; then
    grep -qE 'needs|not in this build|cannot be walked' probe.log ||
        { fail "the first recording" probe.log; exit 1; }
    echo "skipped: $(head -1 probe.log)"
    exit 77
fi

# Of a process that runs already every sample is whole, at 17 kB of stack and at 115 kB.
for depth in 60 400; do
    ./prog deep 20 $depth &
    target=$!
    sleep 0.3
    record deep$depth -d 2 -p $target
    at_least 999 "$(permille deep$depth.txt '_start;.*;main;dive;dive')" "depth $depth: reach main"
    at_least 999 "$(awk -v depth=$depth '{ n = $NF; sum += n; if (gsub(/;dive/, "") == depth + 1) hit += n }
        END { printf "%d\n", sum ? 1000 * hit / sum : 0 }' deep$depth.txt)" "depth $depth: all frames"
    has log "by unwind tables" "the method is told"
    kill $target
    wait $target 2>/dev/null
done

# A command: all but the milliseconds in which nobody knows it yet.
record command -- ./prog deep 3 40
at_least 980 "$(permille command.txt '_start;.*;main;dive')" "a command"

# Programs that end before anybody could look at them: their stacks come over as copies. All but a few
# are whole where there are tables; the C start files have none.
# shellcheck disable=SC2016 # the other shell counts
record short -F 4999 -- sh -c 'i=0; while [ $i -lt 100 ]; do /bin/true; ./prog deep 0 9; i=$((i + 1)); done'
samples=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
at_least 100 "$samples" "short programs: samples"
whole=$(sed -n 's/^cairn: .* tables, \([0-9]*\) whole.*/\1/p' log)
no_table=$(grep -o '[0-9]* no unwind rule' log | awk '{ n += $1 } END { print n + 0 }')
at_least 970 $((1000 * whole / (samples - no_table))) "short programs: whole where there are tables"

# Whoever ran a file before is as good: of hundreds of short processes few need a copy.
if [ "$(uname -r | awk -F. '{ print $1 * 100 + $2 }')" -ge 601 ]; then
    cat >storm.sh <<'TEXT'
for i in 1 2 3 4 5 6 7 8; do
    (for j in $(seq 60); do /bin/true; ./prog deep 0.001 9; done) &
done
wait
TEXT
    record storm -v -- bash storm.sh
    samples=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
    whole=$(sed -n 's/^cairn: .* tables, \([0-9]*\) whole.*/\1/p' log)
    copied=$(sed -n 's/^cairn: \([0-9]*\) stacks came with a copy/\1/p' log | head -1)
    at_least 200 "$samples" "a storm of short processes: samples"
    at_least 980 $((1000 * whole / samples)) "a storm of short processes: whole"
    at_least 660 $((1000 * (samples - ${copied:-0}) / samples)) "a storm of short processes: without a copy"
else
    skip "a storm of short processes" "before Linux 6.1 the kernel has no tree of mappings"
fi

# The same file, and its number, but another program by now: no table of the one before serves.
"$cc" -O0 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o other \
    "$SRC/tests/e2e/walk_programs.c" || exit 1
# shellcheck disable=SC2016 # the other shell counts
record rewritten -- sh -c 'i=0; while [ $i -lt 5 ]; do
    for from in prog other; do cat $from >again; chmod +x again; ./again deep 0.1 9; ./again deep 0.1 9; done
    i=$((i + 1)); done'
grep -E '(^|;)(dive|busy|again[+]0x)' rewritten.txt >rewritten.busy # names are those of the last one alone
at_least 100 "$(awk '{ n += $NF } END { print n + 0 }' rewritten.busy)" "a file that is rewritten: samples"
# all_frames FILE LEAST: permille of the stacks with at least LEAST frames of the program that have all of them.
all_frames() {
    awk -v least="$2" '{ n = $NF; all = gsub(/;/, ";") + 1; gsub(/;[^;]*_\[k\]/, "") }
        gsub(/;/, ";") + 1 >= least { sum += n; if (all >= 13) hit += n }
        END { printf "%d\n", sum ? 1000 * hit / sum : 0 }' "$1"
}
if is_quiet; then
    at_least 970 "$(all_frames rewritten.busy 1)" "a file that is rewritten: all frames"
else # of few samples, those of the program's start are many
    samples=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
    whole=$(sed -n 's/^cairn: .* tables, \([0-9]*\) whole.*/\1/p' log)
    unknown=$(sed -n 's/^cairn: .* \([0-9]*\) program not known yet.*/\1/p' log)
    at_least 970 $((1000 * (whole + ${unknown:-0}) / samples)) "a file that is rewritten: whole, or not known"
    at_least 850 "$(all_frames rewritten.busy 2)" "a file that is rewritten: all frames of those that were walked"
fi

# Files of an overlay, as containers have them: the kernel has mapped those of the layer below.
mkdir -p layer empty merged
cp prog layer/
# shellcheck disable=SC2016 # the other shell counts
if unshare -m mount -t overlay -o lowerdir=layer:empty none merged 2>/dev/null; then
    busy_by unshare -m sh -c 'mount -t overlay -o lowerdir=layer:empty none merged && exec "$@"' sh \
        "$CAIRN" record --method=bpf -v -F 999 -f -o overlay.txt -- \
        sh -c 'i=0; while [ $i -lt 100 ]; do merged/prog deep 0.01 9; i=$((i + 1)); done' >out.log 2>log ||
        fail "an overlay" log
    grep -E '(^|;)dive(;|$| )' overlay.txt >overlay.deep
    is_quiet && wanted=200 || wanted=50
    at_least "$wanted" "$(awk '{ n += $NF } END { print n + 0 }' overlay.deep)" "an overlay: samples"
    at_least 980 "$(permille overlay.deep '_start;.*;main;dive')" "an overlay: reach main"
    copied=$(sed -n 's/^cairn: \([0-9]*\) stacks came with a copy/\1/p' log | head -1)
    if is_quiet; then
        at_least "${copied:-0}" 100 "an overlay: copies, of what is known"
    else
        all=$(awk '{ n += $NF } END { print n + 0 }' overlay.txt)
        at_least "${copied:-0}" $((all / 2)) "an overlay: copies, on a busy machine"
    fi
else
    skip "files of an overlay" "none can be mounted here"
fi

# As copies they have what lies behind 100 kB that nothing was ever written to.
# shellcheck disable=SC2016 # the other shell counts
record sparse -F 4999 -- sh -c 'i=0; while [ $i -lt 100 ]; do ./prog sparse 0.002; i=$((i + 1)); done'
grep -E '(^|;)sparse;' sparse.txt >sparse.busy
at_least 10 "$(awk '{ n += $NF } END { print n + 0 }' sparse.busy)" "a sparse stack: samples"
at_least 990 "$(permille sparse.busy 'main;sparse;')" "a sparse stack: reach main"

# Code without tables and frame pointers: copies lead no further, and soon none is made. All are counted.
"$cc" -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables \
    -pthread -o blind "$SRC/tests/e2e/walk_programs.c" || exit 1
record blind -v -u -- ./blind deep 5 9
cut=$(grep -o '[0-9]* no unwind rule in blind' log | cut -d ' ' -f 1)
copied=$(sed -n 's/^cairn: \([0-9]*\) stacks came with a copy/\1/p' log | head -1)
at_least 100 "${cut:-0}" "no table: all are counted"
is_quiet && most=$((cut / 2)) || most=$((cut * 9 / 10))
at_least "${copied:-1000000}" "$most" "no table: copies"

# A process in a pid namespace of its own, seen from the first.
if unshare --pid --fork true 2>/dev/null; then
    unshare --pid --fork --kill-child ./prog deep 60 40 &
    outer=$!
    until target=$(pgrep -P $outer -x prog); do sleep 0.05; done
    sleep 0.3
    record inside -d 2 -p "$target"
    at_least 999 "$(permille inside.txt '_start;.*;main;dive;dive')" "in a pid namespace: reach main"
    kill -9 "$target" $outer
    wait $outer 2>/dev/null
else
    skip "a process in a pid namespace" "unshare(1) cannot make one here"
fi

# Threads in a callback of libc, which has no frame pointers either.
record threads -- ./prog threads 3 4
at_least 950 "$(permille threads.txt 'clone3?(;start_thread)?;.*sort;.*qsort.*;compare;busy')" \
    "threads in qsort"

# Children are walked by their parent's tables before anybody has heard of them.
record fork -- ./prog fork 6 3
grep 'busy' fork.txt >fork.busy
at_least 950 "$(permille fork.busy '_start;.*main;(forks;)?.*busy')" "forked children: what they do"
if is_quiet; then # else fork(2) and _exit(2) take a larger part of the CPU time that is left
    at_least 950 "$(permille fork.txt '_start;.*main;(forks;)?.*busy')" "forked children"
fi

# A handler on a stack of its own: what it interrupted is below it.
record signal -- ./prog signal 3
at_least 300 "$(permille signal.txt ';on_alarm;')" "a handler" # half the time it runs
grep ';on_alarm;' signal.txt >handler.txt
at_least 990 "$(permille handler.txt 'main;(alarmed;)?busy;.*__restore_rt;on_alarm;busy')" \
    "a handler: what it interrupted"

# Who returns from one is in a system call behind whose last instruction glibc's CFI has ended.
record raise -- ./prog raise 3
at_least 1 "$(permille raise.txt 'main;(raised;)?.*__restore_rt;[^;]*_\[k\]')" "in sigreturn(2)"
grep -q 'no unwind rule in libc' log && fail "whole from sigreturn(2)" log

# A 32-bit program: no table of it is in the kernel, its stack is copied.
small=
if "$cc" -m32 -nostdlib -static -no-pie -fno-pie -O2 -g -fomit-frame-pointer -fno-stack-protector \
    -fno-optimize-sibling-calls -fasynchronous-unwind-tables -o of_32 "$SRC/tests/e2e/stack_i386.c" 2>/dev/null; then
    ./of_32 busy &
    small=$!
    sleep 0.3
fi
if [ "$(readlink -f "/proc/$small/exe")" = "$PWD/of_32" ]; then # a kernel may run no such programs
    record of_32 -F 499 -p $small -d 1
    at_least 990 "$(permille of_32.txt '^_start;start_c;deep;deep;deep;.*;deep;deep;be_busy')" "32 bits: whole"
    has log "(100.0 %), 0 cut" "32 bits: nothing cut"
else
    skip "a 32-bit program" "none can be built, or is run here"
fi
[ -z "$small" ] || kill -9 $small 2>/dev/null
wait $small 2>/dev/null

# Stacks that lead nowhere end in time and with a reason.
for bad in forge wild; do
    record $bad -- ./prog $bad 2
    grep -qE ' cut: ' log || fail "$bad: no reason" log
    at_least 1 "$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)" "$bad: samples"
done

# Killed at any moment nothing is left behind: no program, no stopped process.
if command -v bpftool >/dev/null || [ -x /usr/sbin/bpftool ]; then
    tool=$(command -v bpftool || echo /usr/sbin/bpftool)
    # The kernel's numbers of the programs that walk, sorted for comm(1), and an empty line.
    walks() {
        { "$tool" prog show 2>/dev/null | sed -n 's/^\([0-9]*\): .*cairn_walk.*/\1/p'; echo; } | sort
    }
    ./prog deep 6000 100 &
    target=$!
    trap 'kill $target 2>/dev/null' EXIT
    i=0
    while [ $i -lt 100 ]; do
        i=$((i + 1))
        "$CAIRN" record --method=bpf -F 999 -f -o killed.txt -p $target >/dev/null 2>&1 &
        recorder=$!
        sleep 0.$((i * 7 % 10 / 5))$((i * 3 % 10))$((i / 10)) # 0 to 0.2 seconds: while it starts, and after
        kill -9 $recorder
        wait $recorder 2>/dev/null
    done
    # Others may record at the same time: what is of ours goes with us, what is of theirs with them.
    left=$(walks)
    for _ in $(seq 300); do
        still=$(comm -12 <(echo "$left") <(walks))
        [ -z "$still" ] && break
        sleep 0.1
    done
    n_checks=$((n_checks + 1))
    [ -z "$still" ] || fail "BPF programs were left behind: $still"
    state=$(awk '/^State/ { print $2 }' /proc/$target/status)
    n_checks=$((n_checks + 1))
    [ "$state" = R ] || [ "$state" = S ] || fail "the target is in state $state"
    kill $target
    wait $target 2>/dev/null
else
    skip "what a killed recorder leaves" "bpftool is not installed"
fi

finish "$n_checks checks hold"
