#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn resolve on a raw pprof profile: named once, it is a profile that other tools read; named
# twice, nothing changes; its addresses are looked up as they are.
set -eu

fail() {
    echo "resolve_profile: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >spin.c <<'EOF'
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) void spin_inlined(void)
{
    for (int i = 0; i < 1000000; i++) /* so that samples are here and not in clock() */
        sink += i;
}
__attribute__((noinline)) void spin_outer(void)
{
    spin_inlined();
    sink++;
}
int main(int argc, char **argv)
{
    clock_t end = clock() + CLOCKS_PER_SEC * (argc > 1 ? atol(argv[1]) : 1);
    while (clock() < end)
        spin_outer();
    return 0;
}
EOF
gcc -g -O2 -fno-omit-frame-pointer spin.c -o spin
if ! "$CAIRN" record --method ptrace -F 200 -o raw.pb.gz -- ./spin 1 >said 2>&1; then
    echo "skipped: no process can be traced here: $(tail -n 1 said)"
    exit 77
fi
gunzip -c raw.pb.gz >raw || fail "the raw profile is no gzip"
grep -aq spin_outer raw && fail "the raw profile has names already"

# Where the program is now is not where it ran.
mkdir sym
mv spin sym/spin
"$CAIRN" resolve raw.pb.gz -o missing.pb.gz 2>said || fail "a missing module: exit status $?"
grep -q '/spin: no binary for' said || fail "a missing module is not named"
"$CAIRN" resolve raw.pb.gz -o named.pb.gz --symbols sym --json >json 2>said || fail "exit status $?"
gunzip -c named.pb.gz >named || fail "the result is no gzip"
for text in spin_outer spin_inlined main spin.c; do
    grep -aq "$text" named || fail "$text is not in the result"
done
"$CAIRN" report --json named.pb.gz >counted 2>said || fail "the report"
/usr/bin/python3 - <<'EOF' || fail "the summary is not as expected"
import json
s = json.load(open("json"))
spin = [m for m in s["modules"] if m["path"].endswith("/spin")]
assert s["lines"] == 0 and s["samples"] == json.load(open("counted"))["quality"]["samples"] > 0 and s["frames_named"] >= 2, s
assert spin and spin[0]["verified"] and spin[0]["file"] == "sym/spin", spin
EOF

"$CAIRN" resolve named.pb.gz -o again.pb.gz --symbols sym 2>said || fail "named twice: status $?"
cmp -s named.pb.gz again.pb.gz || fail "named twice, it is another profile"
"$CAIRN" resolve - --symbols sym <raw.pb.gz >piped.pb.gz 2>said || fail "a pipe: exit status $?"
cmp -s named.pb.gz piped.pb.gz || fail "through a pipe, it is another profile"
cp raw.pb.gz place.pb.gz
"$CAIRN" resolve place.pb.gz --symbols sym 2>said || fail "in place: exit status $?"
cmp -s named.pb.gz place.pb.gz || fail "in place, it is another profile"

# A profile that is cut off is no profile, and stays.
head -c 200 raw.pb.gz >cut.pb.gz
cp cut.pb.gz cut
"$CAIRN" resolve cut.pb.gz --symbols sym 2>said && fail "half a profile is no failure"
cmp -s cut cut.pb.gz || fail "half a profile was changed"
grep -q 'cut.pb.gz: ' said || fail "half a profile is not named"
echo x >text
"$CAIRN" resolve text --from pprof 2>said && fail "a text is taken for a profile"
echo x | cmp -s - text || fail "a text was changed"

if command -v go >/dev/null; then
    go tool pprof -symbolize=none -raw named.pb.gz >raw-text 2>said || fail "go tool pprof refuses it"
    grep -q 'spin_inlined' raw-text || fail "go tool pprof sees no names"
    grep -q '/spin .*\[FN\]' raw-text || fail "has_functions is not set"
    # The inlined function comes first on its location, its caller's line follows.
    grep -A 1 'spin_inlined' raw-text | grep -q 'spin_outer' || fail "the inlined frame's caller"
else
    echo "resolve_profile: go is missing, its reader was not asked"
fi
echo "resolve_profile: fine"
