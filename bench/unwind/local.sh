#!/bin/sh
# SPDX-License-Identifier: MIT
# local.sh LIBRARY_A WORK: builds and runs local.c without frame pointers, and the ways that need them with;
# each on one CPU. x86-64 alone: it reads the time-stamp counter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
library=$1
work=$2/unwind
[ "$(uname -m)" = x86_64 ] || { echo "local.sh: it measures x86-64 alone, this is $(uname -m)" >&2; exit 1; }
mkdir -p "$work"
python3 "$here/gen_chains.py" "$work"
for kind in omit no-omit; do
    for i in 0 1 2; do
        gcc -O2 -w -f$kind-frame-pointer -fPIC -shared "$work/lib$i.c" -o "$work/lib$kind$i.so"
    done
    gcc -O2 -w -f$kind-frame-pointer -rdynamic -D_GNU_SOURCE -I "$here/../../include" -I "$here/../../src" \
        "$here/local.c" "$work/tables.c" "$library" -o "$work/local-$kind" -L "$work" -Wl,-rpath,"$work" \
        -l${kind}0 -l${kind}1 -l${kind}2 -lunwind
done
echo "## local captures, built without frame pointers"
taskset -c 1 "$work/local-omit"
echo "## the same built with frame pointers (libc has none: that way ends in qsort)"
taskset -c 1 "$work/local-no-omit" | grep -E 'again|frame pointers|cairn|every|fixed|held'
