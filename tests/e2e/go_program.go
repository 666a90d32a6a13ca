// SPDX-License-Identifier: MIT

// Three goroutines that compute, sort and allocate for as many seconds as the argument says, so that
// the runtime works on the threads' own stacks, too.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"time"
)

var sink int

type node struct{ left, right *node }

//go:noinline
func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

//go:noinline
func work(n int, end time.Time) {
	if n > 0 {
		work(n-1, end)
		return
	}
	for time.Now().Before(end) {
		for i := 0; i < 100000; i++ {
			sink += i
		}
		a := make([]int, 1000)
		for i := range a {
			a[i] = (i * 7919) % 1000
		}
		sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })
		t := tree(12)
		sink += len(fmt.Sprintf("%v", t != nil))
	}
}

func main() {
	s := 2.0
	if len(os.Args) > 1 {
		fmt.Sscan(os.Args[1], &s)
	}
	end := time.Now().Add(time.Duration(s * 1e9))
	var wg sync.WaitGroup
	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func() { defer wg.Done(); work(5, end) }()
	}
	work(3, end)
	wg.Wait()
	runtime.GC()
}
