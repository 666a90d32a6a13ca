#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317 # functions are called by name
# prepare.sh OUT: the programs that compare.py looks into, at OUT/NAME. What is there already stays; what
# cannot be made here is told and left out. Asks the network for Debian packages and sources (apt-get
# download and source, without root), for nothing else. On two cores about six minutes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { sed -n '3,5s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1/work" && cd "$1" || exit 1
out=$PWD

# A state of apt's own, so that sources can be had without touching the system's.
apt_own() { # COMMAND...
    apt-get -qq -o Dir::State="$out/work/apt" -o Dir::Cache="$out/work/apt" \
        -o Dir::Etc::SourceList="$out/work/apt/sources.list" -o Dir::Etc::SourceParts=- "$@"
}

apt_sources() {
    [ ! -f work/apt/ready ] || return 0
    mkdir -p work/apt/lists/partial work/apt/archives/partial
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "http://deb.debian.org/debian bookworm main" >work/apt/sources.list
    apt_own update && touch work/apt/ready
}

unpacked() { # PACKAGE: the folder with its files
    if [ ! -d "work/$1" ]; then
        (mkdir -p work/deb && cd work/deb && rm -f "$1"_*.deb && apt-get -qq download "$1") >&2 &&
            dpkg-deb -x work/deb/"$1"_*.deb "work/$1" || return 1
        rm -f work/deb/"$1"_*.deb
    fi
    echo "work/$1"
}

source_of() { # PACKAGE PATTERN...: those files of its source, in work/src-PACKAGE
    local package=$1
    shift
    [ ! -d "work/src-$package" ] || return 0
    apt_sources >&2 && (mkdir -p work/dsc && cd work/dsc && apt_own source --download-only "$package" >&2) &&
        mkdir "work/src-$package" &&
        tar -C "work/src-$package" --strip-components=1 --wildcards -xf work/dsc/"$package"_*.orig.tar.xz "$@"
}

make_vmlinux() {
    local package dir
    package=$(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-cloud-amd64-dbg$' |
        cut -d' ' -f1 | sort -V | tail -n 1)
    dir=$(unpacked "${package:?no such package}") && ln -s "$dir"/usr/lib/debug/vmlinux-* vmlinux
}

make_libstdcxx() {
    local dir
    dir=$(unpacked libstdc++6-12-dbg) && ln -s "$dir"/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6 libstdcxx
}

# The stripped program and its debug file put together, for tools that cannot be told where to look.
make_python() {
    local dir program id
    dir=$(unpacked python3.11-minimal) && program=$dir/usr/bin/python3.11 &&
        id=$(readelf -n "$program" | awk '/Build ID/ { print $3 }') && dir=$(unpacked python3.11-dbg) &&
        eu-unstrip "$program" "$dir/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" -o python
}

make_libc() {
    local dir program id
    program=$(gcc -print-file-name=libc.so.6) && dir=$(unpacked libc6-dbg) &&
        id=$(readelf -n "$program" | awk '/Build ID/ { print $3 }') &&
        eu-unstrip "$program" "$dir/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" -o libc
}

# Some of LLVM's own libraries by g++, linked by GNU ld as one, then made small by dwz.
make_llvm() {
    source_of llvm-toolchain-14 '*/llvm/lib/DebugInfo/DWARF' '*/llvm/lib/Demangle' '*/llvm/lib/Object' \
        '*/llvm/lib/Bitcode/Reader' '*/llvm/lib/ProfileData' || return 1
    find "$out/work/src-llvm-toolchain-14/llvm/lib" -name '*.cpp' ! -exec test -e '{}.o' \; -print0 |
        xargs -0 -P "$(nproc)" -I{} g++ -std=c++17 -O2 -g -fPIC -fno-rtti -fno-exceptions \
            -D__STDC_CONSTANT_MACROS -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS \
            -I/usr/lib/llvm-14/include -c {} -o {}.o >work/llvm.log 2>&1 # some want headers that are not there
    find work/src-llvm-toolchain-14 -name '*.o' -print0 |
        xargs -0 g++ -shared -Wl,--build-id -o work/llvm.so &&
        dwz work/llvm.so -o llvm
}

make_rust() { # NAME OPTION...
    local name=$1
    shift
    rustc --edition 2021 -g "$@" "$here/programs/rust.rs" -o "$name"
}

make_go() {
    (cd "$here/programs" && GO111MODULE=off GOFLAGS='' go build -o "$out/go" go.go)
}

make_clang() {
    python3 "$here/../gen_cpp.py" work/clang.d 10 >/dev/null &&
        for source in work/clang.d/u*.cpp work/clang.d/all.cpp work/clang.d/main1.cpp; do
            clang++-14 -std=c++17 -O2 -g -gdwarf-5 -ffunction-sections -Iwork/clang.d -c "$source" \
                -o "${source%.cpp}.o" || return 1
        done && clang++-14 -fuse-ld=lld -Wl,--gc-sections,--icf=safe,--build-id work/clang.d/*.o -o clang
}

make_sqlite() { # NAME COMPILER...
    local name=$1
    shift
    source_of sqlite3 '*' || return 1
    if [ ! -f work/src-sqlite3/sqlite3.c ]; then
        (cd work/src-sqlite3 && ./configure >../sqlite.log 2>&1 && make sqlite3.c shell.c >>../sqlite.log 2>&1) ||
            return 1
    fi
    "$@" -O2 -g -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE work/src-sqlite3/sqlite3.c \
        work/src-sqlite3/shell.c -o "$name" -ldl -lm -lpthread
}

make_cpp200() {
    "$here/../programs.sh" work/cpp && ln -s work/cpp/cpp200 cpp200
}

make_ada() {
    mkdir -p work/ada && (cd work/ada && gnatmake -q -O2 -g "$here/programs/ada_main.adb" -o "$out/ada" \
        -bargs -static)
}

need() { # NAME COMMAND...: makes OUT/NAME
    local name=$1
    shift
    [ -e "$name" ] || "$@" >"work/$name.log" 2>&1 || rm -f "$name"
    if [ -e "$name" ]; then
        echo "$name: $(stat -Lc %s "$name") bytes"
    else
        echo "$name: cannot be made here:"
        tail -n 3 "work/$name.log" | sed 's/^/    /'
    fi
}

need vmlinux make_vmlinux
need libstdcxx make_libstdcxx
need python make_python
need libc make_libc
need llvm make_llvm
need rust make_rust rust
need rust-O make_rust rust-O -C opt-level=3
need rust-v0 make_rust rust-v0 -C opt-level=2 -C symbol-mangling-version=v0 -C link-arg=-fuse-ld=lld
need go make_go
need clang make_clang
need sqlite-gcc make_sqlite sqlite-gcc gcc
need sqlite-clang make_sqlite sqlite-clang clang-14 -gdwarf-5 -fuse-ld=lld
need cpp200 make_cpp200
need fortran gfortran -O2 -g -Jwork -static-libgfortran "$here/programs/fortran.f90" -o fortran
need ada make_ada
exit 0
