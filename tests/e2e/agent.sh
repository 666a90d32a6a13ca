#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn agent: windows, labels, the store, kill -9, a full disk, the budget, the configuration, dump and status.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need python3 protoc

unset CAIRN_PUSH_TOKEN CAIRN_PUSH_USER CAIRN_PUSH_PASSWORD STATE_DIRECTORY RUNTIME_DIRECTORY http_proxy all_proxy
export no_proxy=127.0.0.1
if ! "$CAIRN" record -a -d 0.2 -o all.pb.gz >log 2>&1; then
    echo "all processes cannot be sampled here: $(head -n 1 log)"
    exit 77
fi
touch empty.conf

# The program that is looked for, beside what else runs.
printf 'void spin_here(void) { for (volatile long n = 0;; n++) {} }\nint main(void) { spin_here(); }\n' >agent_spin.c
cc -O1 -g0 -o agent_spin agent_spin.c || exit 1
TEAM=red ./agent_spin &
spinner=$!
pids=$spinner
# shellcheck disable=SC2086
trap 'kill -9 $pids 2>/dev/null; umount full 2>/dev/null' EXIT

# agent [OPTION...]: in the background, its pid in $agent. The machine is busy: the budget is tried by itself.
agent() {
    "$CAIRN" agent --config empty.conf --every 500ms --max-cpu 100% --max-memory 1G "$@" >log 2>&1 &
    agent=$!
    pids="$pids $agent"
}

# wait_for COMMAND...: for at most 30 s.
wait_for() {
    for ((i = 0; i < 300; i++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    fail "in 30 s not: $*" log
}

n_windows() {
    # shellcheck disable=SC2012 # names without blanks
    ls "$1"/*"${2:-}".pb.gz 2>/dev/null | wc -l
}

# shellcheck disable=SC2317 # by wait_for
at_least_windows() {
    [ "$(n_windows "$1" "${3:-}")" -ge "$2" ]
}

state() {
    "$CAIRN" agent status --run-dir "$1" --metrics | awk -v "name=cairn_agent_$2" '$1 == name { print $2 }'
}

# Used wrongly.
for words in "--every 0" "--every 5x" "--max-cpu 0" "--max-cpu x" "--frequency 100" "--env A=B" "--keep x" "operand" \
    "--label x" "--to x"; do
    # shellcheck disable=SC2086
    "$CAIRN" agent run --config empty.conf $words >out 2>&1
    same "$words: status" $? 2
done
"$CAIRN" agent --config empty.conf --every 5x 2>out
has out "expected a time" "a wrong time"

# The configuration.
printf '# a comment\n\nevery = 1s\nnonsense = 2\n' >bad.conf
"$CAIRN" agent --config bad.conf 2>out
same "a wrong line: status" $? 2
has out 'bad.conf:4: there is no option "nonsense"' "a wrong line"
printf 'user-only = yes\n' >bad.conf
"$CAIRN" agent --config bad.conf 2>out
has out "bad.conf:1: user-only: takes no value" "a value too many"
printf 'every\n' >bad.conf
"$CAIRN" agent --config bad.conf 2>out
has out 'bad.conf:1: every: expected "every = VALUE"' "no value"
printf 'every = 5x\n' >bad.conf
"$CAIRN" agent --config bad.conf 2>out
has out "that stands in bad.conf" "a wrong value"
printf 'every = 1s\0\n' >bad.conf
"$CAIRN" agent --config bad.conf 2>out
has out "holds a byte 0" "no text"
"$CAIRN" agent --config missing.conf 2>out
same "no configuration: status" $? 2

# Windows with labels and names.
agent --dir s --env TEAM
wait_for at_least_windows s 3
"$CAIRN" agent status --run-dir s >out 2>&1
same "status of an agent that runs" $? 0
has out "runs, pid $agent" "status"
has out " 0 lost, 0 in memory" "status"
has log "sampling at 19 Hz by" "the first line"
"$CAIRN" agent --config empty.conf --dir s 2>out
same "a second agent: status" $? 1
has out "pid $agent writes there already" "a second agent"
"$CAIRN" agent dump --dir s --last 30s -o dump.txt 2>out
same "dump: status" $? 0
has out "; missing: " "what a dump says"
has dump.txt ";spin_here" "a dump"
n=$(n_windows s)
"$CAIRN" agent dump --dir s --last 100ms -o end.pb.gz 2>out # ends the window that runs
same "dump of a moment: status" $? 0
at_least "$n" "$(n_windows s)" "the window that runs"
"$CAIRN" agent dump --dir s --last 30s -o all.pb.gz -f 2>out
"$CAIRN" report all.pb.gz --label TEAM=red --label process=agent_spin >out 2>&1
has out "spin_here" "the labels of a dump"
kill -TERM "$agent"
wait "$agent"
same "a clean end: status" $? 0
same "a clean end: the mark" "$(cat s/running)" ""
"$CAIRN" agent status --run-dir s >out 2>&1
same "status of an agent that has ended" $? 1
has out "does not run" "status"
same "half files" "$(find s -name '.*.cairn-*' | wc -l)" 0
python3 - <<'PY' >out
import glob, sys
sys.path.insert(0, __import__("os").environ["SRC"] + "/tests/support")
from pprof_decode import Profile
labels = set()
for path in glob.glob("s/*.pb.gz"):
    for sample in Profile(path).samples:
        labels |= set(sample.labels)
print("labels:", *sorted(labels))
PY
has out " TEAM" "labels"
has out " pid process" "labels"
hasnt out " tid" "labels"
hasnt out " thread" "labels"

# kill -9 loses the window that runs, and the next agent says so.
agent --dir k
wait_for at_least_windows k 2
kill -9 "$agent"
wait "$agent" 2>/dev/null
n=$(n_windows k)
touch k/.0000000099-20261201T043000.000Z-10000.pb.gz.cairn-aaaaaa
echo "no profile" >k/0000000098-20261201T043000.000Z-10000.pb.gz
sleep 1.2
agent --dir k --duration 1s
wait "$agent"
has log "the agent before this one was killed: nothing was kept of the last " "kill -9"
at_least $((n + 1)) "$(n_windows k)" "windows from before a kill -9"
same "half a window" "$(find k -name '.*' -type f | wc -l)" 0
[ "$(state k missing_seconds | cut -d. -f1)" -ge 1 ] || fail "missing_seconds" log
"$CAIRN" agent dump --dir k --last 7d -o k.pb.gz 2>out
same "a damaged window: status" $? 0
"$CAIRN" agent dump --dir k --last 3d --until 2d -o none.pb.gz 2>out
same "no window: status" $? 1
has out "no window of that time" "no window"

# The configuration is read again by SIGHUP, in the same process.
printf 'frequency = 19\nevery = 500ms\nmax-cpu = 100%%\n' >agent.conf
"$CAIRN" agent --config agent.conf --dir h >log 2>&1 &
agent=$!
pids="$pids $agent"
wait_for at_least_windows h 1
printf 'frequency = 49\nevery = 500ms\nmax-cpu = 100%%\n' >agent.conf
kill -HUP "$agent"
wait_for grep -q "sampling at 49 Hz" log
n=$(n_windows h)
wait_for at_least_windows h $((n + 1))
kill -TERM "$agent"
wait "$agent"
same "after SIGHUP: status" $? 0
hasnt log "was killed" "SIGHUP"

# The budget: fewer samples, then none; both are said.
agent --dir b --max-cpu 0.01% --every 200ms
wait_for grep -q "samples a second in place of 19: the agent used" log
wait_for grep -q "no samples for now: the agent used" log
wait_for sh -c "'$CAIRN' agent status --run-dir b | grep -q 'sampling  paused (wanted: 19 Hz)'"
kill -TERM "$agent"
wait "$agent"

# Bounds of the folder.
agent --dir r --keep 1500ms --duration 4s
wait "$agent"
at_most 5 "$(n_windows r)" "windows of 1.5 s"
at_least 1 "$(state r windows_removed_total)" "removed windows"

# A full disk: what is there stays, and what is held in memory is written once there is space.
mkdir -p full
if mount -t tmpfs -o size=16k tmpfs full 2>/dev/null; then
    agent --dir full/s --run-dir run
    wait_for grep -q "No space left" log
    n=$(n_windows full/s)
    sleep 1
    at_least "$n" "$(n_windows full/s)" "a full disk"
    mount -o remount,size=8m full
    wait_for at_least_windows full/s $((n + 3))
    kill -TERM "$agent"
    wait "$agent"
    same "a full disk: status" $? 0
    same "a full disk: lost" "$(state run windows_dropped_total)" 0
    umount full
else
    skip "a full disk" "nothing can be mounted"
fi

# A store. It is away at first: what waits is sent once when it is back, each window once.
port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export CAIRN_PUSH_TOKEN=s3cret-token
agent --dir p --push "http://127.0.0.1:$port/200" --to pyroscope --name shop --label zone=a
wait_for at_least_windows p 3 .new
wait_for sh -c "'$CAIRN' agent status --run-dir p | grep -q '; the next attempt within'"
python3 "$SRC/tests/support/store_server.py" "$port" >url 2>server.log &
server=$!
pids="$pids $server"
wait_for sh -c "'$CAIRN' agent status --run-dir p | grep -qE 'store     ([4-9]|[0-9]{2,}) sent'"
kill -TERM "$agent"
wait "$agent"
same "the store: status" $? 0
same "the store: windows that wait" "$(n_windows p .new)" 0
same "the store: requests" "$(grep -c ^request seen)" "$(n_windows p)"
same "the store: what was sent" "$(state p sent_total)" "$(n_windows p)"
has seen "name shop{zone=a,host=$(hostname)}" "the store"
has seen "header Authorization Bearer s3cret-token" "the store"
hasnt log "s3cret" "the store"
hasnt p/agent.prom "s3cret" "the store"
grep -q "pprof .*;spin_here " seen || fail "no spin_here in the store"
unset CAIRN_PUSH_TOKEN

# What a store answers decides over the window.
url=http://127.0.0.1:$port
for row in 400:refused away:doubt 401:new; do
    rm -f seen
    agent --dir "x-${row%:*}" --push "$url/${row%:*}" --to pyroscope --duration 1500ms
    wait "$agent"
    at_least 1 "$(n_windows "x-${row%:*}" ".${row#*:}")" "${row%:*}"
done
has log "401" "401"

# Half a window is no obstacle for those behind it.
mkdir -m 700 d
echo "no profile" >d/0000000001-20261201T043000.000Z-10000.new.pb.gz
agent --dir d --keep 31d --push "$url/200" --to pyroscope --duration 2s
wait "$agent"
same "a damaged window" "$(n_windows d .damaged)" 1
at_least 1 "$(state d sent_total)" "behind a damaged window"
finish "$n_checks checks"
