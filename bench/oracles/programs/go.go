// SPDX-License-Identifier: MIT
// A Go program of some size: what it draws in of the standard library is most of it.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
)

type number interface{ ~int | ~float64 }

func sum[T number](all ...T) (total T) {
	for _, x := range all {
		total += x
	}
	return
}

type pair[K comparable, V any] struct {
	Key   K
	Value V
}

func (p *pair[K, V]) String() string { return fmt.Sprint(p.Key, "=", p.Value) }

type shape interface{ Area() float64 }
type circle struct{ r float64 }
type rect struct{ w, h float64 }

func (c circle) Area() float64 { return 3.14 * c.r * c.r }
func (r *rect) Area() float64  { return r.w * r.h }

func area(s shape) float64 { return s.Area() }

func counts(text string) []pair[string, int] {
	seen := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < 'A' }) {
		seen[word]++
	}
	all := make([]pair[string, int], 0, len(seen))
	for k, v := range seen {
		all = append(all, pair[string, int]{k, v})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Value > all[j].Value })
	return all
}

func main() {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println("recovered", r)
		}
	}()
	var wg sync.WaitGroup
	results := make(chan float64, 8)
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			results <- area(circle{float64(i)}) + area(&rect{float64(i), 2})
		}(i)
	}
	wg.Wait()
	close(results)
	total := sum(1, 2, 3)
	for r := range results {
		total += int(r)
	}
	all := counts(strings.Join(os.Args, " "))
	text, _ := json.Marshal(all)
	fmt.Println(string(text), total, sum(0.5, 1.5), &pair[string, int]{"a", 1})
	if len(os.Args) > 1 {
		http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.URL.Path) })
		fmt.Println(http.ListenAndServe(os.Args[1], nil))
	}
}
