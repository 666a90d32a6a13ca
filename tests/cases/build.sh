#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh CPU OUT: builds the programs of this folder for x86_64, aarch64 or arm into OUT, by clang and
# lld, and by gcc and GNU ld where they are installed for that CPU. Prints what was left out.
#
#   NAME          compiled by          linked by   for
#   gcc5          g++ DWARF 5          GNU ld      most cases; gcc4-exec (no PIE), gcc3, gcc2, gcc5-64 too
#   clang5-lld    clang++ DWARF 5      lld         p_vaddr differs from p_offset, no .debug_aranges; clang4-lld
#   clang5-icf    clang++ DWARF 5      lld         identical functions folded
#   comdat-*      both, DWARF 4 and 5  both        discarded copies of inline functions
#   split5-*      both, -gsplit-dwarf              .dwo files beside the objects
set -u
here=$(cd "$(dirname "$0")" && pwd)
cpu=$1
mkdir -p "$2"
cd "$2" || exit 1
case $cpu in
x86_64) triple=x86_64-linux-gnu ;;
aarch64) triple=aarch64-linux-gnu ;;
arm) triple=arm-linux-gnueabihf ;;
*)
    echo "build.sh: there is no CPU $cpu" >&2
    exit 2
    ;;
esac
flags=(-O2 -g -ffreestanding -nostdlib -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables
    "-ffile-prefix-map=$here=/cases")
gxx() { "$triple-g++" "${flags[@]}" -fno-ipa-icf "$@"; }
gcc_() { "$triple-gcc" "${flags[@]}" "$@"; }
clangxx() { clang++-14 --target="$triple" "${flags[@]}" "$@"; }
lld=(-fuse-ld=lld "-Wl,--build-id")

must() { # NAME COMMAND...: ends the script where the command fails
    local name=$1
    shift
    "$@" >"$name.log" 2>&1 || {
        echo "build.sh: $name for $cpu cannot be built:"
        head -n 20 "$name.log"
        exit 1
    }
    rm -f "$name.log"
}

by_clang() {
    must clang5-lld clangxx -gdwarf-5 "$here/work.cc" -o clang5-lld "${lld[@]}"
    must clang4-lld clangxx -gdwarf-4 "$here/work.cc" -o clang4-lld "${lld[@]}"
    must clang5-icf clangxx -gdwarf-5 -ffunction-sections "$here/work.cc" -o clang5-icf "${lld[@]}" -Wl,--icf=all
    must split5-clang clangxx -gdwarf-5 -gsplit-dwarf -c "$here/work.cc" -o split5-clang.o
    must split5-clang clangxx split5-clang.o -o split5-clang "${lld[@]}"
    must split4-clang clangxx -gdwarf-4 -gsplit-dwarf -c "$here/work.cc" -o split4-clang.o
    must split4-clang clangxx split4-clang.o -o split4-clang "${lld[@]}"
    must types-clang clangxx -gdwarf-5 -fdebug-types-section "$here/work.cc" -o types-clang "${lld[@]}"
    for version in 4 5; do
        must comdat clangxx -gdwarf-$version -ffunction-sections "$here/comdat_a.cc" "$here/comdat_b.cc" \
            -o comdat-clang$version-lld "${lld[@]}"
    done
    must library clangxx -x c -fPIC -shared "$here/library.c" -o liblibrary.so "${lld[@]}"
    must plt clangxx -x c -fPIE "$here/plt.c" -x none liblibrary.so -o plt-lld "${lld[@]}"
    must asm clangxx -x c -gdwarf-5 "$here/asm.c" -x assembler "$here/entry.s" -o asm "${lld[@]}"
    must far clangxx -x c "$here/far.c" -o far "${lld[@]}" -Wl,--section-start=far_code=0x900000 -no-pie \
        -Wl,-z,separate-loadable-segments
    must odd clangxx -x c "$here/odd.c" -o odd "${lld[@]}"
    must lines clangxx -x c -gdwarf-5 "$here/lines.c" -o lines "${lld[@]}"
}

by_gcc() {
    must gcc5 gxx -gdwarf-5 "$here/work.cc" -o gcc5 -Wl,--build-id
    must gcc4-exec gxx -gdwarf-4 -no-pie -fno-pie "$here/work.cc" -o gcc4-exec
    must gcc3 gxx -gdwarf-3 -gstrict-dwarf "$here/work.cc" -o gcc3
    must gcc2 gxx -gdwarf-2 "$here/work.cc" -o gcc2
    must gcc5-64 gxx -gdwarf64 -gdwarf-5 "$here/work.cc" -o gcc5-64
    must split5-gcc gxx -gdwarf-5 -gsplit-dwarf -c "$here/work.cc" -o split5-gcc.o
    must split5-gcc gxx split5-gcc.o -o split5-gcc
    must lto gcc_ -flto=1 -flto-partition=max "$here/lto_a.c" "$here/lto_b.c" -o lto
    must types-gcc gxx -gdwarf-5 -fdebug-types-section "$here/work.cc" -o types-gcc
    for version in 4 5; do
        must comdat gxx -gdwarf-$version -ffunction-sections "$here/comdat_a.cc" "$here/comdat_b.cc" \
            -o comdat-gcc$version-bfd
    done
    must plt gcc_ -fPIE -pie "$here/plt.c" liblibrary.so -o plt-bfd
}

by_clang
if command -v "$triple-g++" >/dev/null; then
    by_gcc
else
    echo "left out for $cpu: what $triple-g++ builds"
fi
