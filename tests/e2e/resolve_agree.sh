#!/bin/sh
# SPDX-License-Identifier: MIT
# Made-up stacks over real modules (a PIE by lld, an executable at its own base, a library, libc): every
# frame that cairn resolve names against llvm-symbolizer, address by address.
set -eu

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ clang++-14 ld.lld llvm-symbolizer-14 readelf

demo=$SRC/demo
mkdir symbols stacks
build() {
    compiler=$1 name=$2
    shift 2
    "$compiler" -std=c++17 -g -O2 "$@" -o "symbols/$name" -pthread
}
build clang++-14 pie-lld -fuse-ld=lld "$demo/main.cpp" "$demo/ray.cpp" "$demo/words.cpp"
build g++ fixed -no-pie -fno-pie "$demo/main.cpp" "$demo/ray.cpp" "$demo/words.cpp"
build g++ libray.so -fPIC -shared -fuse-ld=lld "$demo/ray.cpp"
libc=$(readlink -f "$(gcc -print-file-name=libc.so.6)")
cp "$libc" symbols/libc.so.6
for row in pie-lld:555555554000:4 fixed:0:4 libray.so:7f1000000000:2 libc.so.6:7f3000000000:1; do
    name=${row%%:*} rest=${row#*:}
    printf '/opt/app/%s\t%s\t%s\t%s\n' "$name" "$PWD/symbols/$name" "${rest%:*}" "${rest#*:}"
done >modules
/usr/bin/python3 "$SRC/bench/gen_stacks.py" stacks modules 3000

"$CAIRN" resolve stacks/stacks.3000 -o named --lines --names mangled --maps stacks/maps \
    --symbols symbols 2>said || { cat said; exit 1; }
/usr/bin/python3 "$SRC/tests/e2e/resolve_compare.py" stacks/maps symbols stacks/stacks.3000 named

# Whatever the bound of memory, the answers are the same.
"$CAIRN" resolve stacks/stacks.3000 -o bounded --lines --names mangled --maps stacks/maps \
    --symbols symbols --max-memory 1M 2>said || { cat said; exit 1; }
cmp named bounded
