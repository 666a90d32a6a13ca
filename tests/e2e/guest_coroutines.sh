#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn stack --coroutines: as many as the script itself counts, with their stacks, of every Lua; in a core file;
# and of a process that makes, resumes and drops them all the time no stack that never was.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need python3 gcore

# All that it says of its coroutines is true when it says it; it then waits.
cat >rest.lua <<'EOF2'
local all = setmetatable({}, {__mode = "k"})
local function new(f) local co = coroutine.create(f) all[co] = f return co end
local keep = {}
local function wait(n) local x = coroutine.yield(n) return x end
local function reader(n) local r = wait(n) return r end
local function writer(n) wait(n) return n end
local function never(n) return n end
local function fails() error("it fails") end
for i = 1, 1000 do
    keep[i] = new(i % 10 == 0 and writer or reader)
    coroutine.resume(keep[i], i)
end
for i = 1, 7 do keep[#keep + 1] = new(never) end
-- Those that have ended, or failed, or were collected while they waited, are not at rest.
for i = 1, 50 do keep[#keep + 1] = new(never) coroutine.resume(keep[#keep], 1) end
for i = 1, 50 do keep[#keep + 1] = new(fails) coroutine.resume(keep[#keep], 1) end
for i = 1, 50 do coroutine.resume(new(reader), 1) end
collectgarbage() collectgarbage()
local n = {[reader] = 0, [writer] = 0, [never] = 0, [fails] = 0}
for co, f in pairs(all) do
    if coroutine.status(co) == "suspended" then n[f] = n[f] + 1 end
end
-- Nor is one that runs, or has resumed another.
coroutine.wrap(function()
    coroutine.wrap(function()
        io.write(n[reader], " ", n[writer], " ", n[never], "\n")
        io.flush()
        io.read()
    end)()
end)()
EOF2

cat >busy.lua <<'EOF2'
local yield, deep = coroutine.yield, nil
local function inner_a() yield() end
local function outer_a() while true do inner_a() end end
local function inner_b() yield() end
function deep(n) if n == 0 then inner_b() else deep(n - 1) end return 1 end
local function outer_b() while true do deep(3) end end
local ring, at = {}, 0
print("ready") io.flush()
while true do
    at = at % 400 + 1
    if not ring[at] or at % 7 == 0 then
        ring[at] = coroutine.create(at % 2 == 0 and outer_a or outer_b)
    end
    coroutine.resume(ring[at])
end
EOF2

# start LUA SCRIPT: in $pid; its first line is in the file "said". It ends with the descriptor 9.
start() {
    rm -f said input
    mkfifo input
    "$1" "$2" <input >said &
    pid=$!
    exec 9>input
    for _ in $(seq 200); do
        [ -s said ] && return
        sleep 0.05
    done
    fail "$1 $2 says nothing"
}

stop() {
    exec 9>&-
    [ "${1:-}" = kill ] && kill "$pid"
    wait "$pid" 2>/dev/null
}

# counts JSON: reader, writer, never; and whatever else there is.
counts() {
    python3 - "$1" <<'EOF2'
import json
import sys
found = json.load(open(sys.argv[1]))["processes"][0]["coroutines"]
sums = {}
for stack in found["stacks"]:
    names = tuple(frame["lines"][0]["function"] for frame in stack["frames"][-1:])
    inner = [frame["lines"][0]["function"] for frame in stack["frames"]]
    lines = [frame["lines"][0].get("line") for frame in stack["frames"]]
    key = (names[0], stack["status"])
    sums[key] = sums.get(key, 0) + stack["count"]
    if stack["status"] == "suspended" and (inner[-2] != "wait" or lines[-2:] not in ([4, 5], [4, 6])):
        print("a stack that is none:", inner, lines)
    if "reason" in stack["guest"]:
        print("in doubt:", stack["guest"]["reason"])
print(sums.pop(("reader", "suspended"), 0), sums.pop(("writer", "suspended"), 0),
      sums.pop(("never", "not begun"), 0))
for key, n in sums.items():
    print("more:", key, n)
if found["count"] != sum(stack["count"] for stack in found["stacks"]):
    print("the sum is another")
EOF2
}

# of_rest NAME LUA
of_rest() {
    start "$2" rest.lua
    "$CAIRN" stack --coroutines --json "$pid" >rest.json 2>log || fail "$1" log
    counts rest.json >found
    n_checks=$((n_checks + 1))
    cmp -s said found || fail "$1: coroutines" <(diff said found)
    if gcore -o core "$pid" >gcore.log 2>&1; then
        "$CAIRN" stack --coroutines "core.$pid" >core.txt 2>log || fail "$1: core file" log
        hasnt core.txt "may have been collected" "$1: core file: all of them live"
        has core.txt "$(awk '{print $1 + $2 + $3}' said) coroutines in " "$1: core file: all of them"
        rm -f "core.$pid"
    else
        skip "$1: core file" "$(tail -1 gcore.log)"
    fi
    stop
}

# stacks JSON...: of all looks, how often each stack was seen; those in doubt, which say so, as "doubt".
stacks() {
    python3 - "$@" <<'EOF2'
import collections
import json
import sys
sums = collections.Counter()
for path in sys.argv[1:]:
    for stack in json.load(open(path))["processes"][0]["coroutines"]["stacks"]:
        names = [frame["lines"][0]["function"] for frame in reversed(stack["frames"])]
        sums["doubt" if "reason" in stack["guest"] else ";".join(names)] += stack["count"]
for names, n in sums.items():
    print(names, n)
EOF2
}

# of_busy NAME LUA: 20 looks. A coroutine that has not begun, or yields, has one of four stacks. The process
# may lose its CPU in the middle of a yield, which looks like a state that makes no sense.
of_busy() {
    start "$2" busy.lua
    for i in $(seq 20); do
        "$CAIRN" stack --coroutines --user-only --no-fold --json "$pid" >"busy.$i.json" 2>log || fail "$1: busy" log
    done
    stop kill
    stacks busy.*.json | sed -E 's/;(yield|C function) /;YIELD /' >stacks.txt # LuaJIT's own have no names
    n_checks=$((n_checks + 1))
    grep -vE '^(outer_a;inner_a;YIELD|outer_b;deep;deep;deep;deep;inner_b;YIELD|outer_[ab]|doubt) [0-9]+$' \
        stacks.txt >wrong.txt && fail "$1: stacks that never were" wrong.txt
    at_least 4000 "$(awk '!/^doubt/ {n += $NF} END {print n + 0}' stacks.txt)" "$1: coroutines of the busy process"
    at_most 10 "$(awk '/^doubt/ {n = $2} END {print n + 0}' stacks.txt)" "$1: coroutines in doubt"
}

any=""
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
    command -v $lua >/dev/null || { skip "$lua" "it is not installed"; continue; }
    of_rest "$lua" $lua
    of_busy "$lua" $lua
    any=yes
done
[ "$any" ] || { echo "skipped: no version of Lua is installed"; exit 77; }

# A process without one, and options that contradict each other.
sleep 60 &
"$CAIRN" stack --coroutines $! >none.txt 2>log || fail "no interpreter" log
has none.txt "no coroutines: no interpreter that has them is in the process" "no interpreter"
kill $!
"$CAIRN" stack --coroutines --guest=off $$ >out 2>log
[ $? = 2 ] || fail "--guest=off" log
has log "contradicts --guest=off" "--guest=off"

finish "coroutines: $n_checks checks"
