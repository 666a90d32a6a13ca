#!/bin/bash
# SPDX-License-Identifier: MIT
# Names for what is in no file: the kernel, the vdso, code that a JIT compiler made. What this machine
# cannot do is skipped one by one, with the reason.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# matches FILE REGEX CASE
matches() {
    n_checks=$((n_checks + 1))
    grep -qE -- "$2" "$1" || fail "$3: no match of $2 in" "$1"
}

# keep_maps: remembers which perf maps the log names, to be removed.
keep_maps() {
    mapfile -t -O "${#maps[@]}" maps < <(grep -o '/tmp/perf-[0-9]*\.map' log | sort -u)
}

cc=${CC:-gcc}
trap 'rm -f "${maps[@]}"' EXIT
maps=()

"$cc" -O2 -g -fno-omit-frame-pointer -o jit "$SRC/tests/e2e/jit_program.c" || exit 1
cat >reads.c <<'TEXT'
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    static char bytes[1 << 16];
    int fd = open("/dev/zero", O_RDONLY);
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        for (int i = 0; i < 500; i++) {
            if (read(fd, bytes, sizeof bytes) < 0)
                return 1;
            clock_gettime(CLOCK_MONOTONIC, &now);
        }
    while (now.tv_sec < start.tv_sec + 2);
    do
        for (int i = 0; i < 1000; i++)
            clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec < start.tv_sec + 4);
}
TEXT
"$cc" -O2 -g -fno-omit-frame-pointer -o reads reads.c || exit 1

"$CAIRN" record -F 199 -o reads.txt -- ./reads 2>log || { fail "the first recording" log; exit 1; }
if grep -q 'by ptrace' log; then
    echo "skipped: perf_event_open is refused here: $(head -1 log)"
    exit 77
fi

# A program that spends its time in read(2): the kernel's functions say so.
can_see=$(grep -c ' T _text$' /proc/kallsyms)
grep -q '^0*0 T _text$' /proc/kallsyms && can_see=0
if ! grep -q '_\[k\]' reads.txt; then
    skip kernel "its stacks are not for this user"
elif [ "$can_see" = 0 ]; then
    skip kernel "it hides its symbols from this user"
else
    matches reads.txt '[;](ksys|vfs)_read_\[k\]' "a function of the kernel by name"
    # In a thunk the kernel's own unwinder may take a word beside the return address for it: no function's.
    sed 's/0xffff[0-9a-f]*_\[k\];__x86_indirect_thunk_//' reads.txt >named.txt
    ! grep -q '0xffff[0-9a-f]*_\[k\]' named.txt || fail "addresses of the kernel" named.txt

    # Raw, it is named later: by the running kernel, and by a copy of its list.
    "$CAIRN" record -F 199 -o raw.pb.gz -- ./reads 2>log || fail "raw" log
    "$CAIRN" resolve raw.pb.gz -o live.pb.gz 2>log || fail "resolve by the running kernel" log
    "$CAIRN" convert live.pb.gz -o live.txt 2>>log || fail "convert" log
    has live.txt 'vfs_read_[k]' "a raw profile named by the running kernel"
    cat /proc/kallsyms >list
    "$CAIRN" resolve raw.pb.gz -o copy.pb.gz --kallsyms list -v 2>log || fail "by a copy" log
    has log 'kernel: names from list' "-v says which list it was"
    "$CAIRN" convert copy.pb.gz -o copy.txt 2>>log || fail "convert" log
    cmp -s live.txt copy.txt || fail "the copy of the list names otherwise"

    # The same kernel at another place: the names must not move.
    python3 - <<'TEXT' || exit 1
with open("list") as old, open("moved", "w") as new:
    for line in old:
        address, rest = line.split(" ", 1)
        if "[" not in rest and not rest.startswith(("a", "A")):
            address = f"{int(address, 16) - 0x200000:016x}"
        new.write(f"{address} {rest}")
TEXT
    "$CAIRN" resolve raw.pb.gz -o moved.pb.gz --kallsyms moved 2>log || fail "by a moved list" log
    "$CAIRN" convert moved.pb.gz -o moved.txt 2>>log || fail "convert" log
    grep -v '\[' list >core
    "$CAIRN" resolve raw.pb.gz -o core.pb.gz --kallsyms core 2>log || fail "by the core's list" log
    "$CAIRN" convert core.pb.gz -o core.txt 2>>log || fail "convert" log
    cmp -s core.txt moved.txt || fail "a list of another boot names otherwise"
fi

# Who may not see the kernel's symbols is told why there are none.
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [ -f raw.pb.gz ] && [ "$(id -u)" = 0 ] && $nobody "$CAIRN" version >/dev/null 2>&1 &&
    $nobody cat /proc/kallsyms 2>/dev/null | grep -q '^0* T _text$'; then
    XDG_CACHE_HOME=/nonexistent $nobody "$CAIRN" resolve - <raw.pb.gz >hidden.pb.gz 2>log ||
        fail "names for nobody" log
    has log 'kernel symbols are hidden' "the cause of frames without a name"
    has log 'sudo sysctl kernel.kptr_restrict=0' "what to do about it"
else
    skip "hidden symbols" "they are not hidden, or nobody may not run the command"
fi

# The vdso is named from itself, where clocks are read in it.
# A function of it that has no symbol is known by its start.
if sed 's/\[vdso\]+0x[0-9a-f]* \[function\]//g' reads.txt | grep -q 'vdso\]+0x'; then
    fail "addresses in the vdso stay" reads.txt
elif ! grep -q '__vdso_clock_gettime' reads.txt; then
    skip vdso "clocks are not read in it here"
fi

# Code made at run time, by the map that its compiler left; lines that are replaced do not count.
"$CAIRN" record -F 199 -v -o jit.txt -- ./jit 1 2>log
status=$?
keep_maps
[ $status -eq 0 ] || fail "recording code made at run time" log
if grep -q 'exit status 2' log; then
    skip jit "no code for this CPU, or memory that is written may not run here"
else
    has jit.txt 'main;made at run time_[j]' "code made at run time"
    hasnt jit.txt 'replaced since' "a line that was replaced"
    matches log 'perf-[0-9]+.map: 2 ranges' "which map it was"
fi

# A map that belongs to somebody else is not believed.
if [ "$(id -u)" = 0 ]; then
    "$CAIRN" record -F 199 -o foreign.txt -- ./jit 1 65534 2>log || fail "a foreign map" log
    keep_maps
    hasnt foreign.txt 'made at run time' "names of a foreign map"
    has log 'belongs to uid 65534' "whose map it is"
else
    skip "a foreign map" "only root gives files away"
fi

# Java tells by itself.
if command -v javac >/dev/null && java -XX:+UnlockDiagnosticVMOptions -XX:+PrintFlagsFinal \
    -version 2>/dev/null | grep -q DumpPerfMapAtExit; then
    cat >Hot.java <<'TEXT'
public class Hot {
    static long spin(long n) {
        long sum = 0;
        for (long i = 0; i < n; i++)
            sum += (sum ^ i) * 31;
        return sum;
    }
    public static void main(String[] words) {
        long end = System.currentTimeMillis() + 2000, sum = 0;
        while (System.currentTimeMillis() < end)
            sum += spin(100000);
        System.out.println(sum);
    }
}
TEXT
    javac Hot.java || fail "javac"
    "$CAIRN" record -F 199 -v -o java.txt -- java -XX:+PreserveFramePointer \
        -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Hot >/dev/null 2>log ||
        fail "recording java" log
    keep_maps
    matches java.txt 'Hot\.(spin|main)\([^;]*\)_\[j\]' "a Java method by name"
else
    skip java "no JDK that writes perf maps"
fi

# Node too.
if command -v node >/dev/null && node --v8-options | grep -q perf-basic-prof; then
    cat >hot.js <<'TEXT'
function spinning(n) {
    let sum = 0;
    for (let i = 0; i < n; i++)
        sum = (sum * 31 + i) | 0;
    return sum;
}
const end = Date.now() + 2000;
let sum = 0;
while (Date.now() < end)
    sum += spinning(100000);
TEXT
    "$CAIRN" record -F 199 -v -o node.txt -- node --perf-basic-prof hot.js 2>log ||
        fail "recording node" log
    keep_maps
    matches node.txt 'spinning [^;]*_\[j\]' "a JavaScript function by name"
else
    skip node "not installed, or it writes no perf maps"
fi

finish "$n_checks checks hold"
