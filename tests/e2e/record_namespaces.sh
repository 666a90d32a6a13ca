#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record inside a pid namespace, as in a container that may do it: by unwind tables, where the
# program in the kernel has to know our numbers of processes. As root.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# whole FILE FUNCTION PATTERN CASE: nearly all samples in the function have a stack that matches.
# What a busy machine leaves of a command's time goes to its start, which is not looked at.
whole() {
    at_least 980 "$(within=$2 pattern=$3 awk '$0 ~ ENVIRON["within"] {
            n = $NF; sum += n; if ($0 ~ ENVIRON["pattern"]) hit += n }
        END { printf "%d\n", sum ? 1000 * hit / sum : 0 }' "$1")" "$4"
}

# at_least WANTED GOT CASE
at_least() {
    n_checks=$((n_checks + 1))
    [ "$2" -ge "$1" ] || fail "$3: $2, expected at least $1" log
}

# record FILE OPTIONS...: into FILE and log.
record() {
    local out=$1
    shift
    "$CAIRN" record -f -o "$out" "$@" >out.log 2>log || fail "$out" log
}

# start WORDS...: a program in $started; it is there when its name is its own.
start() {
    "$@" &
    started=$!
    while [ "$(cat /proc/$started/comm)" != "$(basename "$1")" ]; do sleep 0.01; done
}

# slept NAME OPTIONS...: ns off the CPU of a raw profile.
slept() {
    local of=$1
    shift
    "$CAIRN" resolve "$of.raw.pb.gz" -f -o "$of.pb.gz" >out.log 2>&1 || fail "$of: resolve" out.log
    "$CAIRN" report --json -n 0 "$@" "$of.pb.gz" 2>/dev/null |
        python3 -c 'import json, sys; text = sys.stdin.read(); print(json.loads(text)["sum"] if text else 0)'
}

# labels FILE: the texts of a raw profile, one a line at least.
labels() {
    zcat "$1" | tr '\000-\037' '\n' | LC_ALL=C grep -aE '[[:print:]]{4}'
}

# Those who are seen from inside.
inside() {
    local method=$1
    record command.txt --method="$method" -F 999 -- ./walker deep 2 40
    whole command.txt dive '_start;.*;main;dive' "$method: a command"
    start ./walker deep 600 60
    record one.txt --method="$method" -F 999 -d 1 -p "$started"
    whole one.txt dive '_start;.*;main;dive;dive' "$method: a process"
    record all.raw.pb.gz --method="$method" -F 999 -d 1 -a
    labels all.raw.pb.gz >all.labels
    has all.labels walker "$method: all of this namespace"
    hasnt all.labels outsider "$method: what runs outside"
    has log "outside of this pid namespace" "$method: what runs outside is told of"
    "$CAIRN" record --method="$method" -F 999 -f -o all.txt -d 1 -a >out.log 2>log || fail "all" log
    whole all.txt dive '_start;.*;main;dive;dive' "$method: all"
    kill -9 "$started"
    wait "$started" 2>/dev/null
    # Children are walked by their parent's tables before anybody has heard of them.
    record fork.txt --method="$method" -F 999 -- ./walker fork 2 3
    whole fork.txt busy '_start;.*main;(forks;)?.*busy' "$method: forked children"
    # One that is two namespaces further in has a number here, too.
    unshare --pid --fork --kill-child ./walker deep 600 40 &
    local outer=$! target
    until target=$(pgrep -P $outer -x walker); do sleep 0.05; done
    record deeper.txt --method="$method" -F 999 -d 1 -p "$target"
    whole deeper.txt dive '_start;.*;main;dive;dive' "$method: a namespace in it"
    kill -9 "$target" $outer
    wait $outer 2>/dev/null
}

inside_off_cpu() {
    record nap.raw.pb.gz --off-cpu -- ./sleeper nap 10
    at_least 150000000 "$(slept nap --function=nap)" "ns off the CPU in nap()"
    record give.raw.pb.gz --off-cpu -- ./sleeper give 10
    at_least 50000000 "$(slept give --label=woken_by=giver --function=take)" "ns waited for the giver"
    record fork.raw.pb.gz --off-cpu -- ./sleeper fork 3
    at_least 100000000 "$(slept fork --function=nap)" "ns that children slept"
    ./sleeper forever >ready &
    local target=$!
    until grep -q ready ready; do sleep 0.05; done
    record forever.raw.pb.gz --off-cpu -d 1 -p $target
    at_least 1800000000 "$(slept forever)" "ns that a process waited that only waits"
    record everybody.raw.pb.gz --off-cpu -d 1 -a
    labels everybody.raw.pb.gz >all.labels
    hasnt all.labels outsider "off the CPU: what runs outside"
    kill -9 $target
    wait $target 2>/dev/null
}

if [ "${INSIDE:-}" ]; then
    for method in $INSIDE; do
        inside "$method"
    done
    inside_off_cpu
    finish "$n_checks checks hold inside"
fi

need unshare python3
unshare --pid --fork --mount-proc true 2>/dev/null ||
    { echo "skipped: unshare(1) cannot make a pid namespace here"; exit 77; }
cc=${CC:-gcc}
"$cc" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o walker \
    "$SRC/tests/e2e/walk_programs.c" || exit 1
"$cc" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -D_GNU_SOURCE -o sleeper \
    "$SRC/tests/e2e/off_cpu_programs.c" || exit 1
if ! "$CAIRN" record -a --method=bpf -d 0.1 -f -o probe.txt >probe.log 2>&1; then
    grep -qE 'needs|not in this build' probe.log || { fail "the first recording" probe.log; exit 1; }
    echo "skipped: $(head -1 probe.log)"
    exit 77
fi

# With somebody else's /proc all names and maps would be another process's.
unshare --pid --fork "$CAIRN" record -f -o no.txt -- true >out.log 2>log && fail "another's /proc is taken"
has log "/proc is another pid namespace's" "another's /proc"
has log "--mount-proc" "another's /proc: what to do"

cp walker outsider
start ./outsider deep 600 10
trap 'kill -9 $started 2>/dev/null' EXIT
INSIDE="bpf dump" unshare --pid --fork --kill-child --mount-proc bash "$0" >inside.log 2>&1 ||
    fail "inside" inside.log
n_checks=$((n_checks + $(awk '/ checks hold inside$/ { n = $1 } END { print n + 0 }' inside.log)))
finish "$n_checks checks hold"
