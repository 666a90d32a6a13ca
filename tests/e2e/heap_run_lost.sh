#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap run --lost: what is lost when a program is at its end, or every second; the gate of it.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/heap_lib.sh
. "$SRC/tests/support/heap_lib.sh"
need_tracker
gcc -g -O1 -fno-inline -pthread -o ends "$SRC/tests/e2e/heap_exit.c" || exit 1
"$CAIRN" heap run --lost -f -o run.heap ./ends >out 2>log
same "the status of the command" $? 7
same "its output" "$(cat out)" ready
if grep -q "could not be read without a stop" log; then
    echo "skipped: registers cannot be read here"
    exit 77
fi
has log "10.0 kB in 10 blocks lost" "what is lost"
has log "lose (heap_exit.c:" "what is lost"
has log "11.5 kB in 11 blocks lost, from 2 stacks" "the sum: neither hold() nor hold_on_stack()"
has log "1.5 kB in 1 block lost" "what is no root any more; what is ignored is not lost"
has log "the process was stopped for" "how it was looked at"
has log "wrote run.heap" "the file is written all the same"

# run EXPECTED OPTION...: the status of a gate.
run() {
    expected=$1
    shift
    "$CAIRN" heap run --lost=at-exit -f -o run.heap "$@" ./ends >out 2>log
    same "$*" $? "$expected"
}
run 3 --fail-over 11499
has log "11500 bytes lost, over the 11499 of --fail-over" "a gate that closes"
run 7 --fail-over 11500 # 500 bytes and more live, but are not lost
printf 'leak:lose\nleak:^ignore$\n' >known
run 7 --fail-over 0 --suppressions known
has log "suppressed: 10.0 kB in 10 blocks from 1 stack by leak:lose" "what is suppressed"

# A wrapper that becomes the program; one that starts it is looked at itself.
"$CAIRN" heap run --lost -f -o run.heap sh -c 'exec ./ends' >out 2>log
same "exec: the status" $? 7
has log "10.0 kB in 10 blocks lost" "exec"
"$CAIRN" heap run --lost -f -o run.heap sh -c './ends; exit 4' >out 2>log
same "a child: the status" $? 4
hasnt log "10.0 kB in 10 blocks lost, 0" "a child is not looked at"
"$CAIRN" heap run --lost --fail-over 0 -f -o run.heap true >out 2>log
same "a program that loses nothing" $? 0

# Signals reach it, a stop holds it, and what kills it is told.
"$CAIRN" heap run --lost -f -o run.heap ./ends 9 >out 2>log &
cairn=$!
for _ in $(seq 200); do grep -q ready out && break; sleep 0.02; done
pid=$(pgrep -P $cairn -x ends)
kill -USR1 "$pid"
kill -STOP "$pid"
for _ in $(seq 200); do grep -q "^State:.*[Tt]" "/proc/$pid/status" && break; sleep 0.02; done
n_checks=$((n_checks + 1))
grep -q "^State:.*[Tt]" "/proc/$pid/status" || fail "a stop"
kill -CONT "$pid"
wait
has out "got a signal" "a signal"
has log "10.0 kB in 10 blocks lost" "behind a stop"
rm -f out # it says "ready"
"$CAIRN" heap run --lost -f -o run.heap ./ends 9 >out 2>log &
cairn=$!
for _ in $(seq 200); do grep -q ready out 2>/dev/null && break; sleep 0.02; done
kill -TERM "$(pgrep -P $cairn -x ends)"
wait $cairn
same "a signal that ends it" $? 143

# Every second, while it runs on.
"$CAIRN" heap run --lost=1 --fail-over 1k -f -o run.heap ./ends 4 >out 2>log
same "a gate of the last look" $? 3
has log "10.0 kB in 10 blocks lost" "every second"
has log "the process ran on" "every second"

# At a signal to cairn, of which the program gets nothing; without one nothing is known.
rm -f out
"$CAIRN" heap run --lost=USR1 --fail-over 1k -f -o run.heap ./ends 9 >out 2>log &
cairn=$!
for _ in $(seq 200); do grep -q ready out 2>/dev/null && break; sleep 0.02; done
hasnt log "blocks lost" "before the signal"
sleep 1.1 # so old is what is judged
kill -USR1 $cairn
for _ in $(seq 200); do grep -q "the process ran on" log && break; sleep 0.05; done
has log "10.0 kB in 10 blocks lost" "at a signal"
wait $cairn
same "a gate of the last signal" $? 3
same "the looks at signals" "$(grep -c "the process ran on" log)" 1
hasnt out "got a signal" "a signal that is for cairn"
"$CAIRN" heap run --lost=SIGHUP --fail-over 1k -f -o run.heap true >out 2>log
same "a gate without its signal" $? 1
has log "what is lost is not known" "a gate without its signal"

# Its main thread ends, and another one loses a block later: nobody may say that nothing was lost.
cat >early.c <<'PROGRAM'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *loses(void *unused)
{
    sleep(5);
    void *volatile block = malloc(1234);
    block = unused;
    return block;
}
int main(void)
{
    pthread_t id;
    pthread_create(&id, NULL, loses, NULL);
    pthread_exit(NULL);
}
PROGRAM
gcc -O1 -pthread -o early early.c || exit 1
"$CAIRN" heap run --lost --fail-over 0 -f -o run.heap ./early >out 2>log
same "a main thread that ends first" $? 1
has log "is not at its end: its main thread has ended (pthread_exit), and 1 other" "a main thread that ends first"
has log "what is lost is not known" "a main thread that ends first"

"$CAIRN" heap run --lost=often ./ends >out 2>log
same "a wrong time" $? 2
has log "expected at-exit, seconds, USR1, USR2 or HUP" "a wrong time"
"$CAIRN" heap run --lost --baseline run.heap ./ends >out 2>log
same "two gates" $? 2
"$CAIRN" heap run --lost ./no-such-program >out 2>log
same "no program" $? 1
finish "$n_checks checks of what is lost at the end"
