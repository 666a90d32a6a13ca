#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn hook plan and move as a person uses them: real files and processes, JSON, and bad input.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc jq python3 strip

cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int long_first(void) { return 12345; }
__attribute__((noinline, naked, aligned(64))) void loops_back(void)
{
    __asm__("1: dec %edi; jne 1b; ret");
}
__attribute__((noinline, naked, aligned(64))) void one_byte(void) { __asm__("ret"); }
int main(void)
{
    free(malloc(1));
    loops_back();
    one_byte();
    write(1, "ready\n", 6);
    pause();
    return long_first();
}
END
gcc -O2 -o program program.c 2>log || { cat log; exit 1; }
libc=$(ldd program | sed -n 's/.*=> \(.*libc.so.6\) .*/\1/p')

plan() { # NAME OPERAND...: its output is in plan.out, its status in `status`
    local name=$1
    shift
    "$CAIRN" hook plan "$@" >plan.out 2>plan.err
    status=$?
    case $name in -) ;; *) same "$name: status" "$status" 0 ;; esac
}

plan "a program" program long_first loops_back one_byte
has plan.out "3 functions: " "the sum"
case $(uname -m) in
x86_64)
    grep -qE '^long_first +one +0x[0-9a-f]+ +b8 39 30 00 00 +-> e9 \.\. \.\. \.\. \.\.$' plan.out || fail "long_first" plan.out
    grep -qE '^one_byte +(one|pun) ' plan.out || fail "one_byte" plan.out
    ;;
esac
grep -qE '^loops_back +none +the function jumps back' plan.out || fail "loops_back" plan.out

plan "JSON" --json "$libc"
same "functions counted" "$(jq '.functions | length' plan.out)" "$(jq '.sum.functions' plan.out)"
same "by method" "$(jq '.sum | .one + .pad + .pun + .late + .b + .none' plan.out)" "$(jq '.sum.functions' plan.out)"
at_most 2 "$(jq '100 * .sum.none / .sum.functions | floor' plan.out)" "per cent of libc's functions without a method"
for name in malloc free calloc realloc posix_memalign aligned_alloc malloc_usable_size; do
    plan "$name" --json "$libc" "$name"
    same "$name" "$(jq -r '.functions[0].way != "none"' plan.out)" true
    same "$name: changed bytes" "$(jq -r '.functions[0] | (.before | length) == (.after | length)' plan.out)" true
done

# A process, and the same function of its file; then with a hook of somebody else.
./program >out &
pid=$!
until grep -q ready out 2>/dev/null; do sleep 0.02; done
if "$CAIRN" hook plan "$pid" long_first >plan.out 2>plan.err; then
    has plan.out "long_first" "a process"
    plan "a process, all" --json "$pid"
    at_least 1000 "$(jq .sum.functions plan.out)" "functions of a process"
    at_most 10 "$(jq '100 * .sum.none / .sum.functions | floor' plan.out)" "per cent of a process's functions without a method"
    "$CAIRN" hook plan --json "$pid" long_first malloc >plan.out
    address=$(jq -r '.functions[] | select(.name == "long_first").patch' plan.out)
    malloc=$(jq -r '.functions[] | select(.name == "malloc").patch' plan.out)
    python3 -c '
import struct, sys
pid, at, to = int(sys.argv[1]), int(sys.argv[2], 16), int(sys.argv[3], 16)
with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
    memory.seek(at)
    memory.write(b"\xff\x25\0\0\0\0" + struct.pack("<Q", to))' "$pid" "$address" "$malloc"
    plan "a hook of somebody else" "$pid" long_first
    if [ "$(uname -m)" = x86_64 ]; then
        has plan.out "diverted already by another tool" "a hook of somebody else"
        has plan.out "leads to $malloc in $(readlink -f "$libc")" "where it leads"
    fi
else
    skip "a process" "$(head -n 1 plan.err)"
fi
kill -KILL $pid
wait $pid 2>/dev/null

# Bad input.
plan - program no_such_function long_first
same "a missing function: status" "$status" 1
has plan.err "program: no function is named no_such_function" "a missing function"
has plan.out "long_first" "the others are printed"
plan - no_such_file
same "a missing file: status" "$status" 1
has plan.err "no_such_file" "a missing file"
plan - 999999999
same "a missing process: status" "$status" 1
plan - program.c
same "no ELF file: status" "$status" 1
has plan.err "program.c" "no ELF file"
head -c 3000 program >cut.elf
plan - cut.elf
same "a file cut off: status" "$status" 1
printf '\000\000' | dd of=program bs=1 seek=18 conv=notrunc 2>/dev/null
plan - program
same "another machine: status" "$status" 1
has plan.err "plans are made for x86-64 and aarch64" "another machine"
plan -
same "no operand: status" "$status" 2
plan - --no-such-option program
same "an unknown option: status" "$status" 2

move() { # STATUS OUTPUT NAME WORD...
    local wanted=$1 text=$2 name=$3
    shift 3
    "$CAIRN" hook move "$@" >move.out 2>&1
    same "$name: status" "$?" "$wanted"
    has move.out "$text" "$name"
}
at=(--cpu x86-64 --at 0x1000 --to 0x2000)
move 0 '55e9fbefffff' "one instruction" "${at[@]}" 5575
move 0 '{"taken":3,"code":"550f850cf0ffffe9f7efffff"}' "JSON" "${at[@]}" --json --least 3 55 75 10
move 1 '{"refused":"the bytes end inside an instruction","at":"0x1001"}' "cut off" "${at[@]}" --json --least 2 55 75
move 1 "cannot be moved: the bytes are no instruction" "no code" "${at[@]}" 06
move 1 "a shadow stack would refuse" "shadow stack" "${at[@]}" --shadow-stack e800000000
move 0 'ff35' "a call" "${at[@]}" e800000000
move 1 "no instruction of this CPU can be at this address" "misaligned" --cpu aarch64 --at 0x1002 --to 0x2000 1f2003d5
move 0 '{"taken":4,"code":"1f2003d500fcff17"}' "aarch64" --cpu aarch64 --at 0x1000 --to 0x2000 --json 1f2003d5
move 1 "not supported" "thumb" --cpu thumb --at 0x1000 --to 0x2000 00bf
move 2 "is no byte" "odd digits" "${at[@]}" 555
move 2 "is no byte" "letters" "${at[@]}" xx
move 2 "HEX is missing" "no HEX" "${at[@]}"
move 2 "--at is missing" "no --at" --cpu x86-64 --to 0x2000 55
move 2 "expected 1 to 64" "too much" "${at[@]}" --least 65 55
move 2 'unknown' "another CPU" --cpu riscv --at 1 --to 2 55
move 2 "no byte" "a line of text" "${at[@]}" "push %rbp"
move 1 "a distance does not fit" "the end of the address space" --cpu x86-64 --at 0xffffffffffffffff --to 0 55
n=$(for _ in $(seq 5000); do printf 90; done)
move 2 "more than 4096 bytes" "too long" "${at[@]}" "$n"
"$CAIRN" hook >out 2>&1
same "no part: status" "$?" 2
"$CAIRN" hook mvoe >out 2>&1
has out 'did you mean "move"' "a part that is none"
finish "cairn hook: $n_checks checks"
