#!/bin/sh
# SPDX-License-Identifier: MIT
# A map of bpftrace through the commands, from a pipe; where bpftrace may run, one that it prints.
set -eu

fail() {
    echo "bpf: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >maps.txt <<'EOT'
Attaching 1 probe...

@calls[
    do_nanosleep+94
    __x64_sys_nanosleep+80
,
    clock_nanosleep+61
    main+19
, sleep]: 42
@calls[
    main+19
, spin]: 8
EOT
"$CAIRN" convert - -o - --to collapsed <maps.txt >names 2>said || fail "convert"
printf 'main 8\nmain;clock_nanosleep;__x64_sys_nanosleep;do_nanosleep 42\n' >expected
sort names | cmp -s expected - || fail "the stacks: $(cat names)"
[ "$("$CAIRN" convert maps.txt --label key=spin --label map=@calls -o - --to collapsed 2>said)" = \
    'main 8' ] || fail "the label"
"$CAIRN" report maps.txt >table 2>said || fail "report"
grep -q '42 *84.0 .*do_nanosleep' table || fail "the report: $(cat table)"
"$CAIRN" flame maps.txt --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q clock_nanosleep x.svg || fail "the picture has no name"
if ! command -v bpftrace >/dev/null; then
    echo "bpf: bpftrace is not installed: only the text above was tried"
    exit 0
fi
bpftrace -e 'profile:hz:99 { @[kstack, comm] = count() } interval:s:1 { exit() }' >own.txt 2>said ||
    exit 0 # it may not run here
if grep -q ']: [0-9]' own.txt; then
    sum=$(sed -n 's/^.*]: \([0-9]*\)$/\1/p' own.txt | awk '{ sum += $1 } END { print sum }')
    read_sum=$("$CAIRN" convert own.txt -o - --to collapsed 2>said | awk '{ sum += $NF } END { print sum }')
    [ "$sum" = "$read_sum" ] || fail "$sum expected, not $read_sum"
fi
