#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap lost, holds and leaks of core files: of a program that no tracker was in, of one that was
# tracked, of a file that was cut short.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
# shellcheck source=tests/support/heap_lib.sh
. "$SRC/tests/support/heap_lib.sh"
py=/usr/bin/python3
need_tracker
need g++
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not x86-64"; exit 77; }
case $(cat /proc/sys/kernel/core_pattern) in
core | core.%p) by_kernel=yes ;;
*)
    by_kernel=
    command -v gcore >/dev/null || { echo "skipped: core files go elsewhere, and gcore is missing"; exit 77; }
    ;;
esac

# dump NAME PROGRAM [WORD...]: a core file of it, once it has said "ready".
dump() {
    local name=$1
    shift
    mkdir "dump.$name" && mkfifo "dump.$name/input" || exit 1
    (cd "dump.$name" && ulimit -c unlimited && exec "$@" <input >ready 2>log) &
    local dumped=$!
    exec 3>"dump.$name/input"
    for _ in $(seq 200); do grep -q ready "dump.$name/ready" 2>/dev/null && break; sleep 0.05; done
    if [ -n "$by_kernel" ]; then
        kill -ABRT $dumped
    else
        gcore -o "dump.$name/core" $dumped >/dev/null 2>&1
        kill -KILL $dumped
    fi
    exec 3>&-
    wait $dumped 2>/dev/null
    mv "dump.$name"/core* "$name" || fail "$name: no core file"
}

# rows KIND: "NAME BLOCKS/BYTES+BLOCKS/BYTES ..." by the first function of each row.
rows() {
    $py -c 'import json, sys
print(" ".join(sorted("%s %d/%d+%d/%d" % (row["frames"][0]["lines"][0]["function"], row["blocks"], row["bytes"],
    row["indirect_blocks"], row["indirect_bytes"]) for row in json.load(open("out"))[sys.argv[1] + "_stacks"])))' "$1"
}

gcc -g -O1 -fno-inline -pthread -o truth "$SRC/tests/e2e/heap_lost.c" || exit 1
dump core.truth ../truth

# Sizes are what malloc(3) made of 48 (the list, the cycle), 301 to 304, 110 and 111: the last two are in an
# epoll set and a timer, which are not in a core file.
"$CAIRN" heap lost --all --json core.truth >out 2>log || fail "cairn heap lost" log
same "what is lost" "$(rows lost)" "[120 bytes] 2/240+0/0 [312 bytes] 8/2496+0/0 [56 bytes] 2/112+1001/56056"
same "what is doubtful" "$(rows possibly)" "[216 bytes] 4/864+0/0 [65544 bytes] 1/65544+0/0"
same "is it sure" "$(ask 'j["unsure"]')" None
same "threads" "$(ask 'j["look"]["threads"]')" 6
same "its path" "$(ask 'j["core"]')" core.truth
at_least 2 "$(ask 'j["pid"]')" "its pid"
same "no age is claimed" "$(ask '[r for r in j["lost_stacks"] if "oldest_seconds" in r]')" "[]"
has out "does not have what the kernel keeps" "what a core file lacks"
"$CAIRN" heap lost core.truth >out 2>log || fail "in words" log
has out "112 B in 2 blocks lost, and by that 56.1 kB in 1,001 blocks" "in words"
hasnt out " old" "no ages"
hasnt log "ran on" "nothing runs"
has log "without birth stacks" "what is not known"
"$CAIRN" heap lost --fail-over 1k core.truth >out 2>log
same "a gate" $? 3
"$CAIRN" heap lost --older-than 1 core.truth >out 2>log
same "--older-than" $? 1
has log "no tracker saw them" "--older-than"
"$CAIRN" heap leaks --top 1 core.truth >out 2>log || fail "cairn heap leaks" log
has out "[56 bytes]" "what is most"

# A program that writes over the link from the main arena to the others hides none of their blocks.
$py - core.truth core.ring <<'PYTHON' || fail "no link between arenas"
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
links = 0
for i in range(n):
    kind, flags, off, va, _, held = struct.unpack_from("<IIQQQQ", data, start + i * size)
    if kind != 1 or flags != 6 or held > 1 << 20:
        continue
    for at in range(off, off + held - 0x898, 16):
        next_arena, = struct.unpack_from("<Q", data, at + 0x870)
        bins = [struct.unpack_from("<QQ", data, at + 0x70 + 16 * k) for k in range(127)]
        if next_arena & 0x3ffffff == 0x30 != va + at - off & 0x3ffffff and sum(
                b[0] == b[1] == va + at - off + 0x60 + 16 * k for k, b in enumerate(bins)) >= 20:
            struct.pack_into("<Q", data, at + 0x870, 0x4141414141414141)
            links += 1
open(sys.argv[2], "wb").write(data)
sys.exit(links != 1)
PYTHON
"$CAIRN" heap leaks --top 0 core.truth >all 2>log || fail "all blocks" log
"$CAIRN" heap leaks --top 0 core.ring >all.ring 2>log || fail "a list of arenas that was overwritten" log
has log "has overwritten the list of its malloc's arenas" "a list of arenas that was overwritten"
same "all blocks" "$(sha256sum <all.ring)" "$(sha256sum <all)"

# The shortest path to a node of the chain is by a stale pointer on the stack of a coroutine.
"$CAIRN" heap holds --json core.truth "#1" >out 2>log || fail "cairn heap holds" log
same "its root" "$(ask 'j["paths"][0]["root"]["kind"], j["paths"][0]["root"]["name"].split("+")[0]')" "('variable', 'main_context')"
"$CAIRN" heap holds --dominators --top 20 core.truth >out 2>log || fail "--dominators" log
has out "chain in $PWD/truth  [3,9" "what the chain keeps"
has out "main_context in $PWD/truth  [1,0" "what the coroutine keeps"
"$CAIRN" heap holds -o held.svg core.truth >out 2>log || fail "a picture" log
has held.svg "<svg" "a picture"
"$CAIRN" heap holds core.truth 0x10 >out 2>log
same "no block" $? 1
has log "core.truth: " "whose it is not"

# Classes are told by their vtables.
cat >classes.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
namespace app {
struct Session { virtual ~Session() {} int room[10]; };
template <class T> struct Box : Session { T value; };
}
std::vector<app::Session *> sessions;
__attribute__((noinline)) static void lose()
{
    for (int i = 0; i < 7; i++) {
        auto *box = new app::Box<std::string>();
        box->value = "a text that is too long for the string itself";
        __asm__ volatile("" ::"r"(box) : "memory");
    }
}
__attribute__((noinline)) static void wipe()
{
    volatile char room[16384];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}
int main()
{
    for (int i = 0; i < 100; i++)
        sessions.push_back(new app::Session);
    lose();
    wipe();
    puts("ready");
    fflush(stdout);
    getchar();
}
END
g++ -g -O1 -o classes classes.cc || exit 1
dump core.classes ../classes
"$CAIRN" heap lost --json core.classes >out 2>log || fail "classes" log
same "a class" "$(ask 'j["lost_stacks"][0]["blocks"], j["lost_stacks"][0]["indirect_blocks"]')" "(7, 7)"
same "its name" "$(ask 'j["lost_stacks"][0]["frames"][0]["lines"][0]["function"][:27]')" "[app::Box<std::__cxx11::bas"
"$CAIRN" heap holds core.classes app::Session >out 2>log || fail "a class that is held" log
has out "variable sessions in $PWD/classes" "a class that is held"

# Of a file that was cut nothing is claimed: what is missing may point anywhere.
head -c -9000 core.classes >core.cut
"$CAIRN" heap lost --possibly core.cut >out 2>log
same "a core file that was cut" $? 0
has out "Nothing is claimed to be lost." "a core file that was cut"
has log "the core file ends before" "why"
head -c 9000 core.classes >core.cut
"$CAIRN" heap lost core.cut >out 2>log
same "a core file without memory" $? 1

# The state of a tracked process lies where it had it.
if [ -n "$by_kernel" ]; then
    mkdir states && chmod 700 states
    library=$(dirname "$CAIRN")/libcairn-heap.so
    dump core.tracked env "LD_PRELOAD=$library" "CAIRN_HEAP_DIR=$PWD/states" ../truth
    "$CAIRN" heap lost --json core.tracked >out 2>log || fail "of a tracked process" log
    same "birth stacks" "$($py -c 'import json
print(sorted({l["function"] for r in json.load(open("out"))["lost_stacks"] for f in r["frames"] for l in f["lines"]
              if l["function"].startswith("lose_l")}))')" "['lose_list']"
    "$CAIRN" heap holds core.tracked hold_chain >out 2>log || fail "holds of a tracked process" log
    # By the stale pointer where the tracker's own frames have left it, else through the whole chain.
    grep -q 'variable main_context\|variable chain' out || fail "holds of a tracked process" out
    has out "hold_chain (heap_lost.c:" "its birth stack"
    rm -r states
    "$CAIRN" heap lost core.tracked >out 2>log || fail "without its state" log
    has out "[56 bytes]" "without its state"
fi

# A heap that is not glibc's.
if command -v musl-gcc >/dev/null; then
    musl-gcc -O1 -o musl -x c - <<<'#include <stdio.h>
int main(void) { puts("ready"); fflush(stdout); getchar(); return 0; }' || exit 1
    dump core.musl ../musl
    "$CAIRN" heap lost core.musl >out 2>log
    same "musl" $? 1
    has log "no arena of glibc's malloc" "musl"
fi

finish heap_core
