#!/bin/sh
# SPDX-License-Identifier: MIT
# Text of ftrace through the commands, from a pipe; as root also one that this kernel prints, in an
# instance of its own.
set -eu

fail() {
    echo "ftrace: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >trace.txt <<'EOT'
# tracer: nop
            bash-1234    [000] d..2.   123.456789: sched_switch: prev_comm=bash ==> next_comm=sleep
            bash-1234    [000] d..2.   123.456791: <stack trace>
 => __schedule
 => schedule+0x54/0xe0
            bash-1234    [000] d..2.   123.456792: <user stack trace>
 => main
EOT
[ "$("$CAIRN" convert - -o - --to collapsed <trace.txt 2>said)" = 'main;schedule;__schedule 1' ] ||
    fail "the stack"
"$CAIRN" convert trace.txt --label report=sched_switch --label thread=bash -o - --to collapsed \
    >names 2>said || fail "labels"
"$CAIRN" report trace.txt >table 2>said || fail "report"
grep -q '__schedule' table || fail "the report: $(cat table)"
"$CAIRN" flame trace.txt --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q '__schedule' x.svg || fail "the picture has no name"

instance=/sys/kernel/tracing/instances/cairn-e2e-$$
if ! mkdir "$instance" 2>said; then
    echo "ftrace: only the text above was tried: $(cat said)"
    exit 0
fi
trap 'echo 0 >$instance/events/enable; rmdir $instance' EXIT
echo 1 >"$instance/options/stacktrace"
sh -c "echo \$\$ >$instance/set_event_pid; exec sleep 0.1" &
pid=$!
echo "common_pid == $pid" >"$instance/events/sched/sched_switch/filter"
echo 1 >"$instance/events/sched/sched_switch/enable"
wait $pid
echo 0 >"$instance/events/sched/sched_switch/enable"
cat "$instance/trace" >own.txt
n=$(grep -c '<stack trace>' own.txt) || true
[ "$n" = 0 ] && exit 0
sum=$("$CAIRN" convert own.txt --label report=sched_switch -o - --to collapsed 2>said |
    awk '{ sum += $NF } END { print sum }')
[ "$sum" = "$n" ] || fail "$n stacks expected, not $sum: $(cat own.txt)"
