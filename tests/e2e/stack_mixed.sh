#!/bin/bash
# SPDX-License-Identifier: MIT
# Static programs whose own objects have no unwind tables, while those of libc have: whether a frame
# pointer is believed is decided by function. Processes and core files; x86-64, i386, aarch64.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

bare="-O1 -static -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-optimize-sibling-calls"
ulimit -c unlimited

# whole_to_main FILE CASE: the stack has own() four times, then main(), and is whole.
whole_to_main() {
    has "$1" 'whole: outermost' "$2"
    same "$2: frames of own()" "$(grep -c ' own ' "$1")" 4
    same "$2: frames of main()" "$(grep -cE ' main ' "$1")" 1
}

# build COMPILER OPTIONS: ./prog and ./stripped.
build() {
    # shellcheck disable=SC2086 # a list
    "$1" $bare $2 -o prog "$SRC/tests/e2e/mixed_frames.c" 2>log && objcopy_for "$1" -S prog stripped
}

objcopy_for() {
    case $1 in
    *-*-gcc) "${1%gcc}objcopy" "$2" "$3" "$4" ;;
    *) objcopy "$2" "$3" "$4" ;;
    esac
}

cc=${CC:-gcc}
if [ "$(uname -m)" = x86_64 ]; then
    for fp in -fno-omit-frame-pointer -fomit-frame-pointer; do
        build "$cc" $fp || { fail "$cc $fp" log; continue; }
        for program in prog stripped; do
            ./$program &
            target=$!
            sleep 0.3
            "$CAIRN" stack --why $target >stack.txt 2>log || fail "stack $program $fp" log
            if [ $program = prog ]; then
                whole_to_main stack.txt "process, $fp"
            else
                has stack.txt 'whole: outermost' "stripped process, $fp"
                same "stripped process, $fp: frames" "$(grep -c '^  #' stack.txt)" "$frames"
            fi
            frames=$(grep -c '^  #' stack.txt)
            if command -v gcore >/dev/null && gcore -o core $target >gcore.log 2>&1; then
                "$CAIRN" stack --why core.$target >core.txt 2>log || fail "core of $program $fp" log
                has core.txt 'whole: outermost' "core, $program, $fp"
                same "core, $program, $fp: frames" "$(grep -c '^  #' core.txt)" "$frames"
                rm -f core.$target
            else
                skip "core of $program $fp" "gcore(1) leaves none"
            fi
            kill $target
            wait $target 2>/dev/null
        done
    done
fi

# emulated NAME COMPILER OPTIONS QEMU: the core file that qemu-user leaves of a crash.
emulated() {
    if ! command -v "$4" >/dev/null; then
        skip "$1" "$4 is missing"
        return
    fi
    if ! build "$2" "$3"; then
        skip "$1" "$2 $3 cannot build a static program here"
        return
    fi
    rm -f qemu_*.core
    "$4" ./prog crash >/dev/null 2>&1
    core=$(ls qemu_*.core 2>/dev/null)
    if [ -z "$core" ]; then
        skip "$1" "$4 leaves no core file"
        return
    fi
    "$CAIRN" stack --why --exe ./prog "$core" >stack.txt 2>log || fail "$1" log
    whole_to_main stack.txt "$1"
    frames=$(grep -c '^  #' stack.txt)
    "$CAIRN" stack --why --exe ./stripped "$core" >stack.txt 2>log || fail "$1, stripped" log
    has stack.txt 'whole: outermost' "$1, stripped"
    same "$1, stripped: frames" "$(grep -c '^  #' stack.txt)" "$frames"
}

emulated "i386" gcc "-m32 -fno-omit-frame-pointer" qemu-i386
emulated "aarch64" aarch64-linux-gnu-gcc "-fno-omit-frame-pointer" qemu-aarch64

finish "$n_checks checks hold"
