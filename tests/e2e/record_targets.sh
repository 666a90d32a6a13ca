#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record of several processes, of those that are called so, of all, of a cgroup, and without
# children. Each way by unwind tables and by frame pointers, where both are allowed.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# start WORDS...: a program that spins, in $started; it is there when its name is its own.
started=
targets=()
start() {
    "$@" &
    started=$!
    targets+=("$started")
    while [ "$(cat /proc/$started/comm)" != "$(basename "$1")" ]; do sleep 0.01; done
}
# shellcheck disable=SC2317 # by the trap
stop_all() {
    [ ${#targets[@]} = 0 ] || kill -9 "${targets[@]}" 2>/dev/null
    [ -z "${group:-}" ] || until rmdir "$group" 2>/dev/null; do sleep 0.05; done
}
trap stop_all EXIT

# record NAME OPTIONS...: by $method into NAME and log. A target that got no CPU time at all (this
# machine stood still, or gave it to others) is recorded again, twice at most.
record() {
    local out=$1 turn
    shift
    for turn in 1 2 3; do
        "$CAIRN" record --method="$method" -F 499 -f -o "$out" "$@" >out.log 2>log || fail "$method $out" log
        grep -q 'no samples, for 0.000 s of CPU' log || return
        echo "$method $out: no CPU time in turn $turn"
    done
}

# labels FILE: the texts of a raw profile, one a line at least.
labels() {
    zcat "$1" | tr '\000-\037' '\n'
}

cc=${CC:-gcc}
"$cc" -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
    -o prog "$SRC/tests/e2e/record_programs.c" -ldl || exit 1
cp prog cairn-who-a
cp prog cairn-who-b
methods=()
for method in bpf perf; do
    if "$CAIRN" record --method="$method" -f -o probe.txt -- ./prog spin 0.1 >probe.log 2>&1; then
        methods+=("$method")
    else
        skip "method $method" "$(head -1 probe.log)"
    fi
done
[ ${#methods[@]} -gt 0 ] || { echo "skipped: nothing can be sampled here"; exit 77; }

start ./cairn-who-a spin 600
first=$started
start ./cairn-who-a spin 600
second=$started
start ./cairn-who-b spin 600
third=$started

for method in "${methods[@]}"; do
    # Several: with commas, in several options, by name; each is in it, and no other.
    record several.pb.gz -d 2 -p "$first,$third" -p "$first"
    has log "sampled 3 processes: met 2 processes, 2 threads" "$method: several"
    labels several.pb.gz >several.labels
    has several.labels cairn-who-a "$method: the first of several"
    has several.labels cairn-who-b "$method: the last of several"
    has several.labels "command: 2 processes: $first, $third" "$method: what it is of"
    record name.pb.gz -d 2 -p cairn-who-a
    has log "sampled 2 processes: met 2 processes, 2 threads" "$method: by name"
    labels name.pb.gz >name.labels
    hasnt name.labels cairn-who-b "$method: by name, another"
    record one.txt -d 1 -p cairn-who-b
    hasnt log "sampled" "$method: one by name"
    at_least 80 "$(share one.txt 'main;spin;spin_once')" "$method: one by name"

    # All, and a name for the file where none is given.
    if "$CAIRN" record --method="$method" -a -F 499 -d 2 >out.log 2>log; then
        has log "sampled all processes: met " "$method: all"
        has log "wrote cairn.all.pb.gz" "$method: all, the file"
        labels cairn.all.pb.gz >all.labels
        for name in cairn-who-a cairn-who-b "command: all processes" process thread; do
            has all.labels "$name" "$method: all"
        done
        hasnt all.labels swapper "$method: all, nobody"
        rm cairn.all.pb.gz
    else
        skip "$method: all" "$(head -1 log)"
    fi

    # Children are left out on demand, and threads that start later are not.
    record fork.txt --no-inherit -- ./prog fork 1
    same "$method: a child that is left out" "$(share fork.txt spin_once)" 0
    record late.txt --no-inherit -- ./prog late 2
    at_least 60 "$(share late.txt 'late_spin;spin')" "$method: a thread, without children"
done

# A recording of several ends with the last of them.
"$CAIRN" record -F 499 -f -o last.pb.gz -p "$first,$second" >out.log 2>log &
recorder=$!
while [ -z "$(ls .last.pb.gz* 2>/dev/null)$(ls last.pb.gz* 2>/dev/null)" ] && kill -0 $recorder 2>/dev/null; do
    sleep 0.05
done
kill -9 "$first"
wait "$first" 2>/dev/null
sleep 0.3
kill -0 $recorder 2>/dev/null || fail "ended with the first of two" log
kill -9 "$second"
wait "$second" 2>/dev/null
wait $recorder || fail "two that end" log
has log "samples in" "two that end"

# A cgroup: who is in it, and nobody else.
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -e $root/cgroup.controllers ] || continue
    if mkdir $root/cairn-who-$$ 2>/dev/null; then
        group=$root/cairn-who-$$
        break
    fi
done
if [ -z "${group:-}" ]; then
    skip "a cgroup" "no cgroup of version 2 may be made here"
else
    start ./cairn-who-a spin 600
    echo $started >"$group/cgroup.procs" || fail "into the cgroup"
    for method in "${methods[@]}"; do
        if ! "$CAIRN" record --method="$method" --cgroup cairn-who-$$ -F 499 -f -d 2 >out.log 2>log; then
            skip "$method: a cgroup" "$(head -1 log)"
            continue
        fi
        has log "sampled cgroup cairn-who-$$: met 1 process, 1 thread" "$method: a cgroup"
        has log "wrote cairn.cairn-who-$$.pb.gz" "$method: a cgroup, the file"
        labels cairn.cairn-who-$$.pb.gz >group.labels
        has group.labels "/cairn-who-$$" "$method: the cgroup's label"
        hasnt group.labels cairn-who-b "$method: who is in another"
        record group.txt --cgroup "$group" -d 1
        at_least 80 "$(share group.txt 'main;spin;spin_once')" "$method: a cgroup by its folder"
    done
    kill -9 $started
    wait $started 2>/dev/null
fi

# refuses CASE TEXT OPTIONS...
refuses() {
    local case=$1 text=$2
    shift 2
    "$CAIRN" record -o refused.pb.gz "$@" >out.log 2>log && fail "$case: was recorded" log
    has log "$text" "$case"
}
refuses "nobody" "no process of that name" -p no-such-process-cairn
refuses "one that is gone" "no such process" -p "$third,$first"
refuses "no number" "is no process" -p 0
refuses "a list with a hole" "is no process" -p "$third,,$third"
refuses "all, and one" "not several" -a -p "$third"
refuses "all, and a command" "not several" -a -- true
refuses "all, without children" "--no-inherit is for" -a --no-inherit
refuses "no such cgroup" "cgroup" --cgroup no-such-cgroup-cairn
refuses "no cgroup" "/etc" --cgroup /etc
refuses "a cgroup without a name" '"" is no cgroup' --cgroup ''
refuses "blanks" '" " is no process' -p ' '
[ ! -e refused.pb.gz ] || fail "what was refused was written"

# An ordinary user is told what all processes need.
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "an ordinary user" "that takes root and setpriv"
elif [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ]; then
    skip "an ordinary user" "kernel.perf_event_paranoid allows all"
else
    cp "$CAIRN" cairn
    chmod 755 . cairn
    nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    if "${nobody[@]}" ./cairn version >log 2>&1; then
        "${nobody[@]}" ./cairn record -a -d 1 -o all.pb.gz >out.log 2>log &&
            fail "an ordinary user recorded all" log
        has log "whole CPUs need 0 or CAP_PERFMON" "an ordinary user"
        has log "sudo" "an ordinary user: what to do"

        start ./cairn-who-a spin 600
        start ./cairn-who-a spin 600
        # Of a name: root's two are left out where there is one of the user's own, and only then.
        "${nobody[@]}" ./cairn record -p cairn-who-a -d 1 -o - >out.log 2>log &&
            fail "root's processes were recorded" log
        has log "belongs to another user" "a name of others"
        "${nobody[@]}" ./cairn-who-a spin 600 &
        own=$!
        targets+=("$own")
        while [ "$(cat /proc/$own/comm)" != cairn-who-a ]; do sleep 0.01; done
        "${nobody[@]}" ./cairn record -p cairn-who-a -F 499 -d 1 -o - >named.pb.gz 2>log ||
            fail "a name of several users" log
        has log "2 processes of that name belong to other users, and are left out" "several users"
        labels named.pb.gz >named.labels
        has named.labels cairn-who-a "several users: the own one"
        "${nobody[@]}" ./cairn record -p "cairn-who-a,$started" -d 1 -o - >out.log 2>log &&
            fail "a number of another user's was passed over" log
        has log "belongs to another user" "a number of another user's"
    else
        skip "an ordinary user" "it cannot run a copy of the command: $(head -1 log)"
    fi
fi

finish "$n_checks checks hold"
