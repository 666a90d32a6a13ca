#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn report: the numbers, the filters, what is said about their quality, JSON, terminals and
# names that want to be more than names. Numbers are held against those of go tool pprof.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
py=/usr/bin/python3
export CAIRN_PAGER=
unset PAGER LESS COLUMNS NO_COLOR

# report ARGUMENT...: its table is in `out`, what it says in `log`.
report() {
    "$CAIRN" report "$@" >out 2>log || fail "cairn report $*: exit status $?" log
}

# row FUNCTION: its line of the table in `out`, blanks squeezed.
row() {
    awk -v name="$1" '$5 == name { $1 = $1; print }' out
}

$py "$SRC/tests/e2e/report_profiles.py" || exit 1

# The table: self and total with percents, recursion counted once, inlined calls on their own, all
# in the default type of the profile and in one unit.
report cpu.pb.gz
same "the value and its unit" "$(head -1 out)" "cpu in ms"
same "a leaf" "$(row hot)" "911.00 81.3 911.00 81.3 hot prog"
same "self and total" "$(row work)" "150.00 13.4 1050.00 93.8 work prog"
same "the root" "$(row main)" "0.00 0.0 1120.00 100.0 main prog"
same "recursion" "$(row again)" "9.00 0.8 9.00 0.8 again prog"
same "an inlined call" "$(row small)" "0.00 0.0 11.00 1.0 small prog"
same "its caller" "$(row caller)" "0.00 0.0 11.00 1.0 caller prog"
same "the last line" "$(tail -1 out)" "108 samples over 2.5 s; 0 of 7 frames unnamed"
same "order by self" "$(awk 'NR > 3 && NF == 6 { printf "%s ", $5 }' out)" \
    "hot work idle again main caller small other "
same "nothing on stderr" "$(cat log)" ""

report cpu.pb.gz --value samples --sort total --top 2
same "another type" "$(head -1 out)" "samples"
same "order by total, two lines" "$(awk 'NR > 3 && NF == 6 { printf "%s ", $5 }' out)" "main work "
same "what is left out" "$(sed -n 6p out)" "and 6 more: --top 0 prints all"
report -n 0 heap.pb.gz --value objects
same "counts" "$(sed -n 4,6p out | awk '{ $1 = $1; print }')" \
    "3 75.0 3 75.0 take prog
1 25.0 1 25.0 give prog
0 0.0 4 100.0 main prog"
report heap.pb.gz
same "sizes in one unit" "$(head -1 out)" "space in MB"
same "sizes below zero" "$(row give)" "-10.49 -25.0 -10.49 -25.0 give prog"
for i in $(seq 40); do echo "f$i $i"; done >many.txt
report many.txt
same "30 lines by default" "$(grep -c ' f[0-9]' out)" 30
report many.txt --top=0
same "0 is all" "$(grep -c ' f[0-9]' out)" 40
hasnt out "more:" "0 is all"

# Filters, one and several; what nothing matches is said and no failure.
report cpu.pb.gz --value samples --function wor
same "by function" "$(row main)" "0 0.0 90 100.0 main prog"
same "frames of kept samples only" "$(tail -1 out)" \
    "90 samples over 2.5 s; 0 of 3 frames unnamed"
report cpu.pb.gz --value samples --label thread=main
same "by label" "$(row main)" "0 0.0 18 100.0 main prog"
report cpu.pb.gz --value samples --label tid=1 --function main --function small
same "by number and functions" "$(row main)" "0 0.0 5 100.0 main prog"
report cpu.pb.gz --label tid=1 --label thread=worker
same "nothing kept" "$(cat out)" "none of the 108 samples has what was asked for"
report empty.pb.gz
same "nothing there" "$(cat out)" "the profile is empty: it holds no samples"
report --json empty.pb.gz
same "nothing there, for a program" "$(ask 'j["sum"], j["functions"], j["values"]')" \
    "(0, [], ['samples', 'cpu'])"

# Several profiles are one; stdin is one of them, once.
# shellcheck disable=SC2094 # it is only read
report --value samples cpu.pb.gz - cut.pb.gz <cpu.pb.gz
same "three inputs" "$(row work)" "157 49.7 277 87.7 work prog"
"$CAIRN" report - - <cpu.pb.gz >out 2>log && fail "stdin twice" out
has log "stdin can be read once" "stdin twice"
printf 'a;b 3\na 2\n' | "$CAIRN" report - >out 2>log || fail "collapsed stdin" log
same "collapsed" "$(row a)" "2 40.0 5 100.0 a"
hasnt out module "collapsed stacks have no modules"
"$CAIRN" report cpu.pb.gz many.txt >out 2>log && fail "types that differ" out
has log "many.txt: profiles that do not go together" "types that differ"

# Whole and cut are told only where the recorder told.
report cut.pb.gz
same "whole and cut" "$(tail -1 out)" "100 samples over 1.0 s; 93 whole (93.0 %), 7 cut: 6 no rule,\
 1 too \\x1b[1mdeep; 0 of 4 frames unnamed"
"$CAIRN" flame cut.pb.gz -o cut.html >out 2>log || fail "flame" log
has log " · 93 whole (93.0 %), 7 cut: 6 no rule, 1 too" "the same on the page"
report mixed.pb.gz
same "known of some" "$(tail -1 out)" \
    "10 samples; of 4 it is known: 4 whole (100.0 %), 0 cut; 0 of 3 frames unnamed"
printf 'a_[k];b_[k] 3\n' >kernel.txt
report kernel.txt
same "text tells nothing" "$(tail -1 out)" "3 samples; 0 of 2 frames unnamed"

# Addresses: modules with offsets, and the way to names.
report raw.pb.gz
same "the last type where the profile names none" "$(head -1 out)" "cpu in nanoseconds"
same "an address" "$(row prog+0x2010)" "80 80.0 80 80.0 prog+0x2010 prog"
same "unnamed frames" "$(tail -1 out)" "10 samples; 3 of 3 frames unnamed"
same "the way to names" "$(tail -1 log)" \
    'cairn: most frames have no name: "cairn resolve --symbols DIR raw.pb.gz" looks them up in debug files below DIR'

printf '0x1000;0x2000;main 3\n' >half.txt
report half.txt
same "the way to more names" "$(cat log)" 'cairn: most frames have no name: "cairn resolve --symbols DIR half.txt" looks them up in debug files below DIR'

# JSON: sound, exact, with the members that are documented and no others.
report cut.pb.gz --json --value cpu
$py -m json.tool out >/dev/null || fail "JSON" out
same "JSON: a row" "$(ask 'j["functions"][0]')" "{'function': 'work', 'file': 'a.c', 'module': \
'prog', 'self': 970, 'self_percent': 97, 'total': 970, 'total_percent': 97}"
same "JSON: quality" "$(ask '[v for v in j["quality"].values() if not isinstance(v, list)]')" \
    "[100, 100, 100, 93, 7, 0, 1000000000, 4, 0]"
same "JSON: cuts" "$(ask 'j["quality"]["cut_by_reason"]')" "[{'reason': 'no rule', 'samples': 6}, \
{'reason': 'too \\x1b[1mdeep', 'samples': 1}]"
same "JSON: the rest" "$(ask '[j[k] for k in "value unit values sum sort n_functions".split()]')" \
    "['cpu', 'nanoseconds', ['samples', 'cpu'], 1000, 'self', 4]"
$py - "$SRC/docs/formats/report-json.md" >undocumented <<'TEXT' || fail "docs" undocumented
import json, re, sys
def members(value):
    if isinstance(value, dict):
        return set(value).union(*map(members, value.values()))
    return set().union(*map(members, value)) if isinstance(value, list) else set()
text = open(sys.argv[1]).read()
documented = members(json.loads(text.split("```json")[1].split("```")[0]))
told = set(re.findall(r"`(\w+)`", text.split("```json")[0]))
real = members(json.load(open("out")))
print(real ^ documented, real - told)
sys.exit(real != documented or not real <= told)
TEXT
n_checks=$((n_checks + 1))
report cpu.pb.gz --json --top 1 --sort total
same "JSON: --top and --sort" "$(ask '[r["function"] for r in j["functions"]], j["n_functions"],
 j["sort"]' | tr -d '\n')" "(['main'], 8, 'total')"
report cpu.pb.gz --json --label tid=7
same "JSON: filtered" "$(ask 'j["quality"]["samples_read"], j["quality"]["samples"]')" "(108, 90)"
report hostile.pb.gz --json
same "JSON: a hostile name is the name" "$(ask 'ascii(j["functions"][0]["function"])')" \
    "'evil\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\u202e</script><b>\"&\\'\\n\\r\\tend'"

# A terminal: as wide as it is, long names cut in their middle, nothing that it would obey.
terminal() {
    TERM=${term-xterm} $py "$SRC/tests/e2e/terminal.py" "$@" >out 2>log || fail "terminal $*" log
}
widest() {
    $py -c 'import re, sys
text = re.sub("\033\\[[0-9;]*m", "", open("out").read())
print(max(map(len, text.splitlines()[:-1])))'
}
terminal 80 "$CAIRN" report hostile.pb.gz
same "80 columns" "$(widest)" 80
has out "…" "80 columns"
has out "evil\\x1b[31m" "hostile names on a terminal"
has out $'\033[1m' "colour on a terminal"
terminal 50 "$CAIRN" report hostile.pb.gz
same "50 columns" "$(widest)" 50
NO_COLOR=1 terminal 60 "$CAIRN" report "$SRC/tests/data/agree/kernel.pb.gz"
has out "  finish_task_switch  " "a name goes before its module"
has out "[kerne…yms]" "a name goes before its module"
printf '%s;leaf 1\n' "$(printf '関数%.0s' $(seq 60))" >wide.txt
terminal 80 "$CAIRN" report wide.txt
same "wide characters" "$($py -c 'import re, unicodedata
text = re.sub("\033\\[[0-9;]*m", "", open("out").read())
print(max(sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in line)
          for line in text.splitlines()) in (79, 80))')" True
NO_COLOR=1 terminal 200 "$CAIRN" report hostile.pb.gz
hasnt out $'\033' "NO_COLOR; hostile names"
for byte in $'\a' $'\r' $'\t' $'\xc2\x9b' $'\xe2\x80\xae'; do
    hasnt out "$byte" "hostile names on a terminal"
done
report hostile.pb.gz
hasnt out $'\033' "no terminal: no colour, no escapes"
hasnt out "…" "no terminal: nothing is cut"
has out "$(printf 'x%.0s' $(seq 3000))" "no terminal: nothing is cut"

# Colours where they are asked for; $COLUMNS goes before what the terminal says, and cuts nothing
# where there is none. No character is cut, whatever it is made of.
report cpu.pb.gz --color=always
has out $'\033[1m' "--color=always without a terminal"
has out $'\033[1;31mhot\033[m' "what costs much is red"
hasnt out $'\033[1;31msmall' "what costs little is not"
has out $'\033[2mprog\033[m' "modules are dim"
terminal 80 "$CAIRN" report cpu.pb.gz --color never
hasnt out $'\033' "--color never on a terminal"
NO_COLOR=1 terminal 80 "$CAIRN" report cpu.pb.gz --color always
has out $'\033[1m' "--color always goes before NO_COLOR"
for term in dumb ''; do
    terminal 80 "$CAIRN" report cpu.pb.gz
    hasnt out $'\033' "TERM=$term"
done
unset term
COLUMNS=60 terminal 120 "$CAIRN" report hostile.pb.gz
same "COLUMNS" "$(widest)" 60
for columns in 0 -5 x 60x 99999; do
    COLUMNS=$columns terminal 80 "$CAIRN" report hostile.pb.gz
    same "COLUMNS=$columns" "$(widest)" 80
done
COLUMNS=60 report hostile.pb.gz
hasnt out "…" "COLUMNS without a terminal"
same "COLUMNS of no terminal, for help" "$(COLUMNS=50 "$CAIRN" report --help | cksum)" "$("$CAIRN" report --help | cksum)"
printf '%s;leaf 1\n' "$(printf 'e\xcc\x81\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xf0\x9f\x94\xa5%.0s' $(seq 60))" >wide.txt
for columns in 70 71 72 73 74; do
    terminal "$columns" "$CAIRN" report wide.txt
    same "characters of several parts in $columns" "$($py -c 'import re, unicodedata
def columns(c):
    if unicodedata.category(c) == "Mn" or 0x1160 <= ord(c) < 0x1200:
        return 0
    return 2 if unicodedata.east_asian_width(c) == "W" else 1
text = re.sub("\033\\[[0-9;]*m", "", open("out").read())
name = text.splitlines()[4].split()[4]
parts = name.split("…")
whole = all(re.fullmatch("(e\u0301|\u1112\u1161\u11ab|\U0001f525)*", part) for part in parts)
wide = max(sum(map(columns, line)) for line in text.splitlines())
import sys
print(len(parts), whole, wide in (int(sys.argv[1]), int(sys.argv[1]) - 1))' "$columns")" "2 True True"
done

# A pager on a terminal, and nowhere else.
export CAIRN_PAGER='sed "s/^/> /"' PAGER='sed "s/^/wrong /"'
terminal 80 "$CAIRN" report cpu.pb.gz
has out "> "$'\033[1m' "CAIRN_PAGER is given colours"
same "through CAIRN_PAGER" "$(grep -vc '^> ' out)" 0
hasnt out wrong "CAIRN_PAGER goes before PAGER"
terminal 80 "$CAIRN" report --no-pager cpu.pb.gz
hasnt out "> " "--no-pager"
report cpu.pb.gz
hasnt out "> " "no terminal, no pager"
terminal 80 "$CAIRN" report --json cpu.pb.gz
hasnt out "> " "no pager for JSON"
unset CAIRN_PAGER
terminal 80 "$CAIRN" report cpu.pb.gz
has out wrong "PAGER"
mkdir -p bin
printf '#!/bin/sh\nsed "s/^/cat /"\n' >bin/cat
chmod +x bin/cat
NO_COLOR=1 PATH=$PWD/bin:$PATH PAGER="cat" terminal 80 "$CAIRN" report cpu.pb.gz
same "PAGER=cat is no pager" "$(grep -c '^cat ' out) $(row work)" "0 150.00 13.4 1050.00 93.8 work prog"
rm bin/cat
# shellcheck disable=SC2016 # the pager knows its parent
PAGER='kill -INT $PPID; kill -QUIT $PPID; cat' terminal 80 "$CAIRN" report cpu.pb.gz
has out work "keys are for the pager"
PAGER='env; cat >rest' terminal 80 "$CAIRN" report cpu.pb.gz
has out "LESS=FRX" "less is told how"
has rest work "the pager reads all"
LESS=X PAGER='env; cat >rest' terminal 80 "$CAIRN" report cpu.pb.gz
hasnt out FRX "less was told how"
PAGER=/there/is/none terminal 80 "$CAIRN" report cpu.pb.gz
has out work "no such pager"
for n in $(seq 9000); do echo "a_function_that_is_called_$n 1"; done >long.txt
PAGER='head -n 4' terminal 80 "$CAIRN" report --top 0 long.txt
same "a pager that was left" "$(wc -l <out)$(cat log)" 4
unset PAGER
if command -v less >/dev/null; then
    terminal 80 "$CAIRN" report cpu.pb.gz
    has out work "less ends by itself"
    printf '#!/bin/sh\nsed "s/^/less /"\n' >bin/less
    chmod +x bin/less
    PATH=$PWD/bin:$PATH terminal 80 "$CAIRN" report cpu.pb.gz
    same "less is the pager" "$(grep -vc '^less ' out)" 0
fi
export CAIRN_PAGER=

# Used wrongly, and what cannot be read.
wrong() {
    text=$1
    shift
    "$CAIRN" report "$@" >out 2>log </dev/null
    same "cairn report $*: exit status" $? 2
    has log "$text" "cairn report $*"
}
wrong "PROFILE is missing"
wrong '"up", expected self or total' cpu.pb.gz --sort up
wrong '"x", expected pprof or collapsed' cpu.pb.gz --from x
wrong '"thread", expected KEY=VALUE' cpu.pb.gz --label thread
wrong 'no number' cpu.pb.gz --top=-1
wrong '"yes", expected auto, always or never' cpu.pb.gz --color=yes
cannot() {
    text=$1
    shift
    "$CAIRN" report "$@" >out 2>log
    same "cairn report $*: exit status" $? 1
    has log "$text" "cairn report $*"
    same "cairn report $*: nothing printed" "$(cat out)" ""
}
: >nothing
cannot "nothing: the input is empty" nothing
cannot "none: No such file" none
cannot 'cpu.pb.gz: no values of type "wall"' cpu.pb.gz --value wall
has log "hint: its types: samples, cpu" "another type"
cannot "pprof" --from pprof many.txt
report --from collapsed nothing
same "nothing, on purpose" "$(cat out)" "the profile is empty: it holds no samples"
"$CAIRN" report cpu.pb.gz >/dev/full 2>log && fail "a full disk" log
has log "No space left" "a full disk"

# The same numbers as go tool pprof, function by function; a function that is a row of its own in
# two modules is left out of the totals, which cannot be added up.
if ! command -v go >/dev/null || ! go tool pprof -h 2>&1 | grep -q usage; then
    skip "agreement with go tool pprof" "go tool pprof is missing"
else
    agree() {
        report "$1" --value "$2" --top 0 --json
        PPROF_TMPDIR=. go tool pprof -symbolize=none -sample_index="$2" -unit="$3" -nodecount=100000 \
            -nodefraction=0 -edgefraction=0 -top "$1" >top 2>log || fail "go tool pprof $1" log
        $py - "$1" >differences <<'TEXT' || fail "agreement on $1" differences
import collections, json, re, sys
mine, theirs = collections.defaultdict(list), {}
for row in json.load(open("out"))["functions"]:
    mine[row["function"]].append((row["self"], row["total"]))
for line in open("top"):
    row = re.match(r"\s*(-?\d+)\w*\s+\S+%\s+\S+%\s+(-?\d+)\w*\s+\S+%\s+(.*?)(?: \(inline\))?$", line)
    if row:
        theirs[row[3]] = int(row[1]), int(row[2])
# pprof leaves out what is 0 in both columns, and joins what has no name by its file.
mine = {name: rows for name, rows in mine.items() if any(map(any, rows)) and "+0x" not in name}
theirs = {name: row for name, row in theirs.items() if name[0] != "["}
wrong = set(mine) ^ set(theirs)
for name in set(mine) & set(theirs):
    rows = mine[name]
    if sum(own for own, _ in rows) != theirs[name][0]:
        wrong.add(name)
    if len(rows) == 1 and rows[0][1] != theirs[name][1]:
        wrong.add(name)
for name in sorted(wrong):
    print(name, mine.get(name), theirs.get(name))
print(len(mine), "functions")
sys.exit(bool(wrong) or not mine)
TEXT
        n_checks=$((n_checks + 1))
    }
    agree cpu.pb.gz samples count
    agree cpu.pb.gz cpu ns
    agree cut.pb.gz cpu ns
    $py - >big.txt <<'TEXT'
import random
random.seed(7)
for _ in range(3000):
    depth = random.randint(1, 30)
    print(";".join(f"f{int(random.expovariate(0.05))}" for _ in range(depth)), random.randint(1, 99))
TEXT
    "$CAIRN" convert big.txt -o big.pb.gz 2>log || fail "convert" log
    agree big.pb.gz samples count
    if "${CC:-gcc}" -O1 -g -fno-omit-frame-pointer -pthread -o prog \
        "$SRC/tests/e2e/record_programs.c" -ldl 2>log &&
        "$CAIRN" record -F 499 -o spin.pb.gz -- ./prog spin 1 2>log &&
        "$CAIRN" resolve spin.pb.gz -o named.pb.gz 2>log; then
        agree named.pb.gz samples count
        agree named.pb.gz cpu ns
    else
        skip "agreement on a recording" "it could not be made here: $(head -1 log)"
    fi
fi

# Whoever reads stdout goes away in the midst of more than a pipe holds: no word, and the status of
# SIGPIPE.
for n in $(seq 6000); do echo "a_function_that_is_called_$n 1"; done >many.txt
for form in "" --json; do
    # shellcheck disable=SC2086
    "$CAIRN" report many.txt --top 0 $form 2>log | head -c 1 >/dev/null
    same "a reader that goes away $form" "${PIPESTATUS[0]} $(cat log)" "141 "
done

finish "$n_checks checks hold"
