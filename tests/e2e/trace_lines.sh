#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace at lines of source: exact counts at -O0 and -O2, inlined copies, files by the end of their path, several
# files of one name, debug files, filters, and what is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc c++ objcopy

mkdir -p one two
cat >one/part.cc <<'EOF2'
extern volatile int sink;
static inline __attribute__((always_inline)) void inlined(int n)
{
    sink = n * 3;
    sink = sink + 1;
}
__attribute__((noinline)) int work(int n)
{
    inlined(n);

    for (int i = 0; i < n; i++)
        sink = i;
    if (n == 3)
        sink = 77;
    inlined(n + 1);
    return sink;
}
EOF2
cat >two/part.cc <<'EOF2'
volatile int sink;
int work(int n);
int main()
{
    sink = 1;
    for (int i = 0; i < 5; i++)
        work(i);
    return 0;
}
EOF2
for level in 0 2; do
    c++ -g -O$level -o part$level one/part.cc two/part.cc || fail "the program is not built"
done
if ! "$CAIRN" trace --summary -e uprobe:./part0:main -- ./part0 >out 2>log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi

hits() # PROGRAM SOURCE:LINE N TEXT
{
    "$CAIRN" trace --no-stack --summary -e "uprobe:./$1:$2" -- "./$1" >out 2>log || fail "$1: $4" log
    has log " $3 counted, 0 lost" "$1: $4"
}
for program in part0 part2; do
    hits $program one/part.cc:4 10 "an inlined line, of two copies"
    hits $program one/part.cc:12 10 "a line in a loop"
    hits $program one/part.cc:14 1 "a line under a condition"
    hits $program two/part.cc:5 1 "a file of the same name in another folder"
    hits $program part.cc:5 11 "both files of that name"
    hits $program "$PWD/one/part.cc:14" 1 "a whole path"
done
hits part2 one/part.cc:4 10 "copies"
has log "uprobe:./part2:one/part.cc:4 is at 2 places: all of them" "copies are said"
"$CAIRN" trace -e uprobe:./part2:one/part.cc:14 -- ./part2 >out 2>log || fail "a stack" log
has out "part.cc:14" "the innermost frame is that line"
has out "main" "its callers"
"$CAIRN" trace --summary -e 'uprobe:./part2:one/part.cc:5/arg0:d32[pid == 1]' -- ./part2 >out 2>log || fail "a filter" log
has log "10 events seen, 10 filtered out" "a filter"

# --- debug information apart
cp part2 apart && objcopy --only-keep-debug apart apart.debug && strip apart && objcopy --add-gnu-debuglink=apart.debug apart &&
    hits apart one/part.cc:14 1 "a line by the debug file"

# --- what is refused, with what to do
refused() # EVENT TEXT: says that text.
{
    "$CAIRN" trace -e "$1" -- ./part2 >out 2>log && fail "$1"
    has log "$2" "$1"
}
refused uprobe:./part0:one/part.cc:10 "line 10 of one/part.cc has no code"
has log " and 11" "a line without code: what to do"
refused uprobe:./part0:one/part.cc:999 "the nearest line that has is"
refused uprobe:./part0:ne/part.cc:4 'no source file is called "ne/part.cc"'
refused uprobe:./part0:other.cc:4 'no source file is called "other.cc"'
refused uretprobe:./part0:part.cc:4 "a line does not return"
rm apart.debug
refused uprobe:./apart:part.cc:4 "has no lines"
has log "built without -g" "no debug information: what to do"

finish "trace_lines: $n_checks checks"
