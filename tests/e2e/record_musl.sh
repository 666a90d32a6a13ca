#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks of programs with musl, whose libc has no CFI: rules are made of its code. Shared and static,
# with CFI of the program's own and without any, with symbols and stripped.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

need musl-gcc
[ "$(uname -m)" = x86_64 ] || { echo "skipped: rules are made of x86-64's code alone"; exit 77; }

# build OPTIONS...: ./prog, which keeps its symbols, and ./stripped.
build() {
    rm -f prog stripped
    musl-gcc -O2 -fno-optimize-sibling-calls "$@" -o prog "$SRC/tests/e2e/musl_program.c" >log 2>&1 ||
        { fail "musl-gcc $*" log; return 1; }
    strip -o stripped prog
}

# asleep PROGRAM: begins it, $target, whose two threads sleep.
asleep() {
    "$1" sleep &
    target=$!
    until [ "$(grep -hc '^State:.S' /proc/$target/task/*/status | tr -d '\n')" = 11 ]; do
        sleep 0.05
    done
}

# ended: and no more.
ended() {
    kill "$target"
    wait "$target" 2>/dev/null
}

methods=()
build || exit 1
for method in bpf dump; do
    if "$CAIRN" record --method="$method" -f -o probe.txt -- ./prog spin 0.1 >probe.log 2>&1; then
        methods+=("$method")
    else
        skip "method $method" "$(head -1 probe.log)"
    fi
done

# Without rules of its code 10 to 30 of 1,000 are whole. Not all, for a copy that an interrupt makes
# ends at a page that nobody has touched yet, as large arrays of libc's have some, and on a busy
# machine the first samples come before the program is known.
no_cfi="-fno-asynchronous-unwind-tables -fno-unwind-tables"
for options in "" "-static" "-static-pie" "$no_cfi" "-static $no_cfi"; do
    # shellcheck disable=SC2086 # a list
    build $options || continue
    for method in "${methods[@]}"; do
        "$CAIRN" record --method="$method" -F 499 -f -o named.txt -- ./prog spin 1.5 >out.log 2>log ||
            fail "$method $options" log
        at_least 800 "$(whole)" "$method, musl-gcc $options"
        at_least 800 "$(permille named.txt '(main;)?job;work|main;job')" "$method, musl-gcc $options"
        at_least 20 "$(permille named.txt 'job;work;.*compare')" "$method, musl-gcc $options: compare"
        "$CAIRN" record --method="$method" -F 499 -f -o raw.pb.gz -- ./stripped spin 1.5 \
            >out.log 2>log || fail "$method stripped $options" log
        at_least 800 "$(whole)" "$method, stripped, musl-gcc $options"
    done
    asleep ./prog
    "$CAIRN" stack --why -u $target >stack.txt 2>log || fail "stack, musl-gcc $options" log
    "$CAIRN" doctor $target >doctor.txt 2>log || fail "doctor, musl-gcc $options" log
    has doctor.txt '% of its code has none: rules are made by following it' "doctor, musl-gcc $options"
    ended
    asleep ./stripped
    "$CAIRN" stack $target >stripped.txt 2>log || fail "stack, stripped, musl-gcc $options" log
    same "threads, stripped, musl-gcc $options" "$(grep -c '^thread ' stripped.txt)" 2
    hasnt stripped.txt memset "what lies behind memset, musl-gcc $options"
    ended
    same "threads whose stack is whole, musl-gcc $options" "$(grep -c 'whole: outermost' stack.txt)" 2
    same "threads in job(), musl-gcc $options" "$(grep -c ' job ' stack.txt)" 2
    has stack.txt '[code]' "how they were found, musl-gcc $options"
done

finish "$n_checks checks hold"
