#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap attach, detach, stop and start on programs that run already: what is recorded is exact,
# no call of theirs fails, nothing grows, and what cannot be attached to is refused untouched.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc /usr/bin/python3
[ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] || { echo "skipped: attach has no code for $(uname -m) yet"; exit 77; }
gcc -O1 -g -fno-builtin -pthread -o program "$SRC/tests/e2e/heap_attach.c" || exit 1

# A coprocess each: ask_it LINE prints its answer.
ask_it() {
    echo "$1" >&"${it[1]}"
    read -r -t 60 answer <&"${it[0]}" || answer="no answer"
    echo "$answer"
}
attach() {
    "$CAIRN" heap attach "$pid" >out 2>log
}
detach() {
    "$CAIRN" heap detach "$pid" >out 2>log
}
# kept SIZE: how many blocks of the kept ones are known to live. A leak of one size has one stack.
kept() {
    "$CAIRN" heap leaks --json "$pid" >out 2>err
    ask "sum(l['blocks'] for l in j['leaks'] if any(s['function'] == 'keep_one' for f in l['frames'] for s in f['lines']))"
}
n_maps() { wc -l <"/proc/$pid/maps"; }
n_fds() { find "/proc/$pid/fd" -mindepth 1 | wc -l; }
n_threads() { find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l; }
text_of() { # the bytes of libc's code as the process has them
    /usr/bin/python3 - "$pid" <<'PY'
import hashlib, sys
pid, h = sys.argv[1], hashlib.sha256()
with open(f"/proc/{pid}/mem", "rb") as mem:
    for line in open(f"/proc/{pid}/maps"):
        where, rights, *_, = line.split()
        if "x" in rights and "libc.so" in line:
            low, high = (int(x, 16) for x in where.split("-"))
            mem.seek(low)
            h.update(mem.read(high - low))
print(h.hexdigest())
PY
}

mkdir bin && cp program "bin/att$$" || exit 1 # not here: a file comes before a process of its name
coproc it { exec "bin/att$$"; }
# shellcheck disable=SC2154 # coproc sets it
pid=$it_PID
same "it runs" "$(ask_it 'keep 500 333')" "done"
before=$(text_of)
attach || { grep -q "may not be traced\|ptrace" log && { echo "skipped: $(cat log)"; exit 77; }; fail "attach" log; }
has out "attached to $pid in " "what it says"
has out "held one thread " "what it says"
[ "$(text_of)" != "$before" ] || fail "libc's code is as before: nothing leads to the tracker"

# Blocks by threads that allocate all the time; those from before are freed meanwhile.
same "freed: blocks from before" "$(ask_it drop)" "done"
same "no kept one yet" "$(kept)" 0
same "new blocks" "$(ask_it 'keep 700 1234')" "done"
same "each new block is known" "$(kept)" 2800
same "as many are freed" "$(ask_it 'keep 200 1234')" "done"
same "those left" "$(kept)" 800
"$CAIRN" heap mark "att$$" >marked 2>/dev/null || fail "mark"
same "after the mark" "$(ask_it 'keep 300 99')" "done"
"$CAIRN" heap leaks --json --since-mark "$(cat marked)" "$pid" >out 2>err
at_least 400 "$(ask "j['blocks']")" "since the mark"
"$CAIRN" heap report --json "$pid" >out 2>err || fail "report" err
"$CAIRN" heap leaks "att$$" >/dev/null 2>err || fail "leaks, by the process's name" err
has err "every block recorded since the tracker came; " "what it knows"
has err "from before the tracker" "what it knows of older ones"
same "nothing is lost" "$(ask "j['not_recorded_blocks']")" 0

# Births are not recorded while it is stopped, deaths are.
"$CAIRN" heap stop "$pid" >out 2>log || fail "stop" log
same "unrecorded" "$(ask_it 'keep 900 55')" "done"
same "as before the stop" "$(kept)" 1200
same "freed while stopped" "$(ask_it drop)" "done"
same "no phantoms" "$(kept)" 0
"$CAIRN" heap start "$pid" >out 2>log || fail "start" log
same "recorded" "$(ask_it 'keep 10 55')" "done"
same "after start" "$(kept)" 40
"$CAIRN" heap report --json "$pid" >out 2>err || fail "report after start" err
"$CAIRN" heap leaks "$pid" >/dev/null 2>err || fail "leaks after start" err
has err "1 processes that were not recorded for a time" "that it was stopped"
hasnt err "every block" "that it was stopped"
same "that it was stopped, in JSON" "$(ask "j['processes_paused'], j['processes_late']")" "(1, 1)"
attach && fail "attached twice"
has log "is tracked already" "a second attach"

detach || fail "detach" log
has out "detached from $pid" "what it says"
same "libc's code after detach" "$(text_of)" "$before"
detach || fail "a second detach" log

# Again and again: nothing grows, and what was known before is forgotten.
attach || fail "again" log
has out "again" "what it says"
same "known before" "$(kept)" 0
detach || fail "detach again" log
maps=$(n_maps) fds=$(n_fds) threads=$(n_threads)
for i in $(seq 20); do
    attach || fail "attach $i" log
    detach || fail "detach $i" log
done
at_most $((maps + 2)) "$(n_maps)" "mappings after 20 times" # the arenas of its threads grow
same "descriptors" "$(n_fds)" "$fds"
same "threads" "$(n_threads)" "$threads"
same "libc's code after 20 times" "$(text_of)" "$before"
same "calls that came back early" "$(ask_it eintr)" 0
turns=$(ask_it turns)
[ "$(ask_it turns)" -ge "$turns" ] || fail "its threads stand"

# A stopped process is attached to, and stays stopped.
kill -STOP "$pid"
attach || fail "stopped" log
same "it stays stopped" "$(awk '/^State:/ { print $2 }' "/proc/$pid/status")" T
kill -CONT "$pid"
same "it goes on" "$(ask_it 'keep 20 77')" "done"
same "recorded after SIGCONT" "$(kept)" 40

# cairn killed in the middle: the program goes on, and the next one mends what is there.
detach || fail "detach after SIGCONT" log
for ms in 1 3 6 10 15 20 30; do
    "$CAIRN" heap attach "$pid" >/dev/null 2>&1 &
    sleep "0.0$(printf %02d $ms)"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    kill -0 "$pid" || { fail "cairn killed after $ms ms: the program died"; break; }
    detach || grep -q "nobody attached" log || fail "detach after a cairn killed after $ms ms" log
done
same "it still answers" "$(ask_it 'keep 5 77')" "done"
same "libc's code after killed ones" "$(text_of)" "$before"
eval "exec ${it[1]}>&-"
wait "$pid"
same "its exit status" $? 0


# A program whose loader has not mapped libc yet: it waits for a pipe's other end.
mkfifo slow.so
coproc it { LD_PRELOAD=$PWD/slow.so exec ./program 2>/dev/null; }
pid=$it_PID
until [ "$(readlink "/proc/$pid/exe")" = "$PWD/program" ]; do sleep 0.01; done
{ sleep 0.3; : >slow.so; } &
opener=$!
attach || fail "a program that is being loaded" log
wait "$opener"
same "being loaded: new blocks" "$(ask_it 'keep 100 640')" "done"
same "being loaded: each is known" "$(kept)" 400
eval "exec ${it[1]}>&-"
wait "$pid"
same "being loaded: its exit status" $? 0

# An interpreter as the distribution has it, and one with an allocator of its own in a library.
/usr/bin/python3 -c 'import time
kept = []
while True:
    kept.append(bytearray(100000))
    time.sleep(0.01)' &
pid=$!
until [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f /usr/bin/python3)" ]; do sleep 0.01; done
attach || fail "python3" log
for _ in $(seq 100); do
    "$CAIRN" heap leaks "$pid" >out 2>err
    grep -q PyByteArray_Resize out && break
    sleep 0.1
done
has out PyByteArray_Resize "python3: who holds the blocks"
detach || fail "python3: detach" log
kill -0 "$pid" || fail "python3 died"
kill "$pid"
jemalloc=$(ls /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 2>/dev/null)
if [ -n "$jemalloc" ]; then
    coproc it { LD_PRELOAD=$jemalloc exec ./program; }
    pid=$it_PID
    same "jemalloc: it runs" "$(ask_it 'keep 0 0')" "done"
    attach || fail "jemalloc" log
    same "jemalloc: new blocks" "$(ask_it 'keep 100 640')" "done"
    same "jemalloc: each is known" "$(kept)" 400
    same "jemalloc: freed" "$(ask_it drop)" "done"
    same "jemalloc: none is left" "$(kept)" 0
    detach || fail "jemalloc: detach" log
    same "jemalloc: it answers" "$(ask_it 'keep 1 1')" "done"
    kill "$pid"
else
    skip jemalloc "libjemalloc.so.2 is missing"
fi

# Refused, and the program goes on.
refused() { # WORDS CASE
    attach && fail "$2: attached"
    has log "$1" "$2"
    kill -0 "$pid" || fail "$2: it died"
    kill "$pid"
}
"$CAIRN" heap run -o run.heap -- sh -c 'echo $$ >run.pid; exec sleep 60' >/dev/null 2>&1 &
for _ in $(seq 100); do
    pid=$(cat run.pid 2>/dev/null)
    [ "$(cat "/proc/${pid:-0}/comm" 2>/dev/null)" = sleep ] && grep -q libcairn-heap "/proc/$pid/maps" && break
    sleep 0.1
done
"$CAIRN" heap stop "$pid" >out 2>log || fail "stop of heap run" log
has out "not recorded" "stop of heap run"
refused "tracked already, from its start" "a process of heap run"
printf 'int main(void) { for (;;) __builtin_ia32_pause(); }\n' >none.c
gcc -O1 -nostdlib -nostartfiles -static -Wl,-emain -o none none.c || exit 1
./none &
pid=$!
for _ in $(seq 100); do
    [ "$(readlink "/proc/$pid/exe")" = "$PWD/none" ] && break
    sleep 0.1
done
refused "has no malloc" "a program without an allocator"
pid=$$
"$CAIRN" heap attach 999999999 >out 2>log && fail "no such process"
"$CAIRN" heap detach "$pid" >out 2>log && fail "detached from what nobody attached to"
has log "nobody attached to it" "detach"
finish "exact, harmless, and as before ($n_checks checks)"
