#!/bin/sh
# SPDX-License-Identifier: MIT
# cairn resolve on programs that caught their own stack: compilers, linkers, kinds of ELF files, and
# every place where symbols may lie. The program is moved away before its stack is named.
set -eu

fail() {
    echo "resolve: $1"
    [ ! -f out ] || cat out
    [ ! -f said ] || cat said
    exit 1
}

source=$SRC/tests/e2e/resolve_program.c
tail_named='main;outer;middle_\[i\];inner 7$'

# build NAME COMPILER OPTION...: builds opt/NAME, lets it write NAME.ips, .rel, .maps, and moves it to
# sym-NAME/.
build() {
    name=$1 compiler=$2
    shift 2
    mkdir -p opt "sym-$name"
    "$compiler" -D_GNU_SOURCE -g -O2 -fno-optimize-sibling-calls "$@" "$source" -o "opt/$name" -ldl 2>said ||
        fail "$compiler $* cannot build"
    "$WORK/opt/$name" "$name" || fail "$name does not run"
    mv "opt/$name" "sym-$name/$name"
}

# named IN OPTION...: resolves to `out`, what is said to `said`.
named() {
    in=$1
    shift
    "$CAIRN" resolve "$in" -o - --leaf ret "$@" >out 2>said || fail "$in $*: exit status $?"
}

# expect_tail TEXT: the stack ends with the program's own functions.
expect_tail() {
    grep -q "$tail_named" out || fail "$1"
}

kinds='gcc-pie gcc-exec'
build gcc-pie gcc -fPIE -pie
build gcc-exec gcc -fno-PIE -no-pie
if command -v ld.lld >/dev/null; then
    build gcc-lld gcc -fPIE -pie -fuse-ld=lld
    build gcc-lld-exec gcc -fno-PIE -no-pie -fuse-ld=lld
    kinds="$kinds gcc-lld gcc-lld-exec"
fi
if command -v clang >/dev/null; then
    build clang clang -fPIE -pie
    kinds="$kinds clang"
    if command -v ld.lld >/dev/null; then
        build clang-lld clang -fPIE -pie -fuse-ld=lld
        kinds="$kinds clang-lld"
    fi
fi

for kind in $kinds; do
    named "$kind.ips" --maps "$kind.maps" --symbols "sym-$kind"
    expect_tail "$kind: addresses"
    named "$kind.rel" --symbols "sym-$kind"
    expect_tail "$kind: offsets from the load base"
    named "$kind.ips" --maps "$kind.maps" --symbols "sym-$kind" --no-inlines
    grep -q 'main;outer;inner 7$' out || fail "$kind: --no-inlines"
    named "$kind.ips" --maps "$kind.maps" --symbols "sym-$kind" --lines
    line=$(grep -n 'inner(stem);' "$source" | cut -d: -f1)
    grep -q "middle ([^;]*resolve_program.c:$line)_\[i\];inner ([^;]*resolve_program.c:" out ||
        fail "$kind: --lines"
    # The line of a call, not of what follows it.
    line=$(grep -n 'middle(stem);' "$source" | cut -d: -f1)
    grep -q "outer ([^;]*resolve_program.c:$line);" out || fail "$kind: --lines of the caller"
done

# Nothing is there: the text stays, and the reason is said.
named gcc-pie.ips --maps gcc-pie.maps
grep -q '/opt/gcc-pie: no binary for' said || fail "a missing binary is not named"
cut -d' ' -f2 out | grep -qx 7 || fail "the count is lost"

# The places where symbols may lie.
id=$(readelf -n sym-gcc-pie/gcc-pie | sed -n 's/.*Build ID: //p')
path=$(sed -n 's|.* \(/.*/opt/gcc-pie\)$|\1|p' gcc-pie.maps | head -n 1)
mkdir -p flat root"${path%/*}" deep/a/b ids/.build-id/"$(echo "$id" | cut -c1-2)" bin debug
cp sym-gcc-pie/gcc-pie flat/
cp sym-gcc-pie/gcc-pie root"$path"
cp sym-gcc-pie/gcc-pie deep/a/b/
for place in flat root deep 'fl*t' "flat/../deep"; do
    named gcc-pie.ips --maps gcc-pie.maps --symbols "$place"
    expect_tail "symbols in $place"
done
objcopy --only-keep-debug sym-gcc-pie/gcc-pie \
    ids/.build-id/"$(echo "$id" | cut -c1-2)"/"$(echo "$id" | cut -c3-)".debug
echo "$id $path" >build-ids
named gcc-pie.ips --maps gcc-pie.maps --symbols ids --build-ids build-ids
expect_tail "a debug file by build ID, without the binary"
grep -q '(1 of them unverified)' said || fail "a build ID that was asked for counts as unverified (libc is the one)"
cp sym-gcc-pie/gcc-pie debug/gcc-pie.debug
strip sym-gcc-pie/gcc-pie -o bin/gcc-pie
named gcc-pie.ips --maps gcc-pie.maps --symbols bin --debug-dir none
grep -q 'it is stripped' said || fail "a stripped binary is not called that"
(cd bin && objcopy --add-gnu-debuglink=../debug/gcc-pie.debug gcc-pie)
named gcc-pie.ips --maps gcc-pie.maps --symbols bin --symbols debug
expect_tail "a debug file by name beside a stripped binary"
mkdir bin/.debug
cp debug/gcc-pie.debug bin/.debug/
named gcc-pie.ips --maps gcc-pie.maps --symbols bin
expect_tail "a debug file by debuglink"

# Another build is refused, unless it is asked for.
echo "00112233445566778899aabbccddeeff00112233 $path" >wrong-ids
named gcc-pie.ips --maps gcc-pie.maps --symbols flat --build-ids wrong-ids
grep -q 'build ID mismatch for' said || fail "a build ID that differs is not refused"
grep -q 'main;outer' out && fail "a file of another build was used"
named gcc-pie.ips --maps gcc-pie.maps --symbols flat --build-ids wrong-ids --allow-mismatch
expect_tail "--allow-mismatch"

# The leaf: exact by default, and then not looked up inside the call before it.
ret=$(sed 's/.*;\(0x[0-9a-f]*\) 7/\1/' gcc-pie.ips)
printf 'x;%s 1\n' "$ret" >leaf
"$CAIRN" resolve leaf -o leaf.ip --maps gcc-pie.maps --symbols flat --lines 2>said
"$CAIRN" resolve leaf -o leaf.ret --maps gcc-pie.maps --symbols flat --lines --leaf ret 2>said
line=$(grep -n '= backtrace(' "$source" | cut -d: -f1)
grep -q "resolve_program.c:$line)" leaf.ret || fail "--leaf ret is not the line of the call"
cmp -s leaf.ip leaf.ret && fail "--leaf makes no difference"

# The summary for programs.
"$CAIRN" resolve gcc-pie.ips -o out --force --json --maps gcc-pie.maps --symbols flat >json 2>said
/usr/bin/python3 - <<'EOF' || fail "the summary is not as expected"
import json
s = json.load(open("json"))
assert s["lines"] == 1 and s["malformed_lines"] == 0 and s["modules_found"] == 2, s
assert s["frames"] == s["frames_named"] + sum(s["frames_unnamed"].values()), s
assert any(m["path"].endswith("/gcc-pie") and m["unique_named"] >= 3 for m in s["modules"]), s
EOF
"$CAIRN" resolve - --json --maps gcc-pie.maps --symbols flat <gcc-pie.ips >out 2>json
/usr/bin/python3 -c 'import json; json.loads(open("json").read()[open("json").read().index("{"):])' ||
    fail "no summary on stderr where stdout takes the result"
grep -q 'main;outer' out || fail "stdin to stdout"
"$CAIRN" resolve gcc-pie.ips -o - -v --maps gcc-pie.maps --symbols flat >out 2>said
for part in 'segment 0x' 'names from' 'addresses,'; do
    grep -q "$part" said || fail "-v does not say \"$part\""
done
echo "resolve: fine ($kinds)"
