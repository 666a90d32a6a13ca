#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn report --tree, --callers, --callees: every node held against a count of its own from the same
# stacks, roots against go tool pprof; what is left out, terminals, names that want to be more, depth.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
py=/usr/bin/python3
export CAIRN_PAGER=
unset PAGER LESS COLUMNS

# report ARGUMENT...: what it prints is in `out`, what it says in `log`.
report() {
    "$CAIRN" report "$@" >out 2>log || fail "cairn report $*: exit status $?" log
}

$py "$SRC/tests/e2e/report_profiles.py" || exit 1

# Every node of every tree, of stacks with much recursion.
$py "$SRC/tests/e2e/report_tree_truth.py" >truth 2>&1 || fail "the trees" truth
n_checks=$((n_checks + 1))

# Roots have the numbers of the table, in its order; all but --sort total.
for value in samples cpu; do
    report cpu.pb.gz --value "$value" --top 0 --json
    mv out table
    for form in --callers --callees; do
        report cpu.pb.gz --value "$value" --top 0 $form --json
        same "$form: roots and table, $value" "$($py -c 'import json
roots = [n for n in json.load(open("out"))["nodes"] if n["depth"] == 0]
names = "function file module total total_percent".split()
table = json.load(open("table"))["functions"]
print([[n[k] for k in names] for n in roots] == [[r[k] for k in names] for r in table])')" True
    done
done
report cpu.pb.gz --callees --sort total --json --depth 1
same "--sort total" "$(ask '[n["function"] for n in j["nodes"]][:3]')" "['main', 'work', 'hot']"
report cpu.pb.gz --callers --json --depth 1
same "--sort self" "$(ask '[n["function"] for n in j["nodes"]][:3]')" "['hot', 'work', 'idle']"
if command -v go >/dev/null && go tool pprof -h 2>&1 | grep -q usage; then
    report cpu.pb.gz --value cpu --top 0 --callers --depth 1 --json
    PPROF_TMPDIR=. go tool pprof -symbolize=none -sample_index=cpu -unit=ns -nodecount=100000 \
        -nodefraction=0 -edgefraction=0 -top cpu.pb.gz >top 2>log || fail "go tool pprof" log
    same "roots as in go tool pprof" "$($py -c 'import json, re
mine = {n["function"]: (n["self"], n["total"]) for n in json.load(open("out"))["nodes"]}
row = r"\s*(\d+)\w*\s+\S+%\s+\S+%\s+(\d+)\w*\s+\S+%\s+(.*?)(?: \(inline\))?$"
rows = [re.match(row, line) for line in open("top")]
theirs = {r[3]: (int(r[1]), int(r[2])) for r in rows if r}
print(mine == theirs and len(mine) == 8 or (mine, theirs))')" True
else
    skip "roots as in go tool pprof" "go tool pprof is missing"
fi

# What is left out is counted: by share of all, of the root, by number of trees, by levels.
report cpu.pb.gz --tree --min-percent 2
same "--min-percent: what is left" "$(awk 'NR > 3 && /prog$/ { printf "%s ", $(NF - 1) }' out)" \
    "main work hot idle "
has out "6 with less than 2 % are left out: --min-percent 0 prints all" "--min-percent"
report cpu.pb.gz --callers=hot --min-percent 2
has out "3 with less than 2 % of their root are left out" "--min-percent of a root"
report cpu.pb.gz --tree --depth 2 --min-percent 0 --json
same "--depth" "$(ask 'max(n["depth"] for n in j["nodes"]), len(j["nodes"]), j["levels"]')" \
    "(1, 5, 2)"
report cpu.pb.gz --callees --top 3 --json
same "--top counts trees" "$(ask '[n["function"] for n in j["nodes"] if n["depth"] == 0]')" \
    "['hot', 'work', 'idle']"
report cpu.pb.gz --tree --label thread=main --value samples --json
same "filters" "$(ask 'j["sum"], j["nodes"][0]["total"], j["quality"]["samples_read"]')" \
    "(18, 18, 108)"
report cpu.pb.gz --callers=or
same "a part of a name" "$(awk 'NR > 3 && $5 ~ /^w/ { print $5; exit }' out)" work
report heap.pb.gz --tree
has out "-10.49  -25.0  -10.49  -25.0  └ give" "values below zero"
for form in --tree --callers --callers=x; do
    report empty.pb.gz $form
    same "nothing there, $form" "$(cat out)" "the profile is empty: it holds no samples"
    report empty.pb.gz $form --json
    same "nothing there, $form, for a program" "$(ask 'j["nodes"], j["n_nodes"], j["sum"]')" \
        "([], 0, 0)"
done

# JSON has the members that are documented and no others.
report cut.pb.gz --json --tree --value cpu
$py - "$SRC/docs/formats/report-json.md" >undocumented <<'TEXT' || fail "docs" undocumented
import json, re, sys
def members(value):
    if isinstance(value, dict):
        return set(value).union(*map(members, value.values()))
    return set().union(*map(members, value)) if isinstance(value, list) else set()
text = open(sys.argv[1]).read()
documented = members(json.loads(text.split("```json")[2].split("```")[0]))
told = set(re.findall(r"`(\w+)`", text))
real = members(json.load(open("out")))
quality = members(json.load(open("out"))["quality"])
print(real ^ documented ^ quality, real - told)
sys.exit(real - quality != documented - quality or not real <= told)
TEXT
n_checks=$((n_checks + 1))

# A function that is none, and one that was taken for a file.
report cpu.pb.gz --callers=$'no\033such'
same "no such function" "$(cat out)" 'no function has "no\x1bsuch" in its name'
report cpu.pb.gz --callers=main --label thread=none
same "no samples, so no function" "$(cat out)" "none of the 108 samples has what was asked for"
"$CAIRN" report cpu.pb.gz --callees main >out 2>log && fail "a function without =" out
has log "hint: a function is named behind =: --callees=main" "a function without ="
"$CAIRN" report none.pb.gz --callees=main >out 2>log && fail "no such profile" out
hasnt log "hint" "no such profile"

# A terminal: no line is wider, however deep the tree is; nothing in a name is obeyed.
terminal() {
    TERM=xterm $py "$SRC/tests/e2e/terminal.py" "$@" >out 2>log || fail "terminal $*" log
}
widest() {
    $py -c 'import re, sys
text = re.sub("\033\\[[0-9;]*m", "", open("out").read())
print(max(map(len, text.splitlines()[:-1])))'
}
$py - >comb.txt <<'TEXT'
stack = []
for i in range(300):
    print(";".join(stack + [f"leaf_that_is_called_by_number_{i}"]), 5)
    stack.append(f"a_function_with_a_long_name_of_number_{i}")
TEXT
for width in 60 80 130; do
    terminal $width "$CAIRN" report --tree --min-percent 0 comb.txt
    same "a comb in $width columns" "$(($(widest) <= width))" 1
    same "no node is lost in $width columns" "$(grep -c '[0-9] .*\(a_\|leaf\)' out)" 599
done
has out "+278 │" "levels that are not drawn"
terminal 80 "$CAIRN" report --tree hostile.pb.gz
same "80 columns" "$(($(widest) <= 80))" 1
has out $'\033[2m├ ' "guides are dim"
NO_COLOR=1 terminal 200 "$CAIRN" report --tree hostile.pb.gz
for byte in $'\033' $'\a' $'\r' $'\t' $'\xc2\x9b' $'\xe2\x80\xae'; do
    hasnt out "$byte" "hostile names on a terminal"
done
has out "evil\\x1b[31m" "hostile names on a terminal"
report hostile.pb.gz --callers=evil --json
same "JSON: a hostile name is the name" "$(ask 'ascii(j["nodes"][0]["function"])')" \
    "'evil\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\u202e</script><b>\"&\\'\\n\\r\\tend'"

# A stack of 5,000 different functions is as deep as it is, and takes no column more for it.
$py -c 'print(";".join(f"f{i}" for i in range(5000)), 3)' >deep.txt
report --tree deep.txt
same "a deep stack" "$(grep -c ' f[0-9]*$' out)" 5000
same "a deep stack is narrow" "$(($(wc -L <out) < 60))" 1
report --callers=f4999 deep.txt --json
same "a deep stack, upside down" "$(ask 'j["nodes"][4999]["function"], j["nodes"][4999]["self"]')" \
    "('f0', 3)"

# Who reads stdout goes away in the midst of more than a pipe holds.
"$CAIRN" report deep.txt --callers=f4999 2>log | head -c 1 >/dev/null
same "a reader that goes away" "${PIPESTATUS[0]} $(cat log)" "141 "

finish "$n_checks checks hold"
