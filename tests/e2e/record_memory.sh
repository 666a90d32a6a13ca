#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record --max-memory: of a program whose stacks are ever new, by each method that is allowed here.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

target=
# shellcheck disable=SC2317 # by the trap
stop_target() {
    [ -z "$target" ] || kill -9 "$target" 2>/dev/null
}
trap stop_target EXIT

# check CASE CONDITION...: as of test(1).
check() {
    local case=$1
    shift
    n_checks=$((n_checks + 1))
    [ "$@" ] || fail "$case: $*" log
}

# total FILE [PATTERN]: samples of a collapsed file whose stack matches.
total() {
    pattern=${2:-.} awk '$0 ~ ENVIRON["pattern"] { sum += $NF } END { print sum + 0 }' "$1"
}

# anon PID: kB of memory that is nobody else's.
anon() {
    awk '/^RssAnon/ { print $2 }' "/proc/$1/status"
}

cc=${CC:-gcc}
"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -o prog \
    "$SRC/tests/e2e/walk_programs.c" || exit 1
methods=()
for method in bpf dump perf; do
    if "$CAIRN" record --method="$method" -f -o probe.txt -- ./prog maze 0.1 9 >probe.log 2>&1; then
        methods+=("$method")
    else
        skip "method $method" "$(head -1 probe.log)"
    fi
done
[ ${#methods[@]} -gt 0 ] || { echo "skipped: nothing can be sampled here"; exit 77; }

for method in "${methods[@]}"; do
    # A little memory: all samples are there or counted, and what is cut has its outer part.
    "$CAIRN" record --method="$method" -F 4999 --max-memory=64K -f -o small.txt -- ./prog maze 3 60 \
        >out.log 2>log || fail "$method: small" log
    has log "warning: the 0.064 MB of memory for what is recorded are used up" "$method: a warning"
    has log " no memory for more stacks" "$method: the quality line"
    said=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
    check "$method: samples" "$(total small.txt)" = "$said"
    check "$method: with their outer part" $((100 * $(total small.txt 'main;'))) -ge $((95 * said))

    # Enough of it: none is.
    "$CAIRN" record --method="$method" -F 499 -f -o large.txt -- ./prog maze 1 60 >out.log 2>log ||
        fail "$method: large" log
    hasnt log "no memory" "$method: enough of it"

    # What is packed on the way comes back, each sample once.
    "$CAIRN" record -vv --method="$method" -F 4999 -f -o packed.txt -- ./prog maze 4 60 >out.log 2>log ||
        fail "$method: packed" log
    has log "rows of samples were packed" "$method: packed"
    said=$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)
    check "$method: packed samples" "$(total packed.txt)" = "$said"
    check "$method: packed with main" $((100 * $(total packed.txt 'main;'))) -ge $((99 * said))
    [ "$method" = dump ] || has log "; 0 lost" "$method: none is lost"

    # A recorder that waits for its turn on a busy machine loses nothing.
    if [ "$method" = perf ] && [ "$(id -u)" != 0 ]; then
        skip "perf: a ring for a second" "kernel.perf_event_mlock_kb bounds what is not root's"
    elif [ "$method" != dump ]; then
        "$CAIRN" record --method="$method" -F 4999 -f -o turn.txt -- ./prog maze 2 60 >out.log 2>log &
        recorder=$!
        sleep 0.7
        kill -STOP $recorder
        sleep 0.5
        kill -CONT $recorder
        wait $recorder || fail "$method: turn" log
        has log "; 0 lost" "$method: none is lost for half a second"
    fi

    # The recorder does not grow once the bound was reached, but for copies that wait to be walked.
    [ "$method" != dump ] || continue
    if [ ! -e "$BUILD/meson-private/cairn-heap.pc" ]; then
        skip "$method: what the recorder has in the end" "a sanitizer keeps what was freed"
        continue
    fi
    ./prog maze 600 60 &
    target=$!
    "$CAIRN" record --method="$method" -F 4999 --max-memory=1M -f -o long.txt -p $target >out.log 2>log &
    recorder=$!
    until grep -q "used up" log || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
    before=$(anon $recorder)
    # What waits to be read comes and goes: the least of what it has after a second counts.
    ticks=$(awk '{ print $14 }' /proc/$target/stat)
    ran=0 after=
    until [ "$ran" -gt 200 ]; do
        sleep 0.05
        ran=$(($(awk '{ print $14 }' /proc/$target/stat) - ticks))
        now=$(anon $recorder)
        [ "$ran" -lt 100 ] || [ "${after:-$now}" -lt "$now" ] || after=$now
    done
    kill -INT $recorder
    wait $recorder || fail "$method: long" log
    kill -9 $target
    wait $target 2>/dev/null
    target=
    check "$method: kB of the recorder, $before before" "$after" -le $((before + 1024))
done

# What is no size, or too small a one.
for size in 0 63K x 1Q; do
    "$CAIRN" record --max-memory=$size -- true >out.log 2>log
    check "--max-memory=$size" $? = 2
done

finish "$n_checks checks hold"
