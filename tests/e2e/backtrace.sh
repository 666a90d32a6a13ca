#!/bin/sh
# SPDX-License-Identifier: MIT
# What backtrace_symbols() prints: names of the text stay, and what it left unnamed is named by the
# file; a program prints two stacks, with its own lines between.
set -eu

fail() {
    echo "backtrace: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >show.c <<'EOC'
#include <execinfo.h>
#include <stdio.h>
__attribute__((noinline)) int show(const char *what)
{
    void *frames[64];
    int n = backtrace(frames, 64);
    fprintf(stderr, "%s:\n", what);
    backtrace_symbols_fd(frames, n, 2);
    return n;
}
static __attribute__((noinline)) int hidden(const char *what) { return show(what) + 1; }
int main(void) { return hidden("the first") + hidden("the second") > 900; }
EOC
gcc -g -O1 -rdynamic show.c -o show
./show 2>log.txt
grep -q 'show(show+0x' log.txt || fail "no stack: $(cat log.txt)"
"$CAIRN" convert log.txt --label 'stack=the second' -o - --to collapsed >names 2>said ||
    fail "the second stack"
grep -q '^[^;]*;.*main;show+0x[0-9a-f]*;show 1$' names || fail "before: $(cat names)"
"$CAIRN" resolve log.txt -o named.pb.gz 2>said || fail "resolve"
"$CAIRN" convert named.pb.gz --function hidden -o - --to collapsed >names 2>said || fail "named"
[ "$(grep -c 'main;hidden;show 1$' names)" = 2 ] ||
    [ "$(grep -c 'main;hidden;show 2$' names)" = 1 ] || fail "after: $(cat names)"
"$CAIRN" report named.pb.gz >table 2>said || fail "report"
grep -q hidden table || fail "the report: $(cat table)"
"$CAIRN" flame named.pb.gz --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q hidden x.svg || fail "the picture has no name"
