#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs on which symbolizers go wrong, each built here by gcc, clang and lld, each with the one
# right answer, which stands in this script and comes from no other tool.
# Labels set by asm statements say where an answer is asked for.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc g++ clang-14 clang++-14 ld.lld objcopy strip nm readelf

# frames FILE [OPTION...] ADDR...: the compact form of symbolize_frames.py, addresses cut off
frames() { # the status of cairn is not asked for: an unnamed address is an answer
    "$CAIRN" symbolize --json "$@" 2>>warnings | /usr/bin/python3 "$SRC/tests/e2e/symbolize_frames.py" |
        cut -d' ' -f2-
}

expect() { # WHAT EXPECTED FILE [OPTION...] ADDR
    local what=$1 expected=$2 got
    shift 2
    got=$(frames "$@")
    [ "$got" = "$expected" ] || fail "$what: cairn symbolize $*
  expected: $expected
  got:      $got"
}

# The address of a symbol (exactly this name), as 0x...
at() { # FILE NAME
    nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1; exit }'
}

plus() { printf '0x%x\n' $(($1 + $2)); }

# p_vaddr - p_offset of the segment that holds .text
text_shift() {
    readelf -lW "$1" | awk '$1 == "LOAD" && / R E / { print $2, $3; exit }' |
        { read -r off vaddr; echo $((vaddr - off)); }
}

cat >header.h <<'C'
static inline __attribute__((always_inline)) int in_header(int x)
{
    __asm__ volatile(".globl mark_header\nmark_header: nop");
    return x + 1;
}
C

cat >work.cc <<'C'
#include <string>
#include <stdlib.h>
#include "header.h"
volatile int sink;
static inline __attribute__((always_inline)) int leaf(int x)
{
    __asm__ volatile(".globl mark_leaf\nmark_leaf: nop");           /* 7 */
    return x * 3;
}
static inline __attribute__((always_inline)) int mid(int x)
{
    return leaf(x + 1) + 1;                                          /* 12 */
}
__attribute__((noinline)) int outer(int x)
{
    sink = mid(x);                                                   /* 16 */
    return in_header(sink);
}
static inline __attribute__((always_inline)) int in_closure(int x)
{
    __asm__ volatile(".globl mark_closure\nmark_closure: nop");     /* 21 */
    return x + sink;
}
__attribute__((noinline)) int makes_closure(int a)
{
    int r = 0;
    for (int i = 0; i < sink; i++) {
        auto body = [&](int b) __attribute__((noinline)) { r += in_closure(a + b); sink++; }; /* 28 */
        body(i);
        body(r);
    }
    return r;
}
namespace app {
namespace {
__attribute__((noinline)) int hidden(const std::string &s)
{
    __asm__ volatile(".globl mark_hidden\nmark_hidden: nop");       /* 38 */
    sink += 5;
    return (int)s.size();
}
inline __attribute__((always_inline)) int hidden_inline(int x)
{
    __asm__ volatile(".globl mark_hidden_inline\nmark_hidden_inline: nop"); /* 44 */
    return x ^ 3;
}
struct Local {
    int x;
    __attribute__((always_inline)) int get() const
    {
        __asm__ volatile(".globl mark_get\nmark_get: nop");         /* 51 */
        return x;
    }
};
} // namespace
__attribute__((noinline)) int uses_hidden(int x)
{
    Local local = {x};
    return hidden("abc") + hidden_inline(x) + local.get();          /* 59 */
}
} // namespace app
[[noreturn]] __attribute__((noinline, cold)) void die(int c)
{
    exit(c);
}
__attribute__((noinline)) int work(int c)
{
    if (c > 100)
        die(c);                                                      /* 69 */
    return c + sink;
}
static __attribute__((noinline)) int always_seven(int x, int seven)
{
    sink += x;
    return seven * sink;
}
struct Shape {
    int a;
    explicit Shape(int x);
    virtual ~Shape();
};
__attribute__((noinline)) Shape::Shape(int x) : a(x) { sink = x; }
__attribute__((noinline)) Shape::~Shape() { sink = 0; }
__attribute__((noinline)) int foo(int x) { sink += 7; return x + 1; }
__attribute__((noinline)) int bar(int x) { sink += 7; return x + 1; }
#ifdef RUST
extern "C" int rust_v0(int) __asm__("_RNvNtCs1234_7mycrate3foo3bar");
extern "C" int rust_legacy(int) __asm__("_ZN7mycrate3foo3baz17h0123456789abcdefE");
int rust_v0(int x) { return x + sink; }
int rust_legacy(int x) { return x - sink; }
int rust(int x) { return rust_v0(x) + rust_legacy(x); }
#else
int rust(int x) { return x; }
#endif
int main(int c, char **)
{
    Shape shape(c);
    return outer(c) + makes_closure(c) + app::uses_hidden(c) + work(c) + always_seven(c, 7) +
           always_seven(c + 1, 7) + foo(c) + bar(c) + rust(c) + shape.a;
}
C

lld=(-fuse-ld=lld "-Wl,--build-id")
build_all() {
    g++ -O2 -g -gdwarf-5 -fno-ipa-icf work.cc -o gcc5 &&
        g++ -O2 -g -gdwarf-4 -fno-ipa-icf -no-pie -fno-pie work.cc -o gcc4-exec &&
        g++ -O2 -g -gdwarf-3 -gstrict-dwarf -fno-ipa-icf work.cc -o gcc3 &&
        g++ -O2 -g -gdwarf-2 -fno-ipa-icf work.cc -o gcc2 &&
        g++ -O2 -g -gdwarf64 -gdwarf-5 -fno-ipa-icf work.cc -o gcc5-64 &&
        clang++-14 -O2 -g -gdwarf-5 work.cc -o clang5-lld "${lld[@]}" &&
        clang++-14 -O2 -g -gdwarf-4 work.cc -o clang4-lld "${lld[@]}" &&
        clang++-14 -O2 -g -gdwarf-5 -ffunction-sections work.cc -o clang5-icf "${lld[@]}" \
            -Wl,--icf=all
}
if ! build_all; then
    echo "the compilers refused the program"
    exit 1
fi
all="gcc5 gcc4-exec gcc3 gcc2 gcc5-64 clang5-lld clang4-lld"

# 1. The file offset of code is not its address (lld, ET_EXEC): only the program headers know.
for f in clang5-lld clang4-lld gcc4-exec; do
    outer=$(at "$f" _Z5outeri)
    shift_by=$(text_shift $f)
    [ "$shift_by" != 0 ] || fail "case 1: $f has p_vaddr = p_offset, so the test shows nothing"
    off=$(plus "$outer" -"$shift_by")
    [ "$(frames "$f" --offsets=file "$off")" = "$(frames "$f" "$outer")" ] ||
        fail "case 1: $f: file offset $off is not the function at $outer"
    case $(frames "$f" "$off") in
    *"outer(int)"*) fail "case 1: $f: an offset taken for an address finds the function too" ;;
    esac
done
base=$(readelf -lW gcc4-exec | awk '$1 == "LOAD" { print $3; exit }')
[ $((base)) != 0 ] || fail "case 1: gcc4-exec is no program at an address of its own"
expect "case 1: rel of ET_EXEC is the address" "$(frames gcc4-exec "$(at gcc4-exec main)")" \
    gcc4-exec --offsets=rel "$(at gcc4-exec main)"

# 2. Bytes behind p_filesz are no file: an offset there belongs to whichever segment's file range
#    holds it (unit test symbol/symbolizer has the crafted ones); past all of them it is nobody's.
size=$(stat -c %s gcc5)
expect "case 2: behind the end of the file" "(outside)" gcc5 --offsets=file "$(plus "$size" 65536)"

# 3. Inline chains with DW_FORM_rnglistx, strx and addrx (clang DWARF 5), and all other versions.
readelf --debug-dump=abbrev clang5-lld 2>/dev/null | grep -q DW_FORM_rnglistx ||
    fail "case 3: clang5-lld has no DW_FORM_rnglistx"
readelf --debug-dump=abbrev clang5-lld 2>/dev/null | grep -q DW_FORM_addrx ||
    fail "case 3: clang5-lld has no DW_FORM_addrx"
for f in $all; do
    expect "case 3: $f" "leaf work.cc:7 < mid work.cc:12 < outer work.cc:16" \
        "$f" --names=short "$(at "$f" mark_leaf)"
done

# 4. No .debug_aranges.
readelf -SW clang5-lld | grep -q debug_aranges && fail "case 4: clang5-lld has aranges"
objcopy --remove-section .debug_aranges gcc5 gcc5-noaranges
expect "case 4: aranges removed" "$(frames gcc5 "$(at gcc5 mark_leaf)")" gcc5-noaranges \
    "$(at gcc5 mark_leaf)"

# 5. The body of a closure stands in a structure inside the function that makes it.
for f in $all; do
    got=$(frames "$f" --names=short "$(at "$f" mark_closure)")
    case $got in
    "in_closure work.cc:21 < makes_closure(int)::{lambda(int)#1}::operator() work.cc:28" | \
        "in_closure work.cc:21 < makes_closure(int)::\$_0::operator() work.cc:28") ;;
    *) fail "case 5: $f: $got" ;;
    esac
done

# 7. No DW_AT_linkage_name (gcc, unnamed namespace): the symbol's name, else a qualified one.
for f in $all; do
    expect "case 7: $f" "app::(anonymous namespace)::hidden(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&) work.cc:38" \
        "$f" "$(at "$f" mark_hidden)"
done
for f in gcc5 gcc4-exec gcc2 gcc5-64; do
    expect "case 7: inlined, $f" \
        "app::(anonymous namespace)::hidden_inline work.cc:44 < app::uses_hidden(int) work.cc:59" \
        "$f" "$(at "$f" mark_hidden_inline)"
    expect "case 7: a method, $f" \
        "app::(anonymous namespace)::Local::get work.cc:51 < app::uses_hidden(int) work.cc:59" \
        "$f" "$(at "$f" mark_get)"
done
objcopy --strip-all --keep-section='.debug_*' gcc5 gcc5-nosymtab
readelf -SW gcc5-nosymtab | grep -q '\.symtab' && fail "case 7: gcc5-nosymtab has a .symtab"
expect "case 7: no symbol table" "app::(anonymous namespace)::hidden work.cc:38" gcc5-nosymtab \
    "$(at gcc5 mark_hidden)"

# 8. What the compiler cut out or made anew of a function keeps its name; the suffix is told apart.
n_suffixes=0
while read -r addr _ name; do
    suffix=${name#*.}
    got=$(frames gcc5 "0x$addr" | sed 's/.* < //')
    case $got in
    *" .$suffix") ;;
    *) fail "case 8: $name: $got" ;;
    esac
    case ${got%% .*} in
    *.cold* | *.part* | *.constprop* | *.isra*) fail "case 8: $name: suffix in the name: $got" ;;
    esac
    n_suffixes=$((n_suffixes + 1))
done < <(nm gcc5 | grep -E ' [tT] _Z[0-9A-Za-z_]*\.(cold|part|constprop|isra)')
[ $n_suffixes -ge 2 ] || fail "case 8: only $n_suffixes functions with a suffix in gcc5"
for variant in C1 C2; do
    expect "case 8: constructor $variant" "Shape::Shape(int) work.cc:82" gcc5 \
        "$(at gcc5 _ZN5Shape${variant}Ei)"
done
# In an anonymous namespace GCC leaves the linkage names out; which destructor it is says the symbol
# of each, whatever was asked before.
cat >hidden.cc <<'TEXT'
struct Base { virtual ~Base(); };
Base::~Base() {}
namespace {
struct Hidden : Base { int *p = new int; __attribute__((noinline)) ~Hidden() { delete p; } };
}
Base *make() { return new Hidden; }
int main() { delete make(); }
TEXT
g++ -O2 -g -fno-ipa-icf hidden.cc -o hidden || fail "hidden.cc does not compile"
for order in "D0 D1" "D1 D0"; do
    for variant in $order; do at hidden "_ZN12_GLOBAL__N_16Hidden${variant}Ev"; done >addrs
    got=$("$CAIRN" symbolize --json --names=mangled hidden <addrs |
        sed 's/.*"linkage":"_ZN12_GLOBAL__N_16Hidden\(D.\)Ev".*/\1/' | xargs)
    [ "$got" = "$order" ] || fail "case 8: destructors $order: got $got"
done

# 9. A return address is looked up one byte before it: behind a call that does not return lies
#    another function or nothing.
read -r cold size < <(nm -S gcc5 | awk '$4 == "_Z4worki.cold" { print "0x" $1, "0x" $2 }')
ret=$(plus "${cold:-0}" "${size:-0}")
expect "case 9: --ret" "work(int) work.cc:69 .cold" gcc5 --ret "$ret"
case $(frames gcc5 "$ret") in
*"work(int) work.cc:69"*) fail "case 9: $ret without --ret is in work() too: shows nothing" ;;
esac

# 11. Compressed sections: zlib, zstd, the old .zdebug_*.
for kind in zlib-gabi zlib-gnu zstd; do
    if objcopy --compress-debug-sections=$kind gcc5 gcc5-$kind 2>/dev/null; then
        for mark in mark_leaf mark_hidden mark_closure mark_header; do
            expect "case 11: $kind" "$(frames gcc5 "$(at gcc5 $mark)")" gcc5-$kind "$(at gcc5 $mark)"
        done
    else
        echo "note: objcopy cannot compress by $kind"
    fi
done
readelf -SW gcc5-zlib-gnu | grep -q zdebug_info || fail "case 11: no .zdebug_info in gcc5-zlib-gnu"

# 13. Debug files: debuglink with its checksum, .debug/, build ID; names from the debug file's
#     .symtab, for the stripped file has only .dynsym.
mark=$(at gcc5 mark_hidden)
right=$(frames gcc5 "$mark")
mkdir -p dl/.debug other id/.build-id
objcopy --only-keep-debug gcc5 prog.debug
objcopy --strip-all --add-gnu-debuglink=prog.debug gcc5 dl/prog
expect "case 13: stripped" "(no-symbol)" dl/prog "$mark"
cp prog.debug dl/prog.debug
expect "case 13: beside the file" "$right" dl/prog "$mark"
mv dl/prog.debug dl/.debug/
expect "case 13: .debug/" "$right" dl/prog "$mark"
printf x >>dl/.debug/prog.debug
expect "case 13: wrong checksum" "(no-symbol)" dl/prog "$mark"
rm dl/.debug/prog.debug
cp prog.debug other/prog.debug
expect "case 13: --symbols DIR" "$right" dl/prog --symbols other "$mark"
id=$(readelf -n gcc5 | awk '/Build ID/ { print $3 }')
if [ -n "$id" ]; then
    mkdir -p "id/.build-id/${id:0:2}"
    objcopy --strip-all gcc5 nolink
    cp prog.debug "id/.build-id/${id:0:2}/${id:2}.debug"
    expect "case 13: build ID" "$right" nolink --debug-dir id "$mark"
fi

# 14. Discarded copies of inline functions leave ranges at 0, 1, -1 and -2.
cat >twice.h <<'C'
template <int n> __attribute__((noinline)) int twice(int x) { return x * n + (x >> 3); }
C
printf '#include "twice.h"\nint a(int x) { return twice<5>(x); }\n' >a.cc
printf '#include "twice.h"\nint a(int);\nint main(int c, char **) { return a(c) + twice<5>(c); }\n' >b.cc
for compiler in "g++ -gdwarf-4" "g++ -gdwarf-5" "clang++-14 -gdwarf-4" "clang++-14 -gdwarf-5"; do
    for linker in bfd lld; do
        $compiler -O2 -g -ffunction-sections a.cc b.cc -fuse-ld=$linker -o comdat ||
            fail "case 14: $compiler cannot build"
        expect "case 14: $compiler, $linker" "int twice<5>(int) twice.h:1" comdat \
            "$(at comdat _Z5twiceILi5EEii)"
        for addr in 0 1 2 8 fffffffffffffffe ffffffffffffffff; do
            case $(frames comdat $addr) in
            "(no-symbol)" | "(outside)") ;;
            *) fail "case 14: $compiler, $linker: $addr is $(frames comdat $addr)" ;;
            esac
        done
    done
done

# 15. Code of a header is in the header, not in the unit's file; what follows a sequence's end has no
#     line (rows that share an address, line 0 and unsorted sequences: unit test dwarf/line).
for f in $all; do
    expect "case 15: $f" "in_header header.h:3 < outer work.cc:17" "$f" --names=short \
        "$(at "$f" mark_header)"
done

# 17. Identical code folding: one of the names, marked.
case $(frames clang5-icf "$(at clang5-icf _Z3fooi)") in
"foo(int) work.cc:"*" +folded" | "bar(int) work.cc:"*" +folded") ;;
*) fail "case 17: $(frames clang5-icf "$(at clang5-icf _Z3fooi)")" ;;
esac
cat >entry.s <<'S'
    .text
    .globl pure_assembly
    .type pure_assembly, @function
pure_assembly:
    nop
    ret
    .size pure_assembly, . - pure_assembly
S
printf 'int pure_assembly(void);\nint main(void) { return pure_assembly(); }\n' >asm.c
gcc -g -O1 asm.c entry.s -Wa,-g -Wa,--noexecstack -o asm || fail "case 17: no assembly program"
expect "case 17: assembly" "pure_assembly entry.s:5" asm "$(at asm pure_assembly)"

# 18. Rust's names, both manglings.
g++ -O2 -g -DRUST -fno-inline work.cc -o rust
for pair in "_RNvNtCs1234_7mycrate3foo3bar=mycrate::foo::bar" \
    "_ZN7mycrate3foo3baz17h0123456789abcdefE=mycrate::foo::baz"; do
    got=$(frames rust "$(at rust "${pair%%=*}")")
    case $got in
    "${pair#*=} work.cc:"*) ;;
    *) fail "case 18: ${pair%%=*}: $got" ;;
    esac
done

# 21. What lies between symbols is unknown, not the nearest symbol; answers keep the order of the
#     questions, duplicates and all.
strip --strip-debug -o nodebug gcc5
read -r start size < <(nm -S nodebug | awk '$4 == "_Z3fooi" { print "0x" $1, "0x" $2 }')
expect "case 21: inside" "foo(int)" nodebug "$(plus "$start" $((size - 1)))"
expect "case 21: in the gap" "(no-symbol)" nodebug "$(plus "$start" "$size")"
expect "case 21: outside" "(outside)" nodebug 0x7fffffffffff
printf '%s\n' "$start" 0x0 "$start" 0x7fffffffffff >questions
"$CAIRN" symbolize nodebug <questions | cut -d: -f1 >answers
printf '0x%x\n' "$start" 0 "$start" $((0x7fffffffffff)) | cmp - answers ||
    fail "case 21: answers are not in the order of the questions"

finish "all cases answered right"
