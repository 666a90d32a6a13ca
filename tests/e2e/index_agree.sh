#!/bin/bash
# SPDX-License-Identifier: MIT
# An index has the very answers of the units that it was made from, all over programs as
# compilers, linkers and dwz write them, in all forms of names.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc g++ clang++ ld.lld nm python3

python3 "$SRC/bench/gen_cpp.py" cpp 1 >/dev/null || exit 1
cat >plain.c <<'END'
static inline int leaf(int x) { return x * 3; }
static __attribute__((noinline)) int mid(int x) { return leaf(x) + leaf(x + 1); }
int outer(int x) { return x > 3 ? mid(x) : mid(-x); }
int twin_a(int x) { return x * 7 + 1; }
int twin_b(int x) { return x * 7 + 1; }
int (*volatile pointers[])(int) = {outer, twin_a, twin_b};
int main(int argc, char **argv) { (void)argv; return pointers[argc % 3](argc); }
END

build() { # NAME COMPILER...
    local name=$1 objects=() source
    shift
    for source in cpp/u000.cpp cpp/all.cpp cpp/main1.cpp; do
        "$@" -std=c++17 -Icpp -g -c "$source" -o "$name-$(basename "$source" .cpp).o" || exit 1
        objects+=("$name-$(basename "$source" .cpp).o")
    done
    case $name in folded) set -- "$@" -fuse-ld=lld -Wl,--icf=all ;; esac
    "$@" "${objects[@]}" -o "$name" || exit 1
}
build gcc4 g++ -O2 -gdwarf-4
build gcc5 g++ -O2 -gdwarf-5
build clang clang++ -O2
build folded clang++ -O1 -ffunction-sections
build types g++ -O1 -fdebug-types-section
build split g++ -O1 -gsplit-dwarf
gcc -O2 -g plain.c -o c || exit 1
clang -O2 -g -ffunction-sections -fuse-ld=lld -Wl,--icf=all plain.c -o c-folded || exit 1
programs="gcc4 gcc5 clang folded types split c c-folded"
if command -v dwz >/dev/null; then
    cp gcc4 dwz && cp gcc5 moved && cp gcc4 moved2
    dwz dwz && dwz -m common.alt moved moved2 2>/dev/null
    programs="$programs dwz moved"
else
    echo "without dwz: two programs less"
fi

# Addresses from the first function to the last: all of a small program, a sample of a large one.
addresses() {
    nm --defined-only "$1" | grep -i ' t ' | python3 -c '
import sys
starts = sorted(int(line.split()[0], 16) for line in sys.stdin)
step = max(1, (starts[-1] - starts[0]) // 20000)
print(*map(hex, range(starts[0] - 8, starts[-1] + 200, step)), sep="\n")'
}

# agree NAME OPTION...
agree() {
    local name=$1 way
    shift
    n_checks=$((n_checks + 1))
    for way in never always; do
        "$CAIRN" symbolize --no-cache --index $way --json "$@" "$name" <"addresses.$name" >"answers.$way" \
            2>err || fail "$name, index $way: status $?" err
    done
    cmp -s answers.never answers.always ||
        { diff answers.never answers.always | head -6 >different; fail "$name $*: other answers" different; }
}
for name in $programs; do
    addresses "$name" >"addresses.$name"
    agree "$name"
    grep -q '"source":"dwarf"' answers.always || fail "$name: no name came from DWARF"
done
for name in gcc5 folded; do
    agree $name --names short
    agree $name --names mangled
    agree $name --no-inlines
done
finish "$n_checks checks: an index answers as the units do"
