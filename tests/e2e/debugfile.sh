#!/bin/bash
# SPDX-License-Identifier: MIT
# Where names come from: real libraries, split by objcopy, laid out in every place that is searched.
# Each case asks for a static function, which no table of the stripped library knows.
set -eu

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc objcopy strip readelf nm

cat >lib.c <<'C'
__attribute__((noinline)) static int hidden_work(int n) { return n * VARIANT + 1; }
int entry(int n) { return hidden_work(n) + hidden_work(n + 1); }
C

build() { # build VARIANT NAME: NAME.full, NAME.stripped, NAME.debug with one build ID
    gcc -O1 -g -shared -fPIC -Wl,--build-id -DVARIANT="$1" lib.c -o "$2.full"
    objcopy --only-keep-debug "$2.full" "$2.debug"
    strip -o "$2.stripped" "$2.full"
}
build 3 a
build 5 b
id_a=$(readelf -n a.full | awk '/Build ID/ { print $3 }')
id_b=$(readelf -n b.full | awk '/Build ID/ { print $3 }')
[ -n "$id_a" ] && [ "$id_a" != "$id_b" ]

# The library as a process has it at 0x7f0000000000: one line for each PT_LOAD.
path=$WORK/live/libapp.so
readelf -lW a.full | awk -v path="$path" '
    $1 == "LOAD" { printf "%s %s %s %s\n", $2, $3, $5, $7 $8 $9 }' |
while read -r off vaddr size flags; do
    low=$((vaddr / 4096 * 4096)) high=$(((vaddr + size + 4095) / 4096 * 4096))
    case $flags in *E*) permissions=r-xp ;; *) permissions=r--p ;; esac
    printf '%x-%x %s %08x fe:01 42 %s\n' $((0x7f0000000000 + low)) $((0x7f0000000000 + high)) \
        $permissions $((off / 4096 * 4096)) "$path"
done >maps
address=$(nm a.full | awk '/ hidden_work$/ { print $1 }')
printf '0x%x 7\n' $((0x7f0000000000 + 0x$address)) >stack

cases=0
say() {
    cases=$((cases + 1))
    rm -rf live one two debug
    mkdir -p live one two debug
    title=$1
}
run() {
    "$CAIRN" resolve --maps maps --symbols one --symbols two --debug-dir debug -o - "$@" \
        stack >out 2>err || :
}
fail() {
    echo "$title: $1"
    cat out err
    exit 1
}
named() {
    run "$@"
    [ "$(cat out)" = "hidden_work 7" ] || fail "no name"
}
unnamed() {
    run "$@"
    grep -q "^0x\|^libapp.so+0x" out || fail "a name, but none was to be found"
}
under_id() { # under_id FOLDER FILE ID
    mkdir -p "$1/.build-id/${3%"${3#??}"}"
    cp "$2" "$1/.build-id/${3%"${3#??}"}/${3#??}.debug"
}
with_link() { # with_link FILE.debug: live/libapp.so stripped, with a link to it
    cp a.stripped live/libapp.so
    objcopy --add-gnu-debuglink="$1" live/libapp.so
}

say "a full library where the process had it"
cp a.full live/libapp.so
named

say "a stripped library has no such name"
cp a.stripped live/libapp.so
unnamed

say "by the local build ID in the debug folder"
cp a.stripped live/libapp.so
under_id debug a.debug "$id_a"
named

say "by the local build ID in a symbol folder"
cp a.stripped live/libapp.so
under_id two a.debug "$id_a"
named

say "by a build ID from a file, with nothing of the library here"
echo "$id_a $path" >ids
under_id one a.debug "$id_a"
named --build-ids ids

say "by debuglink beside the library"
cp a.debug live/libapp.dbg
with_link live/libapp.dbg
named

say "by debuglink in .debug"
mkdir live/.debug
cp a.debug live/.debug/libapp.dbg
with_link live/.debug/libapp.dbg
named

say "by debuglink in the debug folder"
mkdir -p "debug$WORK/live"
cp a.debug "debug$WORK/live/libapp.dbg"
with_link "debug$WORK/live/libapp.dbg"
named

say "a debug file that was changed since has another CRC"
cp a.debug live/libapp.dbg
with_link live/libapp.dbg
printf x >>live/libapp.dbg
unnamed
grep -q "its CRC is" err || fail "no warning"
named --allow-mismatch

say "a debug file with the link's CRC, but another build ID"
objcopy -O binary --only-section=.note.gnu.build-id a.full note
{ head -c 16 note; head -c 20 /dev/zero | tr '\0' '\252'; } >other.note # as long, all 0xaa
cp a.debug live/libapp.dbg
objcopy --remove-section=.note.gnu.build-id --add-section=.note.gnu.build-id=other.note \
    live/libapp.dbg
with_link live/libapp.dbg
unnamed
grep -q "live/libapp.dbg: its CRC is that of the debuglink .* but its build ID is aaaaaaaa" err ||
    fail "no warning"
named --allow-mismatch

say "flat in a symbol folder, a debug file alone"
cp a.debug one/libapp.so
named

say "flat, with .debug behind its name"
cp a.debug two/libapp.so.debug
named

say "by the path of the process below a symbol folder"
mkdir -p "two$WORK/live"
cp a.full "two$WORK/live/libapp.so"
named

say "anywhere below a symbol folder, the first in sorted order"
mkdir -p one/x/y one/b
cp a.full one/b/libapp.so
cp a.stripped one/x/y/libapp.so
named

say "a glob of symbol folders"
mkdir -p many/v1 many/v2
cp a.full many/v2/libapp.so
named --symbols "$WORK/many/v*"
rm -r many

say "symbols of another build are refused"
cp b.full one/libapp.so
echo "$id_a $path" >ids
unnamed --build-ids ids
grep -q "$id_b" err || fail "the build ID that was found is not named"
grep -q -- --allow-mismatch err || fail "no hint"
named --build-ids ids --allow-mismatch

say "the right build behind another one"
cp b.full one/libapp.so
mkdir two/deep
cp a.full two/deep/libapp.so
echo "$id_a $path" >ids
named --build-ids ids

say "damaged files are passed over"
head -c 100 a.full >one/libapp.so
cp a.full two/libapp.so
named
grep -q "one/libapp.so" err || fail "no warning"

echo "$cases cases"
