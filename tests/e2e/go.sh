#!/bin/sh
# SPDX-License-Identifier: MIT
# What a Go program prints of its goroutines: one sample each, with why it waits, and the one that
# panicked; names, lines and inlined calls are those of go tool addr2line.
set -eu

fail() {
    echo "go: $1"
    [ ! -f said ] || cat said
    exit 1
}

if ! command -v go >/dev/null; then
    echo "skipped: go is not installed"
    exit 77
fi
cat >fails.go <<'EOC'
package main

import (
	"sync"
	"time"
)

type node struct{ n int }

//go:noinline
func (t *node) deep(n int, name string) int {
	if n == 0 {
		var p *node
		return p.n
	}
	return t.deep(n-1, name) + 1
}

func wait(mu *sync.Mutex) { mu.Lock() }

func main() {
	var mu sync.Mutex
	mu.Lock()
	for i := 0; i < 3; i++ {
		go wait(&mu)
	}
	go func() { select {} }()
	time.Sleep(50 * time.Millisecond)
	(&node{}).deep(2, "x y")
}
EOC
if ! GOCACHE=$PWD/cache GO111MODULE=off go build -o fails fails.go >said 2>&1; then
    echo "skipped: go does not build here: $(tail -n 1 said)"
    exit 77
fi
GOTRACEBACK=all ./fails 2>all.txt && fail "the program did not fail"
grep -q '^goroutine 1 \[running\]:' all.txt || fail "no goroutine: $(cat all.txt)"
# Runs cairn on the text; labels as arguments.
collapsed() {
    "$CAIRN" convert "$@" -o - --to collapsed 2>said || fail "convert $*"
}
[ "$(collapsed all.txt --label stack=crashed)" = \
    'main.main;main.(*node).deep;main.(*node).deep;main.(*node).deep 1' ] ||
    fail "the panic: $(collapsed all.txt --label stack=crashed)"
collapsed all.txt --label stack=crashed --label goroutine=1 >names
n=$(grep -c '^goroutine ' all.txt)
sum=$(collapsed all.txt | awk '{ sum += $NF } END { print sum }')
[ "$sum" = "$n" ] || fail "$n goroutines expected, not $sum"
collapsed all.txt | grep -q '^main.wait;sync.(\*Mutex).Lock.* 3$' ||
    fail "three that wait: $(collapsed all.txt)"
[ "$(collapsed all.txt --label created_by=main.main | awk '{ sum += $NF } END { print sum }')" = 4 ] ||
    fail "those that main made: $(collapsed all.txt --label created_by=main.main)"
"$CAIRN" report all.txt >table 2>said || fail "report"
grep -q 'main.(\*node).deep' table || fail "the report: $(cat table)"
"$CAIRN" flame all.txt --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q 'main.wait' x.svg || fail "the picture has no name"

# All frames of the runtime, too; and behind the prefix of a log.
GOTRACEBACK=system ./fails 2>system.txt && fail "the program did not fail"
collapsed system.txt >names
grep -q '^runtime.goexit;runtime.main;main.main;' names || fail "with the runtime: $(cat names)"
sed 's/^/Nov 29 10:11:12 host fails[77]: /' all.txt >log.txt
collapsed all.txt | sort >expected
collapsed log.txt | sort >names
cmp -s expected names || fail "behind a prefix: $(cat names)"
