#!/bin/bash
# SPDX-License-Identifier: MIT
# The Java class cairn.SoHook on the JDK here: libraries that are bound lazily and at once, loaded before and
# after hook(), threads that allocate while others hook and ask, exceptions, names of any bytes, unloading.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc javac java
jar=$BUILD/bindings/jni/cairn.jar
[ -e "$jar" ] || { echo "skipped: no JDK with jni.h when this was built"; exit 77; }
home=$(dirname "$(dirname "$(realpath "$(command -v javac)")")")
mkdir -m 700 states
export CAIRN_HEAP_DIR=$PWD/states

# sample NAME CLASS OPTION...
sample() {
    local name=$1 class=$2
    shift 2
    gcc -g -O2 -Wall -Wextra -Werror -fPIC -shared -isystem "$home/include" -isystem "$home/include/linux" \
        "-DCLASS=$class" "$@" -o "lib$name.so" "$SRC/tests/e2e/jni/sample.c" || fail "$name: sample.c does not compile"
}
sample sample_lazy SampleLazy -Wl,-z,lazy
sample sample_now SampleNow -Wl,-z,now -fno-plt
sample sample_late SampleLate
mkdir late
javac -nowarn -cp "$jar" -d . "$SRC/tests/e2e/jni/SoHookTest.java" || fail "SoHookTest.java does not compile"
javac -nowarn -d late "$SRC/tests/e2e/jni/SampleLate.java" || fail "SampleLate.java does not compile"

# run CASE FOLDER
run() {
    java -Xmx64m -XX:+UseG1GC -Xcheck:jni "-Djava.library.path=$BUILD/bindings/jni" -cp "$jar:$PWD" SoHookTest "$1" "$2" \
        >out 2>log || fail "$1: status $?" log
    has out "ok $1" "$1"
    grep -E 'WARNING.*JNI|FATAL ERROR' out log && fail "$1: -Xcheck:jni complains"
    rm -f states/*
}
for case in lazy-before lazy-after now-before now-after exceptions threads unload; do
    run "$case" "$PWD"
done
# A library whose path is no UTF-8, and has quotes and a newline.
odd=$PWD/$(printf 'a\xff"\n\xc3b')
mkdir "$odd" && cp libsample_now.so "$odd/libodd$(printf '\xfe').so"
printf %s "$odd"/libodd*.so >odd_path
run odd-bytes "$PWD"
finish "cairn.SoHook on $(java -version 2>&1 | head -n 1)"
