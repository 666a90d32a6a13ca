#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap holds: blocks whose holder is known, one for each kind of root; what keeps most; a program
# whose pointers move.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/heap_lib.sh
. "$SRC/tests/support/heap_lib.sh"
need_tracker
need g++
g++ -g -O1 -fno-inline -pthread -o holds "$SRC/tests/e2e/heap_holds.cc" || exit 1

# The first path in a line: what its root is, then each block's bytes behind the place of the pointer.
path='(lambda p: " ".join([p["root"]["kind"], p["root"]["name"].replace(" in '"$PWD"'/holds", "")] +
    ["+%d>+%d:%d" % (b["from"], b["into"], b["bytes"]) for b in p["blocks"]]))'

# holder FUNCTION EXPECTED: of its largest block.
holder() {
    "$CAIRN" heap holds --json "$pid" "$1" >out 2>log || { fail "$1" log; return; }
    same "$1" "$(ask "$path(j['paths'][0])")" "$2"
    same "$1: read again" "$(ask 'j["look"]["confirmed"], j["doubtful"]')" "(True, False)"
}

begin ./holds
holder in_global "variable global +0>+0:101"
holder in_local_static "variable in_local_static()::kept+16 +0>+0:102"
holder in_shape "variable app::shape +0>+0:64"
same "its class" "$(ask 'j["paths"][0]["blocks"][0]["type"]')" N3app6CircleE
holder in_block "variable table +0>+0:80 +56>+8:106"
holder in_epoll "epoll  +0>+0:110"
same "whose set" "$(ask '(lambda r: (r["number"], r["fd"]))(j["paths"][0]["root"])')" "(70, 71)"
holder in_timer "timer  +0>+0:111"
if [ "$(uname -m)" = x86_64 ]; then
    holder in_thread_local "thread-local local_variable +0>+0:103"
    same "whose" "$(ask 'j["paths"][0]["root"]["tid"] == j["pid"]')" True
    holder in_key "pthread-key  +0>+0:108"
    same "which key" "$(ask 'j["paths"][0]["root"]["number"]')" 2
    holder in_late_key "pthread-key  +0>+0:512 +136>+0:1009"
    same "which key" "$(ask 'j["paths"][0]["root"]["number"]')" 40
fi

"$CAIRN" heap holds --json "$pid" in_chain >out 2>log || fail "a list" log
same "a list: its root" "$(ask 'j["paths"][0]["root"]["name"].split()[0]')" chain_head
same "a list: its blocks" "$(ask 'len(j["paths"][0]["blocks"]), j["paths"][0]["blocks"][-1]["from"]')" "(5001, 8)"
"$CAIRN" heap holds "$pid" in_chain >out 2>log
has out "variable chain_head in $PWD/holds" "a list in words"
has out "+0 -> and on through 4,999 blocks of one stack" "a list in words"
has out "+8 -> 105 B at 0x" "a list in words"
has log "the process ran on" "how it was looked at"

"$CAIRN" heap holds --json "$pid" in_pages >out 2>log || fail "a mapping" log
same "a mapping" "$(ask 'j["paths"][0]["root"]["kind"], int(j["paths"][0]["root"]["address"], 16) % 4096')" \
    "('mapping', 40)"
"$CAIRN" heap holds --json "$pid" in_stack >out 2>log || fail "a stack" log
same "a stack" "$(ask 'j["paths"][0]["root"]["kind"], j["paths"][0]["root"]["tid"] != j["pid"]')" "('stack', True)"
same "whose frame" "$(ask 'j["paths"][0]["root"]["frames"][0]["lines"][0]["function"]')" "wait_with_block(int)"
address=$(ask 'j["block"]["address"]')
"$CAIRN" heap holds "$pid" "$(printf '0x%x' $((address + 9)))" >out 2>log
has out "114 B at $address" "any address in a block"
has out ", in wait_with_block(int) (heap_holds.cc:" "a stack in words"
"$CAIRN" heap holds "$pid" in_nothing >out 2>log
has out "No pointer to it was found: it may be lost." "a block that is lost"
"$CAIRN" heap holds --consistent --paths 9 --json "$pid" in_three >out 2>log || fail "three paths" log
same "three paths" "$(ask "[$path(p) for p in j['paths']]")" \
    "['variable table +0>+0:80 +8>+0:107', 'variable table +0>+0:80 +16>+0:40 +24>+0:107', 'variable table +0>+0:80 +24>+0:48 +8>+0:56 +16>+0:107']"
at_least 1 "$(ask 'int(j["look"]["stopped_seconds"] * 1e6)')" "it was stopped"

# What keeps most: 100 blocks of 10,000 bytes behind one variable, by way of a table.
"$CAIRN" heap holds --dominators "$pid" >out 2>log || fail "--dominators" log
has out " % cache in $PWD/holds  [101 blocks]" "a variable that keeps most"
has out "fill_cache() (heap_holds.cc:" "below it"
has out "[101 blocks, itself 800 B]" "below it"
has out " held" "the sum"
"$CAIRN" heap holds --dominators --top 0 --json "$pid" >out 2>log || fail "--dominators --json" log
same "what the variable keeps" "$(ask '[(n["retained_bytes"], n["retained_blocks"]) for n in j["nodes"]
    if n.get("name", "").startswith("cache ")]')" "[(1000800, 101)]"
same "sums" "$(ask 'sum(n["bytes"] for n in j["nodes"]) == j["retained_bytes"] ==
    sum(n["retained_bytes"] for n in j["nodes"] if n["depth"] == 0)')" True
same "the list of 5,000 is one node, and what hangs on its end another" "$(ask '[(n["depth"], n["retained_blocks"], n["blocks"])
    for n in j["nodes"] if "in_chain()" in [l["function"] for f in n.get("frames", []) for l in f["lines"]]]')" \
    "[(1, 5001, 5000), (2, 1, 1)]"
"$CAIRN" heap holds -o kept.pb.gz "$pid" >out 2>log || fail "-o" log
"$CAIRN" report kept.pb.gz >out 2>log
has out "retained_space" "a profile of it"
has out "in_cache() (heap_holds.cc:" "a profile of it"
"$CAIRN" heap holds -o kept.svg "$pid" >out 2>log
has kept.svg "cache in $PWD/holds" "a flame graph of it"
"$CAIRN" heap holds -o kept.svg "$pid" >out 2>log
same "it is there already" $? 1
"$CAIRN" heap holds "$pid" '#1' >out 2>log
has out "variable cache in $PWD/holds" "the first stack of cairn heap leaks"
has out "10.0 kB at 0x" "its block"

# What is wrong is said.
"$CAIRN" heap holds "$pid" 0x10 >out 2>log && fail "no block"
has log "has no live block at 0x10" "no block"
"$CAIRN" heap holds "$pid" no_such_function >out 2>log && fail "no function"
has log "has no live block that no_such_function allocated" "no function"
"$CAIRN" heap holds "$pid" '#999999' >out 2>log && fail "no stack"
has log "#999999: process $pid has blocks of" "no stack"
"$CAIRN" heap holds "$pid" 0xabcq >out 2>log && fail "no address"
has log "0xabcq: no address of a block" "no address"
"$CAIRN" heap holds "$pid" >out 2>log
same "no block is named" $? 2
"$CAIRN" heap holds --paths 0 "$pid" x >out 2>log
same "no paths" $? 2
"$CAIRN" heap holds $$ in_global >out 2>log && fail "a process without a tracker"
has log "is not tracked" "a process without a tracker"
end

# A block of which the last page alone was ever touched: no other page of it is read, which would make
# tables of pages for it in the process.
cat >sparse.c <<'PROGRAM'
#include <stdio.h>
#include <stdlib.h>
enum { WORDS = 1 << 27 };
void **held;
__attribute__((noinline)) static void *in_sparse(void) { return calloc(1, 115); }
int main(void)
{
    held = malloc(WORDS * sizeof *held);
    if (held)
        held[WORDS - 1] = in_sparse();
    puts("ready");
    fflush(stdout);
    return getchar() != EOF;
}
PROGRAM
cc -g -O1 -o sparse sparse.c || exit 1
MALLOC_PERTURB_=0 begin ./sparse # it would touch every page
tables() { sed -n 's/^VmPTE:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"; }
before=$(tables)
holder in_sparse "variable held in $PWD/sparse +0>+0:1073741824 +1073741816>+0:115"
at_most $((before + 1000)) "$(tables)" "kB of tables of pages that a look may add"
end

# Threads that move pointers all the time: a path is told that was there when it was read again, or it
# is said that they move.
g++ -g -O2 -pthread -o busy "$SRC/tests/e2e/heap_lost_busy.cc" || exit 1
begin ./busy 2
for _ in 1 2; do
    "$CAIRN" heap holds --json --paths 3 "$pid" "(anonymous namespace)::hold" >out 2>log ||
        { fail "while pointers move" log; continue; }
    at_least 1 "$(ask 'len(j["paths"])')" "while pointers move"
    same "confirmed, or many looks" "$(ask 'j["look"]["confirmed"] or j["look"]["tries"] == 8')" True
done
"$CAIRN" heap holds --dominators "$pid" >out 2>log || fail "dominators while pointers move" log
has out " held" "dominators while pointers move"
end
finish "$n_checks checks of what holds blocks"
