#!/bin/sh
# SPDX-License-Identifier: MIT
# Stacks of real debuggers as inputs: gdb and eu-stack give the same stacks of one process, with
# calls that were inlined and a signal; a stripped program gets its names by the build ID.
set -eu

fail() {
    echo "debugger: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >threads.c <<'EOC'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t ready;
static inline __attribute__((always_inline)) int rest(volatile int *p)
{
    pthread_barrier_wait(&ready);
    pause();
    return *p;
}
__attribute__((noinline)) int leaf(volatile int *p, const char *text) { return rest(p) + *text; }
static void *work(void *p) { return (void *)(long)(leaf(p, "he said \") at x:1") + 1); }
static void on_signal(int number)
{
    volatile int n = number;
    exit(leaf(&n, "in the handler") + 1);
}
int main(int argc, char **argv)
{
    int n = argc;
    pthread_t thread;
    if (argc > 1)
        abort();
    pthread_barrier_init(&ready, 0, 3);
    pthread_create(&thread, 0, work, &n);
    signal(SIGALRM, on_signal);
    signal(SIGUSR1, on_signal);
    pthread_t self = pthread_self();
    (void)self;
    puts(argv[0]);
    fflush(stdout);
    alarm(60);
    raise(SIGUSR1);
    return 0;
}
EOC
sed -i 's/&ready, 0, 3/\&ready, 0, 2/' threads.c
mkdir -p sym
gcc -g -O1 threads.c -o whole -lpthread -Wl,--build-id
strip -o stripped whole
mv whole sym/stripped

./stripped >out &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s out ] && [ "$(grep -l 'S' "/proc/$pid/task/"*/stat | wc -l)" = 2 ] && break
    sleep 0.2
done
sleep 0.2

# The functions of the program on each stack, leaf first, one stack a line.
own() {
    "$CAIRN" convert "$1" -o - --to collapsed 2>said | sed 's/ [0-9]*$//; s/_\[i\]//g' |
        awk -F';' '{ line = ""; for (i = NF; i > 0; i--)
            if ($i ~ /^(rest|leaf|work|on_signal|main)$/) line = line " " $i; print line }' | sort
}
printf ' rest leaf on_signal main\n rest leaf work\n' >expected

tried=0
if command -v gdb >/dev/null && gdb -batch -ex 'file sym/stripped' -p "$pid" \
    -ex 'thread apply all bt' >gdb.txt 2>said && grep -q ' in ' gdb.txt; then
    tried=$((tried + 1))
    own gdb.txt >names
    cmp -s expected names || fail "gdb: $(cat names gdb.txt)"
    "$CAIRN" convert gdb.txt --label "tid=$pid" -o - --to collapsed 2>said | grep -q on_signal ||
        fail "gdb: the first thread"
    "$CAIRN" convert gdb.txt -o - --to collapsed 2>said | grep -q 'leaf;rest_\[i\]' ||
        fail "gdb: the inlined call"
    "$CAIRN" report gdb.txt >table 2>said || fail "gdb: report"
    grep -q pause table || fail "gdb: the report has no name: $(cat table)"
    # A crash: its innermost frame is printed twice, and counts once.
    gdb -batch -ex run -ex bt --args sym/stripped crash >crash.txt 2>said || true
    if grep -q 'received signal SIGABRT' crash.txt; then
        "$CAIRN" convert crash.txt --label stack=crashed -o - --to collapsed >names 2>said ||
            fail "gdb: the crash"
        [ "$(wc -l <names)" = 1 ] || fail "gdb: stacks of the crash: $(cat names crash.txt)"
        grep -q '^main;.*abort' names ||
            fail "gdb: the stack of the crash: $(cat names crash.txt)"
    fi
fi
# Exit status 1 says that a stack was cut.
if command -v eu-stack >/dev/null && { eu-stack -b -m -s -i -a -p "$pid" >eu.txt 2>said || [ $? = 1 ]; } &&
    grep -q '^TID' eu.txt; then
    tried=$((tried + 1))
    own eu.txt >names
    [ "$(grep -c rest names)" = 0 ] || fail "eu-stack: a stripped program has names"
    "$CAIRN" resolve eu.txt --symbols sym -o eu.pb.gz 2>said || fail "eu-stack: resolve"
    own eu.pb.gz >names
    cmp -s expected names || fail "eu-stack: $(cat names eu.txt)"
    "$CAIRN" convert eu.pb.gz --label "pid=$pid" --label "tid=$pid" -o - --to collapsed >names 2>said ||
        fail "eu-stack: labels"
    grep -q on_signal names || fail "eu-stack: the first thread: $(cat names)"
    "$CAIRN" flame eu.pb.gz --no-open -f -o x.svg >out2 2>said || fail "flame"
    grep -q 'on_signal' x.svg || fail "the picture has no name"
fi

# What coredumpctl prints, with addresses of this program.
id=$(readelf -n sym/stripped | sed -n 's/.*Build ID: //p')
leaf=$(nm sym/stripped | sed -n 's/ T leaf$//p') work=$(nm sym/stripped | sed -n 's/ t work$//p')
cat >core.txt <<EOT
           PID: 4813 (stripped)
        Signal: 11 (SEGV)
       Message: Process 4813 (stripped) of user 1000 dumped core.
                Module /opt/stripped with build-id $id
                Stack trace of thread 4814:
                #0  0x000055d2c1001234 n/a (/opt/stripped + $(printf '%#x' $((0x$leaf + 1))))
                #1  0x000055d2c1001334 n/a (/opt/stripped + $(printf '%#x' $((0x$work + 5))))

                Stack trace of thread 4813:
                #0  0x000055d2c1001334 n/a (/opt/stripped + $(printf '%#x' $((0x$work + 4))))
EOT
"$CAIRN" resolve core.txt --symbols sym -o core.pb.gz 2>said || fail "coredumpctl: resolve"
"$CAIRN" convert core.pb.gz --label stack=crashed -o - --to collapsed >names 2>said ||
    fail "coredumpctl: no stack is the crashed one"
[ "$(cat names)" = 'work;leaf 1' ] || fail "coredumpctl: $(cat names)"
[ $tried -gt 0 ] || {
    echo "skipped: neither gdb nor eu-stack may read a process here: $(tail -n 1 said)"
    exit 77
}
