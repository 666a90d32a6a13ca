#!/bin/bash
# SPDX-License-Identifier: MIT
# Thousands of random addresses of real programs: where llvm-symbolizer, addr2line and eu-addr2line
# agree, cairn agrees with them. symbolize_compare.py has the rules.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ clang++-14 ld.lld llvm-addr2line-14 addr2line eu-addr2line readelf

# A C++ program of some size: the standard library inlined, closures, variants, exceptions.
python3 "$SRC/bench/gen_cpp.py" cpp 2 >/dev/null || exit 1
build() { # NAME COMPILER...
    local name=$1 objects=() source
    shift
    for source in cpp/*.cpp; do
        case $source in *main5.cpp) continue ;; esac
        "$@" -std=c++17 -Icpp -c "$source" -o "$name-$(basename "$source" .cpp).o" || return 1
        objects+=("$name-$(basename "$source" .cpp).o")
    done
    case $name in *-lld) set -- "$@" -fuse-ld=lld "-Wl,--gc-sections" ;; esac
    "$@" "${objects[@]}" -o "$name"
}
build_all() {
    build gcc5 g++ -O2 -g -gdwarf-5 &&
        build clang5-lld clang++-14 -O2 -g -gdwarf-5 -ffunction-sections &&
        build gcc4-exec g++ -O1 -g -gdwarf-4 -no-pie -fno-pie
}
if ! build_all; then
    echo "the compilers refused the program"
    exit 1
fi

status=0
agree() {
    /usr/bin/python3 "$SRC/tests/e2e/symbolize_compare.py" "$CAIRN" "$@" || status=1
}
agree gcc5 1500
agree clang5-lld 1500
agree gcc4-exec 1000
agree "$CAIRN" 1500
for library in libc.so.6 libstdc++.so.6 libm.so.6; do
    file=$(gcc -print-file-name=$library)
    [ -f "$file" ] && agree "$(readlink -f "$file")" 1000
done
exit $status
