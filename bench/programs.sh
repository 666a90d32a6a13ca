#!/bin/sh
# SPDX-License-Identifier: MIT
# programs.sh OUT: the made-up C++ programs that the benchmarks name, from gen_cpp.py. Same input, same
# bytes. What is there already stays.
#
#   cpp200       140 units by gcc, linked by lld as PIE: 205 MB, p_offset differs from p_vaddr
#   cpp10        10 units by gcc, PIE by GNU ld
#   cpp10-exec   the same objects as ET_EXEC at its own base
#   libcpp10.so  10 units by clang, linked by lld: no .debug_aranges
#
# UNITS (140) changes the size of the big ones, JOBS the number of parallel compilers. On two cores the
# first run takes about eight minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { sed -n '3,12s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
units=${UNITS:-140}

# compile DIR UNITS COMPILER FLAGS...: an object for every unit in DIR that has none yet.
compile() {
    dir=$1 n=$2
    shift 2
    stamp="$n $* $(cksum <"$here/gen_cpp.py")"
    if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ]; then
        rm -rf "$dir"
        python3 "$here/gen_cpp.py" "$dir" "$n"
        echo "$stamp" >"$dir/.stamp"
    fi
    (
        cd "$dir"
        for unit in *.cpp; do
            [ -f "${unit%.cpp}.o" ] || echo "${unit%.cpp}"
        done | xargs -P "$jobs" -I{} "$@" -std=c++17 -O2 -g -gdwarf-5 \
            -ffile-prefix-map="$PWD"=/src/cpp -I. -c {}.cpp -o {}.o
    )
}

if [ ! -f cpp200 ]; then
    compile gcc.d "$units" g++ -fno-gnu-unique
    g++ -fuse-ld=lld -pie -Wl,--build-id -o cpp200 gcc.d/u*.o gcc.d/all.o gcc.d/main1.o
fi
if [ ! -f cpp10 ] || [ ! -f cpp10-exec ]; then
    compile gcc10.d 10 g++ -fno-gnu-unique
    g++ -pie -Wl,--build-id -o cpp10 gcc10.d/u*.o gcc10.d/all.o gcc10.d/main1.o
    g++ -no-pie -Wl,--build-id -o cpp10-exec gcc10.d/u*.o gcc10.d/all.o gcc10.d/main1.o
fi
if [ ! -f libcpp10.so ]; then
    compile clang10.d 10 clang++ -fPIC
    clang++ -fuse-ld=lld -shared -Wl,--build-id -o libcpp10.so clang10.d/u*.o clang10.d/all.o
fi
