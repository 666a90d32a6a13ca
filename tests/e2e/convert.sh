#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn convert: the formats into each other with equal totals, several inputs, filters, what it
# says about what it leaves out, and files that are never lost.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
py=/usr/bin/python3

# convert ARGUMENT...: what it says is in `log`.
convert() {
    "$CAIRN" convert "$@" 2>log || fail "convert $*: exit status $?" log
}

# table PROFILE OPTION...: every function with its exact numbers, without what collapsed stacks do
# not hold.
table() {
    "$CAIRN" report --json --top 0 "$@" | $py -c 'import json, sys
j = json.load(sys.stdin)
print(j["sum"], sorted((r["function"], r["self"], r["total"]) for r in j["functions"]))'
}

# sum FILE: the counts of collapsed stacks.
sum() {
    awk '{ n += $NF } END { print n }' "$1"
}

$py "$SRC/tests/e2e/report_profiles.py" || exit 1
$py - >big.txt <<'TEXT'
import random
random.seed(11)
for _ in range(2000):
    depth = random.randint(1, 40)
    print(";".join(f"f{int(random.expovariate(0.05))}" for _ in range(depth)), random.randint(1, 99))
TEXT

# From each format to each, and back: the numbers of every function stay.
convert big.txt -o big.pb.gz
has log "big.pb.gz: $(sum big.txt | sed 's/\(...\)$/,\1/') samples" "what was written is said"
same "collapsed to pprof" "$(table big.pb.gz)" "$(table big.txt)"
convert big.pb.gz -o again.pb
same "pprof to pprof" "$(table again.pb)" "$(table big.txt)"
convert big.pb.gz -o again.folded
same "pprof to collapsed" "$(table again.folded)" "$(table big.txt)"
same "pprof to collapsed: the sum" "$(sum again.folded)" "$(sum big.txt)"
convert big.txt -o again.collapsed
same "equal lines are joined" "$(sort again.collapsed)" "$(awk '{ n = $NF; sub(/ [0-9]*$/, "")
    sums[$0] += n } END { for (s in sums) print s, sums[s] }' big.txt | sort)"
if command -v go >/dev/null; then
    go tool pprof -raw big.pb.gz >raw 2>raw.log || fail "go tool pprof takes it" raw.log
    same "go tool pprof: the sum" "$(awk '/^Samples:/ { on = 1; next } /^Locations/ { on = 0 }
        on && /^ *[0-9]+:/ { sub(":", "", $1); n += $1 } END { print n }' raw)" "$(sum big.txt)"
else
    echo "skipped: go tool pprof takes what is written: go is missing"
fi

# pprof keeps all that it has; collapsed stacks one value, and the rest is named.
convert cpu.pb.gz -o copy.pprof
same "values, labels, quality" \
    "$("$CAIRN" report --json --label thread=worker --value samples copy.pprof)" \
    "$("$CAIRN" report --json --label thread=worker --value samples cpu.pb.gz)"
convert cut.pb.gz -o copy.pb.gz
same "why stacks end early" "$("$CAIRN" report copy.pb.gz)" "$("$CAIRN" report cut.pb.gz)"
convert cpu.pb.gz -o cpu.txt
has log 'collapsed stacks hold one type of values, here "cpu"; left out: samples' "one value"
same "the value that the profile shows first" "$(sum cpu.txt)" 1120000000
convert cpu.pb.gz -o samples.txt --value samples
has log 'here "samples"; left out: cpu' "another value"
same "another value" "$(sort samples.txt)" "main;again;other;again 3
main;caller;small_[i];hot 5
main;idle 10
main;work 30
main;work;hot 60"
convert cpu.pb.gz -o shown.pb.gz --value samples
same "another value first" "$("$CAIRN" report shown.pb.gz | head -1)" samples
same "and none lost" "$(table shown.pb.gz --value cpu)" "$(table cpu.pb.gz --value cpu)"
convert heap.pb.gz -o heap.txt
same "below zero" "$(sort heap.txt)" "main;give -10485760
main;take 52428800"
convert raw.pb.gz -o raw.txt
same "addresses" "$(sort raw.txt)" "prog+0x1000;prog+0x2010 80
prog+0x1000;prog+0x3020 20"
convert hostile.pb.gz -o hostile.txt
same "a name with line breaks is one line" "$(wc -l <hostile.txt)" 2

# Several inputs, stdin, stdout.
# shellcheck disable=SC2094 # it is only read
convert cpu.pb.gz - cut.pb.gz -o all.pb.gz <cpu.pb.gz
same "three inputs" "$("$CAIRN" report --json all.pb.gz --value samples | grep '"sum"')" \
    '  "sum": 316,'
convert - -o - --to collapsed <big.pb.gz >piped.txt
same "through pipes" "$(cat piped.txt)" "$(cat again.folded)"
has log "stdout: $(sum big.txt | sed 's/\(...\)$/,\1/') samples" "through pipes"
convert big.txt --to pprof -o - >piped.pb.gz
same "pprof into a pipe" "$(table piped.pb.gz)" "$(table big.txt)"
convert big.txt --to pprof -o odd.name
same "--to is above the name" "$(table odd.name)" "$(table big.txt)"

# Filters.
convert cpu.pb.gz -o worker.pb.gz --label thread=worker --function hot
same "filtered" "$(table worker.pb.gz --value samples)" \
    "60 [('hot', 60, 60), ('main', 0, 60), ('work', 0, 60)]"
gunzip -c <worker.pb.gz | grep -qa idle && fail "a filtered profile still tells of the rest"
convert cpu.pb.gz -o none.txt --function nothing
has log "none.txt: 0 samples" "nothing kept"
same "nothing kept" "$(wc -c <none.txt)" 0
convert --from collapsed none.txt -o none.pb.gz
same "nothing, and back" "$("$CAIRN" report none.pb.gz)" \
    "the profile is empty: it holds no samples"
convert empty.pb.gz -o empty.txt
same "an empty profile" "$(wc -c <empty.txt)" 0

# Nothing is overwritten unasked, nothing half is left, nothing is lost.
refused() {
    status=$1 text=$2
    shift 2
    "$CAIRN" convert "$@" >out 2>log </dev/null
    same "cairn convert $*: exit status" $? "$status"
    has log "$text" "cairn convert $*"
}
echo kept >there.txt
refused 1 "there.txt: is there already" big.txt -o there.txt
has log "--force" "there already"
same "there already" "$(cat there.txt)" kept
refused 1 "none: No such file" none -o there.txt --force
refused 1 "no count behind the last blank" --from collapsed there.txt -o new.pb.gz
refused 1 'no values of type "wall"' cpu.pb.gz -o there.txt --force --value wall
refused 1 "profiles that do not go together" cpu.pb.gz big.txt -o there.txt --force
same "still there" "$(cat there.txt)" kept
[ ! -e new.pb.gz ] || fail "something was left behind"
convert big.txt -o there.txt --force
same "by force" "$(table there.txt)" "$(table big.txt)"
cp big.pb.gz self.pb.gz
convert self.pb.gz -o self.pb.gz --force
same "IN is OUT" "$(table self.pb.gz)" "$(table big.txt)"
refused 1 "No space left" big.txt -o /dev/full --to pprof
refused 1 "nowhere" big.txt -o nowhere/out.txt
(ulimit -f 1; "$CAIRN" convert big.txt -o cut.txt 2>log) && fail "a file that may not grow" log
[ ! -e cut.txt ] || fail "a file that may not grow: half of it is there"
left=$(find . -name '.*' -type f)
has log "${left##*/}" "what could be written is named"
same "nothing else is left" "$(echo "$left" | wc -w)" 1

# Used wrongly.
refused 2 "IN is missing" -o out.txt
refused 2 "OUT is missing" big.txt
refused 2 "stdout has no ending: say --to FORMAT" big.txt -o -
refused 2 ".pb.gz, .pb or .pprof (pprof), .collapsed, .folded or .txt (collapsed)" big.txt -o x.svg
refused 2 '"svg", expected pprof or collapsed' big.txt -o x --to svg
refused 2 '"perf", expected pprof or collapsed' big.txt -o x.txt --from perf
refused 2 '"=x", expected KEY=VALUE' big.txt -o x.txt --label =x

# Every ending that the help names is known. A trace wants times, and perf.data addresses; collapsed
# stacks have neither.
for ending in $("$CAIRN" convert --help | tr ' ,;' '\n' | grep '^\.[a-z]' | sort -u); do
    case $ending in
    .trace*) refused 1 "no sample says when it was" big.txt -o "ending$ending" ;;
    .data) refused 1 "no frame has an address" big.txt -o "ending$ending" ;;
    *) convert big.txt -o "ending$ending" ;;
    esac
    n_checks=$((n_checks + 1))
done

finish "$n_checks checks hold"
