#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record by copies of stacks where code is odd: made at run time, of files that were deleted or replaced,
# interrupted by signals; and where few files may be open.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# record NAME OPTIONS...: into NAME.txt and log.
record() {
    local out=$1
    shift
    "$CAIRN" record --method=dump -F 999 -f -o "$out.txt" "$@" >out.log 2>log || fail "$out" log
}

# stop: ends the target.
stop() {
    kill $target
    wait $target 2>/dev/null
}

cc=${CC:-gcc}
flags=(-O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls)
"$cc" "${flags[@]}" -pthread -o prog "$SRC/tests/e2e/walk_programs.c" || exit 1
"$cc" "${flags[@]}" -o jit "$SRC/tests/e2e/jit_program.c" || exit 1
if ! "$CAIRN" record --method=dump -o probe.txt -- ./prog deep 0.1 1 >probe.log 2>&1; then
    grep -qE 'cannot sample|on this CPU' probe.log || { fail "the first recording" probe.log; exit 1; }
    echo "skipped: $(head -1 probe.log)"
    exit 77
fi

# Code made at run time: by the map that its compiler left, else as memory that is no file's.
./jit 100 &
target=$!
until grep -q 'made at run time' /tmp/perf-$target.map 2>/dev/null || ! kill -0 $target 2>/dev/null; do sleep 0.05; done
if kill -0 $target 2>/dev/null; then
    record jit -d 1 -p $target
    at_least 900 "$(permille jit.txt 'main;made at run time_\[j\]')" "code with a map"
    at_least 950 "$(whole)" "code with a map"
    rm -f /tmp/perf-$target.map
    record bare -d 1 -p $target
    at_least 900 "$(permille bare.txt 'main;\[anon\]\+0x[0-9a-f]*( |;.*_\[k\])')" "code without a map"
    at_least 950 "$(whole)" "code without a map"
    stop
else
    skip jit "no code for this CPU, or memory that is written may not run here"
fi

# A handler on the stack that it interrupted is walked across; one on its own has a reason.
record same -- ./prog signal 3 0
grep ';on_alarm;' same.txt >handler.txt || fail "a handler" same.txt
at_least 950 "$(permille handler.txt 'main;(alarmed;)?busy;.*on_alarm;busy')" "a handler: what it interrupted"
record own -- ./prog signal 3
has log "the handler of a signal has a stack of its own" "a handler with a stack of its own"
grep ';on_alarm;' own.txt >handler.txt || fail "a handler with a stack of its own" own.txt
sort handler.txt | sed 's/^/    interrupted: /' | head -4 >>log
at_least 950 "$(permille handler.txt 'busy;.*on_alarm;busy')" "what a handler on its own stack has interrupted"
if [ "$(uname -m)" = x86_64 ]; then
    at_least 900 "$(permille handler.txt '__restore_rt;on_alarm')" "a signal's frame by name"
fi

# What lies in files that are deleted or replaced by now is walked by the rules of the old ones.
cat >through.c <<'TEXT'
__attribute__((noinline)) void through(void (*fn)(int), int n)
{
    volatile char frame[200];
    frame[0] = 1;
    fn(n);
    frame[1] = frame[0];
}
TEXT
cat >caller.c <<'TEXT'
#include <stdlib.h>
#include <time.h>
void through(void (*fn)(int), int n);
static volatile unsigned long sink;
static void busy(int seconds)
{
    const time_t end = time(0) + seconds;
    while (time(0) < end)
        for (int i = 0; i < 10000000; i++)
            sink++;
}
int main(int argc, char **argv)
{
    through(busy, argc > 1 ? atoi(argv[1]) : 1);
    return 0;
}
TEXT
# The same with nothing at the same place.
sed 's/200/4000/; s/frame\[1\] = /frame[2] = frame[3] = frame[4] = /' through.c >other.c

# start FOLDER [SETPRIV...]: a target of files there, which are ours to spoil.
start() {
    local at=$1
    shift
    "$cc" "${flags[@]}" -shared -fPIC -o "$at/libthrough.so" through.c &&
        "$cc" "${flags[@]}" -o "$at/caller" caller.c -L"$at" -lthrough -Wl,-rpath,"$at" || exit 1
    "$@" "$at/caller" 100 &
    target=$!
    until [ "$(awk '/^State/ { print $2 }' /proc/$target/status)" = R ] &&
        grep -q 'x.*libthrough' /proc/$target/maps; do sleep 0.05; done
}

# spoil FOLDER: another library and program are there, or none.
spoil() {
    rm "$1/libthrough.so" "$1/caller"
    [ $how = deleted ] || { "$cc" "${flags[@]}" -shared -fPIC -o "$1/libthrough.so" other.c && cp prog "$1/caller"; }
}

user=$(mktemp -d)
chmod 777 "$user"
cp "$CAIRN" "$user"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
for how in deleted replaced; do
    start "$PWD"
    spoil "$PWD"
    record $how -d 1 -p $target
    at_least 950 "$(whole)" "$how"
    stop
    if [ "$(id -u)" != 0 ] || ! "${nobody[@]}" "$user/cairn" version >out.log 2>&1; then
        skip "$how, by an ordinary user" "this is run without root, or without setpriv"
    elif [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
        skip "$how, by an ordinary user" "kernel.perf_event_paranoid is more than 2"
    else
        start "$user" "${nobody[@]}"
        spoil "$user"
        "${nobody[@]}" "$user/cairn" record --method=dump -F 999 -d 1 -f -o "$user/user.txt" -p $target 2>log ||
            fail "$how, by an ordinary user" log
        at_least 950 "$(whole)" "$how, by an ordinary user"
        stop
    fi
done
rm -rf "$user"

# Events are threads times CPUs: the limit of open files is raised as far as may be, else there is a clear word.
./prog threads 100 30 &
target=$!
until [ "$(awk '/^Threads/ { print $2 }' /proc/$target/status)" = 31 ]; do sleep 0.05; done
(failed=0 && ulimit -Sn 32 && record soft -d 1 -p $target && at_least 900 "$(whole)" "a low soft limit" &&
    exit $failed) || fail "a low soft limit" log
# Fewer descriptors than threads: events on whole CPUs, whose samples are told apart by their pid.
(failed=0 && ulimit -n 40 && record hard -d 1 -p $target && at_least 900 "$(whole)" "a low hard limit" &&
    exit $failed) || fail "a low hard limit" log
stop

finish "$n_checks checks hold"
