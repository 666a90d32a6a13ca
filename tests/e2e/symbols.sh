#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn symbols: what is added is found by every command, by build ID; an archive of a profile's files
# names it in an empty home; perf reads it, too.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc objcopy strip readelf python3 tar zstd

cat >p.c <<'C'
__attribute__((noinline)) int inner(volatile int *x)
{
    return ++*x;
}
int main(int argc, char **argv)
{
    (void)argv;
    return inner(&argc);
}
C
# One program: with all, its debug file, and stripped; and another build of it.
if ! gcc -g -O1 -o full p.c || ! gcc -O2 -s -o other p.c || ! objcopy --only-keep-debug full full.debug ||
    ! strip -o stripped full; then
    echo "the compiler refused the program"
    exit 1
fi
build_id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }
id=$(build_id full)
short=${id:2}
inner=$(readelf -sW full | awk '$8 == "inner" { print $2 }')
# Of a machine where the program lies at a path that this one has not.
python3 "$SRC/tests/support/raw_profile.py" raw.pb.gz "/opt/elsewhere/p,$id,$inner,7" \
    "/opt/elsewhere/lost.so,0102030405060708,1000,1" || exit 1
store=$XDG_DATA_HOME/cairn/symbols

# named CASE WORD OPTION...: what resolve makes of the profile has the word.
named() {
    local case=$1 word=$2
    shift 2
    "$CAIRN" resolve raw.pb.gz -o named.pb.gz --force --no-cache "$@" 2>log || fail "$case: status $?" log
    "$CAIRN" convert named.pb.gz -o named.txt --force --to collapsed 2>>log
    has named.txt "$word" "$case"
}
added() { # CASE TEXT PATH...
    local case=$1 text=$2
    shift 2
    "$CAIRN" symbols add "$@" >out 2>log || fail "$case: status $?" log
    has out "$text" "$case"
}
empty_store() { rm -rf "$store"; }

named "nothing is there" 'p+0x'
hasnt named.txt inner "nothing is there"

# Every kind of folder and file.
mkdir -p tree/.build-id/"${id:0:2}" deb/usr/lib/debug/x perf/opt/p/"$id" perf/.build-id/"${id:0:2}" apk/lib/x86_64 ndk
cp full.debug tree/.build-id/"${id:0:2}/$short.debug"
cp full.debug deb/usr/lib/debug/x/p.debug
ln -s ../../opt nowhere
cp full perf/opt/p/"$id"/elf
ln -s ../../opt/p/"$id" perf/.build-id/"${id:0:2}/$short"
cp full apk/lib/x86_64/libp.so
gcc -g -c -o ndk/p.o p.c && cp full ndk/libp.so
python3 - <<'PY' || exit 1
import zipfile
for name, way in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(name + ".apk", "w", way) as archive:
        archive.write("apk/lib/x86_64/libp.so", "lib/x86_64/libp.so")
        archive.writestr("assets/x.so.txt", "no library")
PY
for source in full tree deb perf stored.apk deflated.apk ndk; do
    empty_store
    added "add $source" "1 file added" "$source"
    named "after add $source" inner
    added "add $source again" "1 there already" "$source"
done

# A stripped file is replaced by a better one, and no better one by it.
empty_store
added "stripped" "1 file added" stripped
added "better" "1 file added" full
added "worse" "1 there already" stripped
has out "0 files added" "worse"
named "the better one" inner

# Links, where they are asked for; else strip(1) of the original costs the store nothing.
empty_store
cp full original
added "copy" "1 file added" original
strip original
named "after strip of the original" inner
empty_store
cp full original
added "link" "1 file added" --link original
same "links" "$(stat -c %h original)" 2

# What an archive holds is never linked, whatever lies at the path that it is named by.
empty_store
mkdir -p 'stored.apk!/lib/x86_64'
echo other >'stored.apk!/lib/x86_64/libp.so'
added "link from an archive" "1 file added" --link stored.apk
cmp -s full "$store/.build-id/${id:0:2}/$short" ||
    fail "the store has another file than the archive"

# list, as text and as JSON; gc
empty_store
added "three files" "3 files added" full full.debug other
"$CAIRN" symbols list >out 2>log || fail "list" log
has out "debug file" list
has out "${id:0:12}" list
has out "$WORK/full.debug" list
"$CAIRN" symbols list --json >out 2>log || fail "list --json" log
same "list --json" "$(ask 'sorted((f["kind"], f["has"]) for f in j["files"] if f["build_id"] == "'"$id"'")')" \
    "[('binary', 'lines'), ('debug file', 'lines')]"
touch -d '40 days ago' "$store/.build-id/${id:0:2}/$short.from"
"$CAIRN" symbols gc --older-than 30d --dry-run >out 2>log || fail "gc --dry-run" log
has out "1 file would go" "gc --dry-run"
"$CAIRN" symbols gc --older-than 30d >out 2>log || fail gc log
has out "1 file deleted" gc
[ ! -e "$store/.build-id/${id:0:2}/$short" ] || fail "gc left the file"
[ ! -e "$store/.build-id/${id:0:2}/$short.from" ] || fail "gc left where it came from"
# A use is noted: what names need does not go.
touch -d '40 days ago' "$store/.build-id/${id:0:2}/$short.debug.from"
named "use" inner
"$CAIRN" symbols gc --older-than 30d >out 2>log
has out "0 files deleted" "gc after a use"
"$CAIRN" symbols gc --older-than 50000w >out 2>log || fail "gc of a thousand years" log
has out "0 files deleted" "gc of a thousand years"
"$CAIRN" symbols gc --max-size 0 >out 2>log || fail "gc --max-size" log
"$CAIRN" symbols list >out 2>log
has out "0 files, 0 B" "all are gone"

# symbolize and a stripped file with a debug file in the store
added "debug file" "1 file added" full.debug
"$CAIRN" symbolize stripped "0x$inner" >out 2>log
has out "p.c:3" "symbolize"

# The bound of the store; bad input.
empty_store
"$CAIRN" symbols add --max-size 1000 full >out 2>log && fail "a file beyond the bound: status 0"
has log "full:" "a file beyond the bound"
"$CAIRN" symbols add --max-size $(($(stat -c %s full) + 10)) full other >out 2>log &&
    fail "two files beyond the bound"
has log "full:" "two files beyond the bound"
[ -e "$store/.build-id/${id:0:2}/$short" ] || fail "the second file of a run removed the first"
echo text >text.txt
head -c 300 full >cut.so
mkfifo pipe
for bad in text.txt missing pipe; do
    "$CAIRN" symbols add "$bad" >out 2>log && fail "add $bad: status 0"
    has log "$bad" "add $bad"
done
added "a damaged file" "1 damaged" cut.so
objcopy --remove-section .note.gnu.build-id full anonymous
added "no build ID" "1 without a build ID" anonymous
"$CAIRN" symbols gc >out 2>log
same "gc without a wish" $? 2
"$CAIRN" symbols gc --older-than 5x >out 2>log
same "gc --older-than 5x" $? 2

# What others can write is not used, and an empty CAIRN_SYMBOLS means none.
empty_store
added "for mode" "1 file added" full
chmod 666 "$store/.build-id/${id:0:2}/$short"
named "writable by others" 'p+0x'
chmod 600 "$store/.build-id/${id:0:2}/$short"
CAIRN_SYMBOLS='' named "no store" 'p+0x'
named "the store" inner

# The archive names the profile in an empty home, and has equal bytes each time.
"$CAIRN" symbols pack raw.pb.gz -o a.tar.zst >out 2>log || fail "pack: status $?" log
has out "1 file of 1 module" pack
has out "1 missing" pack
has log "/opt/elsewhere/lost.so" pack
"$CAIRN" symbols pack raw.pb.gz -o b.tar.zst >out 2>log
cmp a.tar.zst b.tar.zst >log || fail "two archives differ" log
"$CAIRN" symbols pack raw.pb.gz -o a.tar.zst >out 2>log && fail "pack over a file: status 0"
has log "--force" "pack over a file"
"$CAIRN" symbols pack raw.pb.gz -o a.zip >out 2>log
same "pack to a.zip" $? 2
mkdir -p home/.debug
tar --zstd -xf a.tar.zst -C home/.debug || fail "tar"
same "archive" "$(cd home/.debug && find . -type f)" "./opt/elsewhere/p/$id/elf"
# shellcheck disable=SC2030,SC2031 # on purpose: another home
(
    export HOME=$PWD/home XDG_DATA_HOME=$PWD/home/data
    failed=0
    named "unpacked" inner --symbols home/.debug
    added "add of ~/.debug" "1 file added" home/.debug
    named "after add of ~/.debug" inner
    exit "$failed"
) || failed=$((failed + 1))
if command -v perf >/dev/null; then
    python3 "$SRC/tests/support/raw_profile.py" here.pb.gz "$WORK/full,$id,$inner,7" || exit 1
    "$CAIRN" symbols pack here.pb.gz -o here.tar >out 2>log || fail "pack of here" log
    mkdir -p here/.debug && tar -xf here.tar -C here/.debug
    HOME=$PWD/here perf buildid-cache -l >out 2>log # it lists what it finds in both places
    has out "$id $WORK/full" "perf reads the archive"
else
    skip "perf reads the archive" "there is no perf"
fi
empty_store
"$CAIRN" symbols pack raw.pb.gz -o none.tar >out 2>log && fail "nothing to pack: status 0"
[ ! -e none.tar ] || fail "an archive of nothing"
# Names in a profile lead out of no folder.
python3 "$SRC/tests/support/raw_profile.py" climb.pb.gz "/../../x/./p,$id,$inner,7" || exit 1
"$CAIRN" symbols pack climb.pb.gz --symbols tree --symbols perf -o climb.tar >out 2>log || fail climb log
tar tf climb.tar >out
hasnt out ".." "names in the archive"
has out "x/p/$id/elf" "names in the archive"

finish "$n_checks checks of the store and of archives"
