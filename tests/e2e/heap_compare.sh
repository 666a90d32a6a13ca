#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap: what grew between two states: diff, leaks --every, --baseline; what is suppressed; gates.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
py=/usr/bin/python3
[ -f "$(dirname "$CAIRN")/libcairn-heap.so" ] || { echo "skipped: there is no libcairn-heap.so"; exit 77; }
gcc -g -O1 -fno-builtin -fno-inline -o program "$SRC/tests/e2e/heap_program.c" || exit 1

# changes FILE: "FUNCTION BYTES/BLOCKS ..." of the rows of a JSON object, in their order.
changes() {
    $py -c 'import json, sys
for row in json.load(open(sys.argv[1]))["changes"]:
    lines = row["frames"][0]["lines"] if row["frames"] else []
    print("%s %+d/%+d" % (lines[-1]["function"] if lines else "?", row["bytes"], row["blocks"]))' "$1" |
        grep -E '^(lose|keep|grow|churn) ' | tr '\n' ' '
}

"$CAIRN" heap run -o a.heap -- ./program 2>log || fail "cairn heap run" log
"$CAIRN" heap run -o b.heap -- ./program fork 2>log || fail "cairn heap run" log

# Two runs, at other addresses.
"$CAIRN" heap diff --top 0 --json a.heap b.heap >out 2>log || fail "cairn heap diff" log
same "what the child left is more" "$(changes out)" "lose +333/+1 "
"$CAIRN" heap diff --top 0 --json b.heap a.heap >out 2>log
same "the other way round it is less" "$(changes out)" "lose -333/-1 "
"$CAIRN" heap diff a.heap b.heap >out 2>log
has out "+333 B, +1 block (0 B in 0 before, 333 B in 1 now)" "diff as text"
has out "lose (heap_program.c:" "diff as text"
has out "1 stack grew by 333 B, 0 shrank by 0 B" "the sum of a diff"
"$CAIRN" heap diff a.heap a.heap >out 2>log
has out "No stack has more or less than before." "nothing differs"
"$CAIRN" heap diff --fail-over 332 a.heap b.heap >out 2>log
same "the gate of a diff" $? 3
"$CAIRN" heap diff --fail-over 333 a.heap b.heap >out 2>log
same "a gate that holds" $? 0

# Another build of the same program: every address and line is another, the functions are not.
sed 's/^#include <signal.h>/\n\n\n&/; s/return malloc(size);/volatile int n = 7; (void)n; &/' \
    "$SRC/tests/e2e/heap_program.c" >later.c
mkdir later
gcc -g -O1 -fno-builtin -fno-inline -o later/program later.c || exit 1
"$CAIRN" heap run -o later.heap -- ./later/program fork 2>log || fail "cairn heap run" log
"$CAIRN" heap diff --top 0 --json a.heap later.heap >out 2>log || fail "diff of two builds" log
same "two builds" "$(changes out)" "lose +333/+1 "

# Suppressions, in LeakSanitizer's form.
printf '# known\nleak:^lose$\nleak:nothing_of_the_kind\n' >known
"$CAIRN" heap leaks --suppressions known --json --top 0 a.heap >out 2>log || fail "--suppressions" log
hasnt out '"lose"' "a suppressed stack"
has out '"keep"' "another stack"
has out '"pattern": "^lose$"' "what was suppressed"
"$CAIRN" heap leaks --suppressions known a.heap >out 2>log
has log "suppressed: 3.0 kB in 3 blocks from 3 stacks by leak:^lose$" "what was suppressed, as text"
hasnt log "nothing_of_the_kind" "a pattern that took nothing"
printf 'leak:program\nleak:libc\nleak:ld-linux\n' >all
"$CAIRN" heap leaks --suppressions all a.heap >out 2>log
same "all of it" "$(cat out)" "No memory leaks detected."
printf 'leak:lose\nthread:x\n' >wrong
"$CAIRN" heap leaks --suppressions wrong a.heap >out 2>log && fail "a file that is none"
has log 'wrong: line 2: "thread:x", expected leak:PATTERN' "a file that is none"

# Gates: the size, the growth over a baseline; what is suppressed counts for neither.
"$CAIRN" heap leaks --fail-over 4M a.heap >out 2>log
same "leaks over" $? 3
"$CAIRN" heap leaks --fail-over 6M a.heap >out 2>log
same "leaks not over" $? 0
"$CAIRN" heap leaks --baseline a.heap b.heap >out 2>log
same "more than the baseline" $? 3
has out "+333 B, +1 block" "what grew over the baseline"
has log "333 bytes more than in the baseline, in 1 stack" "what closed the gate"
"$CAIRN" heap leaks --baseline a.heap --fail-over 1k b.heap >out 2>log
same "a little more is allowed" $? 0
"$CAIRN" heap leaks --baseline a.heap --suppressions known b.heap >out 2>log
same "what grew is known" $? 0
"$CAIRN" heap run -f -o c.heap --baseline a.heap -- ./program fork >out 2>log
same "a run over the baseline" $? 3
has log "+333 B, +1 block" "what grew in a run"
"$CAIRN" heap run -f -o c.heap --baseline a.heap -- ./program exit >out 2>log
same "the command's status, where the gate is open" $? 5
"$CAIRN" heap run -f -o c.heap --suppressions all --fail-over 1 -- ./program >out 2>log
same "all suppressed" $? 0
"$CAIRN" heap run -o never.heap --baseline nothing.heap -- ./program >out 2>log
same "no baseline" $? 1
[ ! -e never.heap ] || fail "the command ran without its baseline"

# Again and again: what grew since the last look, until the process ends.
mkfifo lines
"$CAIRN" heap run -f -o wait.heap -- ./program wait <lines >/dev/null 2>run.log &
exec 3>lines
for _ in $(seq 100); do
    pid=$(pgrep -s 0 -x -n program) && "$CAIRN" heap leaks "$pid" >out 2>/dev/null && grep -q keep out && break
    sleep 0.05
done
"$CAIRN" heap leaks --every 0.2 --json --top 0 "$pid" >every.json 2>every.log 3>&- &
json=$!
"$CAIRN" heap leaks --every 0.2 "$pid" >every.txt 2>log 3>&- &
text=$!
for _ in $(seq 100); do
    [ "$(wc -l <every.json)" -ge 2 ] && grep -q "No stack has more" every.txt && break
    sleep 0.05
done
echo >&3
for _ in $(seq 100); do
    grep -q 7700 every.json && grep -q "7.7 kB" every.txt && break
    sleep 0.05
done
sleep 0.3
exec 3>&-
wait "$json"
same "--every ends with the process" $? 0
wait "$text"
wait
has log "has ended" "--every says that it ended"
has every.txt "+7.7 kB, +100 blocks" "what grew, as text"
has every.txt " live" "what lives"
same "looks" "$($py -c 'import json
looks = [json.loads(line) for line in open("every.json")]
print(len(looks) >= 3, sum(look["grown_bytes"] for look in looks))')" "True 7700"
"$CAIRN" heap leaks --every 1 a.heap >out 2>log && fail "--every of a file"
has log "is for a running process" "--every of a file"

finish "cairn heap diff, --every, --baseline, --suppressions: $n_checks checks"
