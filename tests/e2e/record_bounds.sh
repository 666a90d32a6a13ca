#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record: what it counts as sampled time, and what one process may cost the recorder.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

cc=${CC:-gcc}
"$cc" -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o prog "$SRC/tests/e2e/record_bounds.c" -pthread -ldl || exit 1

# target ARGUMENT...: starts the program, and waits until it is ready.
target() {
    ./prog "$@" >ready &
    target=$!
    until grep -q ready ready; do
        kill -0 $target 2>/dev/null || { fail "./prog $*" ready; exit 1; }
        sleep 0.05
    done
}

end_target() {
    kill $target
    wait $target 2>/dev/null
}

# tenths LABEL: a number of seconds in the last line of `log`, in tenths.
tenths() {
    tail -1 log | sed -n "s/.*$1 \([0-9]*\)\.\([0-9]\).*/\1\2/p" | sed 's/^0*\([0-9]\)/\1/'
}

"$CAIRN" record -v -o probe.pb.gz -- ./prog spin 0.1 >probe.log 2>&1 ||
    { fail "the first recording" probe.log; exit 1; }
if ! grep -q 'by unwind tables' probe.log || grep -q 'from copies' probe.log; then
    echo "skipped: stacks are not walked in the kernel here: $(tail -1 probe.log)"
    exit 77
fi

# Sampled time. Code without unwind tables is followed before the first sample, which takes a
# second here. That second is no sampled time, and what was never due is not missed.
if [ "$(uname -m)" = x86_64 ]; then
    cat >code.s <<'TEXT'
        .rept 90000
        .p2align 4
1:      push %rbp
        mov %rsp, %rbp
        push %rbx
        sub $40, %rsp
        call 1b
        add $40, %rsp
        pop %rbx
        pop %rbp
        ret
        .endr
TEXT
    "$cc" -shared -nostdlib -o code1.so code.s || exit 1
    for i in 2 3 4 5 6; do cp code1.so code$i.so; done
    target spin 60 "$WORK"/code?.so
    start=$(date +%s%N)
    "$CAIRN" record -F 199 -d 1 -o slow.pb.gz -p $target 2>log || fail "slow first looks" log
    took=$((($(date +%s%N) - start) / 100000000))
    end_target
    if [ "$took" -lt 20 ]; then
        skip "sampled time" "this machine is too fast for the case: all took $took tenths of a second"
    else
        at_most 14 "$(tenths ' in')" "the sampled time of -d 1, in tenths of a second"
        hasnt log missed "slow first looks"
    fi
else
    skip "sampled time" "the code is x86-64's"
fi

# Code that a compiler makes at run time: 60 frames without tables, other ones each time. A step
# through one must not cost system calls.
if [ "$(uname -m)" = x86_64 ]; then
    target made 60
    "$CAIRN" record -F 499 -d 3 -o made.pb.gz -p $target 2>log || fail "made code" log
    end_target
    n=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
    at_least 100 "${n:-0}" "samples of made code"
    at_least 500 "$(whole)" "permille of whole stacks of made code"
    at_most $((n / 100)) "$(tenths recorder)" "the recorder's CPU time in tenths of a second"
else
    skip "made code" "the code is x86-64's"
fi

# Many threads. An event for each thread and CPU needs as many open files: root raises the limit;
# whoever may not samples whole CPUs, and leaves out what is of no target.
n_threads=200
n_files=100
yes >/dev/null &
other=$!
target threads $n_threads 100

# few_files CASE WORD...: records with few files; WORD... runs the command. On a busy machine the
# recorder has to wait behind all threads, and loses what whole CPUs give it: three tries.
few_files() {
    case=$1
    shift
    for _ in 1 2 3; do
        (ulimit -n $n_files
            exec "$@" -v -F 499 -d 5 --force -o many.txt -p $target) 2>all || fail "$case" all
        grep -e 'CPUs are sampled' -e ' samples in ' all >log
        [ "$(awk '{ n += $NF } END { print n + 0 }' many.txt)" -lt 40 ] || break
    done
    at_least 700 "$(permille many.txt '(^|;)spin')" "permille of spin, $case"
    at_least 50 "$(permille many.txt 'child_spin;')" "permille of children, $case"
    at_least 8 "$(awk '{ n += $NF } END { print n + 0 }' many.txt)" "samples, $case"
}

if [ "$(id -u)" != 0 ]; then
    skip "many threads" "this is for root"
else
    few_files "many threads as root" "$CAIRN" record
    if prlimit --nofile=1048576:1048576 true 2>/dev/null && [ "$(nproc)" -lt 100 ]; then
        hasnt log "CPUs are sampled" "many threads as root"
    fi
    for method in bpf perf dump; do
        few_files "many threads, few files, by $method" \
            setpriv --bounding-set=-sys_resource "$CAIRN" record --method=$method
        has log "CPUs are sampled" "many threads, few files, by $method"
    done
fi
end_target
kill $other
wait $other 2>/dev/null

finish "sampled time and cost are bounded: $n_checks checks"
