#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn trace at the begin and the return of functions as one event: durations, results and arguments, also where
# functions nest, jump to each other, or are left by longjmp, an exception, execve, fork or the end of their thread;
# what is lost is counted exactly.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need cc c++ python3

cc -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread -o pairs "$SRC/tests/e2e/trace_pairs.c" || fail "the program is not built"
pair=uprobe+uretprobe:./pairs
if ! "$CAIRN" trace --summary -e "$pair:nap" -- ./pairs sleep >out 2>log; then
    skip "all" "$(head -n 1 log)"
    exit 77
fi

traced() # FUNCTION CASE...: JSON lines in out, the last lines in log.
{
    local function=$1
    shift
    "$CAIRN" trace --json -e "$pair:$function" -- ./pairs "$@" >out 2>log || fail "$function $*" log
}
# holds TEXT CONDITION: of the events `e`, a list; ms(e) is its duration.
holds()
{
    n_checks=$((n_checks + 1))
    python3 - "$2" >why <<'EOF' || fail "$1" why
import json, sys
e = [json.loads(line) for line in open("out")]
ms = lambda event: event["duration_ns"] / 1e6
arg = lambda event: int(next(iter(event["args"].values())), 0)
names = lambda event: [frame["function"] for frame in event["stack"]]
if not eval(sys.argv[1]):
    print([(arg(x), x["result"], ms(x), names(x)) for x in e][:8])
    sys.exit(1)
EOF
}

# --- a duration, the result, the arguments of the begin and its stack; the machine may be busy, and no nap is shorter
traced nap sleep
holds "naps" 'len(e) == 3 and [arg(x) for x in e] == [1, 20, 2] and all(ms(x) >= arg(x) == x["result"] for x in e)'
holds "their stacks" 'all(names(x)[:2] == ["nap", "main"] and x["cut"] is None for x in e)'
has log "3 events seen, 3 shown, 3 counted, 0 lost" "naps"
"$CAIRN" trace --json --slower-than 20ms -e "$pair:nap[arg0 >= 2]" -- ./pairs sleep >out 2>log || fail "--slower-than" log
holds "--slower-than" 'arg(e[0]) == 20 and all(ms(x) > 20 for x in e)'
"$CAIRN" trace --json -e "$pair:nap/arg0:d32,ret:d32[duration >= 1ms && (ret == 20 || ret == 1)]" -- ./pairs sleep >out 2>log || fail "a filter" log
holds "a filter that the kernel does not know" '[x["args"]["ms"] for x in e] == ["1", "20"]'
"$CAIRN" trace --summary -e "$pair:nap" -- ./pairs sleep >out 2>log || fail "--summary" log
has out "of 3 $pair:nap" "--summary"
"$CAIRN" trace -f -o sums.txt -e "$pair:nap" -- ./pairs sleep >out 2>log || fail "-o" log
has sums.txt "main;nap 3" "the sums have the stacks"
"$CAIRN" trace -f -o sums.pb.gz -e "$pair:nap" -- ./pairs sleep >out 2>log || fail "-o" log
"$CAIRN" report --value=time sums.pb.gz >out 2>log || fail "the value time" log
has out "nap" "the value time"

# --- nested calls: as many as the kernel follows, and the others are lost
traced down nest 64
holds "64 nested" 'len(e) == 64 and sorted(arg(x) for x in e) == list(range(1, 65)) and all(arg(x) == x["result"] for x in e)'
holds "the outer lasts longer" 'all(ms(a) < ms(b) for a, b in zip(e, e[1:]))'
holds "stacks as deep" 'all(names(x).count("down") == 65 - arg(x) for x in e)'
traced down nest 100
holds "100 nested" 'sorted(arg(x) for x in e) == list(range(37, 101)) and all(arg(x) == x["result"] for x in e)'
has log "100 events seen, 64 shown, 64 counted, 36 lost" "100 nested"
traced below full 257
has log "16,448 events seen" "too many under way"
has log "16,384 counted, 64 lost" "too many under way: exact"

# --- functions that do not return
traced leaves jump
holds "longjmp" 'len(e) == 1 and e[0]["result"] == 3 and 3 <= ms(e[0]) < 200'
has log "6 events seen, 1 shown, 1 counted, 5 left without a return, 0 lost" "longjmp"
traced last exec
has log "1 event seen, 0 shown, 0 counted, 1 left without a return, 0 lost" "execve"
traced last thread
has log "1 event seen, 0 shown, 0 counted, 1 left without a return, 0 lost" "a thread that ends"
traced splits fork
holds "fork: the child did not begin it" 'len(e) == 1 and e[0]["result"] > 0'
has log "1 event seen, 1 shown, 1 counted, 0 lost" "fork"
cat >throws.cc <<'EOF'
#define PLACE __attribute__((noinline, noclone))
static volatile int sink;
PLACE int throws(int n) { sink = sink + 1; if (n) throw n; return 1; }
PLACE int catches(int n) { try { return throws(n) + 1; } catch (int e) { return -e; } }
int main() { return catches(0) + catches(5) + 3; }
EOF
c++ -O1 -o throws throws.cc || fail "the program that throws is not built"
"$CAIRN" trace --no-stack --failed -e 'uprobe+uretprobe:./throws:catches(int)/arg0:d32,ret:d32' -- ./throws >out 2>log || fail "an exception" log
has out "(arg0=5) = -5 <" "an exception, and a result below 0"
has log "2 events seen, 1 filtered out, 1 shown, 1 counted, 0 lost" "an exception"

# --- tail calls: all return at once
"$CAIRN" trace --json -e "$pair:first" -e "$pair:second" -- ./pairs tail 5 >out 2>log || fail "a tail call" log
holds "a tail call" 'len(e) == 2 and all(x["result"] == 6 and ms(x) >= 5 for x in e)'
"$CAIRN" trace --json -e "$pair:p?ng" -- ./pairs jumps 7 >out 2>log || fail "tail calls" log
holds "tail calls" 'sorted(arg(x) for x in e) == list(range(1, 8)) and all(x["result"] == 3 and ms(x) >= 3 for x in e)'
has log "7 events seen, 7 shown, 7 counted, 0 lost" "tail calls"

# --- many, with a probe of another kind on the same function, and what the C library's functions are
"$CAIRN" trace --summary -e "$pair:brief" -e "uretprobe:./pairs:brief" -e "uprobe:./pairs:brief" -- ./pairs loop 20000 >out 2>log || fail "many" log
same "each of the three" "$(grep -cE '^ +20,000 .*:brief' out)" 3
has log "60,000 counted, 0 lost" "many"
"$CAIRN" trace --no-stack -e 'uprobe+uretprobe:libc.so.6:getenv' -- env -i HOME=/there bash -c : >out 2>log || fail "libc" log
grep -q 'getenv(name="[A-Z_]*") = ' out || fail "names and the result of libc" out

# --- what is refused
refused() # TEXT ARGUMENT...: says that text.
{
    local text=$1
    shift
    "$CAIRN" trace "$@" -- ./pairs sleep >out 2>log && fail "$*"
    has log "$text" "$*"
}
refused "returns from no offset" -e "$pair:nap+4"
refused "a line does not return" -e "$pair:trace_pairs.c:40"
refused "calls are to be counted as they begin" --enter-only -e "$pair:nap"
refused "by ptrace system calls" --method=ptrace -e "$pair:nap"
refused "by perf events system calls and tracepoints" --method=perf -e "$pair:nap"
refused "a result is a number" -e "$pair:nap/ret:str"
refused "has no result with a type" -e "uprobe:./pairs:nap/ret:d"
"$CAIRN" trace --explain -e "$pair:nap" >out 2>log || fail "--explain" log
same "--explain says one place" "$(grep -c ' at ' out)" 1

finish "trace_pairs: $n_checks checks"
