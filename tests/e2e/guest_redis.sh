#!/bin/bash
# SPDX-License-Identifier: MIT
# Redis as a distribution ships it: stripped, with a Lua of its own linked into it. Its scripts and functions
# have no source file; they stand between the server's native frames.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

need redis-server redis-cli jq
if ! "$CAIRN" record --method=ptrace -f -o probe.pb.gz -- true 2>probe.log; then
    echo "skipped: threads may not be stopped here: $(head -1 probe.log)"
    exit 77
fi
methods=(ptrace bpf)
if ! "$CAIRN" record --method=bpf -f -o probe.pb.gz -- true 2>probe.log; then
    skip "Redis by copies" "$(head -1 probe.log)"
    methods=(ptrace)
fi

# A path of a socket has 108 bytes at most.
folder=$(mktemp -d)
trap 'kill -9 $server 2>/dev/null; rm -rf "$folder"' EXIT
start() {
    rm -f "$folder/s"
    redis-server --port 0 --unixsocket "$folder/s" --save '' --daemonize no >redis.log 2>&1 &
    server=$!
    for _ in $(seq 100); do [ -S "$folder/s" ] && break; sleep 0.05; done
    redis -x function load <library.lua >out 2>&1 || fail "a library of functions" out
}
redis() { redis-cli -s "$folder/s" "$@"; }

# Three quarters of the time in heavy(), one in light(), until the server is killed: scripts have no clock.
work='local function spin(n) local x = 0 for i = 1, n do x = (x * 7 + i) % 1000003 end return x end
local function heavy() spin(30000) end
local function light() spin(10000) end
local function work() while true do heavy() light() end end'
cat >library.lua <<EOF
#!lua name=work
$work
redis.register_function('compute', function() local n = work() return n end)
EOF

# recorded NAME METHOD ROOT COMMAND...: what a command of Redis runs; ROOT is its outermost Lua frame.
recorded() {
    local name=$1 method=$2 root=$3
    shift 3
    start
    redis "$@" >"$name.out" 2>&1 &
    sleep 0.3
    "$CAIRN" record --method="$method" -F 199 -d 3 -f -o "$name.txt" -p $server 2>log || fail "$name, $method" log
    kill -9 $server
    wait 2>/dev/null
    at_least 99 "$(sed -n 's/.*whole (\([0-9]*\).*/\1/p' log)" "$name, $method: whole stacks, percent"
    has log " 0 of them in doubt" "$name, $method"
    at_least 90 "$(share "$name.txt" "main;aeMain;.*;call;.*$root;work;")" "$name, $method: share of Lua"
    at_least 58 "$(share "$name.txt" ";work;heavy;spin")" "$name, $method: share of heavy()"
    at_least 12 "$(share "$name.txt" ";work;light;spin")" "$name, $method: share of light()"
}

for method in "${methods[@]}"; do
    recorded eval "$method" 'main chunk' eval "$work work()" 0
    recorded function "$method" 'function <[^;]*>' fcall compute 0
done

# A server that waits has no Lua on its stack.
start
"$CAIRN" stack $server >out 2>log || fail "stack of a server that waits" log
has out "epoll_wait" "a server that waits"
hasnt out "Lua" "a server that waits"
"$CAIRN" doctor --json $server >out
same "doctor: the interpreter" "$(jq -r '.process[] | select(.key == "process.interpreter") | .level' out)" yes
finish "$n_checks checks of scripts and functions in Redis"
