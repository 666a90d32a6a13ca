#!/bin/bash
# SPDX-License-Identifier: MIT
# Lines and inline frames in modules of a made-up kernel. Its list says where functions lie; truth is
# addr2line on the module, counted from the start of each section: no section begins with a function.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc objcopy nm addr2line xz zstd gzip

cat >my_mod.c <<'C'
static inline __attribute__((always_inline)) int inner(int x)
{
    return x * 7 ^ 3;
}
__asm__(".text\n\t.fill 64, 1, 0x90");
__attribute__((noinline)) static int helper(int x)
{
    return inner(x) + 1;
}
int chain(int x)
{
    for (int i = 0; i < x; i++)
        x += helper(i);
    return x;
}
__asm__(".section .text.slow,\"ax\",@progbits\n\t.fill 32, 1, 0x90\n\t.text");
__attribute__((section(".text.slow"))) int slow(int x)
{
    return helper(x) + inner(x);
}
__attribute__((section(".text.slow"))) int slower(int x)
{
    return helper(x) - inner(x);
}
C
# As distributions build them: the folder of compilation is relative. GNU at times joins it to itself.
gcc -O2 -g -ffile-prefix-map="$PWD"=build/kernel -c my_mod.c -o my-mod.ko || fail "cannot build the module"

# place SYMBOL: its offset in its section
place() { nm my-mod.ko | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
text=0xffffffffc0a01000 slow=0xffffffffc0b55000
{
    echo "ffffffff9a000000 T _text"
    echo "ffffffff9a000110 t do_syscall_64"
    echo "ffffffff9a000340 T _etext"
    for f in helper chain; do printf '%x t %s\t[my_mod]\n' $((text + $(place $f))) $f; done
    for f in slow slower; do printf '%x t %s\t[my_mod]\n' $((slow + $(place $f))) $f; done
} >kallsyms

# names FILE OPTION...: what each address of FILE is called, a line each
names() {
    : >named
    while read -r address; do
        echo "$address 1" >in
        "$CAIRN" resolve in -o - --kallsyms kallsyms "${@:2}" 2>>log | sed 's/ 1$//' >>named
    done <"$1"
}
: >addresses
: >want
for f in helper chain slow slower; do
    section=.text base=$text
    case $f in slow*) section=.text.slow base=$slow ;; esac
    for at in 0 1 5 9; do
        off=$(($(place $f) + at))
        printf '0x%x\n' $((base + off)) >>addresses
        # innermost first, two lines each; the stack goes from the root on
        addr2line -fi -e my-mod.ko -j $section "$(printf '%x' $off)" |
            awk 'NR % 2 { name = $0; next } { sub(/ \(disc.*/, ""); all[++n] = name " (" $0 ")" }
                END { for (i = n; i; i--)
                    printf "%s%s", all[i], i == n ? "_[k]" : "_[i]"; print "" }' |
            sed 's/_\[\([ki]\)\]\([a-z]\)/_[\1];\2/g; s|build/kernel/build/kernel/|build/kernel/|g' >>want
    done
done

: >log
names addresses --lines
hasnt named "my_mod.c" "without the file"
has named "slower_[k]" "names without the file"

mkdir plain packed-xz packed-zst packed-gz linked other sysfs deep deep/kernel
cp my-mod.ko plain/
cp my-mod.ko deep/kernel/my_mod.ko
xz -c my-mod.ko >packed-xz/my-mod.ko.xz
zstd -qc my-mod.ko >packed-zst/my_mod.ko.zst
gzip -c my-mod.ko >packed-gz/my-mod.ko.gz
objcopy --only-keep-debug my-mod.ko linked/my-mod.ko.debug
(cd linked && objcopy --strip-debug --add-gnu-debuglink=my-mod.ko.debug ../my-mod.ko my-mod.ko)
for folder in plain deep packed-xz packed-zst packed-gz linked; do
    : >log
    names addresses --lines --symbols $folder
    same "$folder" "$(cat named)" "$(cat want)"
    hasnt log "warning: kernel module" "$folder"
done

# Where the kernel says it, its word counts.
mkdir -p sysfs/my_mod/sections
echo $text >sysfs/my_mod/sections/.text
echo $slow >sysfs/my_mod/sections/.text.slow
names addresses --lines --symbols plain --kernel-sections sysfs
same "sections as the kernel says" "$(cat named)" "$(cat want)"

# ndk#1252: a base that is the first symbol's gives other functions, and is found out.
printf '0x%x\n' $((text + $(place helper))) >sysfs/my_mod/sections/.text
: >log
names addresses --lines --symbols plain --kernel-sections sysfs
has log "my_mod: plain/my-mod.ko has other functions" "a wrong base"
same "names with a wrong base" "$(sed -n '1,8s/ (.*//p' named)" ""
has named "helper_[k]" "names with a wrong base"

# A module of another build: its functions lie elsewhere.
sed 's/fill 64/fill 96/; s/x \* 7/x * 9 + x * x/; s/return x;/return x * helper(x + 1);/' my_mod.c >other.c
gcc -O1 -g -c other.c -o other/my-mod.ko
objcopy --redefine-sym slow=fast --redefine-sym slower=faster other/my-mod.ko
: >log
names addresses --lines --symbols other
hasnt named "slow (" "another build"
has named "slower_[k]" "another build"

finish "kernel modules: $n_checks checks on $(wc -l <addresses) addresses"
