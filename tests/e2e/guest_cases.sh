#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that are hard to read: coroutines inside each other that come and go, deep recursion, coroutines
# that yielded where C called them, hooks, finalizers, several machines on one stack or in turns on three
# threads, C functions that jump to their code, signal handlers, hosts in C++, many traces. CAIRN_FULL: more versions
# and hosts.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

if ! "$CAIRN" record --method=bpf -f -o probe.pb.gz -- true 2>probe.log; then
    echo "skipped: $(head -1 probe.log)"
    exit 77
fi

pid=""
trap '[ -z "$pid" ] || kill -9 $pid' EXIT
cc=${CC:-gcc}

end() {
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    pid=""
}

# recorded NAME PATTERN SHARE COMMAND...: that share of the samples matches, in percent; all are whole, and
# $most_doubts of 1,000 may be in doubt, and two more.
most_doubts=10
recorded() {
    local name=$1 pattern=$2 share=$3 n=0 n_guest=0 n_doubt=1
    shift 3
    "$@" >/dev/null 2>&1 &
    pid=$!
    sleep 0.2
    for seconds in 0.3 1 3; do # on a busy machine there are fewer samples
        "$CAIRN" record -F 999 -d $seconds -f -o found.txt -p "$pid" 2>log || { fail "$name" log; break; }
        n=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
        [ "$n" -ge 100 ] && break
    done
    at_least 100 "$n" "$name: samples"
    at_least 99 "$(sed -n 's/.*whole (\([0-9]*\).*/\1/p' log)" "$name: whole stacks, percent"
    read -r n_guest n_doubt < <(sed -n 's/.* \([0-9]*\) with frames of an interpreter, \([0-9]*\) of them in doubt.*/\1 \2/p' log)
    at_least 1 "$n_guest" "$name: stacks with frames of an interpreter"
    at_most $((n_guest * most_doubts / 1000 + 2)) "$n_doubt" "$name: in doubt, of $n_guest"
    at_least "$share" "$(share found.txt "$pattern")" "$name: share of $pattern"
    end
}

cat >nested.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function level(n)
    if n == 0 then return burn(12000) + 0 end
    local garbage = {} for i = 1, 50 do garbage[i] = {i} end
    local c = coroutine.wrap(level)
    return c(n - 1) + 1
end
local kept, i = {}, 0
while true do i = i + 1 kept[i % 20000] = {string.rep("x", 100 + i % 300)} level(10) end
EOF
cat >deep.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function deep(n) if n == 0 then return burn(9000) + 0 end return deep(n - 1) + 1 end
while true do deep(200) end
EOF
cat >yields.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function inner() burn(3000) coroutine.yield() burn(3000) end
local has_index = setmetatable({}, {__index = function(t, k) inner() return 1 end})
local function iterator() inner() return nil end
local function by_pcall() pcall(inner) end
local function by_index() local z = has_index.foo end
local function by_iterator() for a in iterator do end end
local function body() by_pcall() by_index() by_iterator() inner() end
while true do local c = coroutine.wrap(body) for i = 1, 4 do c() end end
EOF
cat >calls.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local M = {}
M.f = --[[ function q() ]] function(a) return burn(a) + 0 end
local function one(a) return burn(a) + 0 end local function two(a) return burn(a) + 1 end
local without_lines = assert((loadstring or load)(string.dump(assert((loadstring or load)("local b = ... b(3000)")), true)))
local function less(a, b) burn(500) return a.v < b.v end
local meta = {__lt = less}
while true do
    M.f(3000) one(3000) two(3000) without_lines(burn)
    local t = {} for i = 1, 10 do t[i] = setmetatable({v = i * 7 % 11}, meta) end
    table.sort(t)
    string.gsub("a b c", "%w", function(c) burn(500) return c end)
end
EOF

cat >again.lua <<'EOF'
local load = loadstring or load
function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function loads(name, of) load("local function " .. of .. "() burn(500) return 1 end " .. of .. "() return 2", name)() end
while true do loads("=one", "first") loads("=two", "other") collectgarbage() end
EOF

# kind NAME SCRIPT WORDS LUA: what the frame is called by cairn stack.
kind() {
    "$4" "$2" &
    pid=$!
    for _ in $(seq 60); do
        "$CAIRN" stack "$pid" >stack.txt 2>/dev/null
        grep -qF "$3" stack.txt && break
    done
    has stack.txt "$3" "$1"
    end
}
cat >hook.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function on_count() burn(2000) end
debug.sethook(on_count, "", 1000)
while true do burn(5000) end
EOF
cat >collected.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function at_end() burn(3000) end
while true do setmetatable({}, {__gc = at_end}) burn(100) end
EOF

# cases LUA: those of every version.
cases() {
    recorded "$1: ten coroutines" '(level;([^;]*;)?([^;]*;)?){10}level;burn' 40 "$@" nested.lua
    recorded "$1: 200 calls" ';deep(;deep){200};burn' 70 "$@" deep.lua
    most_doubts=50 # a call while a function is made
    [ "$1" = luajit ] ||
        recorded "$1: loaded again" 'main chunk;loads;main chunk;function <(one|two):1>;burn' 50 "$@" again.lua
    most_doubts=10
    recorded "$1: odd calls" 'main chunk;.*(M.f|one|function <[^;]*>|less).*;burn' 60 "$@" calls.lua
}

any=""
versions="5.1 5.4"
[ -z "${CAIRN_FULL:-}" ] || versions="5.1 5.2 5.3 5.4"
for version in $versions; do
    command -v "lua$version" >/dev/null || { skip "Lua $version" "it is not installed"; continue; }
    any=yes
    cases "lua$version"
    if [ "$version" != 5.1 ]; then
        recorded "$version: yields" ';(body;.*inner|inner);burn' 70 "lua$version" yields.lua
        kind "$version: a hook" hook.lua "on_count  hook.lua:2  (Lua, hook)" "lua$version"
    fi
    [ "$version" = 5.1 ] || [ "$version" = 5.2 ] ||
        kind "$version: a finalizer" collected.lua "at_end  collected.lua:2  (Lua, finalizer)" "lua$version"
done

if command -v luajit >/dev/null && [ "$(uname -m)" = x86_64 ]; then
    any=yes
    cases luajit -joff
    cat >floor.lua <<'EOF'
local function floors(n) local s = 0 for i = 1, n do s = s + math.floor(i * 0.37) % 7 end return s end
while true do floors(1000) end
EOF
    cat >traces.lua <<'EOF'
local all = {}
for i = 1, 1000 do
    all[i] = loadstring(("return function(n) local s = 0 for i = 1, n do s = s + i * %d end return s end"):format(i), "=" .. i)()
end
local function calls_all() for i = 1, 1000 do all[i](200) end end
while true do calls_all() end
EOF
    recorded "luajit: helpers of the assembler" 'main chunk;floors' 95 luajit -joff floor.lua
    recorded "luajit: 1,000 traces" 'main chunk;calls_all' 90 luajit traces.lua
fi

# hosted NAME DIRECTORY LIBRARY FLAGS...: a stripped host with that library in it.
hosted() {
    local name=$1 headers=$2 library
    library=$(find /usr/lib -name "$3" 2>/dev/null | head -1)
    shift 3
    if [ ! -d "$headers" ] || [ -z "$library" ]; then
        skip "a host of $name" "its library is not installed"
        return
    fi
    $cc -O2 -I"$headers" -o server "$SRC/tests/e2e/guest_cases.c" "$library" "$@" -lm -ldl -lpthread 2>cc.log ||
        { fail "a host of $name" cc.log; return; }
    strip server
    recorded "$name, host: two machines, a hook" ';outer;(.*;)*(burn|enter)' 95 ./server hooked
    recorded "$name, host: 12 machines, three threads" ';go;' 50 ./server shared
    recorded "$name, host: C that jumps" ';outer;jumps' 90 ./server jumps
    ./server signal &
    pid=$!
    for _ in $(seq 100); do
        "$CAIRN" stack "$pid" >stack.txt 2>/dev/null
        grep -q 'sleeping' stack.txt && break
        sleep 0.05
    done
    n_checks=$((n_checks + 1))
    grep -A20 'signal handler called' stack.txt | grep -q ':2  (Lua)' || fail "$name, host: a signal handler" stack.txt
    end
}
hosted "5.4 in C++" /usr/include/lua5.4 'liblua5.4-c++.a' -lstdc++
if [ -n "${CAIRN_FULL:-}" ]; then
    hosted "5.1 in C++" /usr/include/lua5.1 'liblua5.1-c++.a' -lstdc++
    hosted "5.3" /usr/include/lua5.3 'liblua5.3.a'
fi

# part NAME HEADERS LIBRARY: an object file with the interpreter in it, whose symbols are its own.
part() {
    local library
    library=$(find /usr/lib -name "$3" 2>/dev/null | head -1)
    if [ ! -d "$2" ] || [ -z "$library" ]; then
        skip "two interpreters in one file" "$3 is not installed"
        return 1
    fi
    $cc -O2 -fPIC -I"$2" -DPART="$1" -c -o part.o "$SRC/tests/e2e/guest_both.c" 2>cc.log &&
        ld -r -o "$1.o" part.o "$library" 2>cc.log && objcopy --keep-global-symbol="$1" "$1.o" 2>cc.log && return
    fail "$3 as a part of a host" cc.log
    return 1
}
cat >outer.lua <<'EOF'
local function burn(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function calls() inner() burn(20000) end
while true do calls() end
EOF
cat >inner.lua <<'EOF'
local function floors(k) local x = 0 for i = 1, k do x = (x * 3 + i) % 1003 end return x end
local function other() for i = 1, 20 do floors(1000) end end
other()
EOF
if [ "$(uname -m)" != x86_64 ]; then
    skip "two interpreters in one file" "LuaJIT is read on x86-64"
elif part both_outer /usr/include/lua5.4 liblua5.4.a && part both_inner /usr/include/luajit-2.1 'libluajit-5.1.a'; then
    $cc -O2 -o server "$SRC/tests/e2e/guest_both.c" both_outer.o both_inner.o -lm -ldl 2>cc.log ||
        fail "two interpreters in one file" cc.log
    strip server
    recorded "two interpreters in one file" ';calls;(.*;other;floors|burn)' 90 ./server
    recorded "two interpreters in one file: one inside the other" ';main chunk;calls;.*;main chunk;other;floors' 5 ./server
fi

[ "$any" ] || { echo "skipped: no version of Lua is installed"; exit 77; }
finish "hard cases: $n_checks checks"
