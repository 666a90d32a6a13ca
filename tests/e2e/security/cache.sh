#!/bin/bash
# SPDX-License-Identifier: MIT
# The cache never shows root names that another user chose: neither by a program with the build ID,
# size and section layout of root's, nor by entries in a folder of another user.
set -u

# shellcheck source=tests/e2e/security/lib.sh
. "$SRC/tests/e2e/security/lib.sh"
need gcc python3

# Two programs that differ in names alone; large enough to be kept.
python3 >prog.c <<'END'
for i in range(4000):
    print(f"int honest_{i:04d}(int a, int b) {{ int c = a * {i} + b, d = c ^ a; return c + d; }}")
print("int main(int argc, char **argv) { (void)argv; return honest_0999(argc, 2); }")
END
gcc -O0 -g -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 prog.c -o good ||
    { echo "gcc refused the program"; exit 1; }
LC_ALL=C sed 's/honest_/wicked_/g' good >eve/prog
chmod 755 eve/prog
chown $EVE:$EVE eve/prog
same "the programs are of one size" "$(stat -c %s good)" "$(stat -c %s eve/prog)"
address=$(nm good | awk '$3 == "honest_0123" { print "0x" $1 }')

names() { "$CAIRN" symbolize "$@" "$address" 2>log; }
names --index always eve/prog | grep -q wicked_0123 || fail "the other user's program has other names" log
names --index always good >out
has out honest_0123 "root's program, after the other user's"
hasnt out wicked_0123 "root's program, after the other user's"
names eve/prog >out
has out wicked_0123 "the other user's program keeps its own"
entries() { "$CAIRN" cache | grep -c 'index' || :; }
same "both are kept" "$(entries)" 2

# The same file written again, with its time of change set back: another inode change time.
touch -r eve/prog stamp
LC_ALL=C sed 's/honest_/rotten_/g' good >changed
cat changed >eve/prog
touch -r stamp eve/prog
names eve/prog >out
has out rotten_0123 "a program that was changed in place"

# Entries that another user wrote: root does not read them, and says so.
mkdir eve/cache
cp -a "$XDG_CACHE_HOME/cairn" eve/cache/
chown -R $EVE:$EVE eve/cache
XDG_CACHE_HOME=$WORK/eve/cache "$CAIRN" symbolize -v good "$address" >out 2>log
has log "eve/cache/cairn: belongs to uid $EVE, expected 0" "a folder of another user"
hasnt log "index from the cache" "a folder of another user"
mkdir -m 755 eve/home
chown $EVE:$EVE eve/home
XDG_CACHE_HOME=$WORK/eve/home "$CAIRN" symbolize --index always good "$address" >out 2>log
same "root leaves nothing in another's folder" "$(find eve/home | wc -l)" 1

# An entry that was changed, and has the mark of the boot in its time as if it had been checked.
entry=$(find "$XDG_CACHE_HOME/cairn" -name '0123*.index')
touch -r "$entry" stamp
python3 - "$entry" <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    data = f.read()
    f.seek(data.index(b"123", 4096))
    f.write(b"321")
END
touch -r stamp "$entry"
names good >out
has out honest_0123 "a changed entry"
has log "sum of its payload" "a changed entry"

finish "$n_checks checks: no name that another user chose"
