#!/bin/bash
# SPDX-License-Identifier: MIT
# Libraries that are stored in an APK: named by ARCHIVE!/ENTRY, and where a process's maps show the
# APK alone. Truth comes from the same library outside of the archive.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need clang-14 ld.lld objcopy nm readelf /usr/bin/python3

cat >a.c <<'C'
static int hidden(int x) { volatile int y = x; return y * 3; }
__attribute__((noinline)) static int quiet(int x) { volatile int y = x; return y - 3; }
int exported(int x) { return hidden(x) + quiet(x); }
C

# The place of an entry's bytes comes from its local header, whose extra field differs.
cat >apk.py <<'PY'
import struct, sys, zipfile

def write(out, entries):
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("AndroidManifest.xml", b"<x/>" * 900, zipfile.ZIP_DEFLATED)
        for entry in entries:
            name, path, align, method = entry.split(":")
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED if method == "packed" else zipfile.ZIP_STORED
            if int(align):
                at = archive.fp.tell() + 30 + len(name) + 4
                pad = -at % int(align)
                info.extra = struct.pack("<HH", 0xD935, pad) + bytes(pad)
            archive.writestr(info, open(path, "rb").read())

def offset(apk, name):
    info, data = zipfile.ZipFile(apk).getinfo(name), open(apk, "rb").read()
    name_size, extra_size = struct.unpack_from("<HH", data, info.header_offset + 26)
    print("%x" % (info.header_offset + 30 + name_size + extra_size))

if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3:])
else:
    offset(sys.argv[2], sys.argv[3])
PY

for target in x86_64:x86_64 arm64-v8a:aarch64 armeabi-v7a:armv7; do
    abi=${target%:*}
    clang-14 --target="${target#*:}-linux-gnu" -g -O1 -fPIC -shared -nostdlib -fuse-ld=lld \
        -Wl,--build-id a.c -o "$abi.so" || fail "cannot build for $abi"
    llvm-strip-14 -s "$abi.so" -o "$abi.stripped.so"
done
/usr/bin/python3 apk.py write base.apk lib/arm64-v8a/liba.so:arm64-v8a.stripped.so:4096:stored \
    lib/x86_64/liba.so:x86_64.so:4096:stored lib/armeabi-v7a/liba.so:armeabi-v7a.so:0:stored \
    lib/x86_64/libpacked.so:x86_64.so:0:packed

at() { # FILE NAME
    nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1; exit }'
}

# 1. Named by the user.
for abi in x86_64 armeabi-v7a; do
    for name in quiet exported; do
        same "$abi: $name" "$("$CAIRN" symbolize "base.apk!/lib/$abi/liba.so" "$(at $abi.so $name)")" \
            "$("$CAIRN" symbolize $abi.so "$(at $abi.so $name)")"
    done
done
has <("$CAIRN" symbolize base.apk!/lib/x86_64/liba.so "$(at x86_64.so quiet)") "a.c:2" "a line"

# 2. Its debug file is found by build ID, and one of another build is not taken.
id=$(readelf -n arm64-v8a.so | awk '/Build ID/ { print $3 }')
mkdir -p "id/.build-id/${id:0:2}" other/
objcopy --only-keep-debug arm64-v8a.so "id/.build-id/${id:0:2}/${id:2}.debug" 2>/dev/null ||
    llvm-objcopy-14 --only-keep-debug arm64-v8a.so "id/.build-id/${id:0:2}/${id:2}.debug"
quiet=$(at arm64-v8a.so quiet)
arm64='base.apk!/lib/arm64-v8a/liba.so'
unnamed=" liba.so+$(printf '0x%x' "$quiet") [function] (no symbol)" # known by its unwind tables alone
same "stripped" "$("$CAIRN" symbolize "$arm64" "$quiet" | cut -d: -f2)" "$unnamed"
has <("$CAIRN" symbolize "$arm64" --debug-dir id "$quiet") "quiet at" "by build ID"
sed 's/- 3/- 4/' a.c >b.c
clang-14 --target=aarch64-linux-gnu -g -O1 -fPIC -shared -nostdlib -fuse-ld=lld -Wl,--build-id b.c \
    -o other/liba.so
same "another build" \
    "$("$CAIRN" symbolize "$arm64" --symbols other "$quiet" 2>err | cut -d: -f2)" "$unnamed"

# 3. What cannot be read is told.
"$CAIRN" symbolize 'base.apk!/lib/x86_64/libpacked.so' 0 >out 2>err
same "packed: status" $? 1
has err "lib/x86_64/libpacked.so is compressed in the archive, expected a stored entry" packed
"$CAIRN" symbolize 'base.apk!/lib/x86_64/none.so' 0 >out 2>err
has err "base.apk: lib/x86_64/none.so: no such entry in the archive" "no such entry"
"$CAIRN" symbolize 'none.apk!/lib/x86_64/none.so' 0 >out 2>err
has err "none.apk: no such archive" "no such archive"
"$CAIRN" symbolize base.apk 0 >out 2>err
has err "name a library in it, as base.apk!/lib/arm64-v8a/liba.so" "the archive itself"
head -c 5000 base.apk >cut.apk
"$CAIRN" symbolize 'cut.apk!/lib/x86_64/liba.so' 0 >out 2>err
has err "cut.apk: no zip archive: no end record" "a cut archive"

# 4. Maps that show the APK and an offset, and those that name the entry.
start=$(/usr/bin/python3 apk.py offset base.apk lib/x86_64/liba.so)
arm=$(/usr/bin/python3 apk.py offset base.apk lib/arm64-v8a/liba.so)
read -r off vaddr < <(readelf -lW x86_64.so | awk '$1 == "LOAD" && / R E / { print $2, $3; exit }')
page=$((0x$start + off & ~0xfff))
cat >maps <<MAPS
7f0000000000-7f0000001000 r--p $start 00:00 0 /data/app/x/base.apk
$(printf '7f0000001000-7f0000003000 r-xp %08x 00:00 0 /data/app/x/base.apk' $page)
7f0000008000-7f0000009000 r--p $arm 00:00 0 /data/app/x/base.apk
$(printf '7f0000011000-7f0000012000 r-xp %08x 00:00 0 /data/app/x/base.apk!/lib/x86_64/liba.so' $((off & ~0xfff)))
MAPS
for name in quiet exported; do
    in_page=$(($(at x86_64.so $name) - vaddr + (off & 0xfff)))
    printf 'main;0x%x 1\nmain;0x%x 2\n' $((0x7f0000001000 + (0x$start + off & 0xfff) + $(at x86_64.so $name) - vaddr)) \
        $((0x7f0000011000 + in_page))
done >stacks
mkdir -p pulled/data/app/x flat
cp base.apk pulled/data/app/x/
cp base.apk flat/
for where in pulled flat; do
    "$CAIRN" resolve stacks --maps maps --symbols $where --leaf=ip -o - >out.$where 2>err
    n=$(grep -cE '^main;(exported|quiet|exported;hidden_\[i\]) [12]$' out.$where)
    same "maps, $where" "$n" 4
done
printf '%s /data/app/x/base.apk!/lib/x86_64/liba.so\n' "${id}" >ids
"$CAIRN" resolve stacks --maps maps --symbols flat --build-ids ids -o - >out 2>err
has err "its build ID is" "another build in the archive"
hasnt out "quiet" "another build in the archive"

# 5. A damaged archive costs its own names alone.
head -c 3000 base.apk >flat/base.apk
"$CAIRN" resolve stacks --maps maps --symbols flat -o - >out 2>err || fail "a cut archive" err
has out "main;0x7f" "a cut archive"

finish "$n_checks checks: stored libraries are named by entry, by offset and by build ID"
