#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks of Go programs: with symbols and without (-s -w), small ones and ones too large for rules made
# of their code. A stack that begins in runtime.systemstack and its like is cut there: the goroutine
# that called is on another stack.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

need go
export GOCACHE="$PWD/cache" GO111MODULE=off GOFLAGS=
mkdir -p src
cp "$SRC/tests/e2e/go_program.go" src/main.go
go build -o named src/main.go >log 2>&1 || { fail "go build" log; exit 1; }
go build -ldflags='-s -w' -o stripped src/main.go >log 2>&1 || { fail "go build -s -w" log; exit 1; }
go build -ldflags=-compressdwarf=false -o told src/main.go >log 2>&1 || { fail "go build, plain DWARF" log; exit 1; }

# What CFI covers has a rule made of the code, but for what is written by hand.
if [ "$(uname -m)" = x86_64 ]; then
    read -r _ told _ none _ <<<"$("$BUILD/tests/e2e/derive_rows" told | tail -1)"
    at_most 15 $((told ? 1000 * none / told : 1000)) "permille of Go's code without a rule"
fi
methods=perf
for method in bpf dump; do
    if "$CAIRN" record --method=$method -f -o probe.txt -- ./named 0.1 >probe.log 2>&1; then
        methods="$methods $method"
    else
        skip "method $method" "$(head -1 probe.log)"
    fi
done

# record NAME METHOD COMMAND...: into NAME.txt and log.
record() {
    local out=$1 method=$2
    shift 2
    "$CAIRN" record --method="$method" -F 499 -f -o "$out.txt" "$@" >out.log 2>log ||
        fail "$out, $method" log
}

# switched: samples that the log counts as cut where a stack was switched.
switched() {
    grep -o '[0-9]* called on another stack' log | awk '{ n += $1 } END { print n + 0 }'
}

# accounted: of 1,000 samples, those that are whole or cut where a stack was switched.
accounted() {
    sed -n 's/^cairn: \([0-9]*\) samples.*, \([0-9]*\) whole.*/\1 \2/p' log |
        awk -v switched="$(switched)" '{ printf "%d\n", $1 ? 1000 * ($2 + switched) / $1 : 0 }'
}

switches='runtime\.(systemstack|mcall|morestack|asmcgocall)(\.abi0)?' # not morestack_noctxt, which is before one
# Of programs that run already, for it takes a moment to make rules of code. By frame pointers leaves of
# the runtime's assembly are lost, which keep none.
./named 60 &
named=$!
./stripped 60 &
stripped=$!
trap 'kill $named $stripped 2>/dev/null' EXIT
sleep 1
for method in $methods; do
    wanted=950
    [ "$method" != perf ] || wanted=850
    # A switch takes a moment: on a busy machine none may be met in three seconds.
    for _ in 1 2 3 4; do
        record named "$method" -d 3 -p "$named"
        [ "$method" = perf ] || [ "$(switched)" -ge 1 ] && break
    done
    at_least $wanted "$(accounted)" "$method, with symbols: whole, or cut at a switch"
    at_least 100 "$(permille named.txt '^runtime.goexit;runtime.main;main.main;main.work')" \
        "$method: main goroutine"
    if [ "$method" != perf ]; then # frame pointers lead through a switch
        at_least 1 "$(switched)" "$method: stacks that are cut at a switch"
        at_least 1 "$(grep -cE "^${switches}[; ]" named.txt)" "$method: they begin there"
        n_checks=$((n_checks + 1))
        grep -E ";${switches}[; ]" named.txt >stale.txt && fail "$method: frames above a switch" stale.txt
    fi
    record stripped "$method" -d 3 -p "$stripped"
    at_least $wanted "$(accounted)" "$method, -s -w: whole, or cut at a switch"
done

# Threads between goroutines wait in runtime.mcall's callee.
for program in named stripped; do
    ./$program 20 &
    target=$!
    sleep 0.5
    "$CAIRN" stack --why $target >stack.txt 2>log || fail "stack $program" log
    at_least 1 "$(grep -c 'cut: called on another stack' stack.txt)" "stack $program: cut at a switch"
    n_checks=$((n_checks + 1))
    grep -E 'cut: (no unwind rule|address outside|stack does not rise)' stack.txt >cut.txt && fail "stack $program: cut" stack.txt
    kill $target
    wait $target 2>/dev/null
done

# Go's own compiler is stripped in Debian and larger than what rules are made for: frame pointers.
tool=$(go env GOTOOLDIR)/compile
if [ -x "$tool" ] && ! readelf -SW "$tool" | grep -q '\.symtab'; then
    {
        echo "package p"
        for i in $(seq 600); do
            echo "func F$i(a []int, m map[string]int) int {"
            echo "  for i := range a { a[i] += m[\"k$i\"] * i; if a[i] > $i { m[\"x\"]++; a = append(a, i) } }"
            echo "  return len(a) + len(m) }"
        done
    } >large.go
    for method in $methods; do
        [ "$method" != perf ] || continue
        record compile "$method" -- "$tool" -p p -complete -o large.o large.go
        at_least 100 "$(sed -n 's/^cairn: \([0-9]*\) samples.*/\1/p' log)" "$method, compile: samples"
        at_least 800 "$(accounted)" "$method, compile: whole, or cut at a switch"
    done
else
    skip "Go's own compiler" "it has symbols here"
fi

finish "$n_checks checks hold"
