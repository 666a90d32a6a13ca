#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job on real input: builds a C++ program of three modules, samples it while it runs, names
# its stacks, prints the top table and leaves a flame graph. CAIRN is the command, build/cairn where
# it is not set; CXX is the compiler; DEMO_SECONDS how long the program runs.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cairn=${CAIRN:-$here/../build/cairn}
out=$here/out
picture=$here/flame.html
seconds=${DEMO_SECONDS:-5}

if [ ! -x "$cairn" ]; then
    echo "demo: there is no $cairn" >&2
    echo "hint: ./run build" >&2
    exit 1
fi
mkdir -p "$out"

# Frame pointers serve where unwind tables may not be walked; -g gives the lines and the inlined
# functions.
compile() {
    "${CXX:-g++}" -std=c++17 -O2 -g -fno-omit-frame-pointer -Wall -Wextra "$@"
}

echo "demo: building a C++ program of three modules"
compile -fPIC -shared -o "$out/libray.so" "$here/ray.cpp"
compile -fPIC -shared -o "$out/libwords.so" "$here/words.cpp"
# shellcheck disable=SC2016 # $ORIGIN is for the loader
compile -o "$out/demo" "$here/main.cpp" -L"$out" -lray -lwords -pthread '-Wl,-rpath,$ORIGIN'

echo "demo: sampling it for $seconds seconds"
"$cairn" record -F 499 --force -o "$out/demo.pb.gz" -- "$out/demo" "$seconds"

echo "demo: naming the stacks"
"$cairn" resolve "$out/demo.pb.gz" --names=short --force -o "$out/demo.named.pb.gz"
"$cairn" report --top 20 "$out/demo.named.pb.gz"
"$cairn" flame "$out/demo.named.pb.gz" --force -o "$picture"
echo "demo: the flame graph is $picture"
