#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record of programs with Lua in them: where their time goes, by Lua function, from short stops.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

if ! "$CAIRN" record --method=ptrace -f -o probe.pb.gz -- true 2>probe.log; then
    echo "skipped: threads may not be stopped here: $(head -1 probe.log)"
    exit 77
fi

pids=""
trap 'kill -9 $pids 2>/dev/null' EXIT

# Three quarters of the time in heavy(), one in light(), by the CPU's clock; sort() calls back.
cat >work.lua <<'EOF'
local clock = os.clock
local function spin(n) local x = 0 for i = 1, n do x = (x * 7 + i) % 1000003 end return x end
local function heavy() local e = clock() + 0.03 repeat spin(2000) until clock() >= e end
local function light() local e = clock() + 0.01 repeat spin(2000) until clock() >= e end
local function order(a, b) return a < b end
local function sorts() local t = {} for i = 1, 300 do t[i] = i * 7919 % 499 end table.sort(t, order) end
while true do heavy() light() sorts() end
EOF

# recorded NAME COMMAND...
recorded() {
    local name=$1
    shift
    "$@" work.lua &
    local pid=$!
    pids="$pids $pid"
    sleep 0.4
    "$CAIRN" record --method=ptrace -F 199 -d 1.5 -f -o "$name.txt" -p $pid 2>log || fail "$name" log
    has log "by ptrace" "$name: the last line"
    at_least 99 "$(sed -n 's/.*whole (\([0-9]*\).*/\1/p' log)" "$name: whole stacks, percent"
    at_least 98 "$(sed -n 's/.*ptrace, \([0-9]*\) whole.* \([0-9]*\) with frames of an int.*/\1 \2/p' log |
        awk '{ printf "%d", $1 ? 100 * $2 / $1 : 0 }')" "$name: stacks with Lua, percent"
    at_most 4 "$(sed -n 's/.* an interpreter, \([0-9]*\) of them in doubt.*/\1/p' log)" "$name: in doubt"
    at_least 62 "$(share "$name.txt" ';main chunk;heavy')" "$name: share of heavy()"
    at_least 15 "$(share "$name.txt" ';main chunk;light')" "$name: share of light()"
    at_most 30 "$(share "$name.txt" ';main chunk;light')" "$name: share of light()"
    kill -9 $pid
    wait $pid 2>/dev/null
}

any=""
for version in 5.1 5.2 5.3 5.4; do
    command -v lua$version >/dev/null || { skip "Lua $version" "it is not installed"; continue; }
    recorded $version lua$version
    any=lua$version
done
if command -v luajit >/dev/null && [ "$(uname -m)" = x86_64 ]; then
    recorded joff luajit -joff
    recorded jon luajit
else
    skip LuaJIT "it is not installed, or this is not x86-64"
fi
[ "$any" ] || finish "no version of Lua is installed"

# A command; its raw profile has all frames, and each view shows its own.
timeout -s TERM 1 "$CAIRN" record --method=ptrace -f -o raw.pb.gz -- $any work.lua 2>log
has log "with frames of an interpreter" "a command: the last line"
"$CAIRN" report --tree --guest=only raw.pb.gz >only.txt 2>/dev/null
has only.txt 'heavy' "--guest=only"
hasnt only.txt '__libc_start' "--guest=only"
hasnt <("$CAIRN" report --guest=off raw.pb.gz 2>/dev/null) 'heavy' "--guest=off"
"$CAIRN" resolve -f -o named.pb.gz raw.pb.gz 2>log || fail "resolve of a profile with Lua" log
has <("$CAIRN" report named.pb.gz 2>/dev/null) 'heavy' "resolve leaves Lua's names"
timeout -s TERM 1 "$CAIRN" record --method=ptrace --guest=off -f -o off.txt -- $any work.lua 2>log
hasnt off.txt 'heavy' "record --guest=off"
hasnt log "an interpreter" "record --guest=off: the last line"

# More calls than are kept of one thread: what is written can be read.
cat >deep.lua <<'EOF'
local function deep(n) if n == 0 then repeat until os.clock() > 0.5 return 0 end return deep(n - 1) + 1 end
deep(150000)
EOF
"$CAIRN" record --method=ptrace -F 20 -f -o deep.pb.gz -- $any deep.lua 2>log || fail "a deep recursion" log
"$CAIRN" convert -f -o deep.txt deep.pb.gz 2>log || fail "a deep recursion is read" log
at_least 65000 "$(awk -F ';' 'NF > n { n = NF } END { print n }' deep.txt)" "a deep recursion: frames"

# Several processes, one of them without Lua.
$any work.lua &
one=$!
sh -c 'while :; do :; done' &
two=$!
pids="$pids $one $two"
sleep 0.3
"$CAIRN" record --method=ptrace -d 1 -f -o both.txt -p $one,$two 2>log || fail "two processes" log
at_least 20 "$(share both.txt 'main chunk')" "two processes: Lua's share"
at_least 20 "$((100 - $(share both.txt 'main chunk')))" "two processes: the other's share"
same "doctor: the interpreter" "$("$CAIRN" doctor --json $one | jq -r '.process[] | select(.key == "process.interpreter") | .level')" yes
same "doctor: a process without one" "$("$CAIRN" doctor --json $two | jq -r '[.process[] | select(.key == "process.interpreter")] | length')" 0
# What the kernel's walk does not see is pointed out.
if "$CAIRN" record --method=bpf -d 1 -f -o bpf.pb.gz -p $one 2>log; then
    has log "hint: Lua 5" "another method: the hint"
    "$CAIRN" record --method=bpf --guest=off -d 1 -f -o bpf.pb.gz -p $one 2>log
    hasnt log "hint: Lua" "another method, --guest=off"
else
    skip "the hint" "$(head -1 log)"
fi
# Another program in the same process. Both run for CPU time: a busy machine gives each its share.
cat >first.lua <<'EOF'
local function first() repeat until os.clock() > 1.5 end
first()
EOF
cat >other.lua <<'EOF'
local function other() repeat until os.clock() > 1 end
other()
EOF
"$CAIRN" record --method=ptrace -f -o exec.txt -- sh -c "$any first.lua; exec $any other.lua" 2>log
at_least 10 "$(share exec.txt 'main chunk;other')" "another program in the same process"
at_least 10 "$(share exec.txt 'main chunk;first')" "a program that it started before"
# A child is left out on demand.
"$CAIRN" record --method=ptrace --no-inherit -f -o alone.txt -- \
    sh -c "$any other.lua; i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done" 2>log
hasnt alone.txt 'other' "--no-inherit"
has log "by ptrace" "--no-inherit: the last line"
finish "time by Lua's functions"
