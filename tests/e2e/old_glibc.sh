#!/bin/bash
# SPDX-License-Identifier: MIT
# The unwinder where glibc has no _dl_find_object: the library as it was built here, and programs built
# for Debian 11 (glibc 2.31), run there: the odd frames, modules that come and go, and the unit
# tests that need nothing but the library. The libc lies in a folder, and nothing is installed.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
[ -n "${CAIRN_FULL:-}" ] || { echo "skipped: it loads Debian 11's libc: ./run test --full"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "skipped: for x86-64 alone"; exit 77; }
need gcc apt-get dpkg flock
if grep -q __asan "$BUILD/libcairn-unwind.so"; then
    echo "skipped: a sanitizer's library needs this system's libc"
    exit 77
fi
root=$SRC/build-sysroot/bullseye
mkdir -p "$root"
flock "$root" timeout 200 "$SRC/scripts/packages.sh" amd64 bullseye "$root" libc6 libc6-dev libgcc-s1 \
    libcrypt1 linux-libc-dev libcmocka0 libcmocka-dev >packages.log 2>&1 || {
    echo "skipped: Debian 11's packages cannot be had: $(tail -n 1 packages.log)"
    exit 77
}

libraries=$root/lib/x86_64-linux-gnu
more=$root/usr/lib/x86_64-linux-gnu
# RPATH and not RUNPATH: it is for the libraries' libraries too.
build() {
    gcc --sysroot="$root" -B"$more/" -L"$more" -L"$libraries" -std=gnu17 -O2 -D_GNU_SOURCE \
        -I"$SRC/include" -I"$SRC/src" -I"$SRC/tests" -I"$SRC" -L"$BUILD" -L. \
        -Wl,--dynamic-linker="$libraries/ld-2.31.so" -Wl,--disable-new-dtags \
        -Wl,-rpath,"$libraries:$more:$BUILD:$WORK" "$@" >build.log 2>&1 || fail "$*" build.log
}

# runs CASE COMMAND...
runs() {
    local name=$1
    shift
    timeout -s KILL 100 "$@" >run.log 2>&1 || fail "$name" run.log
    n_checks=$((n_checks + 1))
}

e2e=$SRC/tests/e2e
build -fPIC -shared -DFRAME=1000 "$e2e/unload_module.c" -o one.so
build -fPIC -shared -DFRAME=5000 "$e2e/unload_module.c" -o two.so
build -fPIC -shared "$e2e/unload_close.c" -o libunload_close.so -ldl
build "$e2e/unload_program.c" -o unload -lcairn-unwind -lunload_close -ldl -lpthread -lgcc_s
runs "modules come and go" env UNLOAD_REFRESH=1 ./unload ./one.so ./two.so

build -fPIC -shared "$e2e/unwind/odd_library.c" -o odd_library.so
build -fomit-frame-pointer "$e2e/unwind/odd.c" "$e2e/unwind/odd_cases.c" "$e2e/unwind/walks.c" \
    "$e2e/unwind/odd_x86_64.S" -o odd -Wl,-z,lazy -rdynamic -lcairn-unwind -ldl -lpthread -lrt -lm -lgcc_s
runs "odd frames" env ODD_REFRESH=1 ODD_LIBRARY=./odd_library.so ./odd --captures 1000

for test in rt/inode rt/pages rt/self rt/text rt/thread unwind/fp_step unwind/hostile unwind/loader \
    unwind/local unwind/local_fp unwind/thread; do
    name=${test/\//_}_test
    build -fno-omit-frame-pointer -fno-optimize-sibling-calls "$SRC/tests/unit/${test}_test.c" -o "$name" \
        "$BUILD/libcairn-unwind.a" -lcmocka -ldl -lpthread -lrt -lm
    runs "$test" "./$name"
done
finish "$n_checks programs run with glibc 2.31"
