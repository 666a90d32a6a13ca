#!/bin/sh
# SPDX-License-Identifier: MIT
# Text of valgrind as an input: bytes and blocks are those of its summary, errors are counted once.
set -eu

fail() {
    echo "valgrind: $1"
    [ ! -f said ] || cat said
    exit 1
}

if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi
cat >lossy.c <<'EOC'
#include <stdlib.h>
struct node {
    struct node *next;
};
__attribute__((noinline)) static struct node *make(struct node *next)
{
    struct node *node = malloc(sizeof *node);
    node->next = next;
    return node;
}
__attribute__((noinline)) static int use_freed(char *p)
{
    free(p);
    return p[3];
}
int main(void)
{
    struct node *volatile list = 0;
    for (int i = 0; i < 4; i++)
        list = make(list);
    list = 0;
    return use_freed(malloc(10)) == 12345;
}
EOC
gcc -gdwarf-4 -O1 -w lossy.c -o lossy
if ! valgrind -s --leak-check=full --show-leak-kinds=all --log-file=log ./lossy >out 2>said ||
    ! grep -q 'LEAK SUMMARY' log; then
    echo "skipped: valgrind does not run here: $(tail -n 1 said)"
    exit 77
fi
summary() {
    sed -n "s/^.* $1 lost: \([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\\$2/p" log | tr -d ,
}
sum() {
    "$CAIRN" convert log -o - --to collapsed --value "$1" 2>said | awk '{ sum += $NF } END { print sum }'
}
[ "$(summary definitely 1)" -gt 0 ] || fail "the summary: $(cat log)"
expected=$(($(summary definitely 1) + $(summary indirectly 1)))
[ "$(sum bytes)" = $expected ] || fail "$expected bytes expected, not $(sum bytes)"
expected=$(($(summary definitely 2) + $(summary indirectly 2)))
[ "$(sum objects)" = $expected ] || fail "$expected blocks expected, not $(sum objects)"

# Two records of leaks, and the read with the places of malloc and free; -s prints it twice.
[ "$(grep -c ': use_freed (lossy.c:' log)" -gt 2 ] || fail "-s does not repeat the errors"
[ "$(sum samples)" = 5 ] || fail "5 stacks expected, not $(sum samples)"
"$CAIRN" convert log -o - --to collapsed --value samples >stacks 2>said || fail "convert"
grep -q '^main;use_freed 1$' stacks || fail "the read: $(cat stacks)"
grep -q '^main;use_freed;free 1$' stacks || fail "the free: $(cat stacks)"
"$CAIRN" report - <log >table 2>said || fail "a pipe"
grep -q use_freed table || fail "the report"
"$CAIRN" flame log --no-open -f -o log.html >out 2>said || fail "flame"
"$CAIRN" resolve log -o named.pb.gz 2>said || fail "resolve"
"$CAIRN" convert named.pb.gz -o - --to collapsed --value samples >again 2>said || fail "convert"
cmp stacks again || fail "resolve changed names"
