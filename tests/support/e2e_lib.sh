# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What scripts of tests/e2e share: . "$SRC/tests/support/e2e_lib.sh". Checks say what is wrong and go
# on; the last line of the script is `finish TEXT`.
failed=0
n_checks=0

# need TOOL...: the whole script is skipped where one is missing.
need() {
    for tool; do
        command -v "$tool" >/dev/null || { echo "skipped: $tool is missing"; exit 77; }
    done
}

# skip CASE REASON: one case is left out.
skip() {
    echo "skipped: $1: $2"
}

# fail CASE [FILE]: with what the file says.
fail() {
    echo "FAIL: $1"
    [ $# -lt 2 ] || sed 's/^/    /' "$2"
    failed=$((failed + 1))
}

# has FILE TEXT CASE: the file holds the text.
has() {
    n_checks=$((n_checks + 1))
    grep -qF -- "$2" "$1" || fail "$3: no \"$2\" in" "$1"
}

# hasnt FILE TEXT CASE: the file does not hold the text.
hasnt() {
    n_checks=$((n_checks + 1))
    ! grep -qF -- "$2" "$1" || fail "$3: \"$2\" in" "$1"
}

# same CASE GOT WANTED
same() {
    n_checks=$((n_checks + 1))
    [ "$2" = "$3" ] || fail "$1: \"$2\", expected \"$3\""
}

# at_least WANTED GOT CASE: with what `log` says, where the script keeps one.
at_least() {
    n_checks=$((n_checks + 1))
    [ "$2" -ge "$1" ] && return
    set -- "$3: $2, expected at least $1"
    [ ! -e log ] || set -- "$1" log
    fail "$@"
}

# at_most MOST GOT CASE: the same for an upper bound.
at_most() {
    n_checks=$((n_checks + 1))
    [ "$2" -le "$1" ] && return
    set -- "$3: $2, expected at most $1"
    [ ! -e log ] || set -- "$1" log
    fail "$@"
}

# ask EXPRESSION: a value of the JSON in the file `out`, which is j.
ask() {
    /usr/bin/python3 -c 'import json, sys
j = json.load(open("out"))
print(eval("(" + sys.argv[1] + ")"))' "$1"
}

# permille FILE PATTERN, share FILE PATTERN (in percent): of the samples of a collapsed file, those
# whose stack matches. FILE may be a pipe, which can be read once. By grep, for mawk knows no {N} in
# a pattern.
permille() (
    lines=$(cat "$1")
    hit=$(printf '%s\n' "$lines" | grep -E -- "$2" | awk '{ sum += $NF } END { print sum + 0 }')
    printf '%s\n' "$lines" | awk -v "hit=$hit" '{ sum += $NF }
        END { printf "%d\n", sum ? 1000 * hit / sum : 0 }'
)
share() {
    echo $(($(permille "$1" "$2") / 10))
}

# whole: permille of the stacks that `log` tells of.
whole() {
    sed -n 's/^cairn: \([0-9]*\) samples\{0,1\} in.*, \([0-9]*\) whole.*/\1 \2/p' log |
        awk '{ print $1 ? int(1000 * $2 / $1) : 0 }'
}

# finish TEXT: ends the script; the text says what holds.
finish() {
    [ "$failed" = 0 ] || { echo "$failed failures"; exit 1; }
    echo "$1"
    exit 0
}
