#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo, twice in one place, and as a user who may not use perf events: each time a table with the
# program's functions and a picture.
set -eu

command -v "${CXX:-g++}" >/dev/null || { echo "skipped: there is no C++ compiler"; exit 77; }
cp -r "$SRC/demo" demo
rm -rf demo/out demo/flame.html

check() {
    grep -q 'demo::' log || { cat log; echo "FAIL: $1: no function of the demo in the table"; exit 1; }
    # On a busy machine a module may be below the rows that the demo shows.
    "$CAIRN" report --top 0 demo/out/demo.named.pb.gz >table || exit 1
    for module in libray.so libwords.so; do
        grep -q "demo::.*$module" table || { cat log; echo "FAIL: $1: nothing of $module"; exit 1; }
    done
    grep -q '</html>' demo/flame.html || { echo "FAIL: $1: the picture is not whole"; exit 1; }
}

for round in first second; do
    DEMO_SECONDS=2 demo/run.sh >log 2>&1 || { cat log; echo "FAIL: the $round run"; exit 1; }
    check "the $round run"
done

"${CC:-gcc}" -pthread -o deny "$SRC/tests/e2e/record_programs.c" -ldl
rm demo/flame.html
# Few samples come of two seconds by ptrace where others want the CPUs: then longer ones must do.
for seconds in 2 8 30; do
    status=0
    DEMO_SECONDS=$seconds ./deny deny 13 "$WORK/demo/run.sh" >log 2>&1 || status=$?
    if [ $status = 77 ]; then
        echo "not tried: seccomp filters are not allowed here"
        exit 0
    fi
    [ $status = 0 ] || { cat log; echo "FAIL: without perf events"; exit 1; }
    grep -q 'by ptrace' log || { cat log; echo "FAIL: nothing was said of ptrace"; exit 1; }
    if (check "without perf events") >checked 2>&1; then
        exit 0
    fi
done
cat checked
exit 1
