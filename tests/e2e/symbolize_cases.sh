#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317 # functions are called by name
# Twenty-one cases on which symbolizers go wrong, on programs of tests/cases built for each CPU by
# clang and lld, and by gcc and GNU ld where they are there. The right answers stand in this script and
# come from no other tool. Each case prints its number, its CPU and its name; the labels that say where
# an answer is asked for are set by asm statements of the programs, which are never run.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need clang-14 ld.lld llvm-nm-14 llvm-objcopy-14 llvm-objdump-14 readelf xz
# shellcheck source=tests/cases/ask.sh
. "$SRC/tests/cases/ask.sh"

case_1() { # the file offset of code is not its address: only the program headers know
    for f in clang5-lld clang4-lld $gcc4_exec; do
        local outer shift_by off
        outer=$(at "$f" _Z5outeri)
        shift_by=$(text_shift "$f")
        differ "p_vaddr - p_offset of $f" "$shift_by" 0
        off=$(plus "$outer" -"$shift_by")
        same "$f: file offset $off" "$(frames "$f" --offsets=file "$off")" "$(frames "$f" "$outer")"
        case $(frames "$f" "$off") in
        *"outer(int)"*) fail "$f: an offset taken for an address finds the function too" ;;
        esac
    done
    for f in $gcc4_exec; do
        differ "base of $f" $(($(readelf -lW "$f" | awk '$1 == "LOAD" { print $3; exit }'))) 0
        same "$f: rel is the address" "$(frames "$f" --offsets=rel "$(at "$f" _start)")" \
            "$(frames "$f" "$(at "$f" _start)")"
    done
}

case_2() { # a segment is chosen by what the file holds of it
    local n_code far size data
    n_code=$(readelf -lW far | grep -c '^  LOAD.* R E ')
    same "executable segments of far" "$n_code" 2
    for name in _start far_away; do
        far=$(at far "$name")
        shift_by=$(segment_shift far "$far")
        same "file offset of $name" "$(frames far --offsets=file "$(plus "$far" -"$shift_by")")" \
            "$(frames far "$far")"
    done
    same "in the far segment" "$(frames far "$(at far far_away)" | cut -d: -f1)" "far_away far.c"
    # .bss lies behind the bytes of the data segment: the offset there is another segment's, or nobody's.
    data=$(readelf -lW far | awk '$1 == "LOAD" && $7 == "RW" && $5 != $6 { print $2, $5 }' | tail -n 1)
    size=$(stat -c %s far)
    differ "segment with .bss" "$data" ""
    expect "behind the end of the file" "(outside)" far --offsets=file "$(plus "$size" 65536)"
}

case_3() { # inline chains by rnglistx, strx and addrx of clang's DWARF 5, and of all other versions
    readelf --debug-dump=abbrev clang5-lld 2>/dev/null >abbrevs
    for form in DW_FORM_rnglistx DW_FORM_addrx DW_FORM_strx1; do
        has abbrevs "$form" "clang5-lld"
    done
    for f in $all; do
        expect "$f" "leaf work.cc:13 < mid work.cc:18 < outer work.cc:22" \
            "$f" --names=short "$(at "$f" mark_leaf)"
    done
}

case_4() { # no .debug_aranges: clang writes none
    for f in clang5-lld clang4-lld; do
        same "sections of aranges in $f" "$(readelf -SW "$f" | grep -c debug_aranges)" 0
    done
    for f in $gcc5; do
        objcopy_ --remove-section .debug_aranges "$f" noaranges
        same "$f without its aranges" "$(frames noaranges "$(at "$f" mark_leaf)")" \
            "$(frames "$f" "$(at "$f" mark_leaf)")"
    done
}

case_5() { # the body of a closure stands in a structure inside the function that makes it
    local got
    for f in $all; do
        got=$(frames "$f" --names=short "$(at "$f" mark_closure)")
        n_checks=$((n_checks + 1))
        case $got in
        "in_closure work.cc:27 < makes_closure(int)::{lambda(int)#1}::operator() work.cc:34" | \
            "in_closure work.cc:27 < makes_closure(int)::\$_0::operator() work.cc:34") ;;
        *) fail "$f: $got" ;;
        esac
    done
}

case_6() { # dwz: partial units, and a supplementary file that several share
    if [ -z "$gcc5" ] || ! command -v dwz >/dev/null; then
        omit "no dwz, or no gcc"
        return
    fi
    local shared="Shared::sum(int) const twice.h:19 < a(int) comdat_a.cc:6"
    cp comdat-gcc4-bfd dwz-single && cp gcc5 dwz-1 && cp gcc4-exec dwz-2 && cp comdat-gcc4-bfd dwz-3
    dwz dwz-single 2>dwz.log || { omit "dwz cannot read files of this CPU"; return; }
    readelf --debug-dump=info dwz-single 2>/dev/null | grep -q DW_TAG_partial_unit ||
        fail "dwz made no partial unit"
    expect "in one file" "$shared" dwz-single "$(at dwz-single mark_shared)"
    dwz -m dwz.alt dwz-1 dwz-2 dwz-3 2>>dwz.log || { omit "dwz -m does not work"; return; }
    readelf -SW dwz-1 | grep -q gnu_debugaltlink || { fail "dwz made no altlink"; return; }
    same_everywhere gcc5 dwz-1
    same_everywhere gcc4-exec dwz-2
    expect "supplementary file" "$shared" dwz-3 "$(at dwz-3 mark_shared)"
}

case_7() { # no linkage name (gcc, unnamed namespace): the symbol's name, else a qualified one
    for f in $all; do
        same "$f" "$(frames "$f" "$(at "$f" mark_hidden)" | without_suffix)" \
            "app::(anonymous namespace)::hidden(Text const&) work.cc:44"
    done
    for f in $gcc5 $gcc_others; do
        case "$f" in gcc3) continue ;; esac # strict DWARF 3 has no way to say what a name stands in
        expect "inlined, $f" \
            "app::(anonymous namespace)::hidden_inline work.cc:50 < app::uses_hidden(int) work.cc:65" \
            "$f" "$(at "$f" mark_hidden_inline)"
        expect "a method, $f" \
            "app::(anonymous namespace)::Local::get work.cc:57 < app::uses_hidden(int) work.cc:65" \
            "$f" "$(at "$f" mark_get)"
    done
    for f in $gcc5; do
        objcopy_ --strip-all --keep-section='.debug_*' "$f" nosymtab
        ! readelf -SW nosymtab | grep -q '\.symtab' || fail "nosymtab has a .symtab"
        expect "no symbol table" "app::(anonymous namespace)::hidden work.cc:44" nosymtab \
            "$(at "$f" mark_hidden)"
    done
}

case_8() { # .part, .cold, .isra, .constprop: one policy; constructors and destructors of one class
    [ -n "$gcc5" ] || { omit "no gcc"; return; }
    local n_suffixes=0 addr name suffix got order variant
    while read -r addr _ name; do
        suffix=${name#*.}
        got=$(frames gcc5 "0x$addr" | sed 's/.* < //')
        n_checks=$((n_checks + 1))
        case $got in
        *" .$suffix") ;;
        *) fail "$name: $got" ;;
        esac
        case ${got%% .*} in
        *.cold* | *.part* | *.constprop* | *.isra*) fail "$name: suffix in the name: $got" ;;
        esac
        n_suffixes=$((n_suffixes + 1))
    done < <(llvm-nm-14 gcc5 | grep -E ' [tT] _Z[0-9A-Za-z_]*\.(cold|part|constprop|isra)')
    [ "$n_suffixes" -ge 1 ] || fail "no function with a suffix in gcc5"
    # Link-time optimisation writes the suffix into DWARF's linkage names too.
    readelf --debug-dump=info lto 2>/dev/null | grep -q 'DW_AT_linkage_name.*same\.' ||
        fail "no linkage name with a suffix in lto"
    objcopy_ --strip-all --keep-section='.debug_*' lto lto-nosymtab
    while read -r addr _ name; do
        for f in "lto --index=always" "lto --index=never" lto-nosymtab; do
            # shellcheck disable=SC2086 # a file and an option
            same "$f $name" "$(frames $f "0x$addr" | sed 's/ lto_.*\.c:[0-9]*//')" "same .${name#same.}"
        done
    done < <(llvm-nm-14 lto | grep ' same')
    for variant in C1 C2; do
        expect "constructor $variant" "Shape::Shape(int) work.cc:94" gcc5 "$(at gcc5 "_ZN5Shape${variant}Ei")"
    done
    # GCC leaves linkage names out of an unnamed namespace; which destructor it is says the symbol of
    # each, whatever was asked before.
    for order in "D0 D1" "D1 D0"; do
        for variant in $order; do at gcc5 "_ZN12_GLOBAL__N_16Hidden${variant}Ev"; done >addrs
        got=$("$CAIRN" symbolize --json --names=mangled gcc5 <addrs |
            sed 's/.*"linkage":"_ZN12_GLOBAL__N_16Hidden\(D.\)Ev".*/\1/' | xargs)
        same "destructors" "$got" "$order"
    done
}

case_9() { # a return address is looked up one byte before it
    local start size ret f
    for f in $all; do
        read -r start size < <(llvm-nm-14 -S "$f" | awk '$4 == "_Z14ends_with_calli" { print "0x" $1, "0x" $2 }')
        ret=$(call_end "$f" "$start" "$size")
        expect "$f: --ret behind a call that does not return" "ends_with_call(int) work.cc:82" "$f" --ret "$ret"
        [ "$cpu" != arm ] || continue # constants of the function follow its code
        case $(frames "$f" "$ret") in
        *"ends_with_call(int) work.cc:82"*) fail "$f: $ret without --ret is there too: shows nothing" ;;
        esac
    done
    [ -n "$gcc5" ] || return
    read -r start size < <(llvm-nm-14 -S gcc5 | awk '$4 == "_Z4worki.cold" { print "0x" $1, "0x" $2 }')
    [ -n "${start:-}" ] || { note "gcc made no work.cold"; return; }
    expect "--ret at the end of .cold" "work(int) work.cc:76 .cold" gcc5 --ret "$(plus "$start" "$size")"
}

case_10() { # a PLT stub has the name of what it calls
    local n=0 addr name
    for f in plt-lld $plt_bfd; do
        while read -r addr name; do
            expect "$f" "$name" "$f" "$addr"
            n=$((n + 1))
        done < <(stubs "$f")
    done
    [ "$n" -ge 2 ] || fail "only $n stubs found"
}

case_11() { # compressed sections: zlib, zstd, the old .zdebug_*
    for f in clang5-lld $gcc5; do
        for kind in zlib-gabi zlib-gnu zstd; do
            compress "$kind" "$f" compressed || { note "objcopy cannot compress by $kind"; continue; }
            readelf -SW compressed | grep -E 'debug_info' | grep -qE 'zdebug|  *C|   C' ||
                fail "$kind: .debug_info of $f is not compressed"
            for mark in mark_leaf mark_hidden mark_closure mark_header; do
                mark=$(at "$f" "$mark")
                same "$f $kind $mark" "$(frames compressed "$mark")" "$(frames "$f" "$mark")"
            done
        done
    done
}

case_12() { # symbols packed into .gnu_debugdata
    local f mark
    for f in clang5-lld $gcc5; do
        mark=$(at "$f" mark_hidden)
        objcopy_ --strip-debug "$f" mini
        rm -f mini.xz
        xz -k mini
        objcopy_ --strip-all "$f" packed
        expect "$f stripped" "(no-symbol)" packed "$mark"
        objcopy_ --add-section .gnu_debugdata=mini.xz packed
        same "$f packed" "$(frames packed "$mark" | without_suffix)" \
            "app::(anonymous namespace)::hidden(Text const&)"
    done
}

case_13() { # debug files: debuglink with its checksum, .debug/, build ID, names from their .symtab
    local f=clang5-lld mark right id
    mark=$(at "$f" mark_hidden)
    right=$(frames "$f" "$mark")
    rm -rf dl other id
    mkdir -p dl/.debug other id/.build-id
    objcopy_ --only-keep-debug "$f" prog.debug
    objcopy_ --strip-all "$f" dl/prog && objcopy_ --add-gnu-debuglink=prog.debug dl/prog
    expect "stripped" "(no-symbol)" dl/prog "$mark"
    cp prog.debug dl/prog.debug
    expect "beside the file" "$right" dl/prog "$mark"
    mv dl/prog.debug dl/.debug/
    expect ".debug/" "$right" dl/prog "$mark"
    id=$(readelf -n "$f" | awk '/Build ID/ { print $3 }')
    cp prog.debug other/prog.debug
    rm -r dl/.debug
    expect "--symbols DIR" "$right" dl/prog --symbols other "$mark"
    mkdir -p "id/.build-id/${id:0:2}"
    objcopy_ --strip-all "$f" nolink
    cp prog.debug "id/.build-id/${id:0:2}/${id:2}.debug"
    expect "build ID" "$right" nolink --debug-dir id "$mark"
    # Without a build ID the checksum decides.
    objcopy_ --remove-section .note.gnu.build-id "$f" noid
    mkdir -p crc
    objcopy_ --only-keep-debug noid noid.debug
    objcopy_ --strip-all noid crc/noid && objcopy_ --add-gnu-debuglink=noid.debug crc/noid
    cp noid.debug crc/
    expect "checksum" "$right" crc/noid "$mark"
    printf x >>crc/noid.debug
    expect "wrong checksum" "(no-symbol)" crc/noid "$mark"
}

case_14() { # discarded copies of inline functions leave ranges at 0, 1, -1 and -2
    local last=ffffffffffffffff
    [ "$cpu" != arm ] || last=ffffffff
    for f in comdat-*; do
        [ "${f%.o}" = "$f" ] || continue
        expect "$f" "int twice<5>(int) twice.h:4" "$f" "$(at "$f" _Z5twiceILi5EEii)"
        for addr in 0 1 2 8 ${last%f}e $last; do
            n_checks=$((n_checks + 1))
            case $(frames "$f" "$addr") in
            "(no-symbol)" | "(outside)") ;;
            *) fail "$f: $addr is $(frames "$f" "$addr")" ;;
            esac
        done
    done
}

case_15() { # headers' lines, rows that share an address, line 0, ends of sequences
    for f in $all; do
        expect "$f" "in_header header.h:4 < outer work.cc:23" "$f" --names=short "$(at "$f" mark_header)"
    done
    expect "the last of two rows counts" "_start lines.c:41" lines "$(at lines mark_two)"
    expect "line 0" "_start lines.c:0" lines "$(at lines mark_zero)"
    expect "behind line 0" "_start lines.c:43" lines "$(at lines mark_next)"
}

case_16() { # split DWARF: .dwo, .dwp, and neither
    local f mark right
    for f in split5-clang split4-clang $split_gcc; do
        mark=$(at "$f" mark_leaf)
        right="leaf work.cc:13 < mid work.cc:18 < outer work.cc:22"
        expect "$f" "$right" "$f" --names=short "$mark"
        mkdir -p moved && mv "$f.dwo" moved/
        : >warnings
        expect "$f without .dwo" "outer work.cc:13" "$f" --names=short "$mark"
        same "$f: .dwo missing is said once" "$(grep -c '\.dwo' warnings)" 1
        mv "moved/$f.dwo" .
    done
    make_dwp split5-clang || { note "no tool can make a .dwp"; return; }
    mv split5-clang.dwo moved/
    expect ".dwp" "$right" split5-clang --names=short "$(at split5-clang mark_leaf)"
    mv moved/split5-clang.dwo . && rm split5-clang.dwp
}

case_17() { # folded functions are marked; assembly has a symbol and lines, and no DIE
    case $(frames clang5-icf "$(at clang5-icf _Z3fooi)") in
    "foo(int) work.cc:"*" +folded" | "bar(int) work.cc:"*" +folded") ;;
    *) fail "$(frames clang5-icf "$(at clang5-icf _Z3fooi)")" ;;
    esac
    expect "assembly" "pure_assembly entry.s:6" asm "$(at asm pure_assembly)"
}

case_18() { # Rust's manglings, closures, names with semicolons in collapsed stacks
    local f
    for f in $all; do
        expect "$f, v0" "mycrate::foo::bar work.cc:100" "$f" "$(at "$f" _RNvNtCs1234_7mycrate3foo3bar)"
        expect "$f, legacy" "mycrate::foo::baz work.cc:101" "$f" \
            "$(at "$f" _ZN7mycrate3foo3baz17h0123456789abcdefE)"
    done
    local odd
    odd=$(llvm-nm-14 odd | awk '/odd; name/ { print "0x" $1 }')
    expect "semicolon" "odd; name odd.c:6" odd "$odd"
}

case_19() { # a library stored in an APK: asked by its entry, and by maps that show the APK and an offset
    local f=liblibrary.so addr off page size=from_library
    addr=$(at "$f" from_library)
    /usr/bin/python3 - <<'PY'
import struct, zipfile
name, body = "lib/cpu/liblibrary.so", open("liblibrary.so", "rb").read()
with zipfile.ZipFile("base.apk", "w") as apk:
    apk.writestr("classes.dex", b"x" * 5000)
    info = zipfile.ZipInfo(name)
    pad = -(apk.fp.tell() + 30 + len(name) + 4) % 65536
    info.extra = struct.pack("<HH", 0xD935, pad) + bytes(pad)
    apk.writestr(info, body)
at = open("base.apk", "rb").read().index(body)
open("apk.offset", "w").write(str(at))
PY
    same "by entry" "$(frames "base.apk!/lib/cpu/$f" "$addr")" "$(frames "$f" "$addr")"
    page=$(($(cat apk.offset) + (addr - $(segment_shift "$f" "$addr")) / 4096 * 4096))
    off=$((addr & 4095))
    printf '70000000-70010000 r-xp %08x 00:00 0 %s\n' "$page" /data/app/base.apk >apk.maps
    printf '0x%x 1\n' $((0x70000000 + off)) >apk.txt
    "$CAIRN" resolve apk.txt -o - --maps apk.maps --symbols . 2>>warnings >apk.named
    same "by maps" "$(cat apk.named)" "$size 1"
    printf '70000000-70010000 r-xp %08x 00:00 0 %s\n' $((page - $(cat apk.offset))) \
        "/data/app/base.apk!/lib/cpu/$f" >apk.maps
    "$CAIRN" resolve apk.txt -o - --maps apk.maps --symbols . 2>>warnings >apk.named
    same "by maps that name the entry" "$(cat apk.named)" "$size 1"
}

case_20() { # kallsyms and KASLR, kernel modules, perf maps, anonymous memory, deleted files
    local f=clang5-lld mark shift_by off
    cat >kallsyms <<'TEXT'
ffffffff9a000000 T _text
ffffffff9a000100 T do_work
ffffffff9a000200 t helper
ffffffffc0400000 t in_module	[some]
ffffffffc0400080 t after_it	[some]
TEXT
    sed -n '1,3s/^ffffffff9a/ffffffff81/p' kallsyms >System.map
    printf '%s 1\n' 0xffffffff9a000110 0xffffffff9a000204 0xffffffffc0400010 >kernel.txt
    resolved kernel.txt --kallsyms kallsyms
    same "kallsyms" "$named" "do_work_[k] helper_[k] in_module_[k]"
    resolved kernel.txt --kallsyms System.map --kernel-slide 19000000
    same "System.map and slide" "$named" "do_work_[k] helper_[k] 0xffffffffc0400010"
    printf '%s\n' "1000 100 first" "1040 20 second" >perf.map
    printf '%s 1\n' 0x1010 0x1050 0x1060 0x2000 >jit.txt
    echo '00001000-00003000 rwxp 00000000 00:00 0' >jit.maps
    resolved jit.txt --maps jit.maps --perf-map perf.map
    same "perf map: later lines win" "$named" "first_[j] second_[j] first_[j] 0x2000"
    mark=$(at "$f" mark_hidden)
    shift_by=$(segment_shift "$f" "$mark")
    off=$((mark - shift_by))
    printf '40000000-40010000 r-xp %08x 00:00 0 /gone/%s (deleted)\n' "$((off / 4096 * 4096))" "$f" >deleted.maps
    printf '0x%x 1\n' $((0x40000000 + off % 4096)) >deleted.txt
    resolved deleted.txt --maps deleted.maps --symbols . --names short
    same "a file deleted since" "$named" "app::(anonymous namespace)::hidden"
}

case_21() { # gaps between symbols are unknown; answers keep the order and number of the questions
    local start size f=clang5-lld
    objcopy_ --strip-debug "$f" nodebug
    read -r start size < <(llvm-nm-14 -S nodebug | awk '$4 == "_Z3fooi" { print "0x" $1, "0x" $2 }')
    start=$(plus "$start" 0)
    expect "inside" "foo(int)" nodebug "$(plus "$start" $((size - 1)))"
    objcopy_ --strip-debug asm asm-nodebug
    expect "in the gap" "(no-symbol)" asm-nodebug "$(plus "$(at asm pure_assembly)" 16)"
    expect "outside" "(outside)" nodebug 0x7ffffff0
    printf '%s\n' "$start" 0x1 "$start" 0x7ffffff0 >questions
    "$CAIRN" symbolize nodebug <questions | cut -d: -f1 >answers
    cmp -s questions answers || fail "answers are not in the order of the questions"
}

run_cases "p_offset differs from p_vaddr" "segments chosen by p_filesz" "clang DWARF 5 inline chains" \
    "no .debug_aranges" "closures in functions" "dwz and altlink" "no linkage name" \
    "suffixes and variants" "return address minus one" "PLT stubs" "compressed sections" \
    ".gnu_debugdata" "debuglink, build ID" "discarded COMDAT" "line table rules" "split DWARF" \
    "folded code, assembly" "Rust, closures, odd names" "libraries in an APK" "kernel, JIT, deleted files" \
    "gaps, order"
