#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace at all functions that a pattern matches, and at all copies of a name: exact counts, names, what the last
# line says, on an own program of C++, libz and sqlite3; and what is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc c++ nm python3

cat >one.cc <<'EOF2'
namespace own { struct N { long v; }; }
#define PLACE __attribute__((noinline, noclone))
static PLACE int same(int n) { __asm__ volatile(""); return n + 1; }
PLACE long operator*(own::N a, own::N b) { __asm__ volatile(""); return a.v * b.v; }
namespace own {
PLACE int add(int a) { __asm__ volatile(""); return a + 1; }
PLACE int add(long a) { __asm__ volatile(""); return (int)a + 2; }
PLACE int sub(int a) { __asm__ volatile(""); return a - 1; }
}
int two(int n);
int main()
{
    int k = 0;
    for (int i = 0; i < 10; i++) k += same(i) + two(i) + own::add(i) + own::add(2L * i);
    own::N n = {3};
    return k + own::sub(1) + (int)(n * n) == 0;
}
EOF2
cat >two.cc <<'EOF2'
static __attribute__((noinline, noclone)) int same(int n) { __asm__ volatile(""); return n * 5; }
int two(int n) { return same(n) + same(n + 1); }
EOF2
c++ -O1 -o many one.cc two.cc || fail "the program is not built"
if ! "$CAIRN" trace --summary -e uprobe:./many:main -- ./many >out 2>log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi

# count FILE TEXT: of a collapsed file, hits of stacks that end in the text.
count() { awk -v text="$2" '{ n = $NF; sub(" " n "$", "") } substr($0, length($0) - length(text) + 1) == text { sum += n } END { print sum + 0 }' "$1"; }
# calls NAME: of a summary.
calls() { awk -v name="$1" '{ at = index($0, "  uprobe:") } at && substr($0, at + 2) == name { gsub(",", "", $1); print $1; exit }' out; }

# --- a name that two functions have: both
"$CAIRN" trace -f -e 'uprobe:./many:same(int)' -o sums.txt -- ./many >out 2>log || fail "copies" log
same "hits of one copy, from main" "$(count sums.txt ';main;same(int)')" 10
same "hits of the other, from two" "$(count sums.txt ';main;two(int);same(int)')" 20
has log "is 2 functions of that name: all of them" "copies are said"
"$CAIRN" trace --summary -e 'uretprobe:./many:_ZL4samei' -- ./many >out 2>log || fail "copies return" log
has log "30 counted" "returns of both"

# --- patterns: demangled, linkage names, and names of C++ that look like patterns
"$CAIRN" trace --summary -e 'uprobe:./many:own::*' -- ./many >out 2>log || fail "a pattern" log
same "own::add(int)" "$(calls 'uprobe:./many:own::add(int)')" 10
same "own::add(long)" "$(calls 'uprobe:./many:own::add(long)')" 10
same "own::sub(int)" "$(calls 'uprobe:./many:own::sub(int)')" 1
has log "uprobe:./many:own::* is 3 functions" "a pattern is said"
has log "21 events seen, 21 counted, 0 lost" "a pattern"
"$CAIRN" trace --summary -e 'uprobe:./many:_ZN3own3add*/arg0:d32[arg0 == 4]' -- ./many >out 2>log || fail "a pattern with a list" log
has log "2 counted, 0 lost" "a pattern with types and a filter"
"$CAIRN" trace --summary -e 'uprobe:./many:operator*(own::N, own::N)' -- ./many >out 2>log || fail "operator*" log
same "operator*" "$(calls 'uprobe:./many:operator*(own::N, own::N)')" 1
hasnt log " is 1 function" "a name is no pattern"
"$CAIRN" trace --summary -e 'uretprobe:./many:own::ad?(*' -- ./many >out 2>log || fail "returns of a pattern" log
has log "20 counted, 0 lost" "returns of a pattern"

# --- libraries of others, with the truth of nm
functions() # FILE PATTERN: of the dynamic table, each address once.
{
    nm -D --defined-only "$1" | awk -v p="$2" '$2 ~ /[TtWw]/ && $3 ~ p { print $1 }' | sort -u | wc -l
}
libz=$(ldconfig -p 2>/dev/null | awk '/libz\.so\.1 / { print $NF; exit }')
if [ -n "$libz" ] && [ ! -e "/usr/lib/debug$libz" ] && /usr/bin/python3 -c 'import zlib' 2>/dev/null; then
    "$CAIRN" trace --summary -e 'uprobe:libz.so.1:crc32*' -e 'uprobe:libz.so.1:adler32*' -- /usr/bin/python3 -c '
import zlib
for i in range(1000): zlib.crc32(b"x" * 9000); zlib.adler32(b"x" * 9000)' >out 2>log || fail "libz" log
    same "calls of crc32" "$(calls uprobe:libz.so.1:crc32)" 1000
    same "calls of adler32" "$(calls uprobe:libz.so.1:adler32)" 1000
    has log "uprobe:libz.so.1:crc32* is $(functions "$libz" '^crc32') functions" "as many as nm has"
else
    skip "libz" "it, or python's zlib, is not here, or has a debug file"
fi
sqlite=$(ldconfig -p 2>/dev/null | awk '/libsqlite3\.so\.0 / { print $NF; exit }')
if [ -n "$sqlite" ] && command -v sqlite3 >/dev/null; then
    "$CAIRN" trace --no-stack -e 'uprobe:libsqlite3.so.0:sqlite3_prepare*/arg1:str[arg1 ~ "select 4*"]' -- \
        sqlite3 :memory: 'create table t(a); select 41; select 42; insert into t values(3)' >out 2>log || fail "sqlite3" log
    same "statements by their text" "$(grep -c 'sqlite3_prepare_v2(arg0=0x[0-9a-f]*, arg1="select 4[12]' out)" 2
else
    skip "sqlite3" "it is not here"
fi

# --- what is refused, with what to do
refused() # EVENT TEXT: says that text.
{
    "$CAIRN" trace -e "$1" -- ./many >out 2>log && fail "$1"
    has log "$2" "$1"
}
refused 'uprobe:./many:nosuch*' 'no function matches "nosuch*"'
refused 'uprobe:./many:own::*+4' 'an offset needs the name of one function'
refused 'uprobe:libc.so.6:*' 'and 256 events can be added'
has log "a longer pattern" "too many: what to do"
if nm -D /lib/x86_64-linux-gnu/libc.so.6 2>/dev/null | grep -q ' i strlen'; then
    refused uprobe:libc.so.6:strlen "of which the loader chooses"
    has log "'*strlen*'" "IFUNC: what to do"
fi

finish "trace_functions: $n_checks checks"
