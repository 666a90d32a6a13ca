#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap attach --module: of a process that runs, only what chosen libraries ask for is recorded,
# exactly, whoever frees it; other libraries take their place while it runs; a detach leaves every
# slot as it was.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc g++ /usr/bin/python3
[ "$(uname -m)" = x86_64 ] || { echo "skipped: attach has no code for $(uname -m) yet"; exit 77; }
gcc -O1 -g -o program "$SRC/tests/e2e/heap_module.c" -ldl -pthread || exit 1
# library NAME FLAGS...
library() {
    g++ -O1 -g -fno-builtin -fPIC -shared -DNAME="$1" -o "lib$1.so" "$SRC/tests/e2e/heap_module_library.cc" "${@:2}" || exit 1
}
library lazy -Wl,-z,lazy
library now -Wl,-z,now -Wl,-z,relro
library noplt -fno-plt -Wl,-z,now
library other -Wl,-z,lazy

ask_it() {
    echo "$1" >&"${it[1]}"
    read -r -t 60 answer <&"${it[0]}" || answer="no answer"
    echo "$answer"
}
attach() { "$CAIRN" heap attach "$@" "$pid" >out 2>log; }
detach() { "$CAIRN" heap detach "$pid" >out 2>log; }
# live LIBRARY: how many blocks that it asked for are known to live.
live() {
    "$CAIRN" heap leaks --json "$pid" >out 2>err
    ask "sum(l['blocks'] for l in j['leaks'] if any(s['function'] in ('$1_make', '$1_move') for f in l['frames'] for s in f['lines']) and not any(s['function'] == 'turn' for f in l['frames'] for s in f['lines']))"
}
slots() { # what all slots of all functions of the allocator hold
    "$CAIRN" hook slots "$pid" malloc calloc realloc strdup posix_memalign _Znam free 2>/dev/null | grep "$PWD"
}
# as_before WHAT [PATTERN]: the slots of modules with that in their path.
as_before() {
    n_checks=$((n_checks + 1))
    slots | grep "${2:-.}" | diff - <(grep "${2:-.}" <<<"$before") >different || fail "$1" different
}

coproc it { exec ./program ./liblazy.so lazy ./libnow.so now ./libother.so other; }
# shellcheck disable=SC2154 # coproc sets it
pid=$it_PID
same "it runs" "$(ask_it "open ./libnoplt.so noplt")" "done"
same "bound" "$(ask_it "make lazy new 1")$(ask_it "make other new 1")$(ask_it "drop now")" "donedonedone"
before=$(slots)

attach --module 'libnothing*' && fail "a module that is not there" out
grep -q "may not be traced\|ptrace" log && { echo "skipped: $(cat log)"; exit 77; }
has log "has loaded no module that is called libnothing*" "a module that is not there"
as_before "untouched"

for kind in malloc calloc realloc strdup new memalign; do
    same "from before" "$(ask_it "make lazy $kind 10")" "done"
done
attach --module liblazy.so --module 'libnow*' || fail "attach" log
has out " of 2 chosen modules" "what it says"
has out "blocks from before are not listed with --module" "what it says of those from before"
leads=$(slots | grep -c 'libcairn-track')
at_least 8 "$leads" "slots that lead to the tracker"
as_before "slots of others" 'libother\|libnoplt'
same "none of those from before" "$(live lazy)" 0
n=0
for kind in malloc calloc realloc strdup new memalign; do
    n=$((n + 10))
    for name in lazy now other noplt; do
        same "$name: $kind" "$(ask_it "make $name $kind 10")" "done"
    done
    same "lazy: $kind" "$(live lazy)" $n
    same "now: $kind" "$(live now)" $n
    same "other: $kind" "$(live other)" 0
done
"$CAIRN" heap leaks "$pid" >/dev/null 2>err || fail "leaks" err
has err "chosen libraries" "that only some are seen"

# A block that another library moves is that one's, which is not recorded; who frees it does not matter.
same "moved" "$(ask_it "move other")" "done"
same "lazy: moved by another" "$(live lazy)" 0
same "freed" "$(ask_it "drop now")" "done"
same "now: moved by another, and freed" "$(live now)" 0
same "made" "$(ask_it "make lazy malloc 25")" "done"
same "moved within" "$(ask_it "move now")" "done"
same "moved by a chosen one" "$(live now)" 25

# Others, while it is attached to.
attach --module 'lib[!n]*' && fail "a pattern that is not understood" out
attach --module 'libnoplt.so' --module 'libnow.so' || fail "other modules" log
has out "again" "other modules"
same "what was known stays known" "$(live now)" 25
same "made" "$(ask_it "make lazy malloc 5")" "done"
same "made" "$(ask_it "make noplt new 7")" "done"
same "made" "$(ask_it "make noplt malloc 7")" "done"
same "lazy is no longer one" "$(live lazy)" 0
same "noplt is one" "$(live noplt)" 14
as_before "slots of lazy" liblazy
same "freed" "$(ask_it "drop other")" "done"
same "all are freed" "$(live now) $(live noplt)" "0 0"
attach && fail "of all, while some are chosen" out
has log "is tracked already, since somebody attached for some modules" "of all, while some are chosen"

detach || fail "detach" log
as_before "slots after detach"
turns=$(ask_it turns)
attach || fail "of all, after a detach" log
same "made" "$(ask_it "make other malloc 9")" "done"
same "of all: other" "$(live other)" 9
attach --module liblazy.so && fail "of some, while all are" out
has log "is tracked already" "of some, while all are"
detach || fail "detach again" log

# A module that goes away takes its slots with it; what it asked for stays known.
attach --module libnoplt.so || fail "again" log
same "made" "$(ask_it "make noplt malloc 3")" "done"
same "closed" "$(ask_it "close noplt")" "done"
attach --module libnow.so || fail "after a module has gone" log
same "opened again" "$(ask_it "open ./libnoplt.so noplt")" "done"
same "made" "$(ask_it "make noplt malloc 3")" "done"
"$CAIRN" heap leaks --json "$pid" >out 2>err
same "of the module that has gone" "$(ask "j['blocks'] >= 3")" True
detach || fail "detach after a module has gone" log

# cairn killed in the middle.
for ms in 2 5 9 14 20 30 45; do
    "$CAIRN" heap attach --module 'lib*' "$pid" >/dev/null 2>&1 &
    sleep "0.0$(printf %02d $ms)"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    kill -0 "$pid" || { fail "cairn killed after $ms ms: the program died"; break; }
    detach || grep -q "nobody attached" log || fail "detach after a cairn killed after $ms ms" log
done
as_before "slots after killed ones" 'liblazy\|libnow\|libother'
[ "$(ask_it turns)" -gt "$turns" ] || fail "its threads stand"
eval "exec ${it[1]}>&-"
wait "$pid"
same "its exit status" $? 0
finish "$n_checks checks hold"
