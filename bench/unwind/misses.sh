#!/bin/sh
# SPDX-License-Identifier: MIT
# misses.sh LIBRARY_A WORK: what the local walker's cache misses cost while programs start, on demand and by tables.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
library=$1
work=$2/unwind
mkdir -p "$work"
gcc -std=gnu17 -O2 -w -fPIC -shared -D_GNU_SOURCE -I "$here/../../include" -I "$here/../../src" "$here/misses.c" \
    "$library" -o "$work/misses.so" -Wl,--exclude-libs,ALL
echo 'int f(int x) { return x + 1; }' >"$work/small.c"
echo "## cache misses while a program starts, by rules on demand and by tables of all modules"
for program in "/usr/bin/python3 -c 0" "clang -O2 -c $work/small.c -o $work/small.o" "node -e 0"; do
    command -v "${program%% *}" >/dev/null || continue
    printf '%s: ' "${program%% *}"
    # shellcheck disable=SC2086
    LD_PRELOAD="$work/misses.so" $program 2>&1 | grep captures | sort -n | tail -1
done
