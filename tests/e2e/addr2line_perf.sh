#!/bin/bash
# SPDX-License-Identifier: MIT
# perf with cairn's addr2line in front of PATH: the same report as with GNU's, and inline frames where
# GNU loses them.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need perf gcc clang-14 addr2line timeout

cat >spin.c <<'C'
#include <stdlib.h>
volatile unsigned sink;
static inline unsigned mix(unsigned x)
{
    x ^= x >> 7;
    return x * 2654435761u;
}
static inline unsigned twice(unsigned x)
{
    for (int i = 0; i < 64; i++)
        x = mix(x + i) ^ mix(x);
    return x;
}
__attribute__((noinline)) unsigned left(unsigned x) { return twice(x) + 1; }
__attribute__((noinline)) unsigned right(unsigned x) { return twice(x) - left(x); }
int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    for (unsigned long i = 0; i < n; i++)
        sink += right((unsigned)i) ^ left((unsigned)i);
    return sink == 1;
}
C
mkdir folder
ln -s "$CAIRN" folder/addr2line
export PERF_BUILDID_DIR=$WORK/buildid PERF_CONFIG=/dev/null

# record NAME: its samples in NAME.data, but for the start: the functions that choose libc's others have
# several names, of which GNU takes none that perf takes.
record() {
    perf record -q -D 100 -e cpu-clock:u -F 499 --call-graph dwarf,4096 -o "$1.data" "./$1" 1500000 >record.log 2>&1 || {
        echo "skipped: perf cannot record: $(tail -1 record.log)"
        exit 77
    }
}

# reports NAME gnu|ours: what perf says of it, in NAME.gnu.script and so on
reports() {
    local path=/usr/bin:/bin
    [ "$2" = gnu ] || path=$PWD/folder:$path
    PATH=$path timeout 120 perf script -i "$1.data" -F comm,ip,sym,symoff,srcline >"$1.$2.script" 2>err ||
        fail "$1, $2: perf script" err
    PATH=$path timeout 120 perf report -i "$1.data" --stdio -g caller -F overhead,sym,srcline \
        >"$1.$2.report" 2>err || fail "$1, $2: perf report" err
}

# Static, so that no library's debug information has a say.
gcc -O2 -g -static spin.c -o spin_gcc || exit 1
clang-14 -O2 -g -gdwarf-5 -static spin.c -o spin_clang || exit 1
for name in spin_gcc spin_clang; do
    record $name
    reports $name gnu
    reports $name ours
    has $name.ours.script "spin.c:" "$name: lines"
    has $name.ours.report "spin.c:" "$name: lines in the report"
done
# But for tips, and for the source that GNU knows of local symbols without lines.
for file in spin_*.script spin_*.report; do
    sed -E '/^#/d; /^ +[A-Za-z0-9_-]+\.(c|o|S):0$/d' "$file" >"$file.bare"
done
for what in script report; do
    cmp -s spin_gcc.gnu.$what.bare spin_gcc.ours.$what.bare ||
        fail "perf $what differs" <(diff spin_gcc.gnu.$what.bare spin_gcc.ours.$what.bare | head -20)
done

# GNU 2.40 drops inline frames of clang's DWARF 5: ours are there, and all else is the same.
has spin_gcc.ours.script "(inlined)" "inline frames of gcc"
has spin_clang.ours.script "(inlined)" "inline frames of clang"
inlined() { grep -c '(inlined)' "spin_clang.$1.script"; }
[ "$(inlined ours)" -gt "$(inlined gnu)" ] || fail "clang: $(inlined ours) inline frames, GNU $(inlined gnu)"
for who in gnu ours; do
    grep -E ' (left|right|main)\+' spin_clang.$who.script | grep -v inlined >functions.$who
done
cmp -s functions.gnu functions.ours || fail "clang: functions" <(diff functions.gnu functions.ours | head)

finish "perf reports the same ($(grep -c 'spin.c:' spin_gcc.ours.script) lines), inline frames of clang: \
$(inlined ours), GNU $(inlined gnu)"
