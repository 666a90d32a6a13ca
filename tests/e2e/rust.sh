#!/bin/sh
# SPDX-License-Identifier: MIT
# What Rust programs print at a panic, in both forms: one sample each, with thread and message.
set -eu

fail() {
    echo "rust: $1"
    [ ! -f said ] || cat said
    exit 1
}

if ! command -v rustc >/dev/null; then
    echo "skipped: rustc is not installed"
    exit 77
fi
cat >fails.rs <<'EOC'
use std::thread;
#[inline(never)]
fn leaf(v: &Vec<i32>, i: usize) -> i32 {
    v[i]
}
fn main() {
    let t = thread::Builder::new()
        .name("wor ker".into())
        .spawn(|| leaf(&vec![1], 7))
        .unwrap();
    let _ = t.join();
    let r: Result<i32, String> = Err("not there".into());
    r.unwrap();
}
EOC
if ! rustc -g -O fails.rs >said 2>&1; then
    echo "skipped: rustc does not build here: $(tail -n 1 said)"
    exit 77
fi
for form in 1 full; do
    RUST_BACKTRACE=$form ./fails 2>log.txt && fail "the program did not fail"
    grep -q '^stack backtrace:' log.txt || fail "no stack: $(cat log.txt)"
    for label in 'thread=wor ker' 'thread=main'; do
        "$CAIRN" convert log.txt --label "$label" -o - --to collapsed >names 2>said ||
            fail "$form, $label: no stack"
        [ "$(wc -l <names)" = 1 ] || fail "$form, $label: $(cat names)"
    done
    grep -q 'fails::main;.*unwrap' names || fail "$form: main: $(cat names)"
    "$CAIRN" convert log.txt --label 'thread=wor ker' --function fails::leaf -o - --to collapsed \
        >names 2>said || fail "$form: the thread"
    grep -q 'fails::leaf;.*panic' names || fail "$form: the thread's stack: $(cat names)"
    if grep -q '::h[0-9a-f]\{16\}' names; then
        fail "$form: names with hashes: $(cat names)"
    fi
    sed 's/^/I fails   : /' log.txt >prefixed.txt
    "$CAIRN" convert log.txt -o - --to collapsed 2>said | sort >expected
    "$CAIRN" convert prefixed.txt -o - --to collapsed 2>said | sort >names
    cmp -s expected names || fail "$form: behind a prefix: $(cat names)"
done
"$CAIRN" convert log.txt -o - --to collapsed 2>said | grep -q '_\[i\]' ||
    fail "full: no call is inlined"
"$CAIRN" report --top 0 log.txt >table 2>said || fail "report"
grep -q 'fails::leaf' table || fail "the report: $(cat table)"
"$CAIRN" flame log.txt --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q 'fails::main' x.svg || fail "the picture has no name"
