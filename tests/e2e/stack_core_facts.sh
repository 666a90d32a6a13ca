#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn stack of core files that the kernel wrote: what ended the program, who it was, and programs
# that the notes do not name.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

cat >crash.c <<'TEXT'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int zero;
static int *volatile nowhere = (int *)0x1234;
static const int constant = 7;
__attribute__((noinline)) static void *crash(void *kind)
{
    const char *how = kind;
    if (strcmp(how, "segv") == 0)
        *nowhere = 1;
    else if (strcmp(how, "write") == 0)
        *(volatile int *)&constant = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "fpe") == 0)
        zero = 12345 / zero;
    else if (strcmp(how, "bus") == 0) {
        int fd = open("empty", O_RDWR | O_CREAT | O_TRUNC, 0600);
        volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        *p = 1;
    } else if (strcmp(how, "wait") == 0)
        for (;;)
            pause();
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 2 && strcmp(argv[2], "thread") == 0) {
        pthread_create(&thread, NULL, crash, argv[1]);
        pthread_join(thread, NULL);
    }
    crash(argv[1]);
    return 0;
}
TEXT
gcc -g -O1 -Wl,--build-id -w -o crash crash.c -pthread || exit 1
ulimit -c unlimited || { echo "skipped: core files are forbidden here (ulimit -c)"; exit 77; }

# core ARGUMENT...: what the program leaves, as `core`; its pid is in `pid`.
core() {
    rm -f core core.*
    ./crash "$@" >/dev/null 2>&1 &
    pid=$!
    [ "$1" != wait ] || { sleep 0.5; kill -XCPU $pid; }
    wait $pid 2>/dev/null
    [ -e core ] || mv core.* core 2>/dev/null
    [ -e core ]
}
core segv first "and second" || { echo "skipped: no core file is left: $(cat /proc/sys/kernel/core_pattern)"; exit 77; }

text() {
    "$CAIRN" stack "$@" core >out 2>log || fail "cairn stack core" log
}

text
has out "core: core file" "the head"
has out "process $pid (crash): ./crash segv first and second" "name and arguments"
has out "ended by SIGSEGV at address 0x1234: nothing is mapped there; thread $pid got it" "a wild pointer"
has out "thread $pid \"crash\"" "the main thread's name"
text --json
same "JSON" "$(ask '(lambda p: (p["pid"], p["name"], p["command"], p["command_is_cut"], p["signal"]["number"],
    p["signal"]["name"], p["signal"]["code_name"], p["signal"]["address"]))(j["processes"][0])')" \
    "($pid, 'crash', './crash segv first and second', False, 11, 'SIGSEGV', 'SEGV_MAPERR', '0x1234')"
"$CAIRN" stack -f -o core.pb.gz core >out 2>log || fail "cairn stack -o of a core file" log
same "whose the samples of a profile are" "$(PYTHONPATH=$SRC/tests/support /usr/bin/python3 -c 'import pprof_decode
print({sample.labels.get("pid") for sample in pprof_decode.Profile("core.pb.gz").samples})')" "{$pid}"

core write && text
has out "ended by SIGSEGV at address 0x" "a write into what may be read alone"
has out ": the mapping does not allow it; thread $pid got it" "a write into what may be read alone"
core abort && text
has out "ended by SIGABRT, which the process itself sent; thread $pid got it" "abort()"
if [ "$(uname -m)" = x86_64 ]; then
    core fpe && text
    has out "ended by SIGFPE at address 0x" "a division by zero"
    has out ": an integer was divided by zero; thread $pid" "a division by zero"
fi
core bus && text
has out "ended by SIGBUS at address 0x" "a page behind the end of a file"
has out ": behind the end of the mapped file, or no memory" "a page behind the end of a file"
core wait && text
has out "ended by SIGXCPU, which another process sent: $$; thread $pid got it" "kill(1)"

# Not the main thread: the process is told apart from the thread that got the signal.
core segv thread && text
has out "process $pid (crash): ./crash segv thread" "a thread that crashed"
has out "ended by SIGSEGV at address 0x1234" "a thread that crashed"
hasnt out "thread $pid got it" "a thread that crashed"
same "names of threads" "$(grep '^thread ' out | grep -c '"crash"')" 1

long=$(printf '%0100d' 0)
core segv "$long" && text
has out "./crash segv 0000" "long arguments"
has out "0..." "long arguments are cut, and it is said"

# Without NT_FILE the program is found by the path that it was started by, if the build is the same.
core segv || fail "no core file"
/usr/bin/python3 - <<'TEXT'
import struct
data = open("core", "rb").read()
old, new = (struct.pack("<I", t) + b"CORE\0" for t in (0x46494C45, 0x12345678))
assert data.count(old) == 1
open("core", "wb").write(data.replace(old, new))
TEXT
text
has out "#0   crash  $WORK/crash.c:" "a program that no note names"
has out "main  $WORK/crash.c:" "a program that no note names"

# By the build ID in its memory where it lies nowhere that anybody says.
id=$(readelf -n crash | sed -n 's/.*Build ID: //p')
mkdir -p "symbols/.build-id/${id%"${id#??}"}"
mv crash "symbols/.build-id/${id%"${id#??}"}/${id#??}.debug"
"$CAIRN" stack --symbols symbols core >out 2>log || fail "a program by its build ID" log
has out "#0   crash  $WORK/crash.c:" "a program by its build ID"
has out "main  $WORK/crash.c:" "a program by its build ID"
text
has out "${id#??}+0x" "a program whose build ID nobody knows"
gcc -g -O2 -Wl,--build-id -w -o crash crash.c -pthread || exit 1
text
hasnt out "crash.c:" "a program of another build"
has log "name it with --exe" "a program of another build"

# A core file of another machine says which.
printf '\363\000' | dd of=core bs=1 seek=18 conv=notrunc 2>/dev/null
"$CAIRN" stack core >out 2>log && fail "a core file of riscv is read"
has log "a core file of riscv: stacks of x86-64, x86, aarch64 and arm can be read" "another machine"

finish "what core files say: $n_checks checks"
