#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of stripped modules: each address of a function is one row, named by where the function
# begins. The truth is the symbol table of the same file before strip(1).
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc g++ go clang-14 ld.lld llvm-strip-14 nm strip objcopy readelf /usr/bin/python3
py=/usr/bin/python3

cat >work.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define HOT __attribute__((noinline))
static volatile unsigned sink;
static HOT unsigned leaf(unsigned x) { unsigned s = x; for (int i = 0; i < 40; i++) s = s * 3 + sink; return s; }
static HOT unsigned twice(unsigned x)
{
    if (__builtin_expect(x == 12345 && sink == 99, 0)) {
        fprintf(stderr, "never %u\n", x);
        abort();
    }
    return leaf(x) + leaf(x + 1);
}
static HOT unsigned pick(unsigned x)
{
    switch (x & 7) {
    case 0: return twice(x);
    case 1: return leaf(x);
    case 2: return twice(x) * 3;
    case 3: return leaf(x) - 1;
    case 4: return 7;
    default: return twice(x + 2);
    }
}
int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    for (unsigned long i = 0; i < n; i++)
        sink += pick((unsigned)i);
    return sink == 1;
}
C
cat >throws.cc <<'C'
#include <stdexcept>
#include <cstdlib>
static volatile unsigned sink;
struct guard { unsigned v; ~guard() { sink += v; } };
__attribute__((noinline)) static unsigned risky(unsigned x) { guard g{x}; if (x == sink) throw std::runtime_error("x"); return x * 3; }
__attribute__((noinline)) static unsigned calls(unsigned x) { guard g{x}; return risky(x + 1) + risky(x + 2); }
int main(int argc, char **) { try { return (int)calls((unsigned)argc); } catch (const std::exception &) { return 1; } }
C

cat >compare.py <<'PY'
"""compare.py CAIRN STRIPPED UNSTRIPPED OPTION...: questions, those with the right start, with another, with none."""
import json
import subprocess
import sys

cairn, stripped, unstripped, *options = sys.argv[1:]
functions = {}
thumb = "arm" in unstripped
for line in subprocess.run(["nm", "-S", "--defined-only", unstripped], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines():
    part = line.split()
    if len(part) == 4 and part[2] in "tT" and int(part[1], 16):
        functions[int(part[0], 16) & ~thumb] = (int(part[1], 16), part[3])
questions = [(start + at, start) for start, (size, _) in functions.items() for at in range(0, size, 2)]
answers = subprocess.run([cairn, "symbolize", "--no-cache", "--json", *options, stripped],
                         input="".join(f"{va:#x}\n" for va, _ in questions), check=True, text=True,
                         stdout=subprocess.PIPE).stdout.splitlines()
right = other = none = 0
for (va, start), line in zip(questions, answers, strict=True):
    answer = json.loads(line)
    if answer["state"] == "named":
        continue
    if "function_start" not in answer:
        none += 1
    elif int(answer["function_start"], 16) == start:
        right += 1
    else:
        other += 1
        print(f"{va:#x}: {functions[start][1]} begins at {start:#x}, not {answer['function_start']}",
              file=sys.stderr)
print(right > 50, other, none if len(functions) else "no function")
PY

# agree WHAT FILE: after strip(1), every address of every function leads to its start.
agree() {
    strip -o "$2.stripped" "$2"
    same "$1" "$($py compare.py "$CAIRN" "$2.stripped" "$2" 2>>log)" "True 0 0"
    same "$1, from an index" \
        "$($py compare.py "$CAIRN" "$2.stripped" "$2" --index always 2>>log)" "True 0 0"
}

gcc -O2 -g -o pie work.c && agree "gcc, position-independent" pie
gcc -O2 -g -no-pie -o fixed work.c && agree "gcc, at its own address" fixed
clang-14 -O2 -g -fuse-ld=lld -o lld work.c && agree "clang, lld" lld
g++ -O2 -g -o throws throws.cc && agree "C++ with landing pads" throws
has <(nm throws) riskyj.cold "a part that the compiler split off"

# Without .eh_frame_hdr all entries are read once; without section headers the header is the way in.
gcc -O2 -g -Wl,--no-eh-frame-hdr -o no_hdr work.c && agree "no .eh_frame_hdr" no_hdr
$py - pie.stripped no_sections <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[0x28:0x30] = bytes(8)  # e_shoff
data[0x3a:0x40] = bytes(6)  # e_shentsize, e_shnum, e_shstrndx
open(sys.argv[2], "wb").write(data)
PY
same "no section headers" "$($py compare.py "$CAIRN" no_sections pie 2>>log)" "True 0 0"
# A table that lies is not believed.
$py - pie.stripped liar <<'PY'
import subprocess
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for line in subprocess.run(["readelf", "-SW", sys.argv[1]], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.splitlines():
    part = line.replace("[ ", "[").split()
    if len(part) > 5 and part[1] == ".eh_frame_hdr":
        off = int(part[4], 16)
for at in range(off + 12, off + 12 + 8 * 4, 8):
    data[at] ^= 0x10
open(sys.argv[2], "wb").write(data)
PY
same "a wrong .eh_frame_hdr" "$($py compare.py "$CAIRN" liar pie 2>>log)" "True 0 0"

# .debug_frame alone: start-up code of the C library has an .eh_frame beside it.
gcc -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -o frames work.c
objcopy --strip-all --keep-section .debug_frame frames frames.stripped 2>>log
for name in leaf twice pick; do
    start=$(nm frames | awk -v n="$name" '$3 == n { print $1 }')
    has <("$CAIRN" symbolize frames.stripped "$(printf %x $((16#$start + 5)))") \
        "frames.stripped+0x$(printf %x $((16#$start))) [function]" ".debug_frame: $name"
done

# 32-bit arm: entries of .ARM.exidx that point to .ARM.extab are of one function; of the others
# linkers merge neighbours, so those say nothing. None may be wrong.
cat >arm.c <<'C'
int sink;
void done(int *p) { sink += *p; }
int outside(int);
#define HELD __attribute__((cleanup(done))) int
static __attribute__((noinline)) int plain(int x) { return outside(x) * 3 + sink; }
static __attribute__((noinline)) int plainer(int x) { return outside(x) * 5 + sink; }
static __attribute__((noinline)) int held(int x) { HELD a = x; return outside(x) + plain(x); }
static __attribute__((noinline)) int more(int x) { HELD a = x; return outside(x) * plainer(x) + held(x); }
void _start(void) { for (;;) sink = more(sink); }
C
clang-14 --target=armv7-linux-gnueabihf -O1 -g -fexceptions -nostdlib -fuse-ld=lld \
    -Wl,--unresolved-symbols=ignore-all -o arm arm.c 2>>log || fail "clang for arm" log
llvm-strip-14 -o arm.stripped arm
n=$($py compare.py "$CAIRN" arm.stripped arm 2>>log)
same "arm: no start is wrong" "$(echo "$n" | cut -d' ' -f2)" 0
for name in held more; do
    start=$(printf %x $((16#$(nm arm | awk -v n=$name '$3 == n { print $1 }') & ~1)))
    has <("$CAIRN" symbolize arm.stripped "$(printf %x $((16#$start + 6)))") \
        "arm.stripped+0x$start [function]" "arm: $name, which has a landing pad"
done

# Go: no FDE and no symbol, but the table that its runtime walks stacks by.
cat >work.go <<'GO'
package main

import "fmt"

type T struct{ a int }

//go:noinline
func (t *T) work(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += t.a * i
	}
	return s
}
func main() { fmt.Println((&T{3}).work(1000)) }
GO
export HOME="$PWD" GOCACHE="$PWD/gocache" GO111MODULE=off
compare_go() { # compare_go MODE: starts that are right, others, none
    if ! go build -buildmode="$1" -o "$1.full" work.go 2>>log ||
        ! go build -buildmode="$1" -ldflags='-s -w' -o "$1.bare" work.go 2>>log; then
        fail "go build" log
    fi
    $py compare.py "$CAIRN" "$1.bare" "$1.full" 2>>log
}
same "Go" "$(compare_go exe)" "True 0 0"
same "Go, position-independent" "$(compare_go pie | cut -d' ' -f1,2)" "True 0"

# Stubs of the procedure linkage table keep their names, and are no function where they have none.
"$CAIRN" symbolize pie.stripped "$(nm pie | awk '$3 == "main" { print $1 }')" >out
has out "pie.stripped+0x" "main"
plt=$(readelf -SW pie | awk '{ for (i = 1; i < NF; i++) if ($i == ".plt") print $(i + 2) }')
hasnt <("$CAIRN" symbolize pie.stripped "$plt" "$(printf %x $((16#$plt + 17)))") "[function]" "stubs"

# addr2line answers as GNU's does, and so do the forms of other tools.
leaf=$(nm pie | awk '$3 == "leaf" { print $1 }')
inside=$(printf %x $((16#$leaf + 9)))
same "addr2line" "$("$CAIRN" addr2line -f -e pie.stripped "$inside" | tr '\n' ' ')" "?? ??:0 "
same "gnu" "$("$CAIRN" symbolize --output-style gnu pie.stripped "$inside" | tr '\n' ' ')" "?? ??:0 "
hasnt <("$CAIRN" symbolize --output-style llvm pie.stripped "$inside") "function]" "llvm"

# A profile: one row a function, all its addresses in the locations; with symbols later, names.
"$CAIRN" record -F 997 -f -o raw.pb.gz -- ./pie.stripped 100000000 >log 2>&1 || fail "record" log
"$CAIRN" resolve raw.pb.gz -f -o named.pb.gz >log 2>&1 || fail "resolve" log
name="pie.stripped+0x$(printf %x $((16#$leaf))) [function]"
"$CAIRN" report --json --top 0 named.pb.gz >table
# No table has __do_global_dtors_aux(), in which a program that ends may be met.
ends=$(nm pie | awk '$3 == "__do_global_dtors_aux" { print $1 }')
behind=$(nm pie | awk '$3 == "frame_dummy" { print $1 }')
same "one row for leaf" "$($py - table "$name" "$ends" "$behind" <<'PY'
import json
import sys
ends, behind = (int(word, 16) for word in sys.argv[3:])
def is_end(name):
    return name.startswith("pie.stripped+0x") and ends <= int(name.removeprefix("pie.stripped+"), 16) < behind
rows = [r for r in json.load(open(sys.argv[1]))["functions"] if r["module"] == "pie.stripped"]
print([r["function"] for r in rows][:1] == [sys.argv[2]], len(rows) < 8,
      all(r["function"].endswith(" [function]") or "@plt" in r["function"] or r["function"].startswith("_") or is_end(r["function"]) for r in rows))
PY
)" "True True True"
has <("$CAIRN" report named.pb.gz 2>&1) "frames unnamed" "quality"
same "pprof: a function row, all addresses in its locations" \
    "$(PYTHONPATH="$SRC/tests/support" $py - named.pb.gz "$name" <<'PY'
import gzip
import sys
from pprof_decode import Profile, fields
path, name = sys.argv[1:]
p = Profile(path)
parts = list(fields(gzip.open(path).read()))
function = [dict(fields(v)) for n, v in parts if n == 5]
row = [f for f in function if p.strings[f.get(2, 0)] == name]
places = [dict(fields(v)) for n, v in parts if n == 4]
here = {l[3] for l in places if 4 in l and dict(fields(l[4]))[1] == row[0][1]}
print(len(row), p.strings[row[0][3]] == name.removesuffix(" [function]"), len(here) > 3)
PY
)" "1 True True"
"$CAIRN" convert named.pb.gz -f -o named.folded >log 2>&1 || fail "convert" log
has named.folded ";$name" "collapsed"
for picture in html svg; do
    "$CAIRN" flame named.pb.gz -f -o named.$picture >log 2>&1 || fail "flame $picture" log
done
has named.svg "$name" "svg"
mkdir symbols && cp pie symbols/pie.stripped
"$CAIRN" resolve named.pb.gz -f -s symbols -o again.pb.gz >log 2>&1 || fail "resolve again" log
"$CAIRN" report --top 0 again.pb.gz >out 2>&1
has out "leaf" "named in a second run"
hasnt out "pie.stripped+0x" "no address is left"
same "diff of two runs" "$("$CAIRN" diff named.pb.gz named.pb.gz 2>&1 | grep -c 'changed\|new function')" 0

# Where debug files can be had is said behind everything else, the heaviest module first, each once.
cp fixed.stripped light.stripped
leaf_at() { printf '%x' $((16#$(nm "$1" | awk '$3 == "leaf" { print $1 }') + 9)); }
{
    for at in 1 2 3; do printf '%s/pie.stripped+0x%x;' "$PWD" $((16#$leaf + at)); done
    printf '%s/light.stripped+0x%s 1\n' "$PWD" "$(leaf_at fixed)"
} >hints.txt
DEBUGINFOD_URLS="https://debug.example.org https://other" \
    "$CAIRN" resolve hints.txt -o hints.out 2>log || fail "hints" log
same "hints" "$(sed -n 's,^cairn: hint: .*/\([a-z]*\)\.stripped: .*\(https.*\),\1 \2,p' log)" "$(
    for file in pie fixed; do
        id=$(readelf -n $file | sed -n 's/.*Build ID: //p')
        echo "${file/fixed/light} https://debug.example.org/buildid/$id/debuginfo should have its debug file)"
    done)"
same "hints are the last lines" "$(tail -2 log | grep -c '^cairn: hint: ')" 2
"$CAIRN" resolve hints.txt -s symbols -o - >/dev/null 2>log
hasnt log "/pie.stripped: no symbol" "a module that has its debug file"
hasnt log "should have its debug file" "what no package has, and no server was named for"

# Collapsed text: the start replaces the offset, and an earlier start gets its name later, but no
# line, which would be that of the function's first instruction.
printf 'a;/x/%s/pie.stripped+0x%x 3\n' "$PWD" $((16#$leaf + 9)) | sed 's,/x/,,' >t.txt
"$CAIRN" resolve t.txt -o - >out 2>/dev/null
has out "pie.stripped+0x$(printf %x $((16#$leaf))) [function] 3" "text"
"$CAIRN" resolve out -s symbols --lines -o - 2>/dev/null >out2
same "text, named later" "$(cat out2)" "a;leaf 3"
same "text, not named later" "$("$CAIRN" resolve out -o - 2>/dev/null)" "$(cat out)"

finish "$n_checks checks hold"
