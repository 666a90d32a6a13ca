#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap: run, leaks, report, mark, env, and what the other commands make of its file.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
py=/usr/bin/python3
[ -f "$(dirname "$CAIRN")/libcairn-heap.so" ] || { echo "skipped: there is no libcairn-heap.so"; exit 77; }
gcc -g -O1 -fno-builtin -fno-inline -o program "$SRC/tests/e2e/heap_program.c" || exit 1
gcc -O1 -fno-builtin -fno-inline -w -o programs "$SRC/tests/e2e/heap_programs.c" -pthread || exit 1

# run OUT ARGUMENT...: the program under the tracker; its status is checked by the caller.
run() {
    out=$1
    shift
    "$CAIRN" heap run --force -o "$out" -- ./program "$@" >stdout 2>log
}

# leaks ARGUMENT...: its JSON is in `out`.
leaks() {
    "$CAIRN" heap leaks --json "$@" >out 2>log || fail "cairn heap leaks $*" log
}

# found FUNCTION: "BYTES/BLOCKS" of the stacks whose innermost named function it is, summed.
found() {
    $py -c 'import json, sys
rows = [(l["bytes"], l["blocks"]) for l in json.load(open("out"))["leaks"]
        if any(f["lines"] and f["lines"][-1]["function"] == sys.argv[1] for f in l["frames"][:1])]
print("%d/%d" % (sum(r[0] for r in rows), sum(r[1] for r in rows)))' "$1"
}

# What is live at the end is what the program left, by stack, and nothing else of its functions.
run plain.heap || fail "cairn heap run: exit status $?" log
has log "live at the end" "the summary"
has log "every block recorded" "the quality line"
leaks --top 0 plain.heap
same "three that were lost" "$(found lose)" "3003/3"
same "a large one" "$(found keep)" "5000000/1"
same "what was freed" "$(found churn)" "0/0"
same "whole stacks" "$(grep -c '"cut": null' out)" "$(grep -c '"cut"' out)"
"$CAIRN" heap leaks plain.heap >out 2>log
has out "5.0 MB in 1 block" "leaks as text"
has out "keep (heap_program.c:" "a frame with its line"
has out "_start" "the whole stack"

# What the program did at all.
"$CAIRN" heap report plain.heap >out 2>log || fail "cairn heap report" log
has out "temporary blocks" "the report"
has out "bytes when the most were live, by the stack that allocated them" "the peak in a report"
has out "keep (heap_program.c:" "a stack of a table"
"$CAIRN" heap report --by function plain.heap >out 2>log
has out "live bytes, by the function that allocated them" "a report by function"
has out "keep  program" "a function of a table"
"$CAIRN" heap report --json plain.heap >out 2>log
same "top stacks" "$($py -c 'import json
top = json.load(open("out"))["top"]
print([top[name][0]["value"] for name in ("live_bytes", "peak_bytes", "temporary_blocks")])')" \
    "[5000000, 5000000, 1000]"
same "allocations" "$($py -c 'import json; print(json.load(open("out"))["allocations"] >= 2004)')" True

# An end that nobody could prepare for loses nothing; the status passes through.
run exit.heap exit
same "the status of _exit" $? 5
leaks --top 0 exit.heap
same "after _exit" "$(found lose)" "3003/3"
run kill.heap kill
same "the status of SIGKILL" $? 137
leaks --top 0 kill.heap
same "after SIGKILL" "$(found lose)" "3003/3"

# A child of fork has its own state: only what it allocated itself.
run fork.heap fork || fail "fork: exit status $?" log
leaks --top 0 fork.heap
same "the parent's and the child's" "$(found lose)" "3336/4"

# Of several programs a stack is one, wherever the loader put them.
"$CAIRN" heap run --force -o many.heap -- sh -c './program; ./program; ./program' >/dev/null 2>log
same "the largest stack of all, in the summary" "$(grep -c '15.0 MB in 3 blocks: keep' log)" 1
leaks --top 0 many.heap
same "one row each" "$($py -c 'import json
print(*[(l["bytes"], l["processes"]) for l in json.load(open("out"))["leaks"]
        if any(f["lines"] and f["lines"][-1]["function"] == "keep" for f in l["frames"][:1])])')" "(15000000, 3)"
"$CAIRN" heap leaks --min 10M many.heap >out 2>log
has out "15.0 MB in 3 blocks" "a bound for all together"
has out ", 3 processes" "how many they are"

# A process that outlives the command is told of as it is then; that is no damage.
# shellcheck disable=SC2016 # the inner shell expands it
"$CAIRN" heap run --force -o outlives.heap -- sh -c './programs storm & echo $! >pid
    until grep -q libcairn-heap /proc/$!/maps; do sleep 0.1; done; sleep 0.3' >/dev/null 2>log
kill -KILL "$(cat pid)"
has log "1 of the processes still runs" "a process that outlives the command"
has log "(the sum of each process's peak), " "the peak of several processes"
hasnt log damaged "a process that outlives the command"
"$CAIRN" heap leaks outlives.heap >out 2>log || fail "leaks of what outlived the command" log
hasnt log damaged "what was copied of a running process"

# The sums of many processes come first, then those with most of them.
# shellcheck disable=SC2016 # the inner shell expands it
"$CAIRN" heap run --force -o crowd.heap -- sh -c 'i=0; while [ $i -lt 55 ]; do ./program; i=$((i + 1)); done' \
    >/dev/null 2>log
has log "reading what 5" "reading many states is announced"
"$CAIRN" heap report crowd.heap >out 2>log
n=$(sed -n '1s/^\([0-9]*\) processes: .*/\1/p' out)
at_least 55 "${n:-0}" "the first line counts the processes: $(head -1 out)"
same "processes in a report" "$(grep -c '^process ' out)" 10
has out "and $((n - 10)) more processes: --top 0 prints all" "the other processes"
same "the first process" "$(grep -m 1 '^process ' out | sed 's/^process [0-9]*: //')" "./program: 5.0 MB live, peak 5.0 MB"
"$CAIRN" heap report --top 0 crowd.heap >out 2>log
same "all processes" "$(grep -c '^process ' out)" "$n"

# Every command names the frames of a heap file by itself.
"$CAIRN" report plain.heap >out 2>log || fail "cairn report of a heap file" log
has out "keep                    program" "names in cairn report"
hasnt log "have no name" "names in cairn report"
"$CAIRN" flame --force -o named.svg plain.heap 2>log || fail "cairn flame of a heap file" log
has named.svg ">keep" "names in cairn flame"
hasnt log "have no name" "names in cairn flame"
"$CAIRN" convert --force -o named.txt plain.heap 2>log || fail "cairn convert of a heap file" log
has named.txt "main;keep " "names in cairn convert"
"$CAIRN" diff plain.heap plain.heap >out 2>log || fail "cairn diff of heap files" log
hasnt log "have no name" "names in cairn diff"

# A picture counts bytes as texts do.
has named.svg "5.00 MB" "the unit in a picture"

# Estimates: 10,000 blocks of 1,000 bytes live of 20,000; a twentieth of the bytes is four times the
# standard error, which is said.
"$CAIRN" heap run --force --sample 1Ki -o sample.heap -- ./programs many >/dev/null 2>log
has log "one block in 1024 bytes recorded, at random" "the quality line of estimates"
leaks --top 0 sample.heap
has out '"standard_error": 1' "the error of a stack"
same "an estimate" "$($py -c 'import json; d = json.load(open("out"))
print(abs(d["bytes"] - 10e6) < 5e5, abs(d["blocks"] - 10e3) < 600)')" "True True"
"$CAIRN" heap report --json sample.heap >out 2>log
same "an estimate of what there was" "$($py -c 'import json; d = json.load(open("out"))
print(abs(d["allocated_bytes"] - 20e6) < 1e6, abs(d["allocations"] - 20e3) < 1000)')" "True True"

# Threads, not the tables that they hand on to each other: 1,600 and the first.
"$CAIRN" heap run --force -o threads.heap -- ./programs threads >/dev/null 2>log
"$CAIRN" heap report --json threads.heap >out 2>log
same "threads" "$($py -c 'import json; print(json.load(open("out"))["threads"])')" 1601

# Mappings, beside the blocks.
"$CAIRN" heap run --force --mmap -o maps.heap -- ./programs maps >/dev/null 2>log
"$CAIRN" heap report maps.heap >out 2>log
has out "mapped, beside the blocks: 146.5 kB in 7 mappings" "mappings"
has out "40.0 kB  1 mapping (brk)  map_each_way < main" "the break"
has out "8.2 kB  1 mapping (mmap of a file)  map_each_way" "a file"
"$CAIRN" heap leaks maps.heap >out 2>log
has out "mapped, beside the blocks: 146.5 kB in 7 mappings" "mappings beside leaks"
leaks --top 0 maps.heap
same "no mapping among the blocks" "$($py -c 'import json; print(json.load(open("out"))["bytes"])')" 5002

# Code that was unloaded keeps its names, also where other code came to its place.
for name in first second; do
    printf '#include <stdlib.h>\nvoid *lose_in_%s(void) { void *volatile p = malloc(%d); return p; }\n' \
        $name $((${#name} == 5 ? 1111 : 2222)) >$name.c
    gcc -g -O1 -shared -fPIC -o lib$name.so $name.c
done
printf '%s\n' '#include <dlfcn.h>' 'int main(void) {' \
    '    void *a = dlopen("./libfirst.so", RTLD_NOW); ((void *(*)(void))dlsym(a, "lose_in_first"))();' \
    '    dlclose(a); a = dlopen("./libsecond.so", RTLD_NOW);' \
    '    ((void *(*)(void))dlsym(a, "lose_in_second"))(); dlclose(a); return 0; }' >unloads.c
gcc -g -O1 -o unloads unloads.c -ldl
"$CAIRN" heap run --force -o unloads.heap -- ./unloads >/dev/null 2>log
leaks --top 0 unloads.heap
same "what was unloaded" "$(found lose_in_first) $(found lose_in_second)" "1111/1 2222/1"

# The gate.
"$CAIRN" heap run --force --fail-over 6M -o gate.heap -- ./program 2>log
same "below the limit" $? 0
"$CAIRN" heap run --force --fail-over 4M -o gate.heap -- ./program 2>log
same "above the limit" $? 3

# A process that runs: it is asked, marked, asked for what came later.
mkfifo lines
"$CAIRN" heap run --force -o wait.heap -- ./program wait <lines >/dev/null 2>log &
exec 3>lines
for _ in $(seq 100); do
    pid=$(pgrep -s 0 -x -n program) && "$CAIRN" heap leaks "$pid" >out 2>/dev/null && grep -q keep out && break
    sleep 0.05
done
leaks --top 0 "$pid"
same "of a running process" "$(found lose)" "3003/3"
"$CAIRN" heap mark "$pid" >number 2>log || fail "cairn heap mark" log
same "the first mark" "$(cat number)" 1
echo >&3
for _ in $(seq 100); do
    leaks --top 0 --since-mark 1 "$pid"
    [ "$(found grow)" = 0/0 ] || break
    sleep 0.05
done
same "born after the mark" "$(found grow)" "7700/100"
same "born before it" "$(found lose)" "0/0"
"$CAIRN" heap leaks --since-mark 2 "$pid" >out 2>log && fail "a mark that is none"
has log "there is no mark 2" "a mark that is none"
exec 3>&-
wait
leaks --top 0 --since-mark 1 wait.heap
same "marks are in the file" "$(found grow)" "7700/100"
"$CAIRN" heap report wait.heap >out 2>log || fail "the report of a run with a mark" log
same "live bytes over time" "$(grep -cE '^ +[0-9.]+ s +5\.0 MB +[0-9.]+ MB .*mark 1$' out)" 1
"$CAIRN" heap report --json wait.heap >out 2>log
same "the line as JSON" "$($py -c 'import json
line = json.load(open("out"))["processes"][0]["timeline"]
print(len(line) >= 2, [moment["mark"] for moment in line if "mark" in moment])')" "True [1]"

"$CAIRN" flame wait.heap -o wait.html >out 2>log || fail "cairn flame of a heap file" log
same "the path of the page" "$(cat out)" "wait.html"
same "the line in the page" "$($py -c 'import pathlib; from page_columns import Page
page = Page(pathlib.Path("wait.html"))
lines = {line["name"]: [page.numbers(f"line-time-{i}"), page.signed(f"line-value-{i}")]
         for i, line in enumerate(page.meta["lines"])}
print(sorted(lines), len(lines["live"][0]) >= 2, lines["live"][0] == sorted(lines["live"][0]),
      max(lines["live"][1]) >= 5_000_000, min(lines["resident"][1]) > 0, lines["mark"][1])')" \
    "['live', 'mark', 'peak', 'resident'] True True True True [1]"

same "what the heap says of itself" "$($py -c 'import pathlib; from page_columns import Page
print(Page(pathlib.Path("wait.html")).meta["subtitle"])' | sed 's/[0-9,]* stacks\{0,1\}, [0-9,]* whole/N stacks, N whole/; s/ · .*//')" \
    "N stacks, N whole; every block recorded"
"$CAIRN" flame plain.heap -o plain.html >out 2>log || fail "cairn flame of a short run" log
"$CAIRN" flame plain.heap --diff wait.heap -o change.html >out 2>>log || fail "cairn flame --diff of heap files" log
same "what both say of themselves" "$($py -c 'import pathlib; from page_columns import Page
print(["every block recorded" in side["subtitle"] for side in Page(pathlib.Path("change.html")).meta["sides"]])')" \
    "[True, True]"
"$CAIRN" flame plain.heap -o plain.svg >out 2>>log || fail "cairn flame of a heap file as SVG" log
has plain.svg "every block recorded" "what the picture says of the heap"
same "says where there is no line" "$($py -c 'import pathlib; from page_columns import Page
print(bool(Page(pathlib.Path("plain.html")).meta["lines"]) != ("no line over time" in open("log").read()))')" True

# Of several processes the line is that of the one that had most: a shell had next to nothing.
"$CAIRN" heap run --force -o shell.heap -- sh -c './program wait; exit 0' <lines >/dev/null 2>log &
exec 3>lines
for _ in $(seq 100); do
    pid=$(pgrep -s 0 -x -n program) && "$CAIRN" heap leaks "$pid" >out 2>/dev/null && grep -q keep out && break
    sleep 0.05
done
"$CAIRN" heap mark "$pid" >number 2>log || fail "cairn heap mark" log
exec 3>&-
wait
"$CAIRN" flame shell.heap -o shell.html >out 2>log || fail "cairn flame of a shell's heap file" log
same "the line of the largest" "$($py -c 'import pathlib; from page_columns import Page
page = Page(pathlib.Path("shell.html"))
lines = {line["name"]: page.signed(f"line-value-{i}") for i, line in enumerate(page.meta["lines"])}
live = [name for name in lines if name.startswith("live in ")]
print(live, max(lines[live[0]]) >= 5_000_000 if live else lines)')" "['live in $pid (./program wait) alone, 1 of 2 processes'] True"

# The program's own file hides no process of its name.
cp program "held$$"
"$CAIRN" heap run --force -o held.heap -- "./held$$" wait <lines >/dev/null 2>log &
exec 3>lines
for _ in $(seq 100); do
    "$CAIRN" heap leaks "held$$" >out 2>log && grep -q keep out && break
    sleep 0.05
done
exec 3>&-
wait
has out keep "what the process has whose program is here"

# The boxes of two files are not what one line is of.
"$CAIRN" flame wait.heap plain.heap -o two.html >out 2>log || fail "cairn flame of two heap files" log
same "the line of one of two files" "$($py -c 'import pathlib; from page_columns import Page
print([line["name"].split(" in ")[1].split(" ", 1)[1] for line in Page(pathlib.Path("two.html")).meta["lines"][:2]])')" \
    "['(./program wait) alone', '(./program wait) alone']"

# The forms that other programs read.
"$CAIRN" heap leaks --format tracker --min 1000 plain.heap >out 2>log
same "the first line" "$(head -1 out)" "=== Memory Leak Report ==="
same "a block each" "$(grep -c ', size=1001, so=program$' out)" 3
has out "(lose)" "a frame of it"
"$CAIRN" heap leaks --format ndk --min 1000 plain.heap >out 2>log
same "a backtrace each" "$(grep -cE '^      #00 pc 0000[0-9a-f]{12}  /.*/program \(lose\+[0-9]+\) \(BuildId: [0-9a-f]{40}\)$' out)" 3

# The other commands.
"$CAIRN" resolve plain.heap -o named.pb.gz 2>log || fail "cairn resolve" log
"$CAIRN" report --value alloc_space named.pb.gz >out 2>log
has out "keep" "cairn report"
"$CAIRN" flame named.pb.gz -o flame.html 2>log || fail "cairn flame" log
"$CAIRN" resolve plain.heap 2>log && fail "resolve in place"
has log "-o FILE.pb.gz" "resolve in place"

# What cannot be.
"$CAIRN" heap leaks $$ >out 2>log && fail "a process that is not tracked"
has log "is not tracked" "a process that is not tracked"
head -c 100000 /dev/urandom >bad.heap
"$CAIRN" heap leaks bad.heap >out 2>log && fail "no heap file"
has log "bad.heap: no heap state" "no heap file"
gcc -static -o static "$SRC/tests/e2e/heap_program.c" 2>/dev/null && {
    "$CAIRN" heap run -o static.heap -- ./static >/dev/null 2>log
    has log "linked statically" "a static program"
}
"$CAIRN" heap run -- ./nothing-there 2>log
same "no such program" $? 1
has log "cannot be started" "no such program"
"$CAIRN" heap env systemd >out 2>log
has out 'Environment="LD_PRELOAD=' "the environment of a service"

finish "cairn heap: $n_checks checks"
