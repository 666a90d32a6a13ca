# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What scripts of tests/e2e that trace trace_program.c share, behind e2e_lib.sh.

# commas NUMBER: as cairn prints it.
commas() {
    echo "$1" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta'
}

# counted EACH: `out` and `err` are the summary of "counts EACH": four threads, three places, exact.
counted() {
    all=$(commas $((4 * $1)))
    for place in "a 2" "b 1" "c 1"; do
        n=$(commas $(($1 * ${place#* })))
        awk -v head="$n of $all write" -v place="place_${place% *}" '
            index($0, head) == 1 { in_stack = 1; next }
            /^$/ { in_stack = 0 }
            in_stack && index($0, place) { found = 1 }
            END { exit !found }' out || fail "place_${place% *}: no $n calls" out
    done
    has err " 0 lost" "counts"
    has err "$all whole, 0 cut" "counts"
    recognized=$(sed -n 's/.*; \([0-9,]*\) recognized.*/\1/p' err | tr -d ,)
    at_least $((4 * $1 * 9 / 10)) "${recognized:-0}" "stacks recognized"
}

# collapsed EACH: counts.txt has the stacks of "counts EACH".
collapsed() {
    for place in "a $((2 * $1))" "b $1" "c $1"; do
        got=$(awk -v place="place_${place% *}" '$0 ~ place { n += $NF } END { print n + 0 }' counts.txt)
        same "collapsed ${place% *}" "$got" "${place#* }"
    done
}

# stack_of TEXT FILE: what follows the first line of `out` with the text, up to the next event.
stack_of() {
    awk -v text="$1" 'index($0, text) { on = 1; next } on && !/^  / { exit } on' out >"$2"
}
