#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of Lua whose source is no file that is there, as in an archive or a server's configuration: the
# code that calls them names them, but never by a name that is another's.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

if ! "$CAIRN" record --method=ptrace -f -o probe.pb.gz -- true 2>probe.log; then
    echo "skipped: threads may not be stopped here: $(head -1 probe.log)"
    exit 77
fi

# The functions have no name where they are defined. last() is called by a tail call alone, either() by
# an expression, sorted() by C, and closed() by the collector.
cat >called.lua <<'EOF'
local text = [[
local clock, M, O = os.clock, {}, {}
local until_ = (function() return function(e) local x = 0 repeat x = x + 1 until clock() >= e return x end end)()
M.field = (function() return function(e) return (until_(e)) end end)()
O.method = (function() return function(self, e) local x = until_(e) return x end end)()
global = (function() return function(e) local x = until_(e) return x end end)()
last = (function() return function(e) local x = until_(e) return x end end)()
local one, two = (function() return function(e) local x = until_(e) return x end, function(e) end end)()
local sorted = (function() return function(a, b) until_(clock() + 0.001) return a < b end end)()
local closed = (function() return function() until_(clock() + 0.002) end end)()
local function tail(e) return last(e) end
local goes_on = coroutine.wrap(function() while true do until_(clock() + 0.02) coroutine.yield() end end)
local most = clock() + 1
while clock() < most do
    local away = {M.field, O}
    M.field(clock() + 0.02)
    O:method(clock() + 0.02)
    global(clock() + 0.02)
    goes_on()
    tail(clock() + 0.02);
    (away[1] and one or two)(clock() + 0.02)
    table.sort({3, 1, 2}, sorted)
    if setmetatable({}, {__gc = closed}) then collectgarbage() end
end
]]
assert((loadstring or load)(text .. string.rep(" ", 5000), arg[1]))()
EOF

# called NAME COMMAND CHUNK: by whom each name is called, and what has none.
called() {
    "$CAIRN" record --method=ptrace -F 199 -f -o "$1.txt" -- "$2" called.lua "$3" 2>log || fail "$1" log
    for name in field method global; do
        at_least 5 "$(share "$1.txt" "main chunk;$name;until_")" "$1: share of $name()"
    done
    at_least 5 "$(share "$1.txt" "main chunk;goes_on;.*;until_")" "$1: share of a C function that no table names"
    at_least 5 "$(share "$1.txt" "main chunk;function <[^;]*>;until_")" "$1: share of what has no name"
    for name in last one two sorted closed tail away collectgarbage; do
        n_checks=$((n_checks + 1))
        grep -E ";$name;until_" "$1.txt" >wrong.txt && fail "$1: called $name()" wrong.txt
    done
    grep -E ';until_;until_' "$1.txt" >wrong.txt && fail "$1: until_() calls nobody" wrong.txt
}

any=""
for version in 5.1 5.2 5.3 5.4; do
    command -v lua$version >/dev/null || { skip "Lua $version" "it is not installed"; continue; }
    called "$version" lua$version "=block(conf:8)"
    called "$version file" lua$version "@archive/block.lua"
    any=yes
done
[ "$any" ] || { echo "skipped: no version of Lua is installed"; exit 77; }
finish "names by calls: $n_checks checks"
