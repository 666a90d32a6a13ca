#!/bin/bash
# SPDX-License-Identifier: MIT
# Signals to `cairn heap run` and `cairn record` reach the command, and the file and the summary come
# however both end. An output that cannot be written stops the run before it starts, and one that
# becomes impossible meanwhile loses nothing.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc python3
[ -f "$(dirname "$CAIRN")/libcairn-heap.so" ] || { echo "skipped: there is no libcairn-heap.so"; exit 77; }

cat >target.c <<'CC'
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t ends;
static void on(int number, siginfo_t *info, void *context)
{
    char line[] = "got 00 00\n";
    int value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
    (void)context;
    line[4] = (char)('0' + number / 10), line[5] = (char)('0' + number % 10);
    line[7] = (char)('0' + value / 10), line[8] = (char)('0' + value % 10);
    (void)!write(1, line, 10);
    ends = number == SIGTERM || number == SIGQUIT;
}
int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    static void *volatile kept;
    kept = malloc(1234);
    for (int i = 1; argc > 1 && strcmp(argv[1], "all") == 0 && i < 65; i++)
        sigaction(i, &action, NULL);
    if (argc > 2)
        (void)!freopen(argv[2], "w", stdout);
    (void)!write(1, "ready\n", 6);
    while (!ends) /* not pause(2): the signal may come just before it */
        usleep(50000);
    return 7;
}
CC
target=./heap_signals_$$
gcc -O1 -fno-builtin -w -o $target target.c || { fail "target.c does not compile"; finish signals; }

trap 'pkill -KILL -f "^$target"' EXIT

# wait_for FILE TEXT
wait_for() {
    local tries=0
    until grep -qF -- "$2" "$1" 2>/dev/null || [ $((tries += 1)) -gt 400 ]; do sleep 0.05; done
    has "$1" "$2" "waiting for \"$2\""
}

# begin HOW OUT: `cairn heap run` of the target, its pid in $runner.
begin() {
    rm -f out
    "$CAIRN" heap run --force -o "$2" -- $target "$1" >out 2>log &
    runner=$!
    wait_for out ready
}

# left: targets that go on without cairn.
left() {
    pgrep -f "^$target" | wc -l
}

# What ends the command ends cairn with its status, its file and its summary.
for signal in TERM HUP USR1 USR2 INT QUIT ALRM RTMIN+3; do
    case $signal in
        INT | QUIT) # a shell lets its background jobs ignore these
            rm -f out
            python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGQUIT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$CAIRN" heap run --force -o "$signal.heap" -- $target plain >out 2>log &
            runner=$!
            wait_for out ready ;;
        *) begin plain "$signal.heap" ;;
    esac
    kill "-$signal" $runner
    wait $runner
    same "SIG$signal: the status" $? $((128 + $(kill -l "$signal")))
    has log "live at the end" "SIG$signal: the summary"
    has log "wrote $signal.heap" "SIG$signal: the file"
    "$CAIRN" heap leaks "$signal.heap" >out 2>log || fail "SIG$signal: the file" log
    has out "1.2 kB in 1 block" "SIG$signal: what the file holds"
    same "SIG$signal: nobody is left" "$(left)" 0
done

# The command decides: what it handles reaches it once, with its value, and ends nothing.
begin all all.heap
for signal in HUP USR1 USR2 WINCH CONT; do
    kill -$signal $runner
    wait_for out "got $(printf %02d "$(kill -l $signal)") 00"
done
/usr/bin/python3 -c 'import ctypes, sys
class value(ctypes.Union): _fields_ = [("sival_int", ctypes.c_int), ("sival_ptr", ctypes.c_void_p)]
ctypes.CDLL(None).sigqueue(int(sys.argv[1]), 40, value(42))' $runner
wait_for out "got 40 42"
kill -TERM $runner
wait $runner
same "a command that handles its signals: status" $? 7
same "a command that handles its signals: each once" "$(grep -c got out)" 7
has log "wrote all.heap" "a command that handles its signals"

# What the terminal sends to all is not sent twice, and what the command sends to its group not back.
/usr/bin/python3 - "$CAIRN" $target >said 2>&1 <<'PY'
import os, pty, signal, subprocess, sys, time
master, slave = pty.openpty()
def session():
    os.setsid()
    import fcntl, termios
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
run = subprocess.Popen([sys.argv[1], "heap", "run", "--force", "-o", "tty.heap", "--", sys.argv[2], "all", "tty.out"],
                       stdin=slave, stdout=slave, stderr=slave, preexec_fn=session)
os.close(slave)
def until(text):
    for _ in range(400):
        if os.path.exists("tty.out") and text in open("tty.out").read():
            return
        time.sleep(0.05)
    print("no", text)
until("ready")
os.write(master, b"\x03")
until("got 02")
time.sleep(0.3)
os.write(master, b"\x1c")
while True:
    try:
        if not os.read(master, 4096): break
    except OSError: break
print("status", run.wait(20))
print(open("tty.out").read())
PY
has said "status 7" "a terminal's keys"
same "a terminal's keys: each once" "$(grep -c 'got' said)" 2
setsid -w "$CAIRN" heap run --force -o group.heap -- sh -c 'trap "echo got term" TERM; kill -TERM 0; sleep 0.2; exit 6' >out 2>log
same "a signal to the own group: status" $? 6
same "a signal to the own group: once" "$(grep -c 'got term' out)" 1

# The same from a command's first instructions, which come before cairn knows its pid. One run in
# ten meets that moment.
cat >group.c <<'CC'
#include <signal.h>
#include <unistd.h>
static void on(int number)
{
    (void)number;
    (void)!write(1, "got\n", 4);
}
int main(void)
{
    struct sigaction action = {.sa_handler = on};
    sigaction(SIGTERM, &action, 0);
    kill(getppid(), SIGSTOP), kill(0, SIGTERM), kill(getppid(), SIGCONT);
    usleep(20000);
    return 6;
}
CC
if gcc -O1 -static -o group group.c 2>log; then
    one_cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
    for _ in $(seq 30); do
        setsid -w taskset -c "$one_cpu" "$CAIRN" heap run --force -o group.heap -- ./group 2>>log
    done >out
    same "a signal to the own group, at once: once each" "$(grep -c got out)" 30
else
    fail "group.c does not compile" log
fi

# Ignored before is ignored: nohup(1).
nohup "$CAIRN" heap run --force -o nohup.heap -- $target plain >out 2>log </dev/null &
runner=$!
wait_for out ready
kill -HUP $runner
sleep 0.2
kill -TERM $runner
wait $runner
same "nohup: SIGHUP ends nothing" $? 143

# Who reads the messages may go: the file comes.
{ "$CAIRN" heap run --force -o pipe.heap -- true 2>&1; echo $? >status; } | true
same "a pipe that nobody reads: status" "$(cat status)" 0
"$CAIRN" heap leaks pipe.heap >out 2>log || fail "a pipe that nobody reads: the file" log

# Stopped and continued, with the command. In a process group of its own, for the kernel lets no
# terminal stop one that nobody could continue.
set -m
begin plain stop.heap
set +m
kill -TSTP $runner
for _ in $(seq 100); do
    [ "$(cut -d' ' -f3 "/proc/$(pgrep -P $runner)/stat")$(cut -d' ' -f3 /proc/$runner/stat)" = TT ] && break
    sleep 0.05
done
same "SIGTSTP: both stop" "$(cut -d' ' -f3 "/proc/$(pgrep -P $runner)/stat")$(cut -d' ' -f3 /proc/$runner/stat)" TT
kill -CONT $runner
for _ in $(seq 100); do
    [ "$(cut -d' ' -f3 "/proc/$(pgrep -P $runner)/stat")" = S ] && break
    sleep 0.05
done
same "SIGCONT: the command goes on" "$(cut -d' ' -f3 "/proc/$(pgrep -P $runner)/stat")" S
kill -TERM $runner
wait $runner
same "after SIGCONT: status" $? 143

# An output that cannot be: before the command runs.
: >there.heap
"$CAIRN" heap run -o there.heap -- touch ran 2>log
same "a file that is there: status" $? 1
has log "there.heap: is there already" "a file that is there"
"$CAIRN" heap run -o no/such/folder.heap -- touch ran 2>log
same "a folder that is missing: status" $? 1
[ ! -e ran ] || fail "the command ran though its record could not be written"
mkdir closed
if [ "$(id -u)" != 0 ]; then
    chmod 555 closed
    (cd closed && "$CAIRN" heap run -- touch "$WORK/ran" 2>../log)
    same "a folder that may not be written: status" $? 1
    [ ! -e ran ] || fail "the command ran though its record could not be written"
fi

# One that becomes impossible meanwhile: a new name, or the states themselves.
"$CAIRN" heap run -o late.heap -- sh -c 'echo mine >late.heap; exit 3' 2>log
same "a file that comes meanwhile: status" $? 3
has log "late.heap came into being meanwhile, and stays; the new file is late.1.heap" "a file that comes meanwhile"
same "a file that comes meanwhile: whose it is" "$(cat late.heap)" mine
"$CAIRN" heap leaks late.1.heap >out 2>log || fail "late.1.heap" log
mkdir gone
"$CAIRN" heap run -o gone/x.heap -- rm -r gone 2>log
folder=$(sed -n 's/.*what was recorded stays in \([^ ]*\): .*/\1/p' log)
[ -n "$folder" ] || fail "a folder that is removed: where the record is" log
"$CAIRN" heap leaks "$folder" >out 2>log2 || fail "a folder that is removed: the record" log2
has log "live at the end" "a folder that is removed: the summary"
case $folder in */cairn-heap.*) rm -r "$folder" ;; esac
(cd /tmp && "$CAIRN" heap run -- true) >out 2>log
written=/tmp/$(sed -n 's/.*wrote \(cairn\.[0-9]*\.heap\):.*/\1/p' log)
[ -f "$written" ] || fail "the default name" log
rm -f "$written"

# cairn stack -o: its looks are not to be had again, either.
if "$CAIRN" stack -n 2 -o there.heap.collapsed -f $$ >out 2>log; then
    start=$(date +%s%N)
    "$CAIRN" stack -n 100 -i 100 -o there.heap.collapsed $$ >out 2>log
    same "stack, a file that is there: status" $? 1
    has log "is there already" "stack, a file that is there"
    n_checks=$((n_checks + 1))
    [ $((($(date +%s%N) - start) / 1000000)) -lt 9000 ] || fail "stack: looked before it said so"
else
    skip "cairn stack -o" "it may not look here: $(head -n 1 log)"
fi

# cairn record: the same.
if "$CAIRN" record -d 0.1 -o probe.pb.gz -f -- sleep 1 >out 2>log; then
    for signal in TERM HUP; do
        rm -f out
        "$CAIRN" record -f -o record.pb.gz -- $target plain >out 2>log &
        runner=$!
        wait_for out ready
        kill -$signal $runner
        wait $runner
        same "record, SIG$signal: status" $? 0
        has log "wrote record.pb.gz" "record, SIG$signal"
        has log "was ended by signal $(kill -l $signal)" "record, SIG$signal"
        same "record, SIG$signal: nobody is left" "$(left)" 0
    done
    rm -f out
    "$CAIRN" record -f -o record.pb.gz -- $target all >out 2>log &
    runner=$!
    wait_for out ready
    kill -USR1 $runner
    wait_for out 'got 10'
    kill -TERM $runner
    wait $runner
    has log "the command ended with exit status 7" "record: a command that handles its signals"
    $target plain >out &
    pid=$!
    "$CAIRN" record -f -v -o record.pb.gz -p $pid >out 2>log &
    runner=$!
    wait_for log 'sampling has begun'
    kill -HUP $runner
    wait $runner
    same "record -p, SIGHUP: status" $? 0
    has log "wrote record.pb.gz" "record -p, SIGHUP"
    kill $pid
    wait $pid 2>/dev/null
    rm -f late.pb.gz
    "$CAIRN" record -o late.pb.gz -- sh -c 'echo mine >late.pb.gz' 2>log
    same "record, a file that comes meanwhile: status" $? 0
    has log "the new file is late.1.pb.gz" "record, a file that comes meanwhile"
    has log "wrote late.1.pb.gz" "record, a file that comes meanwhile"
elif grep -q 'cannot sample' log; then
    skip "cairn record" "it may not sample here: $(head -n 1 log)"
else
    fail "cairn record" log
fi

finish "signals reach the command, and no record is lost ($n_checks checks)"
