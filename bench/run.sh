#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [resolve|klog|one|symbolize|index|perf|flame|report|perf-script|tables|cursor|unwind|heap|lost|record|stack|trace|hook]...: cairn beside its peers on the same input, in the same run. Prints
# tables; bench/README.md keeps the ratios. CAIRN is the command (build-bench/cairn), BENCH_WORK the folder for
# inputs (bench/work), RUNS the number of counted runs (3).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cairn=${CAIRN:-$here/../build-bench/cairn}
work=${BENCH_WORK:-$here/work}
runs=${RUNS:-3}
mkdir -p "$work"
# Results go to memory where there is some, so that no disk is measured; the peer's scratch files too.
out=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "$work")")
trap 'rm -rf "$out"' EXIT
export TMPDIR="$out"
[ -x "$cairn" ] || { echo "run.sh: $cairn is not there: ./run bench" >&2; exit 1; }

# unmeasured NAME REASON: goes on with the next benchmark, and has this script fail at its end.
not_measured=
unmeasured() {
    echo "run.sh: $1 was not measured: $2" >&2
    not_measured="$not_measured $1"
}

have() { command -v "$1" >/dev/null 2>&1; }
measure() { python3 "$here/measure.py" "$@"; }

# The process that the stacks come from: what it mapped, and where.
modules() {
    llvm=$(ls /usr/lib/*-linux-gnu/libLLVM-14.so.1 2>/dev/null || ls /usr/lib/llvm-14/lib/libLLVM-14.so.1)
    libc=$(ls /lib/*-linux-gnu/libc.so.6)
    printf '%s\t%s\t%s\t%s\n' \
        /opt/app/bin/cpp200 "$work/cpp200" 555555554000 50 \
        /opt/app/bin/cpp10-exec "$work/cpp10-exec" 0 12 \
        /opt/app/bin/cpp10 "$work/cpp10" 563000000000 10 \
        /opt/app/lib/libcpp10.so "$work/libcpp10.so" 7f1000000000 10 \
        "$llvm" "$llvm" 7f2000000000 10 \
        "$libc" "$libc" 7f3000000000 8
}

bench_resolve() {
    "$here/programs.sh" "$work"
    mkdir -p "$work/stacks" "$work/symbols"
    modules >"$work/stacks/modules"
    if [ ! -f "$work/stacks/stacks.10000" ]; then
        python3 "$here/gen_stacks.py" "$work/stacks" "$work/stacks/modules" 10000 1000000
    fi
    cut -f2 "$work/stacks/modules" | while read -r file; do ln -sf "$file" "$work/symbols/"; done
    export XDG_CACHE_HOME="$out/cache"
    resolve="$cairn resolve --force --maps $work/stacks/maps --symbols $work/symbols"
    small=$work/stacks/stacks.10000
    echo "## resolve: 10,000 collapsed lines of depth 30"
    echo "The shell script gives no inline frames: the same answer as --no-inlines."
    measure "$runs" \
        "shell, addr2line x 256=$here/shell_resolver.sh --maps $work/stacks/maps --symdir $work/symbols --in $small --out $out/by_shell --chunk 256" \
        "cairn, no inlines=$resolve --no-cache $small -o $out/outer --no-inlines" \
        "cairn, from its cache=$resolve $small -o $out/full" \
        "cairn=$resolve --no-cache $small -o $out/full"
    echo "bytes written:"
    (cd "$out" && wc -c by_shell outer full)
    rm -f "$out"/by_shell "$out"/outer "$out"/full
    echo "## resolve: 1,000,000 lines, no inlines"
    measure "$runs" "cairn, from its cache=$resolve $work/stacks/stacks.1000000 -o - --no-inlines" \
        "cairn=$resolve --no-cache $work/stacks/stacks.1000000 -o - --no-inlines"
    rm -rf "$out/cache"
}

# A kernel log of 40,000 dumps. What the script does before its first name is all that is measured of it: then it
# runs addr2line once an address, 5.4 ms each.
bench_klog() {
    "$here/programs.sh" "$work"
    mkdir -p "$work/klog/symbols"
    ln -sf "$work/cpp10" "$work/klog/symbols/"
    [ -f "$work/klog/k.log" ] || python3 "$here/gen_klog.py" "$work/cpp10" "$work/klog/k"
    resolve="$cairn resolve --no-cache $work/klog/k.log --maps $work/klog/k.maps --symbols $work/klog/symbols"
    echo "## klog: 1,000,000 lines, 40,000 dumps, 17,000 different addresses"
    measure "$runs" "script, before its first name=python3 $here/klog_script.py $work/klog/k.log 0" \
        "cairn, without maps=$cairn resolve $work/klog/k.log" \
        "cairn, no inlines=$resolve --no-inlines --names short" \
        "cairn=$resolve"
}

# addresses NAME: random ones of the program $work/NAME, made once.
addresses() {
    [ -f "$work/$1.zipf.1M" ] || python3 "$here/gen_addrs.py" "$work/$1" "$work/$1"
}

# big_programs: the names of those that are here; cpp900 and vmlinux cost minutes or the network once.
big_programs() {
    "$here/programs.sh" "$work" cpp900 >&2
    "$here/vmlinux.sh" "$work" >&2 || echo "run.sh: without vmlinux" >&2
    for name in cpp200 cpp900 vmlinux; do
        [ ! -f "$work/$name" ] || { addresses "$name" && echo "$name"; }
    done
}

# One address, with the debug information alone and out of the cache. The processes are short: many runs.
bench_one() {
    export XDG_CACHE_HOME="$out/cache"
    for name in $(big_programs); do
        program=$work/$name address=$(cat "$work/$name.rand.1")
        "$cairn" symbolize --index always "$program" "$address" >/dev/null
        set -- \
            "cairn, from its cache=$cairn symbolize $program $address" \
            "cairn=$cairn symbolize --no-cache $program $address"
        for peer in addr2line eu-addr2line llvm-addr2line-14; do
            ! have "$peer" || set -- "$peer=$peer -f -C -i -e $program $address" "$@"
        done
        echo "## one address of $name ($(wc -c <"$program") bytes)"
        measure $((runs * 3)) "$@"
        objcopy --remove-section .debug_aranges "$program" "$out/no-aranges"
        echo "the same without .debug_aranges, as clang leaves it:"
        measure $((runs * 3)) "cairn=$cairn symbolize --no-cache $out/no-aranges $address"
        rm -f "$out/no-aranges"
        echo "the file not in the page cache (one run each, wall seconds):"
        for tool in "$cairn symbolize --no-cache $program" "llvm-addr2line-14 -f -C -i -e $program" \
            "addr2line -f -C -i -e $program"; do
            sync
            dd of=/dev/null if="$program" iflag=nocache count=0 2>/dev/null
            python3 "$here/measure.py" --once "${tool%% *}=$tool $address"
        done
    done
    rm -rf "$out/cache"
}

bench_symbolize() {
    export XDG_CACHE_HOME="$out/cache"
    for name in $(big_programs); do
        program=$work/$name
        "$cairn" symbolize --index always "$program" 0 >/dev/null
        for count in 1k 100k; do
            input=$work/$name.rand.$count
            echo "## symbolize: $count random addresses of $name"
            set -- "cairn, from its cache=$cairn symbolize $program <$input" \
                "cairn=$cairn symbolize --no-cache $program <$input"
            for peer in llvm-addr2line-14 addr2line eu-addr2line; do
                # eu-addr2line needs minutes for 100,000.
                if have "$peer" && { [ "$count" != 100k ] || [ "$peer" != eu-addr2line ]; }; then
                    set -- "$peer=$peer -f -C -i -e $program <$input" "$@"
                fi
            done
            measure "$runs" "$@"
        done
        echo "## symbolize: 1M addresses of $name as a profile asks for them (20,000 places)"
        measure "$runs" "cairn, from its cache=$cairn symbolize $program <$work/$name.zipf.1M" \
            "cairn=$cairn symbolize --no-cache $program <$work/$name.zipf.1M"
    done
    rm -rf "$out/cache"
}

# The index of a whole program, and what it takes on disk.
bench_index() {
    export XDG_CACHE_HOME="$out/cache"
    for name in $(big_programs); do
        program=$work/$name
        echo "## index of $name ($(wc -c <"$program") bytes)"
        measure "$runs" \
            "made and stored=rm -rf $out/cache; $cairn symbolize --index always $program 0" \
            "made, one thread=$cairn symbolize --index always --no-cache --threads 1 $program 0" \
            "made=$cairn symbolize --index always --no-cache $program 0"
        "$cairn" cache
    done
    rm -rf "$out/cache"
}

# perf with our addr2line in front of PATH, and with GNU's. The CPU time is perf's own: it does not
# wait for addr2line to end.
bench_perf() {
    if ! have perf || ! have addr2line; then
        unmeasured perf "perf or addr2line is missing"
        return
    fi
    "$here/programs.sh" "$work"
    mkdir -p "$out/links"
    ln -sf "$(realpath "$cairn")" "$out/links/addr2line"
    export PERF_BUILDID_DIR="$out/buildid" XDG_CACHE_HOME="$out/cache"
    [ -f "$work/cpp200.perf.data" ] || perf record -q -e cpu-clock:u -F 99 --call-graph dwarf,4096 \
        -o "$work/cpp200.perf.data" "$work/cpp200" 5000 >/dev/null
    script="perf script -i $work/cpp200.perf.data -F comm,ip,sym,srcline"
    echo "## perf script, with lines and inline frames: $($script --no-inline -F comm 2>/dev/null | wc -l) samples of cpp200"
    measure "$runs" "GNU addr2line=$script" \
        "cairn, without its cache=env CAIRN_CACHE_SIZE=0 PATH=$out/links:$PATH $script" \
        "cairn=env PATH=$out/links:$PATH $script"
    rm -rf "$out/links" "$out/buildid" "$out/cache"
}

bench_flame() {
    [ -f "$work/million.collapsed" ] || python3 "$here/gen_flame.py" 1000000 "$work/million.collapsed"
    echo "## flame: 1,000,000 distinct stacks (231 MB) to HTML, every frame kept"
    set -- "cairn flame=$cairn flame $work/million.collapsed -o $out/million.html --force"
    if [ -n "${FLAMEGRAPH_PL:-}" ]; then
        set -- "flamegraph.pl=perl $FLAMEGRAPH_PL $work/million.collapsed" "$@"
    fi
    measure "$runs" "$@"
    head -n 10000 "$work/million.collapsed" > "$work/ten-thousand.collapsed"
    have chromium && have chromedriver || return 0
    echo "## the page in a browser, 10,000 and 1,000,000 distinct stacks"
    for input in ten-thousand million; do
        "$cairn" flame "$work/$input.collapsed" -o "$out/$input.html" --force
        /usr/bin/python3 "$here/first_paint.py" "$out/$input.html" "$runs"
    done
}

# Tables and trees of a profile, and what changed between two: each tool reads the pprof files that cairn wrote.
bench_report() {
    new=$work/million.pb.gz old=$work/million-old.pb.gz
    [ -f "$work/million.collapsed" ] || python3 "$here/gen_flame.py" 1000000 "$work/million.collapsed"
    [ -f "$new" ] || "$cairn" convert "$work/million.collapsed" -o "$new"
    if [ ! -f "$old" ]; then
        awk 'NR % 10 { $NF = $NF * (1 + NR % 3); print }' "$work/million.collapsed" >"$out/old.collapsed"
        "$cairn" convert "$out/old.collapsed" -o "$old"
        rm "$out/old.collapsed"
    fi
    pprof="go tool pprof"
    have go || { echo "run.sh: without go" >&2 && pprof=; }
    echo "## report: 1,000,000 distinct stacks in a pprof file ($(wc -c <"$new") bytes)"
    measure "$runs" ${pprof:+"pprof -top=$pprof -top $new"} "cairn report=$cairn report $new"
    measure "$runs" ${pprof:+"pprof -tree=$pprof -tree $new"} "cairn report --callers=$cairn report --callers $new" \
        "cairn report --callees=$cairn report --callees $new" "cairn report --tree=$cairn report --tree $new"
    echo "the same out of 231 MB of collapsed stacks:"
    measure "$runs" "cairn report=$cairn report $work/million.collapsed" \
        "cairn report --callers=$cairn report --callers $work/million.collapsed" \
        "cairn report --callees=$cairn report --callees $work/million.collapsed" \
        "cairn report --tree=$cairn report --tree $work/million.collapsed"
    echo "## diff: 900,000 and 1,000,000 stacks"
    measure "$runs" ${pprof:+"pprof -top -diff_base=$pprof -top -diff_base=$old $new"} "cairn diff=$cairn diff $old $new"
}

# Text of perf script, 260 MB of it: a recording of whatever compiles and sorts here, again and again.
bench_perf_script() {
    have perf || { unmeasured perf-script "perf is missing"; return; }
    text=$work/perf-script.txt
    if [ ! -f "$text" ]; then
        perf record -q -a -e cpu-clock,page-faults -F 999 -g -o "$out/perf.data" -- sh -c '
            for i in 1 2 3 4 5 6; do
                echo "int f(int a) { return a + 1; }" | gcc -O2 -x c -c -o /dev/null -
                /usr/bin/python3 -c "print(len(sorted(str(i) for i in range(300000))))"
            done' >/dev/null
        perf script -i "$out/perf.data" >"$out/once" 2>/dev/null
        while [ "$(wc -c <"$text" 2>/dev/null || echo 0)" -lt 260000000 ]; do cat "$out/once" >>"$text"; done
        rm "$out/perf.data" "$out/once"
    fi
    echo "## text of perf script ($(wc -c <"$text") bytes) to a table and to a page"
    set -- "cairn report=$cairn report $text" "cairn flame=$cairn flame $text -o $out/text.html --force"
    if [ -n "${STACKCOLLAPSE_PL:-}" ]; then
        set -- "stackcollapse-perf.pl=perl $STACKCOLLAPSE_PL $text" "$@"
    fi
    measure "$runs" "$@"
}

# Tables of unwind rules: of libraries that are here, and of all modules of a process.
bench_tables() {
    stats=$(dirname "$cairn")/bench/unwind/table_stats
    set --
    for file in /lib/*-linux-gnu/libc.so.6 /usr/lib/*-linux-gnu/libstdc++.so.6 \
        /usr/lib/*-linux-gnu/libLLVM-14.so.1 /usr/lib/postgresql/*/bin/postgres /usr/bin/redis-server \
        /usr/bin/python3.11 /usr/bin/node /usr/lib/*-linux-gnu/libcrypto.so.3 \
        /usr/lib/jvm/java-17-openjdk-*/lib/server/libjvm.so; do
        [ ! -f "$file" ] || set -- "$@" "$file"
    done
    echo "## tables of unwind rules, one CPU"
    taskset -c 1 "$stats" "$@"
    program=$(command -v ssh || command -v python3) # 14 modules on Debian 12
    echo "the modules of a process of $program:"
    # shellcheck disable=SC2046
    taskset -c 1 "$stats" "$program" $(ldd "$program" | grep -o '/[^ ]*')
}

# A frame of another process's stack, by rows of CFI and by tables: python3, 100 functions deep in sorted().
bench_cursor() {
    speed=$(dirname "$cairn")/bench/unwind/cursor_speed
    echo "## stacks of another process"
    /usr/bin/python3 -c 'import time
def f(n):
    if n == 0:
        print("deep", flush=True)
        time.sleep(60)
    return sorted([n], key=lambda x: f(n - 1))
f(100)' >"$work/deep" &
    deep=$!
    while [ ! -s "$work/deep" ] && kill -0 "$deep"; do sleep 0.1; done
    taskset -c 1 "$speed" "$deep"
    kill "$deep"
}

# Stacks of the own thread, beside glibc's, libunwind's and frame pointers; each is held against unw_step.
bench_unwind() {
    if [ ! -f /usr/include/libunwind.h ]; then
        unmeasured unwind "libunwind.h is missing; hint: apt-get install libunwind-dev"
        return
    fi
    if ! "$here/unwind/local.sh" "$(dirname "$cairn")/libcairn-unwind.a" "$work" ||
        ! "$here/unwind/misses.sh" "$(dirname "$cairn")/libcairn.a" "$work"; then
        unmeasured unwind "it failed, see above"
    fi
}

# What tracking every block of a program costs, beside other trackers; the stacks are read back and checked.
bench_heap() {
    library=$(dirname "$cairn")/libcairn-heap.so
    [ -f "$library" ] || { unmeasured heap "$library is missing; hint: ninja -C build-bench command"; return; }
    mkdir -p "$work/heap"
    python3 "$here/heap/gen_chains.py" "$work/heap/chains.h"
    python3 -c 'import json, random
random.seed(2)
tags = lambda: [f"t{random.randrange(100)}" for _ in range(6)]
json.dump([{"id": i, "name": f"user{i}", "tags": tags(), "pos": {"x": random.random(), "y": i * 0.25},
            "nested": {"a": [1, 2, 3, {"b": str(i)}]}} for i in range(40000)], open("'"$work/heap/big.json"'", "w"))'
    set -- -O2 -g -D_GNU_SOURCE -pthread -fomit-frame-pointer -I "$work/heap" "$here/heap/allocbench.c"
    gcc "$@" -o "$work/heap/allocbench"
    gcc "$@" -fsanitize=leak -o "$work/heap/allocbench-lsan"
    # shellcheck disable=SC2086
    RUNS=$runs python3 "$here/heap/heap.py" "$(dirname "$cairn")" "$work/heap" ${HEAP_BENCH:-} ||
        unmeasured heap "it failed, see above"
}

# What it costs to say which blocks are lost and who holds one, beside LeakSanitizer and gcore; LOST_BENCH: numbers of
# blocks.
bench_lost() {
    [ -f "$(dirname "$cairn")/libcairn-heap.so" ] ||
        { unmeasured lost "libcairn-heap.so is missing; hint: ninja -C build-bench command"; return; }
    mkdir -p "$work/heap"
    gcc -O2 -g -D_GNU_SOURCE -pthread "$here/heap/graph.c" -o "$work/heap/graph"
    gcc -O2 -g -D_GNU_SOURCE -pthread -fsanitize=leak "$here/heap/graph.c" -o "$work/heap/graph-lsan"
    # shellcheck disable=SC2086
    RUNS=$runs python3 "$here/heap/lost.py" "$(dirname "$cairn")" "$work/heap" ${LOST_BENCH:-} ||
        unmeasured lost "it failed, see above"
}

# What recording by unwind tables gives and takes, beside perf; RECORD_BENCH is a part of it.
bench_record() {
    # shellcheck disable=SC2086
    RUNS=$runs python3 "$here/live/record.py" "$cairn" "$work/live" ${RECORD_BENCH:-} ||
        unmeasured record "a part of it failed, see above"
}

# What a look at a process costs it, beside gdb and eu-stack.
bench_stack() {
    # shellcheck disable=SC2086
    RUNS=$runs python3 "$here/live/stack.py" "$cairn" "$work/live" ${STACK_BENCH:-} ||
        unmeasured stack "it failed, see above"
}

# What an event costs the program that is traced, beside perf and strace; TRACE_BENCH is a part of it.
bench_trace() {
    # shellcheck disable=SC2086
    RUNS=$runs python3 "$here/live/trace.py" "$cairn" "$work/live" ${TRACE_BENCH:-} ||
        unmeasured trace "a part of it failed, see above"
}

# What hooks in the own process cost, beside a replacement that is called by hand.
bench_hook() {
    mkdir -p "$work/live"
    libraries=$(dirname "$cairn")
    gcc -O2 -fno-builtin -I"$here/../include" "$here/live/hook_speed.c" -o "$work/live/hook_speed" -L"$libraries" \
        -l:libcairn-hook.so.0 -Wl,-rpath,"$libraries"
    echo "## hook: a call, and the replacement calls the original"
    "$work/live/hook_speed" "$runs" || unmeasured hook "it failed, see above"
}

[ $# -gt 0 ] || set -- resolve klog one symbolize index perf flame report perf-script tables cursor unwind heap lost record stack trace hook
for name in "$@"; do
    case $name in
    resolve | klog | one | symbolize | index | perf | flame | report | tables | cursor | unwind | heap | lost | record | stack | trace | hook) "bench_$name" ;;
    perf-script) bench_perf_script ;;
    *)
        echo "run.sh: no such benchmark: $name (resolve, klog, one, symbolize, index, perf, flame, report, perf-script, tables, cursor, unwind, heap, lost, record, stack, trace, hook)" >&2
        exit 2
        ;;
    esac
done
[ -z "$not_measured" ] || { echo "run.sh: not measured, or in part:$not_measured" >&2; exit 1; }
