#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn record by unwind tables out of copies of stacks, as an ordinary user may: programs without
# frame pointers, stacks that are deeper than the copy, and what the summary says of them.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

# record NAME OPTIONS...: into NAME.txt and log.
record() {
    local out=$1
    shift
    "$CAIRN" record --method=dump -F 999 -f -o "$out.txt" "$@" >out.log 2>log || fail "$out" log
}

cc=${CC:-gcc}
"$cc" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o prog \
    "$SRC/tests/e2e/walk_programs.c" || exit 1
"$cc" -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -DFRAME_BYTES=1024 \
    -o pointers "$SRC/tests/e2e/walk_programs.c" || exit 1
if ! "$CAIRN" record --method=dump -o probe.txt -- ./prog deep 0.1 1 >probe.log 2>&1; then
    grep -qE 'cannot sample|on this CPU' probe.log || { fail "the first recording" probe.log; exit 1; }
    echo "skipped: $(head -1 probe.log)"
    exit 77
fi

# What fits into the copy is whole: a process that runs, with all its frames, and a command.
./prog deep 60 60 &
target=$!
sleep 0.3
record running -d 2 -p $target
kill $target
wait $target 2>/dev/null
at_least 999 "$(awk '{ n = $NF; sum += n; if (gsub(/;dive/, "") == 61) hit += n }
    END { printf "%d\n", sum ? 1000 * hit / sum : 0 }' running.txt)" "all frames"
at_least 999 "$(permille running.txt '_start;.*;main;dive;dive')" "reach main"
has log "by unwind tables from copies" "the method is told"
record command -- ./prog deep 2 40
at_least 950 "$(whole)" "a command"
at_least 500 "$(permille command.txt '_start;.*;main;dive')" "a command"
record threads -- ./prog threads 2 4
at_least 950 "$(whole)" "threads in qsort"
at_least 500 "$(permille threads.txt 'clone3?(;start_thread)?;.*sort;.*qsort.*;compare;busy')" \
    "threads in qsort"
record fork -- ./prog fork 2 3
at_least 950 "$(whole)" "forked children"
at_least 500 "$(permille fork.txt '_start;.*main;(forks;)?.*busy')" "forked children"

# What does not is cut, with the reason; a larger copy holds it.
record small --stack-bytes 4096 -- ./prog deep 1 60
has log "stack larger than the copied 4.1 kB" "a stack that is deeper than the copy"
at_least "$(whole)" 500 "a stack that is deeper than the copy"
record large --stack-bytes 65528 -- ./prog deep 1 150
at_least 950 "$(whole)" "a copy of 64 kB"

# Behind the copy frame pointers lead on, and no frame is missing.
record spliced --stack-bytes 8192 -- ./pointers deep 2 60
at_least 950 "$(permille spliced.txt 'main;dive;dive')" "frame pointers behind the copy"
at_least 950 "$(awk '{ n = $NF; sum += n; if (gsub(/;dive/, "") == 61) hit += n }
    END { printf "%d\n", sum ? 1000 * hit / sum : 0 }' spliced.txt)" "all frames behind the copy"

# Stacks that lead nowhere end in time and with a reason.
for bad in forge wild; do
    record $bad -- ./prog $bad 1
    grep -qE ' cut: ' log || fail "$bad: no reason" log
    at_least 1 "$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)" "$bad: samples"
done

for wrong in 0 7 12 65536 -8 x; do
    "$CAIRN" record --stack-bytes "$wrong" -o wrong.txt -- ./prog deep 1 1 >/dev/null 2>log
    at_least 2 $? "--stack-bytes $wrong: exit status"
done

# An ordinary user gets it unasked.
user=$(mktemp -d)
chmod 777 "$user"
cp "$CAIRN" prog "$user"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if [ "$(id -u)" != 0 ] || ! "${nobody[@]}" "$user/cairn" version >log 2>&1; then
    skip "an ordinary user" "this is run without root, or without setpriv"
elif [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
    skip "an ordinary user" "kernel.perf_event_paranoid is more than 2"
else
    "${nobody[@]}" "$user/cairn" record -F 999 -o "$user/user.txt" -- "$user/prog" deep 2 40 2>log ||
        fail "an ordinary user" log
    has log "by unwind tables from copies" "an ordinary user"
    at_least 950 "$(whole)" "an ordinary user"
    at_least 500 "$(permille "$user/user.txt" '_start;.*;main;dive')" "an ordinary user"
fi
rm -rf "$user"

finish "$n_checks checks hold"
