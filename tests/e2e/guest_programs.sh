#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with Lua in them as a distribution ships them, stripped: haproxy, neovim, TeX. Lua stands between
# native frames, and stacks are whole.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

[ -n "${CAIRN_FULL:-}" ] || { echo "skipped: large programs: ./run test --full"; exit 77; }
if ! "$CAIRN" record --method=bpf -f -o probe.pb.gz -- true 2>probe.log; then
    echo "skipped: $(head -1 probe.log)"
    exit 77
fi

pids=""
trap 'kill -9 $pids 2>/dev/null' EXIT

# recorded NAME PID DOUBTS PATTERN SHARE: whole stacks; so many in doubt at most, of 1,000; and the share, in
# percent, of samples that match.
recorded() {
    "$CAIRN" record -F 499 -d 4 -f -o "$1.txt" -p "$2" 2>log || { fail "$1" log; return; }
    at_least 100 "$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)" "$1: samples"
    at_least 99 "$(sed -n 's/.*whole (\([0-9]*\).*/\1/p' log)" "$1: whole stacks, percent"
    at_most "$3" "$(sed -n 's/.* \([0-9]*\) with frames of an interpreter, \([0-9]*\) of them in doubt.*/\1 \2/p' log |
        awk '{ printf "%d", $1 ? 1000 * $2 / $1 : 1000 }')" "$1: in doubt, of 1,000"
    at_least "$5" "$(share "$1.txt" "$4")" "$1: share of $4"
}

if command -v haproxy >/dev/null && command -v wrk >/dev/null; then
    cat >work.lua <<'EOF'
local function work(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function page() local b = {} for i = 1, 50 do b[#b + 1] = string.format("%d,", work(200)) end return table.concat(b) end
core.register_service("page", "http", function(applet)
    local text = page()
    applet:set_status(200) applet:add_header("content-length", string.len(text)) applet:start_response() applet:send(text)
end)
EOF
    cat >haproxy.cfg <<EOF
global
  lua-load $PWD/work.lua
  nbthread 2
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend all
  bind 127.0.0.1:18098
  http-request use-service lua.page
EOF
    haproxy -f haproxy.cfg 2>haproxy.log &
    haproxy=$!
    pids="$pids $haproxy"
    sleep 1
    wrk -t1 -c8 -d12 http://127.0.0.1:18098/ >wrk.log 2>&1 &
    pids="$pids $!"
    sleep 1
    recorded haproxy $haproxy 5 ';page;work' 30
    at_least 30 "$(share haproxy.txt 'haproxy.*;page;work')" "haproxy: native frames outside of Lua's"
    kill $haproxy
else
    skip haproxy "haproxy or wrk is missing"
fi

# Lua calls Vimscript, which calls Lua, by a chunk that is loaded each time: its name cannot be read later.
if command -v nvim >/dev/null; then
    cat >edit.lua <<'EOF'
local function inner(n) local s = 0 for i = 1, n do s = s + #tostring(i) end return s end
function outer() local e = os.clock() + 20 while os.clock() < e do inner(1000) vim.api.nvim_eval("luaeval('_G.back(3)')") end end
function back(x) return inner(200) + x end
EOF
    nvim --headless -u NONE -c "luafile edit.lua" -c "lua outer()" -c "qa!" </dev/null >/dev/null 2>&1 &
    pids="$pids $!"
    sleep 1
    recorded nvim $! 250 ';outer;inner' 30
    at_least 2 "$(share nvim.txt ';outer;.*;.*back;inner')" "nvim: Lua inside Vimscript inside Lua"
    kill $!
else
    skip neovim "nvim is missing"
fi

cat >text.lua <<'EOF'
local function inner(n) local s = 0 for i = 1, n do s = s + string.len(tostring(i)) end return s end
local function outer() local e = os.clock() + 20 while os.clock() < e do inner(1000) end end
outer()
EOF
if command -v luatex >/dev/null; then
    luatex --luaonly text.lua &
    pids="$pids $!"
    sleep 1
    recorded luatex $! 5 'main chunk;outer;inner' 80
    kill $!
else
    skip TeX "luatex is missing"
fi

# Without GC64 it is not read, and that is said.
if command -v luajittex >/dev/null; then
    luajittex --luaonly text.lua &
    pids="$pids $!"
    sleep 1
    "$CAIRN" record -F 99 -d 1 -f -o luajittex.txt -p $! 2>log || fail "luajittex" log
    has log "its functions are not shown: its references have 32 bits" "LuaJIT without GC64"
    hasnt log "records its functions too" "LuaJIT without GC64"
    "$CAIRN" doctor $! >out 2>/dev/null
    has out "its references have 32 bits (it was built without GC64)" "LuaJIT without GC64, doctor"
    kill $!
else
    skip "LuaJIT without GC64" "luajittex is missing"
fi

finish "$n_checks checks hold"
