#!/bin/bash
# SPDX-License-Identifier: MIT
# Files at the edge: ten million symbols, more sections than 16 bits count, and a file that another
# program shortens while it is read.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc nm /usr/bin/python3

free_kb=$(df -Pk . | awk 'NR == 2 { print $4 }')

# 1. Ten million symbols: the first looks scan them, the later ones sort them.
count=10000000
[ "$free_kb" -gt 1000000 ] || count=1000000
/usr/bin/python3 "$SRC/tests/e2e/huge_elf.py" symbols $count symbols.elf || fail "cannot write"
same "one of $count symbols" "$("$CAIRN" symbolize symbols.elf 0x10ff18)" "0x10ff18: f0ff1"
for i in 1 2 3 4 5 6 7 8; do
    n=$((count * i / 10 + i))
    printf '0x%x: f%04x\n' $((0x100000 + 16 * n + i)) $((n % 4096))
done >wanted
cut -d: -f1 wanted >addresses
"$CAIRN" symbolize symbols.elf <addresses >out 2>err || fail "$count symbols" err
cmp -s out wanted || fail "$count symbols: eight of them" out
last=$(printf '0x%x' $((0x100000 + 16 * count - 1)))
same "the last one" "$("$CAIRN" symbolize symbols.elf "$last")" \
    "$last: $(printf 'f%04x' $(((count - 1) % 4096)))"
rm -f symbols.elf

# 2. 70,000 sections: their count is in section 0, those of symbols in SHT_SYMTAB_SHNDX.
/usr/bin/python3 "$SRC/tests/e2e/huge_elf.py" sections 70000 sections.elf || fail "cannot write"
for n in 0 65278 65279 65280 65535 65536 69999; do
    at=$(printf '0x%x' $((0x100000 + 16 * n + 5)))
    same "section $n" "$("$CAIRN" symbolize sections.elf "$at")" \
        "$at: $(printf 's%06d' "$n")"
done

head -c 3000000 sections.elf >cut.elf
"$CAIRN" symbolize cut.elf 0x100000 >out 2>err
has err "was cut short or damaged" "a cut section table"

# 3. A file that is shortened while it is mapped: the answers so far are whole, then a message.
for i in $(seq 2000); do
    echo "int f$i(int x) { return x * $i; }"
done >many.c
echo 'int main(void) { return 0; }' >>many.c
gcc -g -O1 many.c -o many || fail "cannot build"
mapfile -t addresses < <(nm many | awk '$3 ~ /^f[0-9]+$/ { print "0x" $1 }')
for form in plain json; do
    cp many copy
    rm -f out
    mkfifo questions."$form"
    option=
    [ $form = plain ] || option=--json
    # shellcheck disable=SC2086 # none, or one option
    "$CAIRN" symbolize --no-cache $option copy <questions."$form" >out 2>err &
    exec 3>questions."$form"
    echo "${addresses[0]}" >&3
    until [ -s out ]; do :; done
    : >copy
    (trap '' PIPE; printf '%s\n' "${addresses[@]}" >&3) 2>/dev/null
    exec 3>&-
    wait $!
    same "shortened, $form: status" $? 1
    has err "copy: was shortened while it was read" "shortened, $form"
    same "shortened, $form: whole lines" "$(tail -c1 out | od -An -c | tr -d ' ')" '\n'
    hasnt out "outside" "shortened, $form"
done

finish "$n_checks checks: $count symbols, 70,000 sections, a file that shrinks"
