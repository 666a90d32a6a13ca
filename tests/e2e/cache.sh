#!/bin/bash
# SPDX-License-Identifier: MIT
# What is kept between runs: the answers are the same with it and without, whatever happened to it or
# to the files that it was made from, and whoever else is at work in the same folder.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ clang++ ld.lld objcopy strip nm python3

# A C++ program with enough debug information to be kept, as three compilers' settings write it.
python3 "$SRC/bench/gen_cpp.py" cpp 2 >/dev/null || exit 1
build() { # NAME COMPILER...
    local name=$1 objects=() source
    shift
    for source in cpp/u000.cpp cpp/u001.cpp cpp/all.cpp cpp/main1.cpp; do
        "$@" -std=c++17 -Icpp -g -c "$source" -o "$name-$(basename "$source" .cpp).o" || return 1
        objects+=("$name-$(basename "$source" .cpp).o")
    done
    case $name in clang) set -- "$@" -fuse-ld=lld -Wl,--build-id ;; esac
    "$@" "${objects[@]}" -o "$name"
}
if ! build gcc g++ -O1 || ! build clang clang++ -O1 || ! build split g++ -O1 -gsplit-dwarf; then
    echo "the compilers refused the program"
    exit 1
fi
objcopy --only-keep-debug gcc gcc.debug
strip -o stripped gcc
objcopy --add-gnu-debuglink=gcc.debug stripped
objcopy --remove-section .note.gnu.build-id gcc anonymous

# Addresses all over the code, in no order.
addresses() {
    nm --defined-only "$1" | awk '$2 ~ /^[tTwW]$/ { print $1 }' | python3 -c '
import random, sys
random.seed(4)
starts = [int(line, 16) for line in sys.stdin]
for _ in range(3000):
    print(hex(random.choice(starts) + random.randrange(120)))'
}

# ask WAY NAME OPTION...: the answers go to the file WAY, what was said to WAY.err.
ask() {
    local way=$1 name=$2
    shift 2
    "$CAIRN" symbolize -v --json "$@" "$name" <"addresses.$name" >"$way" 2>"$way.err" ||
        fail "$name, $way: status $?" "$way.err"
}

# agree WAY NAME TEXT: as without any of it, and -v says this.
agree() {
    n_checks=$((n_checks + 1))
    cmp -s "$1" never || { diff "$1" never | head -4 >different; fail "$2, $1: other answers" different; }
    has "$1.err" "$3" "$2, $1"
}
cairn_folder=$XDG_CACHE_HOME/cairn
entries() { # KIND: how many there are
    "$CAIRN" cache --json | python3 -c '
import json, sys
print(sum(e["kind"] == sys.argv[1] for e in json.load(sys.stdin)["entries"]))' "$1"
}
entry() { # KIND: the file of the one entry
    find "$cairn_folder" -name "*.$1" -type f | head -n 1
}

for name in gcc clang split stripped anonymous; do
    addresses "$([ $name = stripped ] && echo gcc || echo $name)" >addresses.$name
    ask never $name --no-cache --index never
    has never.err "unit by unit, found by " "$name, never"
    [ -e "$cairn_folder" ] && fail "$name: --no-cache left something"
    ask always $name --no-cache --index always --threads 1
    agree always $name "indexed whole in "
    ask threads $name --no-cache --index always --threads 3
    agree threads $name "indexed whole in "
    ask written $name --index always
    agree written $name "indexed whole in "
    same "$name: one index" "$(entries index)" 1
    ask read $name
    agree read $name "index from the cache ("
    ask read-always $name --index always
    agree read-always $name "index from the cache ("
    "$CAIRN" cache --clear >/dev/null
    ask auto $name
    agree auto $name "indexed whole in " # 3000 addresses are more than a quarter
    "$CAIRN" cache --clear >/dev/null
    if [ $name = clang ]; then
        ask unmapped $name --index never
        agree unmapped $name "found by root DIEs"
        same "$name: one map" "$(entries 'unit map')" 1
        ask mapped $name --index never
        agree mapped $name "found by a map from the cache"
    fi
    rm -rf "$cairn_folder"
done

# One address keeps nothing of a program with aranges; a small program is not kept at all.
"$CAIRN" symbolize gcc "$(head -n 1 addresses.gcc)" >/dev/null
[ -e "$cairn_folder" ] && fail "one address made an entry"
echo 'int main() { return 0; }' | gcc -g -x c - -o small
"$CAIRN" symbolize --index always small 0x1000 >/dev/null
[ -e "$cairn_folder" ] && fail "a small program made an entry"

# What is compressed is unpacked once: the second run makes an index for all others, if it can be kept.
objcopy --compress-debug-sections=zlib gcc packed
build split-packed g++ -O1 -gsplit-dwarf -gz
one() { # WHAT NAME TEXT: one address
    "$CAIRN" symbolize -v "$2" "$(head -n 1 "addresses.$2")" >out 2>err || fail "$2, $1: status $?" err
    has err "$3" "$2, $1"
}
cp addresses.gcc addresses.packed
ask never packed --no-cache --index never
"$CAIRN" symbolize --no-cache packed "$(head -n 1 addresses.packed)" >/dev/null
one "first run" packed "unit by unit"
same "a note that it was unpacked" "$(entries unpacked)" 1
one "second run" packed "indexed whole in "
one "third run" packed "index from the cache"
ask read packed
agree read packed "index from the cache"
truncate -s 100 "$(entry unpacked)"
one "a damaged note" packed "index from the cache"
rm "$(entry index)"
one "a damaged note, no index" packed "damaged, and made anew"
one "after that" packed "indexed whole in "
"$CAIRN" cache --clear >/dev/null
addresses split-packed >addresses.split-packed
rm split-packed-u001.dwo
one "first run" split-packed "unit by unit"
one "second run" split-packed "indexed whole in "
one "no index was kept" split-packed "unit by unit"
one "nor is tried again" split-packed "unit by unit"
"$CAIRN" cache --clear >/dev/null
rm -rf "$cairn_folder"

# Whatever is done to the entry, the answers stay; damage is told once, and repaired.
ask never gcc --no-cache --index never
ask written gcc --index always
file=$(entry index)
size=$(stat -c %s "$file")
same "the entry is private" "$(stat -c %a "$file")" 600
# flip PLACE: changes every bit of a byte.
flip() {
    byte=$(od -An -tu1 -j "$1" -N 1 "$file")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o $((255 - byte)))" | dd of="$file" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
for place in 0 9 20 50 60 100 140; do
    flip $place
    ask damaged gcc --index always
    agree damaged gcc "indexed whole in "
    warnings=$(grep -c 'warning: .*damaged, and made anew' damaged.err)
    [ $place = 9 ] && warnings=$((warnings + 1)) # another version is no damage
    same "byte $place changed: warnings" "$warnings" 1
    ask again gcc
    agree again gcc "index from the cache"
    hasnt again.err warning "byte $place: repaired"
done
for length in 0 1 63 200 4096 $((size / 2)) $((size - 1)); do
    truncate -s "$length" "$file"
    ask damaged gcc --index always
    agree damaged gcc "indexed whole in "
    same "cut to $length: warnings" "$(grep -c 'warning: .*damaged' damaged.err)" 1
done
# The payload is summed up where the file was changed since it was written, or in an earlier boot.
flip $((size - 100))
ask damaged gcc --index always
agree damaged gcc "indexed whole in "
same "a changed payload: warnings" "$(grep -c 'warning: .*damaged, and made anew: sum' damaged.err)" 1
touch "$file"
ask again gcc
agree again gcc "index from the cache"
# It is bounded even where the time says that nothing was changed.
cp "$file" whole
touch -r "$file" time
for step in 1 2 3 4 5 6 7 8; do
    python3 - "$file" "$step" <<'PY'
import random, sys
random.seed(int(sys.argv[2]))
data = bytearray(open(sys.argv[1], "rb").read())
for _ in range(len(data) // 200):
    data[random.randrange(4096, len(data))] = random.randrange(256)
open(sys.argv[1], "wb").write(data)
PY
    touch -r time "$file"
    "$CAIRN" symbolize --json gcc <addresses.gcc >out 2>err
    status=$?
    [ $status -le 1 ] || fail "payload full of noise, $step: status $status" err
    [ $status = 0 ] && same "noise $step: an answer each" "$(wc -l <out)" 3000
    cp whole "$file"
    touch -r time "$file"
done

# Not ours, or not only ours.
chmod 622 "$file"
ask untrusted gcc --index auto
agree untrusted gcc "not trusted"
ask replaced gcc
agree replaced gcc "index from the cache"
mv "$file" moved
ln -s "$PWD/moved" "$file"
ask linked gcc --index never
ask linked gcc
agree linked gcc "no cache: "
"$CAIRN" cache --clear >/dev/null
[ -s moved ] || fail "a link was followed out of the folder"

# Files that have changed, turned up or gone.
"$CAIRN" cache --clear >/dev/null
ask never anonymous --no-cache --index never
ask written anonymous --index always
ask read anonymous
agree read anonymous "index from the cache"
cp anonymous other
strip --strip-debug other
cp other anonymous
ask never anonymous --no-cache --index never
ask replaced anonymous
agree replaced anonymous "symbol tables alone"
ask never stripped --no-cache --index never
ask written stripped --index always
mv gcc.debug elsewhere
ask never stripped --no-cache --index never
ask gone stripped
agree gone stripped "symbol tables alone"
mv elsewhere gcc.debug
ask never stripped --no-cache --index never
ask back stripped
agree back stripped "index from the cache"
ask never split --no-cache --index never
ask written split --index always
ask read split
agree read split "index from the cache"
touch split-u001.dwo
ask touched split --index always
agree touched split "split-u001.dwo has changed"
ask read split
agree read split "index from the cache"
mv split-u001.dwo elsewhere
ask never split --no-cache --index never
ask gone split
agree gone split "split-u001.dwo has changed"
ask gone split # what is missing is told again: an index without it is not kept
agree gone split "warning: "
hasnt gone.err "from the cache" "a missing .dwo"
mv elsewhere split-u001.dwo
ask never split --no-cache --index never
ask back split
agree back split "index from the cache"

# Two at once, each making the same entry, while a third clears it.
ask never gcc --no-cache --index never
for round in 1 2 3; do
    "$CAIRN" cache --clear >/dev/null
    for writer in 1 2; do
        "$CAIRN" symbolize --json --index always gcc <addresses.gcc >"out$writer" 2>"err$writer" &
    done
    "$CAIRN" cache --clear >/dev/null
    wait
    for writer in 1 2; do
        cmp -s "out$writer" never || fail "round $round, writer $writer: other answers" "err$writer"
        [ -s "err$writer" ] && fail "round $round, writer $writer: words" "err$writer"
    done
    "$CAIRN" symbolize --json gcc <addresses.gcc | cmp -s - never || fail "round $round: read"
done
same "nothing half done is left" "$(find "$cairn_folder" -name '.tmp-*' | wc -l)" 0

# No room, no home, no permission: said with -v, and no more.
"$CAIRN" cache --clear >/dev/null
(
    ulimit -f 16
    exec "$CAIRN" symbolize -v --json --index always gcc <addresses.gcc 2>full.err
) | cat >full
agree full gcc "no cache: "
same "a full disk: entries" "$(entries index)" 0
same "a full disk: leftovers" "$(find "$cairn_folder" -type f | wc -l)" 0
"$CAIRN" cache --clear >/dev/null
XDG_CACHE_HOME=$PWD/no/such/home ask homeless gcc --index always
agree homeless gcc "no cache: "
[ -e no ] && fail "a home was made"
(unset XDG_CACHE_HOME HOME; "$CAIRN" symbolize -v --index always gcc 0x1 2>err >/dev/null)
has err "no cache: neither XDG_CACHE_HOME nor HOME" "no home at all"

# The cap holds, and what was used last stays.
"$CAIRN" cache --clear >/dev/null
ask written gcc --index always
touch -d '2020-01-01' "$(entry index)"
size=$(stat -c %s "$(entry index)")
CAIRN_CACHE_SIZE=$((size + 100000)) ask written clang --index always
same "the cap leaves one" "$(entries index)" 1
"$CAIRN" cache | grep -q "clang$" || fail "the wrong one went"
CAIRN_CACHE_SIZE=0 ask off clang
hasnt off.err "from the cache" "CAIRN_CACHE_SIZE=0"
CAIRN_CACHE_SIZE=much "$CAIRN" symbolize clang 0x1 >/dev/null 2>err
has err 'CAIRN_CACHE_SIZE: "much" is no size' "a size that is none"
"$CAIRN" cache --dir '' >out 2>err
same "no folder: exit status" $? 2
has err "--dir: a folder without a name" "no folder"

# Under sudo with the caller's home, root leaves nothing there.
if [ "$(id -u)" = 0 ]; then
    mkdir home && chown 65534:65534 home
    XDG_CACHE_HOME=$PWD/home/dot ask root gcc --index always
    same "what root left in another's home" "$(find home | wc -l)" 1
else
    skip "ownership under sudo" "not root"
fi

finish "$n_checks checks: the cache changes nothing but the time"
