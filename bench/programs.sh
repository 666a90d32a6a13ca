#!/bin/sh
# SPDX-License-Identifier: MIT
# programs.sh OUT [cpp900]: the made-up C++ programs that the benchmarks name, from gen_cpp.py. Same
# input, same bytes. What is there already stays.
#
#   cpp200       140 units by gcc, linked by lld as PIE: 205 MB, p_offset differs from p_vaddr
#   cpp10        10 units by gcc, PIE by GNU ld
#   cpp10-exec   the same objects as ET_EXEC at its own base
#   libcpp10.so  10 units by clang, linked by lld: no .debug_aranges
#   cpp900       five localised copies of cpp200's objects in one program: 921 MB; only when asked for
#
# UNITS (140) changes the size of the big ones, JOBS the number of parallel compilers. On two cores the
# first run takes about eight minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '3,13s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
wanted=${2:-}
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

# One relocatable object without COMDAT groups, then copies of it in which only the entry point is global.
if [ "$wanted" = cpp900 ] && [ ! -f cpp900 ]; then
    compile gcc.d "$units" g++ -fno-gnu-unique
    ld -r --force-group-allocation -o whole.o gcc.d/u*.o gcc.d/all.o
    for copy in 0 1 2 3 4; do
        objcopy --redefine-sym "gen_all=gen_all_$copy" --keep-global-symbol="gen_all_$copy" whole.o "copy$copy.o"
    done
    g++ -fuse-ld=lld -pie -Wl,--build-id -o cpp900 copy[0-4].o gcc.d/main5.o
    rm -f whole.o copy[0-4].o
fi
