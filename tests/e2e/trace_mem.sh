#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace at accesses to memory: who writes a variable, counted exactly over threads and a child, in programs,
# libraries and C++ classes; values, places, what is refused and why, and that nothing stays behind.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3

cat >lib.c <<'EOF2'
int lib_counter;
static long lib_static;
__attribute__((noinline)) void lib_bump(void) { lib_counter++; __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void lib_add(void) { lib_static += 2; __asm__ volatile("" : : "r"(&lib_static) : "memory"); }
EOF2
cat >writes.c <<'EOF2'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
#define KEEP(x) __asm__ volatile("" : : "r"(&x) : "memory")
void lib_bump(void);
void lib_add(void);
int counter;
const int constant = 7;
static short small;
static char bytes[64];
static __thread int own;
PLACE static void store(int n) { counter = n; KEEP(counter); }
PLACE static void add(void) { __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); KEEP(counter); }
PLACE static void middle(void) { add(); KEEP(counter); }
PLACE static int reads(void) { return *(volatile int *)&counter; }
PLACE static void last_of_line(int n)
{
    counter = n; /* here */
    __asm__ volatile("nop");
}
PLACE static void fill(int n) { memset(bytes, n, 32); KEEP(bytes); }
PLACE static void filled_by_kernel(void)
{
    int fd[2];
    if (pipe(fd) || write(fd[1], "\1\2\3\4\5\6\7\10", 8) != 8 || read(fd[0], bytes + 8, 8) != 8) exit(9);
}
#ifdef __x86_64__
PLACE static void repeats(void *p, long n) { __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(3) : "memory"); }
#else
PLACE static void repeats(void *p, long n) { memset(p, 3, (size_t)n); KEEP(bytes); }
#endif
static void *work(void *n) { for (long i = 0; i < (long)n; i++) middle(); return NULL; }
int main(int argc, char **argv)
{
    pthread_t threads[4];
    long n = argc > 1 ? atol(argv[1]) : 3;
    if (argc > 2) { char line[8]; if (!fgets(line, sizeof line, stdin)) return 1; }
    store(7);
    last_of_line(8);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)n);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (fork() == 0) { for (long i = 0; i < n; i++) store(-1); _exit(0); }
    wait(NULL);
    small = (short)(0x100 + argc); KEEP(small);
    own = argc; KEEP(own);
    lib_bump(); lib_bump(); lib_add();
    fill(1);
    repeats(bytes + 40, 4);
    filled_by_kernel();
    if (argc > 3) execl(argv[0], argv[0], "1", NULL);
    return reads() == 8 + 4 * n && constant == 7 ? 0 : 1;
}
EOF2
{ cc -O2 -g -shared -fPIC -o libwrites.so lib.c && cc -O2 -g -pthread -o writes writes.c -L. -lwrites -Wl,-rpath,"$PWD" &&
    cc -O2 -g -pthread -no-pie -o fixed writes.c -L. -lwrites -Wl,-rpath,"$PWD"; } || fail "the programs are not built"

if ! "$CAIRN" trace --summary -e mem:counter:w -- ./writes 1 >out 2>log; then
    if grep -q 'no hardware breakpoints\|not allowed\|is not in this build' log; then
        skip "all" "$(head -n 1 log)"
        exit 77
    fi
    fail "a variable" log
fi

# count FILE PLACE: of a collapsed file, stacks that have the place innermost.
count() { awk -v place="$2" '{ n = $NF; sub(" " n "$", "") } $0 ~ ";" place "$" { sum += n } END { print sum + 0 }' "$1"; }

# --- exact from the first instruction on, with threads and a child; whole; named by the writing instruction
n=5000
for program in writes fixed; do
    "$CAIRN" trace -f -e mem:counter:w -o sums.txt -- ./$program $n >out 2>log || fail "$program: counts" log
    same "$program: writes of add" "$(count sums.txt add)" $((4 * n))
    same "$program: writes of store, also in the child" "$(count sums.txt store)" $((n + 1))
    same "$program: a store at the end of its line" "$(count sums.txt last_of_line)" 1
    same "$program: all" "$(awk '{ n += $NF } END { print n }' sums.txt)" $((5 * n + 2))
    has log ", 0 lost" "$program: nothing is lost"
    has log ", 0 cut" "$program: stacks are whole"
    has sums.txt ";work;middle;add " "$program: callers"
done
"$CAIRN" trace --no-inherit -f -e mem:counter:w -o sums.txt -- ./writes 10 >out 2>log || fail "--no-inherit" log
same "without the child" "$(count sums.txt store)" 1
"$CAIRN" trace -f -e mem:counter:rw -o sums.txt -- ./writes 10 >out 2>log || fail "reads" log
same "reads" "$(count sums.txt reads)" 1

echo | "$CAIRN" trace -f -e mem:counter:w -o sums.txt -- ./fixed 10 wait exec >out 2>log || fail "an exec at fixed addresses" log
same "without the program of an exec, which has the same addresses" "$(count sums.txt add)" 40
has log "has called execve" "an exec at fixed addresses"

# --- values: old and new, as wide as the variable; filters
"$CAIRN" trace --json -e 'mem:counter:w[value == 8 || value == -1]' -- ./writes 1 >out 2>log || fail "values" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of a write" out
import json
events = [json.loads(line) for line in open("out")]
assert len(events) == 2, len(events)
first, second = events
assert first["event"] == "mem" and first["name"] == "mem:counter:w", first
a = first["args"]
assert a["symbol"] == "counter" and a["value"] == "0x00000008 (8)" and a["previous"] == "0x00000007 (7)", a
assert int(a["address"], 16), a
f = first["stack"][0]
assert f["function"] == "last_of_line" and first["cut"] is None, f
line = [i for i, text in enumerate(open("writes.c"), 1) if "/* here */" in text]
assert f["line"] == line[0], (f, line)
assert second["args"]["value"] == "0xffffffff (-1)" and second["args"]["previous"] == "?", second["args"]
assert second["pid"] != first["pid"]
EOF2
"$CAIRN" trace --no-stack -e mem:small:w -- ./writes >out 2>log || fail "a static variable" log
has out 'symbol=small, value=0x0101 (257)' "a static variable of two bytes" || has out 'value=0x0102' "two bytes"

# --- libraries: of a command from its own first instruction on, also by the plain name; what the kernel writes
"$CAIRN" trace -f -e mem:libwrites.so:lib_counter:w -e mem:libwrites.so:lib_static:w -o sums.txt -- ./writes >out 2>log ||
    fail "a library" log
same "writes of a library's variable" "$(count sums.txt lib_bump)" 2
same "writes of its static variable" "$(count sums.txt lib_add)" 1
"$CAIRN" trace --json -e mem:bytes+8/8:w -- ./writes >out 2>log || fail "a part of an array" log
/usr/bin/python3 - <<'EOF2' || fail "JSON of a write by the kernel" out
import json
events = [json.loads(line) for line in open("out")]
last = events[-1]
assert last["args"]["value"] == "0x0807060504030201 (578437695752307201)", last["args"]
modules = [f["module"] for f in last["stack"]]
names = [f["function"] for f in last["stack"]]
assert modules[0].startswith("[kernel"), modules
assert "filled_by_kernel" in names and "main" in names, names
assert any("fill" in [f["function"] for f in e["stack"]] for e in events)
EOF2
"$CAIRN" trace -f -e mem:bytes+40/4:w -o sums.txt -- ./writes >out 2>log || fail "a repeated instruction" log
same "a repeated instruction is in its own function" "$(count sums.txt repeats)" "$(awk '{ n += $NF } END { print n }' sums.txt)"
"$CAIRN" trace -f -e mem:lib_bump:x -o sums.txt -- ./writes >out 2>log && fail "a function of a library without its file"
"$CAIRN" trace -f -e mem:libwrites.so:lib_bump:x -o sums.txt -- ./writes >out 2>log || fail "an instruction" log
same "executions" "$(count sums.txt lib_bump)" 2

# --- C++
if command -v c++ >/dev/null; then
    cat >class.cc <<'EOF2'
namespace app { struct Counter { static int total; __attribute__((noinline)) static void add(int n); }; }
int app::Counter::total = 5;
void app::Counter::add(int n) { total += n; __asm__ volatile("" ::: "memory"); }
int main() { for (int i = 0; i < 10; i++) app::Counter::add(i); return app::Counter::total == 50 ? 0 : 1; }
EOF2
    c++ -O2 -g -o class class.cc || fail "the C++ program is not built"
    "$CAIRN" trace -f -e mem:app::Counter::total:w -o sums.txt -- ./class >out 2>log || fail "a class" log
    same "writes of a class's static member" "$(count sums.txt 'app::Counter::add[^;]*')" 10
    "$CAIRN" trace -e "mem:./class:app::Counter::total:w[value == 50]" -- ./class >out 2>log || fail "a class in a file" log
    has out "value=0x00000032 (50)" "a file before two colons"
else
    skip "C++" "c++ is missing"
fi

# --- a running process: several variables, 32 bytes, an address, an exec; nothing stays where cairn is killed
mkfifo gate
# begin ARGUMENT...: the program waits, and is traced as the arguments say.
begin() {
    ./writes 5 wait $more <gate &
    pid=$!
    exec 3>gate
    for _ in $(seq 200); do grep -q libwrites "/proc/$pid/maps" && break; sleep 0.05; done
    : >log # the last one's is not to be read while this one's is not yet open
    "$CAIRN" trace -v "$@" -p $pid >out 2>>log &
    tracer=$!
    for _ in $(seq 200); do
        grep -q "tracing has begun" log && break
        kill -0 $tracer 2>/dev/null || break
        sleep 0.05
    done
}
# end NAME: it runs to its end.
end() {
    echo >&3
    exec 3>&-
    wait $pid
    same "$1: the program" $? 0
    wait $tracer || fail "$1" log
}
more=
begin -f -e mem:counter:w -e mem:libwrites.so:lib_counter:w -e mem:small:w -o sums.txt
end "a running process"
same "writes in a running process" "$(count sums.txt add)" 20
same "of its library" "$(count sums.txt lib_bump)" 2
begin -f -e mem:bytes/32:w -o sums.txt
end "32 bytes"
at_least 4 "$(count sums.txt fill)" "writes of 32 bytes"
begin -f -e mem:bytes/32:w -o sums.txt
before=$(grep TracerPid "/proc/$pid/status")
same "no tracer" "$before" "$(printf 'TracerPid:\t0')"
"$CAIRN" trace --summary -e mem:counter:w -p $pid >out2 2>log2 && fail "a fifth breakpoint"
has log2 "all hardware breakpoints of a CPU are in use" "a fifth breakpoint"
has log2 "x86-64 has 4" "a fifth breakpoint: why"
kill -KILL $tracer
wait $tracer 2>/dev/null
sleep 0.2
for _ in 1 2 3 4 5; do
    "$CAIRN" trace -d 0.2 --summary -e mem:bytes/32:w -p $pid >out 2>log && break
    sleep 0.2
done
has log "0 lost" "breakpoints are free after cairn was killed"
echo >&3
exec 3>&-
wait $pid
same "a program whose tracer was killed" $? 0
more="exec"
begin --no-stack -e mem:small:w
end "an exec"
same "writes before the exec" "$(grep -c 'mem:small:w' out)" 1
has log "has called execve" "an exec ends its breakpoints"

# --- a thread that ends, and a process that has ended
more=
begin --summary -e mem:0x1234560/8:w
wait $tracer && fail "an address that is not mapped"
has log "has nothing mapped at 0x1234560" "an address that is not mapped"
"$CAIRN" trace -e mem:constant:w -p $pid >out 2>log && fail "a constant"
has log "is read-only" "a constant"
"$CAIRN" trace -e mem:main/8:w -p $pid >out 2>log && fail "code"
has log "is a function" "code"
echo >&3
exec 3>&-
wait $pid
"$CAIRN" trace -e mem:counter:w -p $pid >out 2>log && fail "a process that has ended"
has log "no such process" "a process that has ended"

# --- what is refused
refused() { # EVENT TEXT
    "$CAIRN" trace -e "$1" -- ./writes >out 2>log && fail "$1"
    has log "$2" "$1"
}
refused mem:bytes+1/4:w "are not aligned"
has log "here 1 fits: give /1" "what to do"
refused mem:bytes:w "64 bytes, but breakpoints cover"
refused mem:bytes/3:w "3 bytes, but breakpoints cover"
refused mem:countr:w 'no variable is named "countr"'
has log "counter" "the nearest name"
refused mem:own:w "each thread has its own"
refused mem:counter:r "expected :rw"
refused mem:counter "expected mem:"
refused mem:0x404040:w "known when the command runs"
refused mem:no-such-library.so:x:w "there is no such file"
"$CAIRN" trace -e mem:counter:w -a -d 0.1 >out 2>log && fail "a variable of all processes"
has log "an address is one of a process" "a variable of all processes"
if cc -m32 -o narrow writes.c -x c lib.c -pthread 2>/dev/null; then
    "$CAIRN" trace -e mem:counter:w -- ./narrow >out 2>log && fail "a 32-bit program"
    has log "32-bit" "a 32-bit program"
else
    skip "a 32-bit program" "cc -m32 does not work here"
fi

# --- the kernel's memory: the format of /proc/version is at the begin of its constants
banner=$(awk '$3 == "linux_proc_banner" { print $1; exit }' /proc/kallsyms)
constants=$(awk '$3 == "__start_rodata" { print $1; exit }' /proc/kallsyms)
if [ -n "${constants//0/}" ]; then
    for place in "0x${banner:-$constants}" "0x$constants+0x120" "0x$constants+0x140" "0x$constants+0x160"; do
        "$CAIRN" trace --user-only -e "mem:$place/32:rw" -- cat /proc/version >out 2>log || fail "$place" log
        "$CAIRN" trace -e "mem:$place/32:rw" -- cat /proc/version >out2 2>log || fail "$place" log
        ! grep -q version_proc_show out2 || break
    done
    if grep -q version_proc_show out2; then
        has out2 "symbol=[kernel]" "an address of the kernel"
        has log ", 0 cut" "an address of the kernel: whole stacks"
        hasnt out "  k  " "an address of the kernel, with --user-only"
    else
        skip "an address of the kernel" "the text of /proc/version was not found in it"
    fi
    "$CAIRN" trace -e "mem:0x$constants:x" -- true >out 2>log && fail "code of the kernel"
    has log "kprobe:" "code of the kernel: what to do"
else
    skip "an address of the kernel" "/proc/kallsyms hides addresses"
fi

# --- programs of others
if nm -D /usr/bin/python3 2>/dev/null | grep -q ' _Py_NoneStruct$'; then
    "$CAIRN" trace -f -e mem:_Py_NoneStruct/8:w -o sums.txt -- /usr/bin/python3 -c 'x = [None] * 3' >out 2>log ||
        fail "python3" log
    at_least 100 "$(awk '{ n += $NF } END { print n + 0 }' sums.txt)" "references to None"
    has log "0 lost" "python3: nothing is lost"
else
    skip "python3" "/usr/bin/python3 does not export _Py_NoneStruct"
fi
if command -v redis-server >/dev/null && nm -D "$(command -v redis-server)" | grep -q ' server$'; then
    redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' >redis.log 2>&1 &
    pid=$!
    for _ in $(seq 100); do [ -S redis.sock ] && break; sleep 0.05; done
    "$CAIRN" trace -d 2 -f -e mem:server+32/32:w -o sums.txt -p $pid >out 2>log || fail "redis-server" log
    has log "0 lost" "redis-server: nothing is lost"
    if [ -s sums.txt ]; then
        has log ", 0 cut" "redis-server: whole stacks"
        has sums.txt ";aeMain;" "redis-server: its timer"
    else
        skip "redis-server" "this version writes nothing at server+32 within two seconds"
    fi
    kill $pid
    wait $pid
else
    skip "redis-server" "it is missing, or exports no symbol server"
fi

finish "trace_mem: $n_checks checks"
