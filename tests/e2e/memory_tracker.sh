#!/bin/bash
# SPDX-License-Identifier: MIT
# A program asks the tracker in itself: linked with it, preloaded, with neither; in C and in C++.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc g++ python3
[ -e "$BUILD/meson-private/cairn-heap.pc" ] || { echo "skipped: a sanitizer: what it links has a sanitizer's calls in it"; exit 77; }
mkdir -m 700 states
export CAIRN_HEAP_DIR=$PWD/states LD_LIBRARY_PATH=$BUILD

# build OUT COMPILER LIBRARY...: the program.
build() {
    local out=$1 compiler=$2
    shift 2
    # shellcheck disable=SC2086 # a command and its options
    $compiler -g -O1 -fno-builtin -Wall -Wextra -Werror -I "$SRC/include" -o "$out" "$SRC/tests/e2e/memory_tracker.c" \
        -L "$BUILD" "$@" -pthread || fail "$out: memory_tracker.c does not compile"
}

# run NAME COMMAND...: it says ok.
run() {
    local name=$1
    shift
    "$@" >out 2>log || fail "$name: status $?" out
    has out ok "$name"
    rm -f states/*
}

build c "gcc -std=gnu11 -x c" -x none -lcairn-heap
mkdir linked
mv c linked/memory_tracker
build cc "g++ -std=c++17 -x c++" -x none -lcairn-heap
mkdir linked_cc
mv cc linked_cc/memory_tracker
build so "gcc -std=c99 -D_GNU_SOURCE -x c" -x none -lcairn
mkdir either
mv so either/memory_tracker
build a "gcc -std=c99 -D_GNU_SOURCE -x c" -x none "$BUILD/libcairn.a" -lz -lzstd -llzma
mkdir either_static
mv a either_static/memory_tracker
for case in basics itself reset depth marks dump threads child; do
    run "linked, C: $case" ./linked/memory_tracker $case
    run "linked, C++: $case" ./linked_cc/memory_tracker $case
    LD_PRELOAD=$BUILD/libcairn-heap.so run "preloaded: $case" ./either/memory_tracker $case
    LD_PRELOAD=$BUILD/libcairn-heap.so run "preloaded, libcairn.a: $case" ./either_static/memory_tracker $case
done

# What it wrote.
has dump.txt '=== Memory Leak Report ===' "the dump"
has dump.txt ', size=4001, so=memory_tracker' "the dump"
same "nothing beside the dump" "$(echo dump.txt*)" "dump.txt"
python3 -c 'import json
d = json.load(open("leaks.json"))
assert d["live"]["blocks"] == len(d["leaks"]), d
leak, = [l for l in d["leaks"] if l["size"] == 4001]
frame = leak["frames"][0]
assert frame["function"] == "make_buffer" and frame["module"].endswith("/memory_tracker"), frame
assert [f["function"] for f in leak["frames"] if "function" in f][-1] == "_start", leak
assert len(frame["build_id"]) == 40 and int(frame["offset"], 16) > 0, frame' || fail "the JSON" leaks.json

# What is lost, by a child that executes the command; where that is missing, that is said.
for how in linked either; do
    [ $how = linked ] && preload= || preload=$BUILD/libcairn-heap.so
    LD_PRELOAD=$preload run "$how: lost" ./$how/memory_tracker lost
    python3 -c 'import json
d = json.load(open("lost.json"))
assert d["lost"] == {"bytes": 4002, "blocks": 1, "stacks": 1}, d["lost"]
row, = d["lost_stacks"]
names = [line["function"] for frame in row["frames"] for line in frame["lines"]]
assert "lose_buffer" in names and names[-1] == "_start", names' || fail "$how: what is lost, as JSON" lost.json
done
mkdir alone
cp -L "$BUILD/libcairn-heap.so.0" alone/
LD_LIBRARY_PATH=$PWD/alone run "no command" ./linked/memory_tracker no_command
has log 'get_lost_report: the cairn command is missing: it is looked for beside this library' "no command"
mkdir -p lib bin
mv alone/libcairn-heap.so.0 lib/
# It has no descriptor of the program's.
# shellcheck disable=SC2016 # the script's variable
printf '#!/bin/sh\n[ -e /proc/$$/fd/50 ] || echo "cairn: no"; exit 1\n' >bin/cairn
chmod +x bin/cairn
cat >failing.c <<'PROGRAM'
#include <errno.h>
#include <memory_tracker.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    memory_tracker_init(true, true);
    dup2(1, 50);
    int has_report = memory_tracker_get_lost_report() != NULL;
    printf("%d %d ok\n", has_report, errno == EIO);
    return 0;
}
PROGRAM
gcc -O1 -I "$SRC/include" -o failing failing.c -L "$BUILD" -lcairn-heap || fail "failing.c"
LD_LIBRARY_PATH=$PWD/lib run "a command that fails" ./failing
has out '0 1 ok' "a command that fails"
has log 'get_lost_report: cairn: no' "a command that fails"

# Who may trace the program is as before: a filter shows what it asks the kernel for, which may not have Yama.
if [ "$(uname -m)" = x86_64 ] && [ "$(id -u)" = 0 ]; then
    cat >tracer.c <<'PROGRAM'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <memory_tracker.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
static volatile long asked[8], n;
static void on_call(int number, siginfo_t *info, void *context)
{
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    (void)info;
    asked[n++ % 8] = regs[REG_RSI];
    regs[REG_RAX] = 0;
}
int main(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    sigaction(SIGSYS, &(struct sigaction){.sa_sigaction = on_call, .sa_flags = SA_SIGINFO}, NULL);
    memory_tracker_init(true, true);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        return 77;
    memory_tracker_get_lost_report();
    printf("%ld: %d %ld; ", n, asked[0] > 1, asked[1]);
    prctl(PR_SET_PTRACER, 4242);
    memory_tracker_get_lost_report();
    printf("%ld: %d %ld ok\n", n, asked[3] > 1, asked[4]);
    return 0;
}
PROGRAM
    gcc -O1 -w -D_GNU_SOURCE -I "$SRC/include" -o tracer tracer.c -L "$BUILD" -lcairn-heap || fail "tracer.c"
    run "who may trace" ./tracer
    has out "2: 1 0; 5: 1 4242 ok" "who may trace"
fi

# The same as from outside, but for what only debug information knows.
cat >both.c <<'PROGRAM'
#include <memory_tracker.h>
#include <stdlib.h>
char *volatile kept[3];
int main(void)
{
    for (int i = 0; i < 3; i++)
        kept[i] = malloc(100 + i);
    memory_tracker_dump_leak_report("inside.txt");
    _Exit(0);
}
PROGRAM
gcc -g -O1 -fno-builtin -I "$SRC/include" -o both both.c -L "$BUILD" -lcairn-heap || fail "both.c"
rm -f states/*
./both
"$CAIRN" heap leaks --format tracker states/*.heap >outside.txt 2>log || fail "cairn heap leaks" log
sed 's/ (.*)$//' inside.txt >a
sed 's/ (.*)$//' outside.txt >b
cmp -s a b || fail "from inside and from outside differ" <(diff a b)
same "blocks" "$(grep -c '^Leak #' inside.txt)" "$(grep -c '^Leak #' outside.txt)"
rm -f states/*

# Without stacks the caller alone is known: it names the library, and is no backtrace.
CAIRN_HEAP_STACKS=0 ./both
"$CAIRN" heap leaks --format tracker states/*.heap >outside.txt 2>log || fail "cairn heap leaks, no stacks" log
cmp -s inside.txt outside.txt || fail "without stacks, from inside and from outside differ" <(diff inside.txt outside.txt)
same "blocks by caller" "$(grep -c ', size=10[0-2], so=both$' outside.txt)" 3
hasnt outside.txt Backtrace "no stacks"
"$CAIRN" heap leaks states/*.heap >outside.txt 2>log || fail "cairn heap leaks, no stacks" log
has outside.txt 'main (both.c:7)' "the caller, no stacks"
has outside.txt '[cut: no stack was taken]' "no stacks"
rm -f states/*

# With neither it says so, and how to get it.
run "neither" ./either/memory_tracker not_live
has out '-4: the heap tracker is not live: link the program with -lcairn-heap or preload' "neither"
run "neither, libcairn.a" ./either_static/memory_tracker not_live
has out '-4: the heap tracker is not live' "neither, libcairn.a"

# Linked, but another malloc comes first: that of the program itself.
cat >own.c <<'PROGRAM'
#include <stddef.h>
static char area[1 << 24];
static size_t used;
void *malloc(size_t n) { void *p = area + used; used += (n + 15) & ~(size_t)15; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t n) { char *q = malloc(n), *from = p; for (size_t i = 0; p && i < n; i++) q[i] = from[i]; return q; }
PROGRAM
gcc -O1 -fno-builtin -c own.c || fail "own.c"
build own "gcc -std=gnu11 -x c" -x none own.o -lcairn-heap
run "a malloc of its own" ./own not_live
has out '-4: the heap tracker is not live' "a malloc of its own"

# Loaded at run time it is nobody's malloc.
cat >late.c <<'PROGRAM'
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
int main(void)
{
    void *library = dlopen("libcairn-heap.so.0", RTLD_NOW);
    int (*init)(bool, bool) = library ? (int (*)(bool, bool))dlsym(library, "memory_tracker_init") : NULL;
    printf("%d ok\n", init ? init(true, true) : 1);
    return 0;
}
PROGRAM
gcc -O1 -w -o late late.c -ldl || fail "late.c"
run "dlopen" ./late
has out '-4 ok' "dlopen"

# No room for its state.
CAIRN_HEAP_DIR=/nowhere run "no folder" ./linked/memory_tracker not_live
has out '-5: the heap tracker has no room for its state: CAIRN_HEAP_DIR' "no folder"

# What it does is said on stderr, or to the function that the program gave.
run "debug" ./linked/memory_tracker say
has log "cairn: heap tracker: live, its state is in $PWD/states/" "debug"
has log 'cairn: heap tracker: hook: a linked or preloaded tracker records the whole program' "debug"
cat >sink.c <<'PROGRAM'
#include <cairn/log.h>
#include <memory_tracker.h>
#include <stdio.h>
static void on_line(void *ctx, enum cairn_log_level level, const char *text)
{
    printf("%s %d [%s]\n", (const char *)ctx, level, text);
}
int main(void)
{
    cairn_log_set(on_line, (void *)"sink", CAIRN_LOG_INFO);
    return memory_tracker_init(true, true) || memory_tracker_hook(NULL, 0) == 0 || puts("ok") < 0;
}
PROGRAM
gcc -O1 -I "$SRC/include" -o sink sink.c -L "$BUILD" -lcairn-heap || fail "sink.c"
run "a sink" ./sink
has out 'sink 1 [heap tracker: backtraces are on]' "a sink"
same "nothing on stderr" "$(cat log)" ""

finish "a program asks the tracker in itself ($n_checks checks)"
