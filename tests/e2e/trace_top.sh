#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace --top: events by stack, by function and by the value of a field: exact counts, what has no row, names that
# mean harm, what is refused; and the live table on a terminal.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc python3
cc -O2 -g -fomit-frame-pointer -pthread -o program "$SRC/tests/e2e/trace_program.c" || exit 1
cc -O2 -g -Wall -Wextra -o top "$SRC/tests/e2e/trace_top.c" || exit 1

methods=''
for method in bpf perf ptrace; do
    if "$CAIRN" trace --method="$method" --top -e syscall:close ./top >out 2>err; then
        methods="$methods $method"
    else
        skip "$method" "$(head -n 1 err)"
    fi
done
[ -n "$methods" ] || exit 77

# top METHOD BY EVENT COMMAND...: the table in `out`, the last lines in `log`.
top()
{
    local method=$1 by=$2 event=$3
    shift 3
    "$CAIRN" trace --method="$method" --top="$by" -e "$event" "$@" >out 2>log || fail "$by $event" log
}
# row NUMBER TEXT: a row of `out` has these events.
row()
{
    n_checks=$((n_checks + 1))
    awk -v n="$1" -v text="$2" '$1 == n && index($0, "  " text) { found = 1 } END { exit !found }' out || fail "no row \"$1 $2\"" out
}

for method in $methods; do
    top "$method" stack 'syscall:write[fd == 3]' ./program counts 40
    for wanted in "80 place_a" "40 place_b" "40 place_c"; do
        n_checks=$((n_checks + 1))
        awk -v n="${wanted% *}" -v name="${wanted#* }" '/^ +[0-9]/ { on = $1 == n } on && index($0, name) { found = 1 } END { exit !found }' out ||
            fail "$method: no stack of $wanted" out
    done
    has out "by stack: 160 events" "$method: stacks"
    has out " 0 lost" "$method: stacks"
    top "$method" function 'syscall:lseek[fd == -1]' ./top slow 3
    n_checks=$((n_checks + 1))
    grep -Eq '^ +12 +100.0% .*lseek' out || fail "$method: by function" out
    top "$method" offset 'syscall:lseek[fd == -1]' ./top slow 3
    row 9 1
    row 3 2
    has out "by offset: 12 events" "$method: a field"
    has out "2 values; 0 lost" "$method: a field"
    top "$method" ret 'syscall:lseek[fd == -1]' ./top slow 3
    row 12 "-1 EBADF"
    top "$method" errno 'syscall:lseek,exit_group' ./top slow 3
    row 12 EBADF
    row 1 "(no errno)"
    top "$method" event 'syscall:lseek,exit_group' ./top slow 3
    row 1 exit_group
done

# --- functions and probes, by BPF
case $methods in
*bpf*)
    top bpf function 'uprobe:./top:*e*n' ./top slow 5
    row 15 often
    top bpf event 'uprobe:./program:place_*' ./program counts 40
    row 80 uprobe:./program:place_a
    row 40 uprobe:./program:place_c
    ;;
esac
method=${methods# }
method=${method%% *}

# --- more values than rows: what has none is counted
top "$method" offset 'syscall:lseek[fd == -1]' ./top values 20000
has out "beyond the 16,384 rows that are kept" "many values"
n_checks=$((n_checks + 1))
python3 - <<'PYTHON' || fail "the events of rows, of those not shown and of those not read are all" out
import re
number = lambda text: int(text.replace(",", ""))
text = open("out").read()
counted = number(re.search(r"([\d,]+) events in", text).group(1))
rows = [number(m) for m in re.findall(r"^ +([\d,]+) +[\d.]+% ", text, re.M)]
rest = [number(m) for m in re.findall(r"([\d,]+) in [\d,]+ rows?|([\d,]+) beyond|([\d,]+) counted alone", text) for m in m if m]
assert counted == 20000 == sum(rows) + sum(rest), (counted, sum(rows), rest)
PYTHON

# --- names that mean harm
top "$method" comm 'syscall:openat,open' ./top hostile
n_checks=$((n_checks + 1))
grep -q "evil" out || fail "a hostile name is not there" out
grep -q "$(printf '\033')" out && fail "an escape sequence of a thread's name comes through" out
top "$method" path 'syscall:openat,open' ./top hostile
grep -q "$(printf '[\033\007\r]')" out && fail "control characters of a path come through" out
[ "$method" = perf ] || grep -q '/no/' out || fail "a hostile path is not there" out

# --- what is refused
refused() # TEXT OPTION...
{
    local text=$1
    shift
    "$CAIRN" trace "$@" -e syscall:lseek ./top >out 2>log && fail "$*"
    has log "$text" "$*"
}
refused 'no event has a field "nothing"' --top=nothing
refused 'expected stack, function or the name of a field' '--top=a b'
refused '--top prints a table' --top --json
refused '--top prints a table' --top -o x.txt
refused 'needs stacks' --top=function --no-stack
refused 'no event has a field "errno"' --enter-only --top=errno

# --- a terminal: drawn again and again, no line wider than it, and once whole at the end
n_checks=$((n_checks + 1))
python3 - "$CAIRN" "$method" >why <<'PYTHON' || fail "on a terminal" why
import fcntl, os, pty, re, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 80, 0, 0))
    os.environ.update(TERM="xterm", COLUMNS="", LINES="")
    os.execv(sys.argv[1], [sys.argv[1], "trace", "--method=" + sys.argv[2], "--top", "-e", "syscall:lseek[fd == -1]", "./top", "slow", "350"])
data = b""
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:
        break
    if not got:
        break
    data += got
_, status = os.waitpid(pid, 0)
text = data.decode("utf-8", "replace")
frames = [frame for frame in text.split("\x1b[H") if "EVENTS/S" in frame]
plain = lambda frame: re.sub(r"\x1b\[[KJ]", "", frame).replace("\r", "").split("\n")
print(len(frames), frames[:2], frames[-1:])
assert status == 0 and len(frames) >= 4, status
live = frames[:-1]
assert all(len(line) <= 80 for frame in live for line in plain(frame)), "a line is too wide"
assert all(len(plain(frame)) <= 12 for frame in live), "too many lines"
assert any(re.search(r"lseek: \S*seek\S* < often < main", frame) for frame in live), "no chain"
rates = [int(m.replace(",", "")) for frame in live[1:] for m in re.findall(r"75\.0% +([\d,]+) ", frame)]
assert rates and 30 <= max(rates) <= 330, rates
assert "1,400 events" in frames[-1] and "  often  " in frames[-1], "the last table"
PYTHON

finish "trace_top: $n_checks checks"
