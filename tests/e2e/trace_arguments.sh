#!/bin/bash
# SPDX-License-Identifier: MIT
# Arguments of functions by the names and types of their debug information, without a list of types.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc

cat >typed.c <<'EOF2'
#include <stdio.h>
#include <stdbool.h>
#define PLACE __attribute__((noinline, noclone))
enum mode { MODE_SLOW, MODE_FAST = 4, MODE_BACK = -2 };
struct small { int a, b; }; struct large { long a[4]; };
typedef unsigned char byte_t; typedef const char *const name_t;
PLACE int lookup(const char *key, enum mode how, unsigned n, long long off, bool strict, struct small *into) { __asm__ volatile("" ::: "memory"); return n ? -1 : (int)off; }
PLACE double mixes(double x, int n, float y, byte_t small) { __asm__ volatile(""); return x + n + y + small; }
PLACE struct large gives(int n, name_t what) { struct large l = {{n, what[0]}}; __asm__ volatile(""); return l; }
PLACE int takes(int before, struct small by_value, int behind) { __asm__ volatile(""); return before + by_value.a + behind; }
PLACE void nothing(void) { __asm__ volatile(""); }
PLACE static enum mode chosen(short pid, int ret) { __asm__ volatile(""); return pid > ret ? MODE_FAST : MODE_BACK; }
int main(void) {
    struct small s = {1, 2};
    lookup("first", MODE_FAST, 3, -4, true, &s); lookup("second", MODE_BACK, 0, 1ll << 40, false, NULL); lookup("third", 9, 0, 0, false, NULL);
    mixes(1.5, -7, 2, 200); gives(5, "five"); takes(1, s, 3); nothing();
    return chosen(-3, -8) == MODE_FAST ? 0 : 1;
}
EOF2
for version in 4 5; do
    cc -O2 -gdwarf-$version -o typed typed.c || fail "the program is not built"
    if ! "$CAIRN" trace --no-stack -e uprobe+uretprobe:./typed:lookup -e uprobe:./typed:mixes -e uprobe:./typed:takes \
        -e uprobe:./typed:nothing -e uprobe:./typed:chosen -- ./typed >out 2>log; then
        skip "all" "$(head -n 1 log)"
        exit 77
    fi
    has out 'lookup(key="first", how=MODE_FAST, n=3, off=-4, strict=1, into=0x' "names and types, DWARF $version"
    has out 'lookup(key="second", how=MODE_BACK, n=0, off=1099511627776, strict=0, into=NULL) = 0 ' "the result"
    has out 'lookup(key="third", how=9, ' "a value without a name"
    has out 'mixes(n=-7, small=200)' "numbers in other registers are left out"
    has out 'takes(before=1)' "nothing is guessed behind a structure"
    has out 'nothing()' "a function without arguments"
    has out 'chosen(pid=-3, ret_=-8)' "a name that each event has"
done
"$CAIRN" trace --no-stack -e 'uprobe:./typed:lookup[how == MODE_BACK || key ~ "f*"]' -- ./typed >out 2>log || fail "a filter" log
same "a filter by names" "$(grep -c lookup out)" 2
"$CAIRN" trace --no-stack -e 'uprobe:./typed:lookup/arg1:x32' -- ./typed >out 2>log || fail "a list of types" log
has out 'lookup(key="first", how=0x4, ' "a type that is asked for"
strip -g typed
"$CAIRN" trace --no-stack -e uprobe:./typed:lookup -- ./typed >out 2>log || fail "without debug information" log
has out 'lookup(arg0=0x' "without debug information"

finish "trace_arguments: $n_checks checks"
