#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap lost: blocks whose fate is known, still and while threads move pointers; real programs, of
# which nothing may be claimed to be lost.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/heap_lib.sh
. "$SRC/tests/support/heap_lib.sh"
py=/usr/bin/python3
need_tracker
gcc -g -O1 -fno-inline -pthread -o truth "$SRC/tests/e2e/heap_lost.c" || exit 1

# rows KIND: "NAME BLOCKS/BYTES+BLOCKS/BYTES ..." by the function that asked for the blocks.
rows() {
    $py -c 'import collections, json, re, sys
sums = collections.defaultdict(lambda: [0] * 4)
for row in json.load(open("out"))[sys.argv[1] + "_stacks"]:
    names = [line["function"] for frame in row["frames"] for line in frame["lines"]]
    name = next((n for n in names if re.search(r"hold|lose|doubt", n)), names and names[-1] or "?")
    for i, key in enumerate(("blocks", "bytes", "indirect_blocks", "indirect_bytes")):
        sums[name][i] += row[key]
print(" ".join("%s %d/%d+%d/%d" % (name, *sums[name]) for name in sorted(sums)))' "$1"
}

begin ./truth
"$CAIRN" heap lost --all --json "$pid" >out 2>log || fail "cairn heap lost" log
lost=$(rows lost)
same "what is lost" "$lost" \
    "lose_at_end 1/304+0/0 lose_cycle 1/48+2/96 lose_in_thread 1/303+0/0 lose_list 1/48+999/47952 lose_one 5/1505+0/0 lose_owned 1/302+0/0"
doubtful="doubt_end 1/202+0/0 doubt_inside 1/201+0/0 doubt_tag 2/406+0/0"
has_bpf=$(ask '"without BPF" not in (j["notes"] or "")')
[ "$has_bpf" = True ] || doubtful="$doubtful hold_alternate_stack 1/65536+0/0"
same "what is doubtful" "$(rows possibly)" "$doubtful"
same "is it sure" "$(ask 'j["unsure"]')" None
same "threads" "$(ask 'j["look"]["threads"]')" 6
same "epoll sets" "$(ask 'j["look"]["epoll_sets"]')" 1
at_least 4 "$(ask 'j["look"]["passes"]')" "passes"
same "it was not stopped" "$(ask 'j["look"]["stopped_seconds"]')" 0
"$CAIRN" heap lost --consistent --top 0 --json "$pid" >out 2>log || fail "--consistent" log
same "the same of a stopped process" "$(rows lost)" "$lost"
at_least 1 "$(ask 'int(j["look"]["stopped_seconds"] * 1e6)')" "it was stopped"

"$CAIRN" heap lost truth >out 2>log || fail "by name" log
has out "48 B in 1 block lost, and by that 48.0 kB in 999 blocks" "text"
has out "lose_list (heap_lost.c:" "text"
has out "50.6 kB in 1,011 blocks lost, from 6 stacks" "the sum" # of heads and what hangs on them
has out "stacks: --possibly lists them" "what is not listed"
hasnt out "doubt_" "what is not listed"
has log "the process ran on" "how it was looked at"
"$CAIRN" heap lost --consistent --possibly "$pid" >out 2>log
has out "201 B in 1 block possibly lost" "--possibly"
has log "the process was stopped for" "how it was looked at"
printf 'leak:lose_list\n' >known
"$CAIRN" heap lost --suppressions known --fail-over 3k "$pid" >out 2>log
same "a gate that holds" $? 0
has log "suppressed: 48 B in 1 block from 1 stack by leak:lose_list" "what is suppressed"
"$CAIRN" heap lost --fail-over 3k "$pid" >out 2>log
same "a gate that does not" $? 3
has log "over the 3000 of --fail-over" "a gate that does not"
"$CAIRN" heap lost --consistent -o lost.pb.gz "$pid" >out 2>log || fail "-o" log
"$CAIRN" report --from pprof --json lost.pb.gz >out 2>log || fail "a profile of it" log
same "values of a profile" "$(ask 'j["values"]')" \
    "['lost_space', 'lost_objects', 'possibly_space', 'possibly_objects']"
"$CAIRN" heap lost --consistent -o - "$pid" 2>log | "$CAIRN" convert - --to collapsed -o lost.txt 2>>log ||
    fail "-o -" log
same "the bytes of a list in a profile" "$(awk '/lose_list/ { n += $NF } END { print n }' lost.txt)" 48000
"$CAIRN" heap lost --consistent -o lost.pb.gz "$pid" >out 2>log
same "the profile is there already" $? 1
"$CAIRN" heap report --lost --top 0 --json "$pid" >out 2>log || fail "heap report --lost" log
same "what is lost, in a report" "$(ask '(j["lost"]["bytes"], j["lost"]["blocks"])')" "(50558, 1011)"
same "what is lost of each stack" \
    "$(ask 'sorted(r["lost_bytes"] for r in j["top"]["live_bytes"] if r["lost_bytes"])[-3:]')" "[304, 1505, 48000]"
same "in the first table alone" "$(ask '[r for r in j["top"]["peak_bytes"] if "lost_bytes" in r]')" "[]"
"$CAIRN" heap report --lost --top 0 "$pid" >out 2>log || fail "heap report --lost" log
has out "50.6 kB in 1,011 blocks lost, from 6 stacks" "a report's sum"
grep -q "48.0 kB lost  get (heap_lost.c:[0-9]*) < lose_list" out || fail "a report's column" out
has log "the process ran on" "a report's look"
"$CAIRN" heap report --lost run.heap >out 2>log && fail "a report of a file"
"$CAIRN" heap report --lost --by function "$pid" >out 2>log
same "by function" $? 2
"$CAIRN" heap lost --module nothing --min 1k --older-than 0 "$pid" >out 2>log
has out "No lost blocks found." "of no module"
end
grep -q "" run.log

# What is wrong is said.
"$CAIRN" heap lost $$ >out 2>log && fail "a process without a tracker"
has log "is not tracked" "a process without a tracker"
"$CAIRN" heap lost no-such-name >out 2>log && fail "no such name"
has log "no process of that name" "no such name"
"$CAIRN" heap lost >out 2>log
same "no process" $? 2
"$CAIRN" heap lost --top x 1 >out 2>log
same "a wrong number" $? 2

# A process that ends meanwhile, or becomes another program.
cat >ends.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 100; i++) {
        void *volatile lost = malloc(50);
        lost = NULL;
        (void)lost;
    }
    puts("ready");
    fflush(stdout);
    usleep(700000);
    if (argc > 2)
        execlp("sleep", "sleep", "2", (char *)NULL);
    (void)argv;
    return 0;
}
END
gcc -O1 -o ends ends.c || exit 1
for how in exits execs; do
    # shellcheck disable=SC2046 # one word or two
    begin ./ends $how $([ $how = exits ] || echo now)
    "$CAIRN" heap lost "$pid" >out 2>log
    same "$how" $? 1
    n_checks=$((n_checks + 1))
    grep -qE "ended|No such process|not tracked" log || fail "$how" log
    end
done

# Without BPF: registers by a stop, and blocks that may be an alternate signal stack are not claimed.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    mkdir -m 755 other && mkdir -m 777 other/work && chmod 755 .
    cp "$CAIRN" truth other/ && cp "$(dirname "$CAIRN")/libcairn-heap.so" other/
    cat >other/look.sh <<'END'
cd work || exit 1
mkfifo input
../cairn heap run -f -o run.heap -- ../truth <input >ready 2>run.log &
runner=$!
exec 3>input
for _ in $(seq 100); do grep -q ready ready && break; sleep 0.05; done
XDG_CACHE_HOME=$PWD ../cairn heap lost --top 0 --json "$(pgrep -P $runner -x truth)" >out 2>log
exec 3>&-
wait
END
    (cd other && setpriv --reuid=nobody --regid=nogroup --clear-groups sh look.sh)
    cp other/work/out out
    same "without BPF" "$(rows lost)" "$lost"
    same "without BPF" "$(rows possibly)" \
        "doubt_end 1/202+0/0 doubt_inside 1/201+0/0 doubt_tag 2/406+0/0 hold_alternate_stack 1/65536+0/0"
    has out "alternate signal stacks are not known" "without BPF"
else
    skip "another user without BPF" "not root, or no setpriv"
fi

# Threads that move pointers all the time.
if g++ -g -O2 -pthread -o busy "$SRC/tests/e2e/heap_lost_busy.cc"; then
    begin ./busy 2
    for _ in 1 2; do
        "$CAIRN" heap lost --top 0 --json "$pid" >out 2>log || fail "while threads move" log
        same "while threads move" "$(ask '(j["lost"]["blocks"], j["unsure"])')" "(300, None)"
        same "of whom" "$(ask '[r["blocks"] for r in j["lost_stacks"]]')" "[100]"
    done
    "$CAIRN" heap lost --consistent --json "$pid" >out 2>log || fail "threads are stopped" log
    same "threads are stopped" "$(ask 'j["lost"]["blocks"]')" 300
    end
else
    skip "threads that move pointers" "no C++ compiler"
fi

# none PROGRAM WORD...: nothing of it may be lost, and a stop says the same.
none() {
    command -v "$1" >/dev/null || { skip "$1" "it is missing"; return; }
    rm -f input
    mkfifo input
    "$CAIRN" heap run -f -o run.heap -- "$@" <input >ready 2>run.log &
    runner=$!
    exec 3>input
    [ "$1" = sqlite3 ] && cat work.sql >&3
    for _ in $(seq 100); do
        pid=$(pgrep -P $runner -x "${1##*/}") && "$CAIRN" heap leaks "$pid" >out 2>/dev/null && break
        sleep 0.05
    done
    sleep 1
    for how in --top=0 --consistent; do
        "$CAIRN" heap lost $how --json "$pid" >out 2>log || fail "$1 $how" log
        same "$1 $how: lost" "$(ask 'j["lost"]["blocks"]')" 0
        # Without BPF the registers of who waits in epoll_wait(2) are not read.
        [ "$has_bpf" = True ] && same "$1 $how: sure" "$(ask 'j["unsure"]')" None
        at_least 100 "$(ask 'j["look"]["blocks"]')" "$1 $how: blocks"
    done
    exec 3>&-
    [ "$1" = redis-server ] && kill "$pid"
    wait
}
cat >work.sql <<'END'
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 9999)
    insert into t select x, hex(randomblob(20)) from c;
create index i on t(b);
END
none /usr/bin/python3 -c 'import json, re, sys, threading
kept = {i: [str(i)] * 3 for i in range(20000)}
json.loads(json.dumps({str(k): v for k, v in kept.items()}))
sys.stdin.read()'
# shellcheck disable=SC2016 # perl's variables
none perl -e 'use POSIX; my %h; $h{$_} = [1 .. 5] for 1 .. 9999; <STDIN>'
none sqlite3 test.db
none redis-server --port 0 --unixsocket "$WORK/socket" --save "" --daemonize no
finish "$n_checks checks of what is lost and what is not"
