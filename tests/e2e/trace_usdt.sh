#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace at static probes: exact counts at all places, each kind of operand, semaphores, nops that the kernel
# replaces, files of a process and of a command, probes of Debian's own programs, and what is refused.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc c++ objcopy readelf python3

for level in 0 2; do
    cc -O$level -g -Wall -Wextra -Werror -pthread -I "$SRC/tests" -o usdt$level "$SRC/tests/e2e/usdt_program.c" ||
        fail "the program is not built"
done
if ! "$CAIRN" trace --summary -e usdt:./usdt2:own:count -- ./usdt2 counts 1 >out 2>log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi

# count FILE TEXT: of a collapsed file, hits of stacks that hold the text.
count() { awk -v text="$2" 'index($0, text) { sum += $NF } END { print sum + 0 }' "$1"; }

# --- exact, from four threads, at all places of one probe
n=20000
for program in usdt0 usdt2; do
    "$CAIRN" trace -f -e usdt:./$program:own:count -o sums.txt -- ./$program counts $n >out 2>log || fail "counts" log
    same "$program: hits" "$(awk '{ sum += $NF } END { print sum }' sums.txt)" $((4 * n))
    same "$program: hits of even" "$(count sums.txt ';work;even')" $((4 * n / 2))
    same "$program: hits of odd" "$(count sums.txt ';work;odd')" $((4 * (n / 2 - 1)))
    same "$program: hits of last" "$(count sums.txt ';work;last')" 4
    has log ", 0 lost" "$program: nothing is lost"
    has log ", 0 cut" "$program: stacks are whole"
    has log "usdt at 3 places" "$program: the places"
    # what the compiler chose is right, whatever it is
    "$CAIRN" trace --no-stack --json -e usdt:./$program:own:count -- ./$program counts 50 >out 2>log || fail "arguments" log
    /usr/bin/python3 - <<'EOF2' || fail "$program: arguments" log
import collections, json
seen = collections.Counter()
for line in open("out"):
    e = json.loads(line)
    assert e["event"] == "usdt" and "result" not in e, e
    a = e["args"]
    i = int(a["arg0"])
    seen[i] += 1
    if i == 49:
        assert a["arg1"] == a["arg2"] == "? (this place has none)", a
    else:
        assert int(a["arg1"]) == (-2 * i if i % 2 else 2 * i) and a["arg2"].startswith("0x"), a
assert seen == {i: 4 for i in range(50)}, seen
EOF2
done

# --- filters: in the kernel, and in user space
"$CAIRN" trace --summary -e 'usdt:./usdt2:own:count[arg0 >= 10 && arg1 < 0]' -- ./usdt2 counts 100 >out 2>log || fail "a filter" log
same "a filter in the kernel" "$(awk '/own:count/ { print $1; exit }' out)" $((4 * 44))
has log "400 events seen, 224 filtered out" "a filter in the kernel"
"$CAIRN" trace --summary -e 'usdt:./usdt2:own:count[arg0 == 3 || arg1 == 8]' -- ./usdt2 counts 100 >out 2>log || fail "a filter" log
same "a filter with a rest" "$(awk '/own:count/ { print $1; exit }' out)" 8
# of what is not known no comparison holds
"$CAIRN" trace --summary -e 'usdt:./usdt2:own:count[arg1 != 123456]' -- ./usdt2 counts 100 >out 2>log || fail "a filter" log
same "a filter on what one place lacks" "$(awk '/own:count/ { print $1; exit }' out)" $((4 * 99))

# --- a file's name may hold anything: none of it reaches the terminal as it is
odd=$(printf 'usdt\033[31m')
cp usdt2 "$odd"
for options in "" --summary; do
    "$CAIRN" trace $options --no-stack -e usdt:own:count -- "./$odd" counts 1 >out 2>log || fail "an odd name $options" log
    has out 'usdt\x1b[31m:own:count' "an odd name $options"
    grep -q "$(printf '\033')" out && fail "an odd name $options" out
done

# --- operands
"$CAIRN" trace --no-stack --json -e 'usdt:./usdt2:own:*' -- ./usdt2 operands >out 2>log || fail "operands" log
/usr/bin/python3 - "$(uname -m)" <<'EOF2' || fail "operands" out
import json, sys
got = {}
for line in open("out"):
    e = json.loads(line)
    got[e["name"].rsplit(":", 1)[1]] = list(e["args"].values())
no_operand, no_memory = "? (the kernel cannot read its operand)", "? (its memory cannot be read)"
want = {
    "registers": ["0x1122334485868788", str(0x1122334485868788), str(0x85868788), str(0x85868788 - (1 << 32)), str(0x8788),
                  str(0x8788 - (1 << 16)), str(0x88), str(0x88 - 256), str(0x85868788)],
    "constants": ["5", "-5", "0x10", "0xffffffffffffffff", str(-(1 << 63)), "255"],
}
if sys.argv[1] == "x86_64":
    want["registers"].append(str(0x8788))
    want["bytes"] = [str(0x12), str(0x34), "-1", "-2"]
    want["memory"] = ["10", "-11", "-13", "16", "-15", str(65536 - 11), "-15", "10", str(256 - 11), "0xfffffff50000000a"]
    want["odd"] = ["1.5", "-2.25", no_operand, no_memory, no_operand, no_operand]
    want["twelve"] = [str(i) for i in range(12)]
else:
    want["registers"].append(str(0x85868788))
assert got == want, (got, want)
EOF2
if [ "$(uname -m)" = x86_64 ]; then
    has log "arguments beyond the first 12 are left out" "a thirteenth argument"
    "$CAIRN" trace -e 'usdt:./usdt2:own:odd[arg0 > 1]' -- ./usdt2 operands >out 2>log && fail "a filter on a float"
    has log "floating-point" "a filter on a float"
fi

# --- semaphores: raised for the command, and for a process that runs; dropped behind the trace
same "guarded, not traced" "$(./usdt2 guarded 7 </dev/null)" 0
"$CAIRN" trace --summary -e usdt:./usdt2:own:guarded -- ./usdt2 guarded 7 </dev/null >out 2>log || fail "guarded" log
same "guarded: hits of the command" "$(awk '/own:guarded/ { print $1; exit }' out)" 7
mkfifo gate
./usdt2 guarded 7 <gate >said &
pid=$!
exec 3>gate
for _ in $(seq 100); do [ -s said ] && break; sleep 0.05; done
"$CAIRN" trace -v --json -e usdt:own:guarded -p $pid >out 2>log &
tracer=$!
for _ in $(seq 100); do grep -q "tracing has begun" log && break; sleep 0.1; done
echo >&3
wait $pid
wait $tracer || fail "guarded, running" log
exec 3>&-
same "guarded: hits of the process" "$(grep -c '"event":"usdt"' out)" 7
same "guarded: what the process saw" "$(tail -n 1 said)" "7 1"
./usdt2 guarded 7 <gate >said &
pid=$!
exec 3>gate
for _ in $(seq 100); do [ -s said ] && break; sleep 0.05; done
"$CAIRN" trace -d 0.2 -e usdt:own:guarded -p $pid >out 2>log || fail "guarded, dropped" log
echo >&3
exec 3>&-
wait $pid
same "guarded: the semaphore is dropped" "$(tail -n 1 said)" "0 0"
cp usdt2 gone
./gone guarded 7 <gate >said &
pid=$!
exec 3>gate
for _ in $(seq 100); do [ -s said ] && break; sleep 0.05; done
rm gone
"$CAIRN" trace -v --json -e usdt:own:guarded -p $pid >out 2>log &
tracer=$!
for _ in $(seq 100); do grep -q "tracing has begun" log && break; sleep 0.1; done
echo >&3
wait $pid
wait $tracer || fail "guarded, file gone" log
exec 3>&-
same "guarded: hits in a program whose file is gone" "$(grep -c '"event":"usdt"' out)" 7

# --- a nop of five bytes behind the short one
if [ "$(uname -m)" = x86_64 ]; then
    "$CAIRN" trace -f -e 'usdt:./usdt2:own:long[arg1 == -13]' -o sums.txt -- ./usdt2 long 5000 >out 2>log || fail "long nops" log
    same "hits where a long nop follows" "$(count sums.txt ';main;long_nops')" 5000
    has log ", 0 cut" "long nops: stacks are whole"
    if grep -q "replaces" log; then
        has log "usdt at 1 place on a nop that the kernel replaces by a call" "long nops"
    else
        has log "usdt at 1 place on a nop that the kernel emulates" "long nops"
        skip "long nops" "this kernel replaces none"
    fi
fi

# --- what a file, a process and a command show
"$CAIRN" trace --list 'usdt:./usdt2:own:c*' >out 2>log || fail "--list" log
has out "usdt:./usdt2:own:constants  1 place  " "--list"
has out "usdt:./usdt2:own:count  3 places  " "--list: several places"
same "--list: a pattern" "$(wc -l <out)" 2
"$CAIRN" trace --list 'usdt:./usdt2:*' >all 2>log || fail "--list of all" log
has all "usdt:./usdt2:own:guarded  1 place, semaphore  " "--list: a semaphore"
same "--list of all agrees with readelf" "$(wc -l <all)" "$(readelf -n usdt2 | grep '^ *Name:' | sort -u | wc -l)"
same "--list by the file alone" "$("$CAIRN" trace --list usdt:./usdt2 2>&1)" "$(cat all)"
./usdt2 guarded 1 <gate >said &
pid=$!
exec 3>gate
for _ in $(seq 100); do [ -s said ] && break; sleep 0.05; done
"$CAIRN" trace --list usdt: -p $pid >out 2>log || fail "--list of a process" log
same "--list of a process" "$(grep -c "^usdt:$PWD/usdt2:own:" out)" "$(wc -l <all)"
"$CAIRN" trace --list 'usdt:own:g*' -p $pid >out 2>log || fail "--list of a provider" log
same "--list of a provider" "$(cut -d' ' -f1 out)" "usdt:$PWD/usdt2:own:guarded"
exec 3>&-
wait $pid
"$CAIRN" trace --summary -e 'usdt:own:count' -- ./usdt2 counts 10 >out 2>log || fail "a command shows its file" log
same "hits by the provider alone" "$(awk '/own:count/ { print $1; exit }' out)" 40

# --- exceptions of C++, each with its whole stack, by a library that the program asks for
cat >throws.cc <<'EOF2'
#include <stdexcept>
__attribute__((noinline)) int deep(int n) { if (n == 0) throw std::runtime_error("x"); int k = deep(n - 1); asm volatile(""); return k + 1; }
int main() { int n = 0; for (int i = 0; i < 10; i++) try { deep(i % 3); } catch (const std::exception &) { n++; } return n - 10; }
EOF2
c++ -O1 -o throws throws.cc || fail "throws is not built"
if readelf -n "$(ldd throws | awk '/libstdc/ { print $3 }')" 2>/dev/null | grep -q libstdcxx; then
    "$CAIRN" trace -f -e usdt:libstdc++.so.6:libstdcxx:throw -e 'usdt:libstdcxx:c*' -o sums.txt -- ./throws >out 2>log ||
        fail "exceptions" log
    same "exceptions at depth 0" "$(count sums.txt ';main;deep(int);__cxa_throw ')" 4
    same "exceptions at depth 2" "$(count sums.txt ';main;deep(int);deep(int);deep(int);__cxa_throw ')" 3
    same "exceptions that were caught" "$(count sums.txt ';main;__cxa_begin_catch ')" 10
    has log ", 0 cut" "exceptions: stacks are whole"
else
    skip "exceptions" "this libstdc++ has no static probes"
fi

# --- Python's own probes, which it skips unless they are traced
python=$(readlink -f /usr/bin/python3)
if readelf -n "$python" 2>/dev/null | grep -q 'function__return'; then
    cat >calls.py <<'EOF2'
def called(n):
    return n
for i in range(30):
    called(i)
EOF2
    "$CAIRN" trace --summary -e 'usdt:python:function__return[arg2 == 2]' -- /usr/bin/python3 -S -E calls.py >out 2>log ||
        fail "Python" log
    at_least 30 "$(awk '/function__return/ { print $1; exit }' out)" "returns of Python's functions from line 2"
else
    skip "Python" "$python has no static probes"
fi

# --- what is refused
refuses() { # CASE TEXT ARGUMENT...
    local what=$1 says=$2
    shift 2
    "$CAIRN" trace "$@" >out 2>log && fail "$what"
    has log "$says" "$what"
}
refuses "no such probe" "has no static probe own:cuont; the most like it is own:count" -e usdt:./usdt2:own:cuont -- true
has log "cairn trace --list 'usdt:./usdt2:*'" "no such probe: what to do"
refuses "no notes" "has no static probes" -e "usdt:$WORK/throws:a:b" -- true
refuses "no such file" "there is no such file" -e usdt:./nowhere:a:b -- true
refuses "no probe of the command" "no file of the target has such a static probe" -e usdt:own:no_such -- ./usdt2
refuses "no file" "in which file" -e usdt:own:count -a
refuses "too few parts" "expected usdt:FILE:PROVIDER:NAME" -e usdt:count -- true
refuses "too many parts" "expected usdt:FILE:PROVIDER:NAME" -e usdt:a:b:c:d -- true
refuses "an argument that is none" 'has no field "arg3"' -e 'usdt:./usdt2:own:count[arg3 == 1]' -- true
objcopy -O binary --only-section=.note.stapsdt --set-section-flags .note.stapsdt=alloc usdt2 notes ||
    objcopy --dump-section .note.stapsdt=notes usdt2
head -c $(($(stat -c %s notes) - 9)) notes >shorter
cp usdt2 damaged && objcopy --update-section .note.stapsdt=shorter damaged
refuses "damaged notes" "damaged: .note.stapsdt: note at 0x" -e usdt:./damaged:own:count -- true
/usr/bin/python3 - <<'EOF2'
notes = bytearray(open("notes", "rb").read())
notes[20:28] = (0x10).to_bytes(8, "little")  # the first note's address: the ELF header
open("moved", "wb").write(notes)
notes = bytearray(open("notes", "rb").read())
notes[36:44] = (0x10).to_bytes(8, "little")  # its semaphore
open("raised", "wb").write(notes)
EOF2
cp usdt2 damaged && objcopy --update-section .note.stapsdt=moved damaged
refuses "a place out of the code" "is not in the code of this file" -e 'usdt:./damaged:*:*' -- true
cp usdt2 damaged && objcopy --update-section .note.stapsdt=raised damaged
refuses "a semaphore in read-only data" "the semaphore at 0x10 is not in the part of this file that is loaded to be written" \
    -e 'usdt:./damaged:*:*' -- true
# the kernel refuses a second semaphore for one place: of several it is said which
cat >twice.c <<'EOF2'
#include "support/usdt.h"
USDT_SEMAPHORE(one);
USDT_SEMAPHORE(two);
int main(void) { __asm__ volatile(USDT_TEXT("", "one", "own", "first", "") USDT_TEXT("", "two", "own", "second", "") USDT_TEXT("nop", "0", "own", "third", "")); return 0; }
EOF2
cc -I "$SRC/tests" -o twice twice.c || fail "twice is not built"
refuses "two semaphores at one place" "usdt:./twice:own:second: cannot be attached to" -e 'usdt:./twice:own:*' -- ./twice
cp usdt2 other && printf '\363\0' | dd of=other bs=1 seek=18 conv=notrunc status=none
refuses "a program of another CPU" "a program of riscv, 64 bit" -e usdt:./other:own:count -- true
"$CAIRN" trace --list usdt:./other:own:count >out 2>log || fail "--list of another CPU's program" log

finish "trace_usdt: $n_checks checks"
