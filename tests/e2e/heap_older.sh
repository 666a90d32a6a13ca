#!/bin/bash
# SPDX-License-Identifier: MIT
# The blocks from before an attach, held against a program that knows its own: each is listed with
# its size and no other one, in an idle process and in a busy one; what is freed goes; overwritten
# heads are skipped and told.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc /usr/bin/python3
[ "$(uname -m)" = x86_64 ] || { echo "skipped: attach has no code for $(uname -m) yet"; exit 77; }
gcc -O1 -g -fno-builtin -pthread -o program "$SRC/tests/e2e/heap_older.c" || exit 1

# What libc itself has in this program: a vector of TLS for each thread but the first, and the
# buffers of stdin and stdout.
libc_most=7

# ask_it LINE: the answer, which is a list for "list", in the file `answer`.
ask_it() {
    echo "$1" >&"${it[1]}"
    while read -r -t 60 line <&"${it[0]}"; do
        echo "$line"
        if [ "$1" != list ] || [ "$line" = end ]; then
            break
        fi
    done >answer
}
start() { # COMMAND...
    coproc it { exec "$@"; }
    # shellcheck disable=SC2154 # coproc sets it
    pid=$it_PID
    ask_it list
    own=$(awk 'NF == 2 { n++; bytes += $2 } END { print n, bytes }' answer)
    [ -n "${own% *}" ] || fail "it runs: $*" answer
}
stop() {
    kill "$pid"
    eval "exec ${it[1]}>&-"
    wait "$pid" 2>/dev/null
}
attach() { # [OPTION...]
    "$CAIRN" heap attach "$@" "$pid" >out 2>log
}
# What is known to live from before: "blocks bytes".
older() {
    "$CAIRN" heap leaks --json "$pid" >out 2>err || fail "leaks" err
    ask "' '.join(str(sum(l[key] for l in j['leaks'] if [s['function'] for f in l['frames'] for s in f['lines']] == ['[before attach]'])) for key in ('blocks', 'bytes'))"
}
minus() { # "BLOCKS BYTES" "BLOCKS BYTES"
    echo "$((${1% *} - ${2% *})) $((${1#* } - ${2#* }))"
}
# Whatever the program has more than its own is libc's, and stays when the program freed all.
exact() { # CASE
    rest=$(minus "$(older)" "$own")
    at_least 0 "${rest% *}" "$1: blocks beside its own"
    at_most "$libc_most" "${rest% *}" "$1: blocks beside its own"
    at_most $((libc_most * 4200)) "${rest#* }" "$1: bytes beside its own"
    ask_it "free 3"
    all="$((${own% *} + ${rest% *})) $((${own#* } + ${rest#* }))"
    same "$1: a third is freed" "$(older)" "$(minus "$all" "$(cat answer)")"
    ask_it "free 1"
    same "$1: all are freed" "$(older)" "$rest"
    quality
    has err "every block recorded since the tracker came; ${rest% *} blocks of ${rest#* } bytes from before" "$1"
}
quality() {
    "$CAIRN" heap leaks "$pid" >out 2>err || fail "leaks" err
}

start ./program
attach --json || { grep -q "may not be traced\|ptrace" log && { echo "skipped: $(cat log)"; exit 77; }; fail "attach" log; }
same "idle: they are known, and read" "$(ask "j['older_known'], j['older_unread_bytes']")" "(True, 0)"
same "idle: what it says is what is listed" "$(ask "'%d %d' % (j['older_blocks'], j['older_bytes'])")" "$(older)"
"$CAIRN" heap mark "$pid" >marked 2>/dev/null || fail "mark"
"$CAIRN" heap leaks --json --since-mark "$(cat marked)" "$pid" >out 2>err
same "idle: none is younger than a mark" "$(ask "j['blocks']")" 0
"$CAIRN" heap report "$pid" >out 2>err || fail "report" err
has out "[before attach]" "report"
"$CAIRN" heap holds --dominators "$pid" >out 2>err || fail "holds" err
has out "all in " "holds: the array that has them"
"$CAIRN" heap lost "$pid" >out 2>err || fail "lost" err
has out "No lost blocks found." "lost"
"$CAIRN" heap diff "$pid" "$pid" >out 2>err || fail "diff" err
has out "No stack has more or less than before." "diff"
exact idle
# The next attach reads the heap anew.
"$CAIRN" heap detach "$pid" >out 2>log || fail "detach" log
attach || fail "again" log
has out " from before" "again"
same "again: what libc has" "$(older)" "$rest"
stop

# Threads that make and free blocks of all sizes while the heap is read, and cairn works.
start ./program
ask_it busy
attach --json || fail "busy: attach" log
at_most "$((${own#* } / 1000))" "$(ask "j['older_unread_bytes']")" "busy: bytes not read"
unread=$(ask "j['older_unread_bytes']")
ask_it idle
if [ "$unread" = 0 ]; then
    exact busy
else
    lost=$(minus "$own" "$(older)")
    at_most "$((${own#* } / 1000))" "${lost#* }" "busy: bytes of its own that are not listed"
fi
stop

# A program that wrote over the head of a block: what stands there is not known, the rest is.
start ./program
ask_it scribble
attach --json || fail "overwritten: attach" log
at_least 1 "$(ask "j['older_unread_bytes']")" "overwritten: it says so"
at_most 70000 "$(ask "j['older_unread_bytes']")" "overwritten: no more than that is left out"
lost=$(minus "$own" "$(older)")
at_most 3 "${lost% *}" "overwritten: blocks left out"
quality
has err "bytes of the heap NOT READ" "overwritten: leaks say so"
kill -0 "$pid" || fail "overwritten: it died"
stop

# All in one arena; linked statically.
start env MALLOC_ARENA_MAX=1 ./program
attach || fail "one arena: attach" log
exact "one arena"
stop
if gcc -static -O1 -fno-builtin -pthread -o static "$SRC/tests/e2e/heap_older.c" 2>log; then
    libc_most=16 # and what its own start leaves
    start ./static
    attach || fail "static: attach" log
    exact static
    stop
else
    skip static "libc.a is missing"
fi

# What cannot be listed is said.
start ./program
attach --sample 4096 || fail "sampled: attach" log
has out "blocks from before are not listed with --sample" "sampled"
quality
has err "1 processes whose blocks from before the tracker are NOT KNOWN" "sampled"
stop
jemalloc=$(ls /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 2>/dev/null)
if [ -n "$jemalloc" ]; then
    start env LD_PRELOAD="$jemalloc" ./program
    attach || fail "jemalloc: attach" log
    has out "blocks from before are NOT KNOWN" "jemalloc"
    quality
    has err "older ones are NOT KNOWN" "jemalloc"
    stop
else
    skip jemalloc "libjemalloc.so.2 is missing"
fi
finish "every block from before, and no other ($n_checks checks)"
