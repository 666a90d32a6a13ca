#!/bin/bash
# SPDX-License-Identifier: MIT
# Files of other machines, of 32 and 64 bit and both byte orders: lines and inline frames of each
# instruction as llvm-symbolizer has them; PLT stubs as objdump has them, also where the section
# headers are gone; symbols packed into .gnu_debugdata. 64-bit POWER's old ABI (.opd) is left out:
# lld links the new one alone.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need clang-14 ld.lld llvm-symbolizer-14 llvm-readelf-14 llvm-objdump-14 gcc objdump objcopy nm xz \
    /usr/bin/python3

cat >work.c <<'C'
volatile int sink;
struct node { struct node *next; int v; };
static inline __attribute__((always_inline)) int leaf(int x) { sink = x * 3; return x + sink; }
static inline __attribute__((always_inline)) int mid(struct node *n)
{
    int s = 0;
    for (; n; n = n->next)
        s += leaf(n->v);
    return s;
}
__attribute__((noinline)) static int work(struct node *n, int k) { return mid(n) * k + leaf(k); }
int outer(struct node *n)
{
    switch (sink) {
    case 1: return work(n, 2);
    case 2: return work(n, 3) + 1;
    default: return leaf(7);
    }
}
void _start(void) { struct node n = {0, sink}; for (;;) sink = outer(&n); }
C

cat >compare.py <<'PY'
"""compare.py LLVM CAIRN: frames a question, both in llvm-symbolizer's JSON, without columns."""
import json
import sys

def frames(path):
    for line in open(path):
        found = json.loads(line)["Symbol"]
        yield [(f["FunctionName"] or "??", f["FileName"] or "??", f["Line"]) for f in found]

llvm, cairn = list(frames(sys.argv[1])), list(frames(sys.argv[2]))
wrong = [(a, b) for a, b in zip(llvm, cairn)
         # llvm-symbolizer takes labels inside of functions for functions
         if a != b and not a[-1][0].startswith(".L")]
inlined = sum(len(a) > 1 for a in cairn)
print(len(llvm) == len(cairn) and inlined > 10 and len(wrong), *wrong[:3])
PY

# addresses FILE SECTION STEP: of the whole section
addresses() {
    llvm-readelf-14 -SW "$1" | awk -v name="$2" '{
        for (i = 1; i < NF; i++) if ($i == name) print "0x" $(i + 2), "0x" $(i + 4) }' |
        while read -r start size; do
            for ((off = 0; off < size; off += $3)); do printf '0x%x\n' $((start + off)); done
        done
}

# 1. Lines and inline frames.
for target in powerpc64 powerpc mips mips64 aarch64_be aarch64 i386 armv7 mipsel riscv64; do
    option=
    [ $target != powerpc64 ] || option=-mabi=elfv2
    for version in 4 5; do
        # shellcheck disable=SC2086 # none, or one option
        if ! clang-14 --target=$target-linux-gnu $option -O2 -gdwarf-$version -ffreestanding \
            -nostdlib -static -fuse-ld=lld work.c -o prog 2>log; then
            fail "$target: cannot build" log
            continue
        fi
        addresses prog .text 2 >asked
        llvm-symbolizer-14 --obj=prog --output-style=JSON <asked >llvm.json
        "$CAIRN" symbolize --output-style=llvm prog <asked >cairn.json 2>err
        same "$target, DWARF $version" "$(/usr/bin/python3 compare.py llvm.json cairn.json 2>&1)" 0
    done
done

# 2. Stubs. GNU objdump 2.40 counts wrong where lld puts bti c into a PLT: there LLVM's is asked.
echo 'int alpha(int x) { return x * 3; } int beta(int x) { return x - 7; }' >lib.c
cat >use.c <<'C'
int alpha(int), beta(int);
int tool(int x) { return alpha(x) + beta(x) * alpha(x + 1); }
C
cut_headers() { # FILE OUT: without section headers
    /usr/bin/python3 - "$1" "$2" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
order = ">" if data[5] == 2 else "<"
wide = data[4] == 2
struct.pack_into(order + ("Q" if wide else "I"), data, 0x28 if wide else 0x20, 0)
struct.pack_into(order + "HH", data, 0x3C if wide else 0x30, 0, 0)
open(sys.argv[2], "wb").write(data)
PY
}
n_stubs=0
check_stubs() { # WHAT FILE OBJDUMP
    "$3" -d "$2" 2>/dev/null | sed -n 's/^0*\([0-9a-f]*\) <\([^>]*@plt\)>:$/0x\1: \2/p' >wanted
    [ -s wanted ] || fail "$1: $3 sees no stubs"
    n_stubs=$((n_stubs + $(wc -l <wanted)))
    cut -d: -f1 wanted >asked
    "$CAIRN" symbolize "$2" <asked >out 2>err
    cmp -s out wanted || fail "$1: stubs" <(diff wanted out)
    cut_headers "$2" bare
    "$CAIRN" symbolize bare <asked >out 2>err
    cmp -s out wanted || fail "$1: stubs without section headers" <(diff wanted out)
    tool=$(nm -D --defined-only "$2" | awk '$3 == "tool" { print "0x" $1 }')
    has <("$CAIRN" symbolize --no-inlines bare "$tool") tool "$1: .dynsym without section headers"
}
for target in x86_64 i386 aarch64 aarch64_be; do
    for option in -O1 -Wl,-z,now; do
        clang-14 --target=$target-linux-gnu -fPIC -shared -nostdlib -fuse-ld=lld lib.c -o lib.so
        clang-14 --target=$target-linux-gnu -fPIC -shared -nostdlib -fuse-ld=lld $option use.c \
            lib.so -o use.so || fail "$target: cannot build"
        check_stubs "$target, lld $option" use.so llvm-objdump-14
    done
done
clang-14 --target=aarch64-linux-gnu -fPIC -shared -nostdlib -fuse-ld=lld lib.c -o lib.so
clang-14 --target=aarch64-linux-gnu -mbranch-protection=bti -Wl,-z,force-bti -fPIC -shared \
    -nostdlib -fuse-ld=lld use.c lib.so -o use.so
check_stubs "aarch64, BTI" use.so llvm-objdump-14
gcc -fPIC -shared lib.c -o lib.so
for option in -fcf-protection=none -Wl,-z,now "-fcf-protection -Wl,-z,ibtplt"; do
    # shellcheck disable=SC2086 # one option or two
    gcc -fPIC -shared $option use.c lib.so -o use.so
    objdump -d use.so | grep -q 'alpha@plt>:' || fail "gcc $option: no stub"
    objdump -d -j .plt.sec -j .plt.got use.so >/dev/null 2>&1
    at=$(objdump -d use.so | sed -n 's/^0*\([0-9a-f]*\) <alpha@plt>:$/0x\1/p' | tail -n 1)
    same "gcc $option" "$("$CAIRN" symbolize use.so "$at")" "$at: alpha@plt"
    n_stubs=$((n_stubs + 1))
done
header=$(objdump -h use.so | awk '$2 == ".plt" { print "0x" $4 }')
has <("$CAIRN" symbolize use.so "$header") ": .plt" "the first entry"

# 3. .gnu_debugdata, as Fedora's find-debuginfo makes it.
cat >mini.c <<'C'
static __attribute__((noinline)) int hidden(int x) { return x * 7; }
int shown(int x) { return hidden(x) + 1; }
C
gcc -O1 -fPIC -shared mini.c -o mini.so
nm -D mini.so --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
nm mini.so --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' | sort >all
comm -13 dynamic all >keep
objcopy --only-keep-debug mini.so mini.debug
objcopy -S --keep-symbols=keep mini.debug packed
xz -f packed
strip -o stripped.so mini.so
objcopy --add-section .gnu_debugdata=packed.xz stripped.so mini
hidden=0x$(nm mini.so | awk '$3 == "hidden" { print $1 }')
has <("$CAIRN" symbolize stripped.so "$hidden") "no symbol" "stripped"
has <("$CAIRN" symbolize mini "$hidden") "hidden" "packed symbols"
has <("$CAIRN" symbolize --json mini "$hidden") '"source":"debugdata"' "packed symbols"
head -c 200 packed.xz >cut.xz
objcopy --add-section .gnu_debugdata=cut.xz stripped.so damaged
"$CAIRN" symbolize damaged "$hidden" >out 2>err || fail "damaged packed symbols: status" err
has err ".gnu_debugdata: xz data ends early" "damaged packed symbols"

finish "$n_checks checks: ten machines, $n_stubs stubs, packed symbols"
