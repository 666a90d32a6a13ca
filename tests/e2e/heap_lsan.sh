#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that use LeakSanitizer's interface, under cairn heap run --lost as they are: what they ask
# for, before their destructors and after; and the situations of leak checkers, live and at exit.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/heap_lib.sh
. "$SRC/tests/support/heap_lib.sh"
py=/usr/bin/python3
need_tracker
need gcc python3
program=$SRC/tests/e2e/heap_lsan.c
options="-g -O1 -fno-inline -fno-builtin -w -Wl,--build-id -pthread"
printf '__thread void *one; void **slot(void) { return &one; }\n' >slot.c
# shellcheck disable=SC2086 # options
gcc -O1 -fPIC -shared -ftls-model=global-dynamic -o slot.so slot.c &&
    gcc $options -o known "$program" -ldl &&
    gcc $options -DOFF -o off "$program" -ldl &&
    gcc $options -DSUPPRESS -o suppresses "$program" -ldl || exit 1

# run STATUS [OPTION...] -- COMMAND...
run() {
    expected=$1
    shift
    "$CAIRN" heap run -f -o run.heap "$@" >out 2>log
    same "the status of $*" $? "$expected"
}

# rows NAME: "FUNCTION BLOCKS/BYTES ..." of the look that the line with NAME in it begins.
rows() {
    $py -c 'import re, sys
name, rows, size = None, {}, None
for line in open("log"):
    head = re.match(r"cairn: (process \d+ asks|lost before|lost after|peak)", line)
    if head:
        name, n = head[1], sum(1 for k in rows if k.startswith(head[1][:8]))
        name = "asks%d" % n if "asks" in name else name
        rows[head[1] if "asks" not in head[1] else "process %d" % n] = found = {}
    amount = re.match(r"([\d.]+) (\w+) in ([\d,]+) blocks? lost(, and by that ([\d.]+) \w+ in (\d+))?", line)
    if amount and "from" not in line:
        size = int(amount[3].replace(",", "")) + int(amount[6] or 0)
    function = re.match(r"    ((?:hold|lose)_\w+) ", line)
    if function and size and name:
        found[function[1]] = found.get(function[1], 0) + size
        size = None
print(" ".join("%s %d" % row for row in sorted(rows[sys.argv[1]].items())))' "$1"
}

run 5 --lost -- ./known all "$PWD/slot.so"
if grep -q "could not be read without a stop\|cannot be traced" log; then
    echo "skipped: registers cannot be read here"
    exit 77
fi
lost="lose_after_scope 1 lose_beside 1 lose_cycle 2 lose_in_thread 2 lose_large 1 lose_one 1"
same "what it is told" "$(cat out)" "recoverable 1
child 42"
same "live: what is lost" "$(rows "process 0")" "$lost"
same "in a child of fork" "$(rows "process 1")" "lose_in_child 1"
same "at exit, before destructors" "$(rows "lost before")" "$lost"
same "at exit, after them" "$(rows "lost after")" "hold_until_destructor 1 $lost"
hasnt log "why nothing is claimed" "each look is sure"

# From a second thread, while the main one runs; and the looks at the end go on behind it.
run 5 --lost -- ./known thread
same "from a thread" "$(cat out) $(rows "process 0")" "recoverable 1 lose_one 1"
has log "the same is lost after its destructors" "a second look that says the same"

# A check that ends the program, by the status that LeakSanitizer's users know.
run 23 --lost -- ./known check
hasnt out "went on" "a check that finds something"
same "a check" "$(rows "process 0")" "lose_one 1"
hasnt log "before its destructors" "the check is the one at the end"
LSAN_OPTIONS=exitcode=0 run 5 --lost -- ./known check
has out "went on" "exitcode=0"
hasnt log "lose_after_scope (heap_lsan.c:[0-9]*)  " "nobody looks behind the check"
run 3 --lost --fail-over 110 -- ./known check
run 23 --lost --fail-over 111 -- ./known check
run 5 --lost --fail-over 0 -- ./suppresses check
has out "went on" "default suppressions"
has log "suppressed: 111 B in 1 block from 1 stack by leak:lose_one" "default suppressions"
echo leak:lose_one >own
run 5 --lost --suppressions own -- ./known ask
same "suppressions of a file" "$(cat out)" "recoverable 0"

# Every so many seconds asks are answered too, and no destructor is waited for.
run 5 --lost=60 -- ./known ask
same "--lost=60" "$(cat out)" "recoverable 1"
hasnt log "its destructors" "--lost=60"

# A program that turns checks off, and runs without anybody who looks.
run 5 --lost --fail-over 0 -- ./off check
has log "turns leak checks off (__lsan_is_turned_off)" "turned off"
has out "went on" "turned off"
hasnt log "lost, from" "turned off"
run 5 -- ./known ask
same "nobody looks" "$(cat out)" "recoverable 0"
"$CAIRN" heap report --json run.heap >out 2>log || fail "heap report" log
same "and that is counted" "$(ask 'j["unmade_checks"]')" 1
run 5 -- ./known check
"$CAIRN" heap leaks run.heap >out 2>log || fail "heap leaks" log
has log "1 looks for lost blocks that the program asked for and nobody made" "nobody looks"

# One that is started by another one is answered; its own end is not waited for.
run 4 --lost -- sh -c './known ask; exit 4'
same "a child of another program" "$(cat out)" "recoverable 1"
same "a child of another program" "$(rows "process 0")" "lose_one 1"
# What it cannot connect to it goes on without: a folder that is gone, a stranger at the socket.
# shellcheck disable=SC2016 # the program's variable
run 5 --lost -- sh -c 'rm -f "$CAIRN_HEAP_DIR/ask"; exec ./known ask'
same "the socket is gone" "$(cat out)" "recoverable 0"
cat >stranger.py <<'PYTHON'
import glob, os, socket, struct, subprocess, sys
where = os.environ["CAIRN_HEAP_DIR"] + "/ask"
for words in (b"", b"x", struct.pack("<II", 99, 0), struct.pack("<II", 2, 0) * 9):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(where)
    if words:
        s.send(words)
    s.close()
os.environ.pop("LD_PRELOAD", None)
PYTHON
run 0 --lost --fail-over 100M -- $py stranger.py
hasnt log "Traceback" "questions that make no sense"

# Who answers may go away, or say what makes no sense: the program goes on.
mkdir -m 700 states
cat >answers.py <<'PYTHON'
import os, socket, struct, subprocess
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("states/ask")
s.listen()
env = dict(os.environ, CAIRN_HEAP_DIR=os.path.abspath("states"), LD_PRELOAD=os.environ["TRACKER"])
for answer in (None, b"x", struct.pack("<II", 2, 23), struct.pack("<II", 7, 0)):
    program = subprocess.Popen(["./known", "ask"], env=env, stdout=subprocess.PIPE, text=True)
    asked, _ = s.accept()
    assert struct.unpack("<II", asked.recv(100)) == (2, 0)
    if answer:
        asked.send(answer)
    asked.close()
    asked, _ = s.accept()  # before its destructors
    assert struct.unpack("<II", asked.recv(100)) == (3, 0)
    asked.close()
    print(program.communicate(timeout=60)[0].split()[-1], end=" ")
PYTHON
TRACKER=$(dirname "$CAIRN")/libcairn-heap.so $py answers.py >out 2>log || fail "answers" log
same "answers that make no sense" "$(cat out)" "0 0 1 0 "

finish "$n_checks checks of LeakSanitizer's interface"
