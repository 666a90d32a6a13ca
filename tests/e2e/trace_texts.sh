#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace with types of arguments: texts behind pointers of functions and of static probes, numbers of 32 and
# 64 bits, filters on them, functions of libc that are known, and what is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc c++ python3

cat >texts.c <<'EOF2'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) int say(const char *a, int n, unsigned long m, const char *b)
{
    __asm__ volatile("" ::"r"(a), "r"(b));
    return n + (int)m;
}
int main(void)
{
    char text[400], *end = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "/tmp/cairn.none%d", i);
        say(text, -i, 0xffffffff00000000ul + i, "second\n\"\033[31m");
        if (fopen(text, "r")) return 1;
    }
    munmap(end + 4096, 4096);
    memset(text, 'x', sizeof text);
    text[399] = 0;
    say(text, 1, 0, NULL);
    strcpy(end + 4092, "end"); /* the next page is not there */
    say(end + 4092, 2, 0, (char *)8);
    say((char *)0xffff888000000000ul, 3, 0, NULL); /* of the kernel: never read for a program */
    return getenv("CAIRN_NONE") != NULL;
}
EOF2
cat >operator.cc <<'EOF2'
struct A { long n; };
__attribute__((noinline)) long operator/(const A &a, const char *s) { __asm__ volatile("" ::"r"(s)); return a.n; }
static const char *volatile word = "divisor"; /* its page is read before, so that it is there */
int main() { A a = {*word == 'd'}; return int(a / word) - 1; }
EOF2
{ cc -O1 -o texts texts.c && c++ -O1 -o operator operator.cc &&
    cc -O2 -g -pthread -I "$SRC/tests" -o usdt "$SRC/tests/e2e/usdt_program.c"; } || fail "the programs are not built"
if ! "$CAIRN" trace --summary -e uprobe:./texts:say -- ./texts >out 2>log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi

# --- texts and numbers, of which memory cannot be read as well
"$CAIRN" trace --no-stack --json -e 'uprobe:./texts:say/arg0:str,arg1:d32,arg2:x32,arg3:str' -- ./texts >out 2>log || fail "texts" log
/usr/bin/python3 - <<'EOF2' || fail "texts" out
import json
events = [json.loads(line) for line in open("out")]
assert [e["name"] for e in events] == ["uprobe:./texts:say"] * 6, events
a = [e["args"] for e in events]
for i in range(3):
    assert a[i] == {"arg0": '"/tmp/cairn.none%d"' % i, "arg1": str(-i), "arg2": hex(i), "arg3": '"second\\n\\"\\x1b[31m"'}, a[i]
assert a[3]["arg0"] == '"' + "x" * 255 + '"...', a[3]
assert a[3]["arg3"] == "NULL", a[3]
assert (a[4]["arg0"], a[4]["arg3"]) == ('"end"', "0x8"), a[4]
assert a[5]["arg0"] == "0xffff888000000000", a[5]
EOF2
"$CAIRN" trace --no-stack -e 'uprobe:./texts:say/arg1:d,arg2:u' -- ./texts >out 2>log || fail "64 bits" log
has out "arg2=18446744069414584321)" "an unsigned number of 64 bits"
hasnt out "arg3" "what stands behind the list is left out"

# --- filters: texts here, numbers in the kernel
"$CAIRN" trace --summary -e 'uprobe:./texts:say/arg0:str,arg1:d32[arg0 ~ "/tmp/*" && arg1 < 0]' -- ./texts >out 2>log || fail "a filter" log
same "a filter on a text and a number" "$(awk '/texts:say/ { print $1; exit }' out)" 2
"$CAIRN" trace --summary -e 'uprobe:./texts:say/arg2:u32[arg2 == 2]' -- ./texts >out 2>log || fail "a filter" log
has log "6 events seen, 5 filtered out" "a filter on the low half"

# --- functions of libc are known
"$CAIRN" trace --no-stack -e 'uprobe:libc.so.6:fopen[path ~ "*cairn.none[12]"]' -e uprobe:libc.so.6:getenv -- ./texts >out 2>log ||
    fail "libc" log
same "fopen by its path" "$(grep -c 'fopen(path="/tmp/cairn.none[12]", mode="r")' out)" 2
has out 'getenv(name="CAIRN_NONE")' "getenv"
"$CAIRN" trace --no-stack -e 'uprobe:libc.so.6:fopen/arg0:x' -- ./texts >out 2>log || fail "a list and the table" log
has out 'fopen(path=0x7f' "what the list says comes before what is known"

# --- names of C++ with the same sign
"$CAIRN" trace --no-stack -e 'uprobe:./operator:operator/(A const&, char const*)/arg1:str' -- ./operator >out 2>log || fail "operator/" log
has out 'arg1="divisor")' "operator/"
"$CAIRN" trace --no-stack -e 'uprobe:./operator:operator/(A const&, char const*)' -- ./operator >out 2>log || fail "operator/ alone" log
has out 'arg5=' "operator/ without a list"

# --- static probes: at places that lack the argument, too
"$CAIRN" trace --no-stack --json -e 'usdt:./usdt:own:count/arg2:str,arg1:d' -- ./usdt counts 10 >out 2>log || fail "usdt" log
/usr/bin/python3 - <<'EOF2' || fail "usdt" out
import collections, json
seen = collections.Counter(json.loads(line)["args"]["arg2"] for line in open("out"))
assert seen == {'"even"': 4 * 5, '"odd"': 4 * 4, "? (this place has none)": 4}, seen
EOF2
"$CAIRN" trace --summary -e 'usdt:./usdt:own:count/arg2:str[arg2 == "odd"]' -- ./usdt counts 10 >out 2>log || fail "a filter of usdt" log
same "a filter on the text of a static probe" "$(awk '/own:count/ { print $1; exit }' out)" 16
"$CAIRN" trace --summary -e 'usdt:./usdt:own:*/arg2:str' -- ./usdt counts 10 >out 2>log || fail "a pattern" log
has out "own:count" "of a pattern those that have the argument"

# --- functions of the kernel
if "$CAIRN" trace --no-stack -e 'kprobe:do_sys_openat2/arg1:str' -- cat /proc/version >out 2>log; then
    has out 'arg1="/proc/version"' "a text that a function of the kernel is given"
else
    skip "kprobes" "this kernel has none"
fi

# --- what is refused, with what to do
refused() # EVENT TEXT: says that text.
{
    "$CAIRN" trace -e "$1" -- ./texts >out 2>log && fail "$1"
    has log "$2" "$1"
}
refused uretprobe:./texts:say/arg0:str "not in the registers any more"
refused tracepoint:sched:sched_switch/arg0:str "has no arguments with types"
refused uprobe:./texts:say/arg6:str 'has no argument "arg6:str"'
refused usdt:./usdt:own:count/arg3:str 'has no argument "arg3:str": it has 3'
refused uprobe:./texts:say/arg0:text "types are str"
refused uprobe:./texts:say/arg0:str,arg1:str,arg2:str "has 3 texts"
refused 'uprobe:./texts:say/arg0:str[arg0 > 3]' 'expected a "text"'

finish "trace_texts: $n_checks checks"
