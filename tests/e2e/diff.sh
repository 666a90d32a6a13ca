#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn diff: every change held against one reckoned from what cairn report says of either side, and
# stacks against the text they came from; two builds, heap files, sides that do not go together,
# terminals, names that want to be more than names.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
py=/usr/bin/python3
export CAIRN_PAGER=
unset PAGER LESS COLUMNS

# compare ARGUMENT...: what it prints is in `out`, what it says in `log`.
compare() {
    "$CAIRN" diff "$@" >out 2>log || fail "cairn diff $*: exit status $?" log
}

$py "$SRC/tests/e2e/report_profiles.py" || exit 1

# Functions and stacks of random profiles, in each way to compare.
$py "$SRC/tests/e2e/diff_truth.py" >truth 2>&1 || fail "the changes" truth
n_checks=$((n_checks + 1))

# Text: what grew, what shrank, in one unit.
printf 'main;a 30\nmain;b 60\nmain;c 10\n' >old.txt
printf 'main;a 15\nmain;b 10\nmain;d 25\n' >new.txt
compare old.txt new.txt
same "the title" "$(head -1 out)" "samples: 100 before, 50 now; compared are shares of that, in percent"
same "a function that came" "$(awk '$5 == "d" { $1 = $1; print }' out)" "+50.00 0.00 50.00 +50.00 d"
same "a function that went" "$(awk '$5 == "c" { $1 = $1; print }' out)" "-10.00 10.00 0.00 -10.00 c"
same "what is as it was has no line" "$(awk '$5 == "a"' out)" ""
has out "-40.00 (60.00 before, 20.00 now)" "a stack"
same "what it is made of" "$(grep -A 2 '^-40.00 (' out | tail -2 | tr -d '\n')" "    b    main"
same "the last lines" "$(tail -2 out | tr '\n' '|')" \
    "before: 100 samples; 0 of 4 frames unnamed|now: 50 samples; 0 of 4 frames unnamed|"
compare old.txt new.txt --absolute --by function --top 1
same "as they are" "$(awk '$5 == "d" || $5 == "b" { $1 = $1; print }' out)" "+25 0 25 +25 d
-50 60 10 -50 b"
has out "and 2 functions more that shrank: --top 0 prints all" "--top"
hasnt out stacks "--by function"
compare old.txt new.txt --by stack
hasnt out functions "--by stack"
compare old.txt new.txt --absolute --sort total --by function
same "--sort total" "$(awk '/shrank/ { on = 1 } on && $5 == "main" { $1 = $1; print }' out)" \
    "-50 100 50 +0 main"
compare old.txt old.txt
has out "nothing grew, and nothing shrank" "the same profile"
compare cpu.pb.gz cut.pb.gz --absolute --by function
has out "cpu in ms: 1120.00 before, 0.00 now" "the unit is of the larger side"
same "modules" "$(awk '$5 == "hot" { print $6 }' out)" prog

# Sides: filters hold for both, either may be stdin, and what does not go together is refused.
compare cpu.pb.gz cpu.pb.gz --value samples --function idle --json
same "filters" "$(ask 'j["old"]["sum"], j["new"]["samples_read"], j["new"]["samples"]')" "(10, 108, 10)"
compare - new.txt --json <old.txt
same "stdin" "$(ask 'j["old"]["sum"], j["new"]["sum"]')" "(100, 50)"
compare heap.pb.gz heap.pb.gz --json
same "the type that NEW shows" "$(ask 'j["value"], j["unit"]')" "('space', 'bytes')"
compare empty.pb.gz cpu.pb.gz
has out "empty.pb.gz: the profile is empty" "an empty side"
compare cpu.pb.gz cpu.pb.gz --label tid=99
has out "cpu.pb.gz: no sample has what was asked for" "a filter that nothing matches"
wrong() {
    status=$1 text=$2
    shift 2
    "$CAIRN" diff "$@" >out 2>log </dev/null
    same "cairn diff $*: exit status" $? "$status"
    has log "$text" "cairn diff $*"
    same "cairn diff $*: nothing printed" "$(cat out)" ""
}
wrong 2 "two profiles are compared: OLD and NEW" old.txt
wrong 2 "two profiles are compared: OLD and NEW" old.txt new.txt new.txt
wrong 2 "stdin can be read once" - -
wrong 2 '"module", expected function or stack' old.txt new.txt --by module
wrong 2 '"up", expected self or total' old.txt new.txt --sort up
wrong 1 "none: No such file" old.txt none
wrong 1 'old.txt: no values of type "cpu"' old.txt cpu.pb.gz
wrong 1 'cpu.pb.gz: no values of type "wall"' cpu.pb.gz cpu.pb.gz --value wall
$py - <<'TEXT'
import gzip
plain = gzip.decompress(open("cpu.pb.gz", "rb").read())
open("us.pb.gz", "wb").write(gzip.compress(plain.replace(b"nanoseconds", b"microsecond")))
TEXT
wrong 1 'us.pb.gz: cpu in "microsecond", and in "nanoseconds" in cpu.pb.gz' us.pb.gz cpu.pb.gz

# Heap files are what cairn report takes, too.
if "${CC:-gcc}" -g -O1 -o leak -x c - 2>log <<'TEXT' &&
#include <stdlib.h>
__attribute__((noinline)) static void keep(size_t size)
{
    void *volatile block = malloc(size);
    (void)block;
}
int main(int argc, char **argv)
{
    for (int i = 0; i < 10 * argc; i++)
        keep(1000);
    return argv == NULL;
}
TEXT
    "$CAIRN" heap run -o one.heap -- ./leak >/dev/null 2>log &&
    "$CAIRN" heap run -o two.heap -- ./leak more >/dev/null 2>log; then
    "$CAIRN" resolve one.heap -o one.pb.gz 2>log || fail "resolve one.heap" log
    "$CAIRN" resolve two.heap -o two.pb.gz 2>log || fail "resolve two.heap" log
    compare one.heap two.heap --absolute --value inuse_space --json
    same "heap files" "$(ask 'j["new"]["sum"] - j["old"]["sum"]')" 10000
    compare one.pb.gz two.pb.gz --absolute --value inuse_space --sort total --json
    same "heap files, named" "$(ask '[(r["old_total"], r["new_total"]) for r in j["functions_grew"]
 if r["function"] == "keep"]' | tr -d '\n')" "[(10000, 20000)]"
else
    skip "heap files" "none could be made here: $(head -1 log)"
fi

# JSON has the members that are documented and no others.
compare old.txt new.txt --json
$py - "$SRC/docs/formats/diff-json.md" >undocumented <<'TEXT' || fail "docs" undocumented
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
same "JSON: members" "$(ask 'j["changes_in"], j["sort"], j["n_stacks_shrank"]')" \
    "('percent', 'self', 2)"

# A terminal: as wide as it is, through a pager, nothing that it would obey.
terminal() {
    TERM=xterm $py "$SRC/tests/e2e/terminal.py" "$@" >out 2>log || fail "terminal $*" log
}
terminal 60 "$CAIRN" diff hostile.pb.gz cut.pb.gz --value samples
same "60 columns" "$($py -c 'import re
text = re.sub("\033\\[[0-9;]*m", "", open("out").read())
print(max(map(len, text.splitlines()[2:-2])) <= 60)')" True
has out $'\033[31mfunctions that grew' "colour on a terminal"
CAIRN_PAGER='sed "s/^/> /"' terminal 60 "$CAIRN" diff old.txt new.txt
same "a pager" "$(grep -vc '^> ' out)" 0
NO_COLOR=1 terminal 200 "$CAIRN" diff hostile.pb.gz cut.pb.gz --value samples
for byte in $'\033' $'\a' $'\r' $'\t' $'\xc2\x9b' $'\xe2\x80\xae'; do
    hasnt out "$byte" "hostile names on a terminal"
done
has out "evil\\x1b[31m" "hostile names on a terminal"
$py -c 'print(";".join(f"f{i}" for i in range(5000)), 3)' >deep.txt
compare old.txt deep.txt --by stack
has out "and 4,960 frames more" "a deep stack"
compare old.txt deep.txt --by stack --json
same "a deep stack, for a program" "$(ask 'len(j["stacks_grew"][0]["frames"])')" 5000

finish "$n_checks checks hold"
