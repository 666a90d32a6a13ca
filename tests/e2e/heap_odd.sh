#!/bin/bash
# SPDX-License-Identifier: MIT
# The tracker in programs that close what they did not open, lock themselves in, start others in each
# way there is, are started by wrappers, or have another allocator preloaded too.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc make
library=$BUILD/libcairn-heap.so
[ -e "$library" ] || { echo "skipped: no libcairn-heap.so: a sanitizer has a malloc of its own"; exit 77; }
py=/usr/bin/python3
states=$PWD/states
mkdir -m 700 "$states"
mkdir jail
gcc -O1 -fno-builtin -pthread -o odd "$SRC/tests/e2e/heap_odd.c" || { fail "heap_odd.c does not compile"; finish heap_odd; }

# odd CASE STATUS: in `said`, what all its states say; 1: it skipped itself.
odd() {
    rm -f "$states"/*
    { (cd jail && ulimit -c 0 && CAIRN_HEAP_DIR=$states LD_PRELOAD=$library "$WORK/odd" "$1"); } 2>shell
    local status=$?
    [ $status != 77 ] || { skip "$1" "it may not do that here"; return 1; }
    same "$1: exit status" $status "$2"
    # A daemon goes on without its parent.
    for _ in $(seq 600); do pgrep -f "^$WORK/odd" >/dev/null || break; sleep 0.05; done
    read_states
}
read_states() {
    for file in "$states"/*.heap; do $py "$SRC/tests/support/heap_state.py" "$file"; done >said 2>&1
}
# counted CASE TIMES: so often 3,000 blocks, each of them; all adds up.
counted() {
    same "$1: 3,000 blocks, $2 times" "$(grep -c '^size 1001 3000$' said)" "$2"
    same "$1: states that add up" "$(grep -c 'counts agree' said)" "$(grep -c '^flags' said)"
    hasnt said 'loss full' "$1"
    hasnt said 'Traceback' "$1"
}
# stopped CASE: what is not recorded is counted.
stopped() {
    local live lost
    live=$(sed -n 's/^size 1001 //p' said)
    lost=$(sed -n 's/^loss full \([0-9]*\) .*/\1/p' said)
    same "$1: recorded or counted" "$((${live:-0} + ${lost:-0}))" 3000
    has said 'counts agree' "$1"
}

odd daemon 0 && counted daemon 1
odd nobody 0 && counted "another user" 1
odd spawn 0 && counted "posix_spawn, system, vfork" 4
odd clone 0 && counted "a raw clone" 2
has said 'loss inherited 3000 0' "a raw clone: its parent's blocks"
odd abort 134 && counted abort 1
odd segv 139 && counted SIGSEGV 1
odd prison 0 && stopped chroot
odd files 0 && stopped RLIMIT_NOFILE
odd sandbox 0 && stopped seccomp
# Each call that is not malloc's own is the end.
for _ in 1 2 3 4 5; do
    odd kill 0 && stopped "seccomp that kills"
done
if odd fork 0; then
    counted "fork behind seccomp: the parent" 1
    "$CAIRN" heap run -f -o run.heap -- ./odd fork >out 2>log
    same "fork behind seccomp: exit status" $? 0
    has log "odd ran, and is not tracked: its parent had a seccomp filter" "fork behind seccomp"
    has log "1 program started that is NOT TRACKED" "fork behind seccomp"
fi
odd strict 0 && counted "strict seccomp" 1
odd child 0 && counted "seccomp in a child of vfork" 1
# What a handler allocates while the tracker makes ready is not all recorded.
if odd handlers 0; then
    same "handlers in prctl: 3,000 blocks" "$(grep -c '^size 1001 3000$' said)" 1
    has said 'counts agree' "handlers in prctl"
fi

# As many settings as the tracker hands on, and its folder is not among them.
mkdir -m 700 runtime
settings=$(for i in $(seq 20); do echo "CAIRN_HEAP_UNKNOWN$i=1"; done)
# shellcheck disable=SC2086 # several words
XDG_RUNTIME_DIR=$PWD/runtime env $settings LD_PRELOAD="$library" sh -c 'exec ./odd plain' 2>log
same "many settings: exit status" $? 0

# A program sees no descriptor that it has not opened; CPython's test suite looks.
# shellcheck disable=SC2012 # the numbers alone
for command in "ls /proc/self/fd" "$py -c 'import os; print(*sorted(os.listdir(\"/proc/self/fd\")), sep=chr(10))'"; do
    sh -c "$command" >plain 2>log
    CAIRN_HEAP_DIR=$states LD_PRELOAD=$library sh -c "$command" >tracked 2>log
    same "descriptors of $command" "$(wc -l <tracked)" "$(wc -l <plain)"
    same "descriptors of $command: 900" "$(grep -c '^9[0-9][0-9]$' tracked)" 0
done

# run NAME TIMES COMMAND...: by `cairn heap run`, as a user would.
run() {
    local name=$1 times=$2
    shift 2
    "$CAIRN" heap run -f -o "run.heap" -- "$@" >out 2>log || fail "$name: exit status $?" log
    has log 'every block recorded' "$name"
    "$CAIRN" heap leaks --json --top 0 run.heap 2>log | $py -c '
import json, sys
print(sum(l["blocks"] for l in json.load(sys.stdin)["leaks"] if l["bytes"] == 1001 * l["blocks"]
      and any(f["lines"] and f["lines"][-1]["function"] == "deeper" for f in l["frames"][:1])))' >out
    same "$name: blocks" "$(cat out)" $((times * 3000))
}
run timeout 1 timeout 60 ./odd plain
run "env, nice" 1 env A=b nice ./odd plain
run "sh -c" 2 sh -c './odd plain; exec ./odd plain'
# shellcheck disable=SC2016 # its own shell expands them
run "bash: a pipe, a subshell" 3 bash -c './odd plain | cat; (./odd plain); x=$(./odd plain)'
run xargs 2 sh -c 'echo plain plain | xargs -n 1 -P 2 ./odd'
printf 'all: a b\na b:\n\t./odd plain\n' >Makefile
run make 2 make -s -j2
run "python3's subprocess" 1 $py -c 'import subprocess; subprocess.run(["./odd", "plain"], check=True)'
command -v setsid >/dev/null && run setsid 1 setsid -w ./odd plain

# A static program runs without a tracker, and that is said of whoever runs long enough to be seen.
if printf '#include <unistd.h>\nint main(void) { return usleep(400000); }\n' >static.c &&
    gcc -static -o "$(printf 'static\033[1m')" static.c 2>log; then
    "$CAIRN" heap run -f -o run.heap -- sh -c './odd plain; ./static*; ./static*; exit 5' >out 2>log
    same "a static program: exit status" $? 5
    same "a static program: said once" "$(grep -c 'static.*ran, and is not tracked: it is linked statically' log)" 1
    same "a static program: no escape" "$(grep -c "$(printf '\033')" log)" 0
    "$CAIRN" heap run -f -o run.heap -- sh -c 'exec ./static*' >out 2>log
    has log 'ran, and is not tracked' "a static program that a shell becomes"
    "$CAIRN" heap run --no-follow -f -o run.heap -- sh -c './static*; true' >out 2>log
    hasnt log 'is not tracked' "--no-follow"
    "$CAIRN" heap run -f -o run.heap -- ./static* >out 2>log
    hasnt log 'ran, and' "the command itself"
    has log 'linked statically' "the command itself"
else
    skip "a static program" "gcc -static does not link"
fi

# Of a setuid program the loader takes nothing that others preload: it runs as ever.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 711 "$WORK" && cp odd setuid && chmod 4755 setuid; then
    rm -f "$states"/*
    mkdir -m 700 nobodys
    chown 65534 nobodys
    setpriv --reuid=65534 --clear-groups env CAIRN_HEAP_DIR="$WORK/nobodys" LD_PRELOAD="$library" ./setuid plain 2>log
    same "setuid: exit status" $? 0
    same "setuid: no state of it" "$(for f in nobodys/*.heap; do $py "$SRC/tests/support/heap_state.py" "$f" | grep -c '^size 1001'; done 2>/dev/null | grep -vc '^0')" 0
else
    skip setuid "only root can make such a program for another user"
fi

# Another allocator, preloaded before us or behind us.
others=0
for other in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2*; do
    [ -e "$other" ] || continue
    others=$((others + 1))
    for order in "$library:$other" "$library $other"; do
        rm -f "$states"/*
        CAIRN_HEAP_DIR=$states LD_PRELOAD=$order ./odd plain 2>log || fail "$order: exit status $?" log
        read_states
        counted "$order" 1
    done
    # Before us it answers alone: we are not asked, and say so.
    rm -f "$states"/*
    CAIRN_HEAP_DIR=$states LD_PRELOAD=$other:$library ./odd plain 2>log || fail "$other before us: exit status $?" log
    read_states
    grep -q '^size 1001 3000$' said || has said not_asked "$other before us"
done
[ $others -gt 0 ] || skip "another allocator" "none is installed"

# So does a program's own, which operators new must go on to use: it frees their blocks itself.
cat >own.cc <<'EOF'
#include <cstddef>
#include <cstdlib>
static char pool[1 << 22];
static size_t used, calls;
extern "C" void *malloc(size_t n) { calls++; void *p = pool + used; used += (n + 15) & ~15ul; return p; }
extern "C" void *calloc(size_t n, size_t size) { return malloc(n * size); }
extern "C" void *realloc(void *, size_t n) { return malloc(n); }
extern "C" void free(void *p) { if (p && ((char *)p < pool || (char *)p >= pool + used)) _Exit(9); }
int main()
{
    size_t before = calls;
    int *volatile a = new int(3), *volatile b = new int[4], *volatile c = (int *)malloc(4);
    free(a); delete[] b; delete c;
    return calls - before == 3 ? 0 : 1;
}
EOF
if command -v g++ >/dev/null && g++ -O1 -fno-builtin -w -o own own.cc; then
    "$CAIRN" heap run -f -o own.heap -- ./own 2>log || fail "a malloc of its own: exit status $?" log
    has log 'it has a malloc of its own' "a malloc of its own"
    hasnt log 'every block recorded' "a malloc of its own"
    "$CAIRN" heap leaks own.heap >out 2>log
    has out 'Nothing is known' "a malloc of its own: leaks"
    has log 'another malloc in front' "a malloc of its own: leaks"
else
    skip "a malloc of its own" "g++ is missing"
fi

finish "the tracker goes where the program goes, and harms nothing ($n_checks checks)"
