#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record of programs with Lua in them: where their time goes, by Lua function, from short stops and from
# what a program in the kernel copies.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

if ! "$CAIRN" record --method=ptrace -f -o probe.pb.gz -- true 2>probe.log; then
    echo "skipped: threads may not be stopped here: $(head -1 probe.log)"
    exit 77
fi

methods=(ptrace bpf)
if ! "$CAIRN" record --method=bpf -f -o probe.pb.gz -- true 2>probe.log; then
    skip "Lua by copies" "$(head -1 probe.log)"
    methods=(ptrace)
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
local most = tonumber(arg[1]) or 1e9
while clock() < most do heavy() light() sorts() end
EOF

# told NAME METHOD: what the record of that name is worth.
told() {
    cp "$1.$2.log" log
    at_least 99 "$(sed -n 's/.*whole (\([0-9]*\).*/\1/p' log)" "$1, $2: whole stacks, percent"
    at_least 98 "$(sed -n 's/.*, \([0-9]*\) whole.* \([0-9]*\) with frames of an int.*/\1 \2/p' log |
        awk '{ printf "%d", $1 ? 100 * $2 / $1 : 0 }')" "$1, $2: stacks with Lua, percent"
    at_most 4 "$(sed -n 's/.* an interpreter, \([0-9]*\) of them in doubt.*/\1/p' log)" "$1, $2: in doubt"
    at_least 62 "$(share "$1.$2.txt" ';main chunk;heavy')" "$1, $2: share of heavy()"
    at_least 15 "$(share "$1.$2.txt" ';main chunk;light')" "$1, $2: share of light()"
    at_most 30 "$(share "$1.$2.txt" ';main chunk;light')" "$1, $2: share of light()"
}

# recorded NAME COMMAND...: by all methods at once.
recorded() {
    local name=$1 method recorders=()
    shift
    "$@" work.lua 2 & # seconds of CPU time: on a busy machine there are as many samples
    local pid=$!
    pids="$pids $pid"
    sleep 0.3
    for method in "${methods[@]}"; do
        "$CAIRN" record --method="$method" -F 199 -f -o "$name.$method.txt" -p $pid 2>"$name.$method.log" &
        recorders+=($!)
    done
    wait "${recorders[@]}"
    for method in "${methods[@]}"; do
        told "$name" "$method"
    done
    [ "${#methods[@]}" = 1 ] || at_least 1 "$(grep -c ';heavy;.*_\[k\]' "$name.bpf.txt")" "$name: Lua and the kernel"
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
# What other methods do not see is pointed out.
if "$CAIRN" record --method=perf -d 0.5 -f -o perf.pb.gz -p $one 2>log; then
    has log "hint: Lua 5" "another method: the hint"
    "$CAIRN" record --method=perf --guest=off -d 0.5 -f -o perf.pb.gz -p $one 2>log
    hasnt log "hint: Lua" "another method, --guest=off"
else
    skip "the hint" "$(head -1 log)"
fi
if [ "${#methods[@]}" != 1 ]; then
    "$CAIRN" record --method=bpf --guest=off -d 0.5 -f -o off.txt -p $one 2>log
    hasnt off.txt 'heavy' "in the kernel, --guest=off"
    # A command, whose first samples come before anybody knows it.
    "$CAIRN" record --method=bpf -f -o command.txt -- $any -e "repeat until os.clock() > 1" 2>log
    at_least 70 "$(share command.txt 'main chunk')" "a command: Lua's share"
    # Who waits, in which Lua function.
    cat >waits.lua <<'EOF'
local function nap(s) local p = io.popen('sleep ' .. s) p:read('*a') p:close() end
local function long() nap(0.12) end
local function short() nap(0.04) end
while true do long() short() end
EOF
    $any waits.lua &
    waits=$!
    pids="$pids $waits"
    sleep 0.3
    "$CAIRN" record --off-cpu -d 2 -f -o waits.txt -p $waits 2>log || fail "time off the CPU" log
    at_least 50 "$(share <(grep 'main chunk' waits.txt) ';main chunk;long;nap;')" "time off the CPU: long()"
    at_least 12 "$(share <(grep 'main chunk' waits.txt) ';main chunk;short;nap;')" "time off the CPU: short()"
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
# Programs with an interpreter that replace each other, often while one of them is stopped.
if command -v luajit >/dev/null && [ "$(uname -m)" = x86_64 ]; then
    cat >again.lua <<'EOF'
local ffi, left = require 'ffi', tonumber(arg[1])
ffi.cdef 'int execlp(const char *file, const char *name, ...);'
local function again() local e = os.clock() + 0.2 repeat until os.clock() > e end
again()
if left > 0 then ffi.C.execlp('luajit', 'luajit', 'again.lua', tostring(left - 1), ffi.cast('char *', nil)) end
EOF
    "$CAIRN" record --method=ptrace -F 999 -f -o again.txt -- luajit again.lua 3 2>log ||
        fail "programs that replace each other" log
    at_least 50 "$(share again.txt 'main chunk;again')" "programs that replace each other: Lua's share"
else
    skip "programs that replace each other" "LuaJIT is not installed, or this is not x86-64"
fi
# A child is left out on demand.
"$CAIRN" record --method=ptrace --no-inherit -f -o alone.txt -- \
    sh -c "$any other.lua; i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done" 2>log
hasnt alone.txt 'other' "--no-inherit"
has log "by ptrace" "--no-inherit: the last line"
finish "time by Lua's functions"
