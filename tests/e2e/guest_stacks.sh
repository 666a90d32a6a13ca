#!/bin/bash
# SPDX-License-Identifier: MIT
# Frames of Lua: each version's interpreter at random stops, held against what the program itself says
# it runs; servers with Lua in them; what cairn stack and flame show of them.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

if ! "$CAIRN" stack --method=ptrace $$ >probe.txt 2>probe.log; then
    echo "skipped: threads may not be stopped here: $(head -1 probe.log)"
    exit 77
fi

pids=""
trap 'kill -9 $pids 2>/dev/null' EXIT
cc=${CC:-gcc}
cp "$SRC/tests/e2e/lua_truth.lua" .

# end PID: quietly.
end() {
    kill -9 "$1"
    wait "$1" 2>/dev/null
}

# module DIR HEADERS: shadow.so for one version.
module() {
    mkdir -p "$1"
    $cc -O2 -shared -fPIC -I"$2" -o "$1/shadow.so" "$SRC/tests/e2e/lua_shadow.c"
}

# stops NAME COMMAND...: N_STOPS random stops of the program that says what it runs. Windows in which an
# interpreter moves a stack are told to be in doubt; nothing else may be wrong.
N_STOPS=400
stops() {
    local name=$1
    shift
    SHADOW=$PWD/shadow.$name "$@" lua_truth.lua >"$name.out" 2>&1 &
    local pid=$!
    pids="$pids $pid"
    sleep 0.5
    "$BUILD/tests/e2e/guest_stops" "$pid" $N_STOPS "$PWD/shadow.$name" >"$name.sums" 2>&1 ||
        fail "$name: the stops" "$name.sums"
    at_most 1 "$(sed -n 's/.* wrong //p' "$name.sums")" "$name: wrong of $N_STOPS"
    at_most 20 "$(sed -n 's/.* doubt \([0-9]*\).*/\1/p' "$name.sums")" "$name: in doubt of $N_STOPS"
    at_least 300 "$(sed -n 's/^exact \([0-9]*\).*/\1/p' "$name.sums")" "$name: exact of $N_STOPS"
    same "$name: cut stacks" "$("$BUILD/tests/e2e/guest_stops" "$pid" 100 | grep -c 'cut$')" 0
    end "$pid"
}

for version in 5.1 5.2 5.3 5.4; do
    if ! command -v lua$version >/dev/null || [ ! -d /usr/include/lua$version ]; then
        skip "Lua $version" "it is not installed"
        continue
    fi
    module mod$version /usr/include/lua$version || fail "module for $version"
    stops $version env LUA_CPATH="$PWD/mod$version/?.so" lua$version
done
if command -v luajit >/dev/null && [ -d /usr/include/luajit-2.1 ] && [ "$(uname -m)" = x86_64 ]; then
    module modjit /usr/include/luajit-2.1 || fail "module for LuaJIT"
    stops joff env LUA_CPATH="$PWD/modjit/?.so" luajit -joff
    stops jon env LUA_CPATH="$PWD/modjit/?.so" luajit -jon
else
    skip "LuaJIT" "it is not installed, or this is not x86-64"
fi

# Inlined functions of compiled code, and no stack that is cut in it.
if [ -d modjit ]; then
    cat >inline.lua <<'EOF'
local function inner(data, x)
  data[x % 61 + 1] = x
  return data[x % 59 + 1] or 0 end
local function middle(data, x) return inner(data, x) + inner(data, x + 1) end
local function outer(data) local s = 0
  for i = 1, 1000000 do s = s + middle(data, i) end
  return s end
local data = {}
while true do outer(data) end
EOF
    luajit inline.lua &
    target=$!
    pids="$pids $target"
    sleep 0.5
    "$CAIRN" stack --json "$target" >inline.json 2>log || fail "stack of compiled code" log
    same "compiled: whole" "$(jq -r '.processes[0].threads[0].whole' inline.json)" true
    same "compiled: kind" \
        "$(jq -r '[.processes[0].threads[0].frames[] | select(.guest) | .guest.kind][0]' inline.json)" trace
    same "compiled: mode" "$(jq -r '.processes[0].threads[0].guests[0].mode' inline.json)" compiled
    "$CAIRN" stack -n 40 -i 5 -f -o inline.txt "$target" 2>log || fail "looks at compiled code" log
    at_least 30 "$(awk '/outer/ { n += $NF } END { print n + 0 }' inline.txt)" "compiled: outer of 40"
    at_least 1 "$(grep -c 'outer.*middle' inline.txt)" "compiled: inlined functions"
    end $target
fi

# A server: Lua is linked into it, and it is stripped and called otherwise.
cat >work.lua <<'EOF'
local function burn() local x = 0 while true do x = (x * 3 + 1) % 1000003 end end
local function called_by_host() burn() end
from_lua(called_by_host)
EOF
for version in 5.1 5.4; do
    [ -d mod$version ] || continue
    $cc -O2 -rdynamic -I/usr/include/lua$version -o with_symbols "$SRC/tests/e2e/lua_host.c" \
        "$(find /usr/lib -name "liblua$version.a" | head -1)" -lm -ldl >cc.log 2>&1 ||
        { skip "a server with Lua $version" "it does not link: $(tail -1 cc.log)"; continue; }
    strip -o server with_symbols
    ./server work.lua &
    target=$!
    pids="$pids $target"
    sleep 0.3
    "$CAIRN" stack "$target" >server.txt 2>log || fail "stack of a server with $version" log
    same "$version, in a server: Lua's functions" \
        "$(grep -oE '(burn|called_by_host|main chunk)  work.lua:[0-9]+' server.txt | tr -d '\n' | tr -s ' ')" \
        "burn work.lua:1called_by_host work.lua:2main chunk work.lua:3"
    # The host's helper is called by its function, and by main; luaV_execute and its like are not shown.
    same "$version, in a server: the host's function" "$(grep -c 'helper_of_host' server.txt)" 2
    hasnt server.txt 'lua_pcall' "$version, in a server: the interpreter's own functions"
    "$CAIRN" stack --guest=all "$target" >all.txt 2>/dev/null
    has all.txt 'lua_pcall' "$version, --guest=all"
    "$CAIRN" stack --guest=only "$target" >only.txt 2>/dev/null
    hasnt only.txt 'helper_of_host' "$version, --guest=only"
    has only.txt 'burn' "$version, --guest=only"
    "$CAIRN" stack --guest=off "$target" >off.txt 2>/dev/null
    hasnt off.txt 'burn' "$version, --guest=off"
    "$CAIRN" stack --no-stop "$target" >unread.txt 2>/dev/null
    if grep -q 'burn' unread.txt; then # it waited for a CPU, and held still: then all of them are there
        has unread.txt 'called_by_host  work.lua:2' "$version, --no-stop of one that waits"
        has unread.txt 'main chunk  work.lua:3' "$version, --no-stop of one that waits"
    else
        grep -q 'no user stack\|no stack' unread.txt ||
            has unread.txt "missing: the thread runs, and was not stopped" "$version, --no-stop says why"
    fi
    "$CAIRN" stack -f -o server.pb.gz "$target" 2>log || fail "profile of a server" log
    has <("$CAIRN" report --guest=only --tree server.pb.gz 2>/dev/null) 'burn' "report of a profile"
    hasnt <("$CAIRN" report --tree server.pb.gz 2>/dev/null) 'lua_pcall' "report folds"
    has <("$CAIRN" report --tree --guest=all server.pb.gz 2>/dev/null) 'lua_pcall' "report shows all"
    "$CAIRN" flame -f -o server.svg server.pb.gz >/dev/null 2>log || fail "flame of a profile" log
    has server.svg 'called_by_host' "the picture has Lua"
    end $target
done

# What a chunk is called comes from the target.
if [ -d mod5.4 ]; then
    cat >hostile.lua <<'EOF'
local f = load("while true do end", "=\27[31m<b>;\n")
f()
EOF
    lua5.4 hostile.lua &
    target=$!
    pids="$pids $target"
    sleep 0.3
    "$CAIRN" stack "$target" >hostile.txt 2>/dev/null
    same "escapes from a chunk's name" "$(grep -c "$(printf '\033')" hostile.txt)" 0
    has hostile.txt '\x1b[31m' "the name, escaped"
    "$CAIRN" stack -f -o hostile.html "$target" 2>/dev/null
    same "markup from a chunk's name" "$(grep -c '31m<b>' hostile.html)" 0
    end $target
fi
finish "each version, servers, names, views"
