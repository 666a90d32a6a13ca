#!/bin/sh
# SPDX-License-Identifier: MIT
# Reports of sanitizers as inputs: sums are those that the report says, and names that a file gives
# to the report of a stripped program are those that the sanitizer prints of the whole one.
set -eu

fail() {
    echo "sanitizer: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >leaky.c <<'EOC'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *get(size_t n)
{
    char *p = malloc(n);
    memset(p, 1, n);
    return p;
}
__attribute__((noinline)) int use(char *p) { return p[3]; }
__attribute__((noinline)) void drop(char *p) { free(p); }
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        for (int i = 0; i < 3; i++)
            get(24);
        return 0;
    }
    char *p = get(10);
    drop(p);
    return use(p);
}
EOC

# Runs a program that must report an error; $2: an option of the sanitizer.
report_of() {
    log=$1 options=$2
    shift 2
    ASAN_OPTIONS="detect_leaks=1:$options" "$@" 2>"$log" >out && fail "$1 found nothing"
    grep -q 'ERROR: ' "$log" || fail "$1 did not report: $(cat "$log")"
}

# The functions of the program on its stacks, one stack a line.
own_functions() {
    "$CAIRN" convert "$1" -o - --to collapsed --value samples 2>said |
        sed 's/ [0-9]*$//' | tr ';' '\n' | grep -x 'get\|use\|drop\|main' | sort | uniq -c
}

tried=0
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    $cc -g -O1 -fno-omit-frame-pointer -fsanitize=address leaky.c -o whole 2>said || continue
    ./whole >out 2>said && continue # no report: the sanitizer cannot run here
    grep -q 'ERROR: AddressSanitizer' said || continue
    tried=$((tried + 1))
    rm -rf sym && mkdir sym
    strip -o stripped whole

    # Leaks: bytes and objects are those of the summary, where the leak checker may trace.
    if ASAN_OPTIONS=detect_leaks=1 ./whole x >out 2>leaks.txt; then
        fail "$cc: no leak was found"
    elif grep -q 'detected memory leaks' leaks.txt; then
        bytes=$(sed -n 's/^SUMMARY: AddressSanitizer: \([0-9]*\) byte.*/\1/p' leaks.txt)
        objects=$(sed -n 's/^SUMMARY: .* leaked in \([0-9]*\) alloc.*/\1/p' leaks.txt)
        [ "$bytes" -gt 0 ] || fail "$cc: the summary"
        for value in "bytes $bytes" "objects $objects"; do
            sum=$("$CAIRN" convert leaks.txt -o - --to collapsed --value "${value% *}" 2>said |
                awk '{ sum += $NF } END { print sum }')
            [ "$sum" = "${value#* }" ] || fail "$cc: $value expected, not $sum"
        done
        "$CAIRN" report leaks.txt >table 2>said || fail "$cc: the report"
        grep -q "bytes in bytes" table || fail "$cc: the report shows no bytes"
    else
        echo "sanitizer: no leak checker here: $(tail -n 1 leaks.txt)"
    fi

    report_of named.txt symbolize=1 ./whole
    report_of raw.txt symbolize=0 ./stripped
    own_functions named.txt >expected
    grep -q 'use$' expected || fail "$cc: the named report: $(cat expected)"
    own_functions raw.txt >before
    [ ! -s before ] || fail "$cc: a stripped program has names: $(cat before)"
    "$CAIRN" report --json raw.txt >json 2>said || fail "$cc: report of the stripped program"

    # The file has another path than in the report, and so has the program itself.
    mv whole sym/stripped
    mv stripped elsewhere
    "$CAIRN" resolve raw.txt -o named.pb.gz --force --symbols sym 2>said || fail "$cc: resolve"
    own_functions named.pb.gz >names
    cmp expected names || fail "$cc: the names of the file: $(cat names)"
    if "$CAIRN" resolve raw.txt --symbols sym 2>said; then
        fail "$cc: a report was replaced"
    fi
    grep -q 'holds more than a profile' said || fail "$cc: why a report is not replaced"
    "$CAIRN" report - --from sanitizer <named.txt >table 2>said || fail "$cc: a pipe"
    grep -q 'main' table || fail "$cc: the report of a pipe"
    "$CAIRN" flame named.txt --no-open -f -o named.html >out 2>said || fail "$cc: flame"
    grep -q 'use' named.html || fail "$cc: the picture has no name"
    "$CAIRN" diff named.txt named.pb.gz >out 2>said || fail "$cc: diff"
    rm -f elsewhere
done
if [ $tried = 0 ]; then
    echo "skipped: no compiler here makes programs that the address sanitizer runs: $(tail -n 1 said)"
    exit 77
fi
