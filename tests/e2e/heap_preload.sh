#!/bin/bash
# SPDX-License-Identifier: MIT
# libcairn-heap.so preloaded: each way to get memory counted exactly, however the program ends; threads,
# forks, exec, limits, a full disk; real programs with the same output as without.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc g++ python3

library=$BUILD/libcairn-heap.so
[ -e "$library" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
gcc -O1 -fno-builtin -w -o programs "$SRC/tests/e2e/heap_programs.c" -pthread ||
    { fail "heap_programs.c does not compile"; finish heap_preload; }
work=$PWD/states
mkdir -m 700 "$work"

# tracked COMMAND...: with its states alone in $work.
tracked() {
    rm -f "$work"/*
    CAIRN_HEAP_DIR=$work LD_PRELOAD=$library "$@"
}

# state [PART-OF-NAME]: what that state says, in the file `said`.
state() {
    python3 "$SRC/tests/support/heap_state.py" "$work"/*"${1:-}".heap >said 2>&1
}

# sizes CASE: each way's block once, the first five times.
sizes() {
    for line in "1001 5" "1002 1" "1003 1" "1004 1" "1005 1" "1024 1" "1043 1" "1007 1" "1008 1" \
        "5242880 1" "1011 1" "1012 1" "4001 1"; do
        has said "size $line" "$1"
    done
    hasnt said 'size 2001' "$1: freed"
    hasnt said 'size 2002' "$1: freed by realloc"
    has said 'counts agree' "$1"
    hasnt said 'loss' "$1"
}

for how in leaks exit; do
    tracked ./programs $how
    same "$how: status" "$?" 0
    state
    sizes $how
done
has said 'flags live' "exit: not by exit(3)"
{ tracked ./programs kill; } 2>shell
state
sizes kill

# What the program gave back is nobody's: it is unmapped once more, and other memory is mapped over it.
cat >given_back.c <<'EOF'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    size_t size = (size_t)atol(argv[1]);
    char *range = mmap(NULL, size, prot, flags, -1, 0);
    munmap(range, size);
    void *volatile a = malloc(100);
    if (argc > 2)
        memset(mmap(range, size, prot, flags | MAP_FIXED, -1, 0), 0xff, size);
    else
        munmap(range, size);
    void *volatile b = malloc(200);
    free(a);
    free(b);
    return 0;
}
EOF
gcc -O0 -w -o given_back given_back.c || fail "given_back.c does not compile"
for size in 8192 16384 65536 131072 1048576; do
    "$CAIRN" heap run -f -o given.heap -- ./given_back $size >said 2>&1
    same "given back, $size bytes, unmapped again: status" "$?" 0
    "$CAIRN" heap run -f -o given.heap -- ./given_back $size over >said 2>&1
    same "given back, $size bytes, mapped over: status" "$?" 0
done

for round in 1 2 3; do
    MALLOC_ARENA_MAX=1 tracked ./programs race
    state
    has said 'counts agree' "race $round"
    same "race $round: blocks of its own" "$(grep -cE '^size (2[0-9]|3[01]|2[0-5][0-9][0-9]) ' said)" 0
    hasnt said 'loss' "race $round"
done

# The program has gcc's TSan, whose malloc the tracker calls. The tracker itself has not: what it
# does in threads is under TSan in unit/heap, in a build with TSan.
gcc -g -O1 -fno-builtin -w -fsanitize=thread -o tsan "$SRC/tests/e2e/heap_programs.c" -pthread 2>tsan_said
if ./tsan deep 2>>tsan_said; then
    for round in 1 2 3; do
        TSAN_OPTIONS=halt_on_error=1 tracked ./tsan race 5000 >out 2>&1
        same "race under TSan $round: status" $? 0
        hasnt out 'ThreadSanitizer' "race under TSan $round"
        state
        has said 'counts agree' "race under TSan $round"
        same "race under TSan $round: blocks of its own" "$(grep -cE '^size (2[4-9]|3[01]|2[0-5][0-9][0-9]) ' said)" 0
        hasnt said 'loss' "race under TSan $round"
        has said 'size 4001 1' "race under TSan $round: a constructor's block"
    done
else
    skip "race under TSan" "gcc's TSan does not run here: $(head -1 tsan_said)"
fi

tracked ./programs threads
state
has said 'size 3001 1600' "destructors of threads"
hasnt said 'size 50 ' "blocks of threads that ended"
has said 'counts agree' "threads"

tracked ./programs signals
state
has said 'size 1001 1' "signals"
has said 'counts agree' "signals"

tracked ./programs deep
state
has said 'size 1001 1' "deep"
grep -q '^stacks .* depth 1024$' said || fail "deep: 1,024 frames" said
CAIRN_HEAP_DEPTH=3 tracked ./programs deep
state
grep -q '^stacks .* depth 3$' said || fail "--depth 3" said

tracked ./programs fork
same "fork: states" "$(find "$work" -name '*.heap' | wc -l)" 2
for file in "$work"/*.heap; do python3 "$SRC/tests/support/heap_state.py" "$file"; done >said
has said 'size 2001 1' "fork: the child's block"
has said 'loss inherited 1 0' "fork: the parent's block"
same "fork: counts" "$(grep -c 'counts agree' said)" 2

tracked ./programs clone
python3 "$SRC/tests/support/heap_state.py" "$work"/*.heap >said 2>&1
has said 'size 1001 1' "clone: the parent's block"
has said 'size 1002 200' "clone: the parent's blocks behind it"
has said 'size 2001 300' "clone: the child's blocks"
same "clone: counts" "$(grep -c 'counts agree' said)" 2

# A kernel that wipes nothing in children of fork: fork(3) says so, a bare clone is found out soon.
gcc -O1 -w -o no_wipe "$SRC/tests/e2e/heap_no_wipe.c"
if ./no_wipe true; then
    tracked ./no_wipe ./programs fork
    python3 "$SRC/tests/support/heap_state.py" "$work"/*.heap >said 2>&1
    has said 'size 2001 1' "fork without wiping: the child's block"
    has said 'size 1001 1' "fork without wiping: the parent's block"
    has said 'loss inherited 1 0' "fork without wiping: the parent's block, freed by the child"
    tracked ./no_wipe ./programs clone
    python3 "$SRC/tests/support/heap_state.py" "$work"/*.heap >said 2>&1
    has said 'size 1002 200' "clone without wiping: the parent's blocks"
    n=$(sed -n "s/^size 2001 //p" said | sort -n | tail -1)
    [ "${n:-0}" -ge 236 ] || fail "clone without wiping: the child's blocks" said
else
    skip "kernels that wipe nothing" "no filter of system calls may be set"
fi

# A copy of the parent's blocks: what the child frees of them is gone in its state alone.
CAIRN_HEAP_FORK_COPY=1 tracked ./programs fork
same "fork copy: states" "$(find "$work" -name '*.heap' | wc -l)" 2
for file in "$work"/*.heap; do
    python3 "$SRC/tests/support/heap_state.py" "$file" >said
    has said 'size 4001 1' "fork copy: the parent's block, in both"
    has said 'counts agree' "fork copy: counts"
    hasnt said 'loss' "fork copy"
    grep -q '^size 2001 1' said && hasnt said 'size 1001' "fork copy: what the child freed"
    cat said
done >both
same "fork copy: what the parent kept" "$(grep -c '^size 1001 1$' both)" 1
same "fork copy: the child's block" "$(grep -c '^size 2001 1$' both)" 1

CAIRN_HEAP_MMAP=1 tracked ./programs maps
same "maps: status" "$?" 0
state
for line in "memory 8192 1" "memory 4096 1" "memory 12288 2" "memory 61440 1" "file 8192 1" \
    "break 40000 1"; do
    has said "map $line" "maps"
done
has said 'maps 7 146496 made' "maps"
has said 'size 1001 1' "maps"
hasnt said 'loss' "maps"
tracked ./programs maps
same "maps, not asked for: status" "$?" 0
state
hasnt said 'map' "maps, not asked for"
for round in 1 2 3; do
    CAIRN_HEAP_MMAP=1 tracked ./programs map_race
    state
    has said 'maps 0 0 made 40000' "maps of threads $round"
    hasnt said 'map memory' "maps of threads $round"
    hasnt said 'loss' "maps of threads $round"
done

# An allocator that is a library: its arena is told apart, its blocks are the program's.
cat >arena.c <<'EOF'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *arena;
static size_t used = 1 << 24;
void *malloc(size_t n)
{
    n = (n + 8 + 15) & ~15ul;
    if (used + n > 1 << 24) {
        arena = mmap(NULL, 1 << 24, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        used = 8;
    }
    used += n;
    *(size_t *)(arena + used - n) = n - 8;
    return arena + used - n + 8;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    return p ? memcpy(q, p, ((size_t *)p)[-1] < n ? ((size_t *)p)[-1] : n) : q;
}
EOF
cat >on_arena.c <<'EOF'
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
    static void *volatile kept;
    kept = malloc(1001);
    return mmap(NULL, 12288, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
EOF
gcc -O1 -fno-builtin -w -shared -fPIC -o libarena.so arena.c
gcc -O1 -fno-builtin -w -o on_arena on_arena.c ./libarena.so
CAIRN_HEAP_MMAP=1 tracked ./on_arena
same "an allocator's arena: status" "$?" 0
state
has said 'map allocator 16777216 1' "an allocator's arena"
has said 'maps 1 12288 made 1 12288' "an allocator's arena"
has said 'size 1001 1' "an allocator's arena"

tracked timeout 20 env A=b ./programs leaks
state .1
sizes "timeout, env"
rm "$work"/*.1.heap
python3 "$SRC/tests/support/heap_state.py" "$work"/* >said 2>&1
has said 'flags execed' "env, which became another program"

(CAIRN_HEAP_FOLLOW=0 tracked timeout 20 ./programs leaks)
same "--no-follow: states" "$(find "$work" -name '*.heap' | wc -l)" 1

(ulimit -v 100000; tracked ./programs leaks; same "little address space: status" "$?" 0)
state
sizes "little address space"

# 256 KiB: four chunks. What is not recorded is counted.
(ulimit -f 256; tracked ./programs leaks; exit $?)
same "RLIMIT_FSIZE: status" "$?" 0
state
has said 'full' "RLIMIT_FSIZE"
grep -q '^loss full [1-9]' said || fail "RLIMIT_FSIZE: blocks" said

CAIRN_HEAP_MAX_MEMORY=1048576 tracked ./programs many >out || fail "a bound of 1 MiB: status"
state
has said 'full' "a bound of 1 MiB"

tracked ./programs small_stack
same "a small stack for handlers: status" "$?" 0
state
has said 'size 1001 3' "a small stack for handlers"
hasnt said 'loss' "a small stack for handlers"

mkdir -m 700 cleaned
CAIRN_HEAP_DIR=$PWD/cleaned LD_PRELOAD=$library ./programs vanish >out
same "a folder that vanishes: status" "$?" 0
has out 20000 "a folder that vanishes: output"

# A program that gets other rights asks for nothing, whoever preloads what.
suid=$(mktemp -d)
cp programs "$suid"/ && chmod 755 "$suid" && chmod 4755 "$suid"/programs
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
    rm -f "$work"/*
    setpriv --reuid 65534 --clear-groups env CAIRN_HEAP_DIR="$work" LD_PRELOAD="$library" "$suid"/programs many >out 2>log
    same "a setuid program: status" "$?" 0
    same "a setuid program: states" "$(find "$work" -name '*.heap' | wc -l)" 0
else
    skip "a setuid program" "only root may make one of another user"
fi
rm -rf "$suid"

rm -f "$work"/*
LD_PRELOAD=$library CAIRN_HEAP_DIR=/nowhere ./programs leaks
same "no folder: status" "$?" 0
chmod 755 "$work"
tracked ./programs leaks
same "a folder for all: states" "$(find "$work" -name '*.heap' | wc -l)" 0
chmod 700 "$work"

if mkdir small && mount -t tmpfs -o size=512k,mode=700 heap-preload small 2>/dev/null; then
    CAIRN_HEAP_DIR=$PWD/small LD_PRELOAD=$library "$PWD/programs" many >out
    same "a full disk: status" "$?" 0
    has out 20000 "a full disk: output"
    python3 "$SRC/tests/support/heap_state.py" small/*.heap >said
    has said 'full' "a full disk"
    umount small
else
    skip "a full disk" "no tmpfs of our own may be mounted"
fi

cat >own.c <<'EOF'
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & ~15ul; return p; }
void free(void *p) { (void)p; }
int main(void) { return malloc(10) == NULL; }
EOF
gcc -O1 -fno-builtin -o own own.c
tracked ./own
state
has said 'not_asked' "a program with a malloc of its own"

cat >kinds.cc <<'EOF'
#include <cstdlib>
#include <new>
struct alignas(64) wide { char c[64]; };
int main()
{
    int *volatile a = new int(1), *volatile b = new int[5];
    wide *volatile c = new wide, *volatile d = new wide[3];
    delete a; delete[] b; delete c; delete[] d;
    void *volatile e = operator new(1001, std::nothrow), *volatile f = operator new[](1002);
    void *volatile g = ::operator new(1003, std::align_val_t(128));
    int *volatile m = new int(3); free(m);
    int *volatile n = (int *)malloc(4); delete n;
    int *volatile o = new int[3]; delete o;
    try { volatile size_t big = ~(size_t)0 >> 2; char *volatile p = new char[big]; (void)p; return 1; }
    catch (std::bad_alloc &) { return 0; }
}
EOF
g++ -std=c++17 -O1 -fno-builtin -w -o kinds kinds.cc
tracked ./kinds
same "C++: status" "$?" 0
state
for size in 1001 1002 1003; do has said "size $size 1" "C++"; done
has said 'loss mismatched 3' "C++: mismatched operators"
has said 'counts agree' "C++"

# program NAME COMMAND...: the same output as without.
program() {
    local name=$1
    shift
    command -v "$1" >/dev/null || { skip "$name" "$1 is missing"; return; }
    "$@" >plain 2>&1
    tracked "$@" >out 2>&1
    cmp -s plain out || fail "$name: another output" out
    for file in "$work"/*.heap; do python3 "$SRC/tests/support/heap_state.py" "$file"; done >said 2>&1
    same "$name: states" "$(grep -c '^live' said)" "$(grep -c 'counts agree' said)"
}
program jq jq -n '[range(20000) | tostring] | length'
program sqlite3 sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n
    where i < 20000) select count(*), sum(length(hex(i))) from n group by i % 7 order by 1;'
program python3 env PYTHONMALLOC=malloc python3 -c 'import json, re
print(len(json.dumps([re.sub("a", str(i), "banana") for i in range(5000)])))'
# shellcheck disable=SC2016 # its own shell expands them
program bash bash -c 'for i in 1 2 3; do (echo $i); a=$(echo x); done; echo $a'

finish "the tracker counts exactly, whatever the program does ($n_checks checks)"
