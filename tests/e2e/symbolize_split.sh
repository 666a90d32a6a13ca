#!/bin/bash
# SPDX-License-Identifier: MIT
# Debug information that does not lie in one file: .dwo and .dwp files, type units, and what dwz
# moves into partial units and alternate files. The frames of every address of .text must be those
# of the same program with all of it in one file.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ clang++ gcc dwp llvm-dwp dwz objcopy strip readelf python3

cat >parts.h <<'CPP'
#pragma once
namespace app {
template <typename T> struct Box {
    T value;
    __attribute__((noinline)) T get(T k);
    static inline T twice(T x)
    {
        volatile T y = x;
        return y + x;
    }
};
struct Outer {
    struct Inner {
        int z;
        __attribute__((noinline)) int run(int a);
        inline int quick(int b)
        {
            volatile int c = b;
            return c * z;
        }
    };
    Inner in;
};
inline namespace v1 {
class Walker {
    int state = 1;

public:
    inline int step(int n)
    {
        volatile int m = n;
        return state += m;
    }
    virtual ~Walker() {}
    virtual int walk(int n) { return step(n) + step(n + 1); }
};
}
inline int mix(int a)
{
    volatile int q = a;
    return q * 3 + Box<int>::twice(a);
}
}
int other(int);
extern "C" int plain(int);
CPP
cat >a.cpp <<'CPP'
#include "parts.h"
namespace {
struct Hidden {
    int k;
    __attribute__((noinline)) int work(int a);
    inline int deep(int a)
    {
        volatile int x = a;
        return app::mix(x) + k;
    }
};
int Hidden::work(int a) { return deep(a) * deep(a + 1); }
namespace inner {
enum class Kind { one, two };
template <Kind K> struct Picker {
    static inline int pick(int a)
    {
        volatile int x = a;
        return K == Kind::one ? app::mix(x) : x;
    }
};
}
}
template <typename T> T app::Box<T>::get(T k) { return value + app::mix((int)k); }
int app::Outer::Inner::run(int a) { return quick(a) + app::mix(a); }
__attribute__((noinline)) static int lambdas(int n)
{
    auto f = [n](int x) __attribute__((noinline)) { return app::mix(x) + n; };
    struct Local {
        int base;
        inline int add(int x)
        {
            volatile int y = x;
            return y + base;
        }
    } local{n};
    auto twice = [&](auto g) { return g(n) + local.add(g(n + 1)); };
    return twice(f);
}
int main(int argc, char **)
{
    Hidden h{argc};
    app::Box<int> b{argc};
    app::Outer::Inner i{argc};
    app::Walker w;
    return h.work(argc) + b.get(argc) + i.run(argc) + other(argc) + lambdas(argc) + plain(argc) +
           w.walk(argc) + inner::Picker<inner::Kind::one>::pick(argc);
}
CPP
cat >b.cpp <<'CPP'
#include "parts.h"
namespace {
struct Hidden {
    long k;
    __attribute__((noinline)) int work(int a);
    inline int deep(int a)
    {
        volatile int x = a;
        return app::mix(x) - (int)k;
    }
};
int Hidden::work(int a) { return deep(a) * deep(a + 7); }
}
template <typename T> T app::Box<T>::get(T k) { return value * app::mix((int)k); }
template struct app::Box<long>;
int other(int n)
{
    Hidden h{n};
    app::Box<long> b{n};
    app::Walker *w = n > 2 ? new app::Walker : nullptr;
    int sum = h.work(n) + app::mix(n) + (int)b.get(n) + (w ? w->walk(n) : 0);
    delete w;
    return sum;
}
CPP
cat >c.c <<'C'
static inline int low(int n) { volatile int m = n; return m * 7; }
static __attribute__((noinline)) int middle(int n) { return low(n) + low(n + 2); }
int plain(int n) { return middle(n) * low(n); }
C


# code_of FILE: sets $code, the name of a file with every address of .text, by place and contents.
code_of() {
    local low size
    read -r low size < <(readelf -SW "$1" | awk '$0 ~ / \.text / { sub(/.*\.text/, ""); print $2, $4 }')
    objcopy -O binary --only-section=.text "$1" text.bytes
    code=code-$low-$(cksum <text.bytes | tr ' ' -)
    [ -f "$code" ] || python3 -c '
import sys
low, size = (int(x, 16) for x in sys.argv[1:])
print("\n".join(hex(a) for a in range(low, low + size)))' "$low" "$size" >"$code"
}
frames() { # frames FILE [OPTION]...: what cairn says of the addresses in $code; warnings into err
    local file=$1
    shift
    "$CAIRN" symbolize --no-cache "$@" "$file" <"$code" 2>err
}
# agree CASE PLAIN FILE [OPTION]...: unit by unit, and by an index of the whole module.
agree() {
    local title=$1 plain=$2 file=$3
    shift 3
    code_of "$file"
    agree_once "$title" "$plain" "$file" --index never "$@"
    agree_once "$title, indexed" "$plain" "$file" --index always "$@"
}
# By address where both have the same code, else as sets.
agree_once() {
    local title=$1 plain=$2 file=$3
    shift 3
    n_checks=$((n_checks + 1))
    frames "$file" "$@" >got
    if [ "$(cat "$plain.code")" = "$code" ]; then
        diff "$plain.frames" got >differ || fail "$title: other frames" <(head -n 12 differ)
    else
        diff <(cut -d ' ' -f 2- "$plain.frames" | sort -u) <(cut -d ' ' -f 2- got | sort -u) \
            >differ || fail "$title: another set of frames" <(head -n 12 differ)
    fi
    [ ! -s err ] || fail "$title: a warning" err
}
# told CASE FILE WORDS [OPTION]...: exactly one warning, with these words, and the rest is there.
told() {
    local title=$1 file=$2 words=$3
    shift 3
    code_of "$file"
    frames "$file" "$@" >got
    [ "$(wc -l <err)" = 1 ] || fail "$title: expected one warning" err
    has err "$words" "$title"
    has got "other(int) at $PWD/b.cpp" "$title: names and lines"
}

compile() { # compile gcc|clang VERSION NAME OPTION...: a program NAME of three units
    local cc=$1 cxx=g++ version=$2 name=$3 source
    [ "$cc" = gcc ] || cxx=clang++
    shift 3
    for source in a.cpp b.cpp; do
        "$cxx" -O2 -g "-gdwarf-$version" "$@" -c $source -o "$name-${source%.cpp}.o" || exit 1
    done
    "$cc" -O2 -g "-gdwarf-$version" "$@" -c c.c -o "$name-c.o" || exit 1
    "$cxx" -Wl,--build-id "$name"-?.o -o "$name" || exit 1
}

for at in gcc4 gcc5 clang4 clang5; do
    cc=${at%?} version=${at#"${at%?}"}
    compile "$cc" "$version" "$at"
    code_of "$at"
    echo "$code" >"$at.code"
    frames "$at" >"$at.frames"
    has "$at.frames" "inlined by" "$at: something was inlined, or this tests nothing"
    compile "$cc" "$version" "$at-split" -gsplit-dwarf
    agree "$at: .dwo files" "$at" "$at-split"
    compile "$cc" "$version" "$at-types" -fdebug-types-section
    agree "$at: type units" "$at" "$at-types"
    compile "$cc" "$version" "$at-both" -gsplit-dwarf -fdebug-types-section
    agree "$at: .dwo files with type units" "$at" "$at-both"

    [ "$at" = clang5 ] && continue # dwz 0.15 does not know .debug_addr
    cp "$at" "$at-dwz" && dwz "$at-dwz"
    agree "$at: dwz, partial units" "$at" "$at-dwz"
    for how in "" --dwarf-5 types; do
        folder=$at-alt$how from=$at
        [ "$how" = types ] && from=$at-types
        mkdir "$folder" && cp "$from" "$folder/one" && cp "$from" "$folder/two"
        # shellcheck disable=SC2046
        dwz $([ "$how" = --dwarf-5 ] && echo --dwarf-5) -m "$folder/common" -M common \
            "$folder/one" "$folder/two" 2>dwz.err || { skip "$folder" "$(head -n 1 dwz.err)"; continue; }
        agree "$folder: an alternate file" "$at" "$folder/one"
    done
done
compile gcc 5 gcc5-packed -gsplit-dwarf -fdebug-types-section -gz
agree "gcc5: compressed .dwo files with type units" gcc5 gcc5-packed
compile clang 5 clang5-single -gsplit-dwarf=single
agree "clang5: split units in the object files" clang5 clang5-single

# A .dwp instead of the .dwo files. binutils' dwp knows only version 4; llvm-dwp 14 hangs on what gcc
# writes in version 5.
pack() { # pack NAME FOLDER COMMAND: FOLDER/NAME and its .dwp
    local name=$1 folder=$2
    mkdir -p "$folder"
    cp "$name" "$folder/"
    timeout 20 "$3" "$name"-?.dwo -o "$folder/$name.dwp" || fail "$name: $3 made no .dwp"
}
for name in gcc4-split gcc4-both clang4-split clang4-both; do
    pack $name dwp dwp
done
for name in clang4-split clang4-both clang5-split clang5-both; do
    pack $name llvm llvm-dwp
done
mkdir aside
mv ./*.dwo aside/
for packed in dwp/*.dwp llvm/*.dwp; do
    name=$(basename "$packed" .dwp)
    agree "$packed" "${name%-*}" "${packed%.dwp}"
done

# The .dwp of a stripped program, beside its debug file and by that one's name; in a symbol folder.
mkdir -p stripped symbols/deep
objcopy --only-keep-debug llvm/clang5-split stripped/program.debug
strip -o stripped/program llvm/clang5-split
(cd stripped && objcopy --add-gnu-debuglink=program.debug program)
for place in program.dwp program.debug.dwp ../symbols/program.dwp ../symbols/deep/program.dwp; do
    cp llvm/clang5-split.dwp stripped/$place
    agree "the .dwp is $place" clang5 stripped/program --symbols symbols
    rm stripped/$place
done

mkdir links
ln -s ../llvm/clang5-split links/program
agree "the .dwp is beside what a link points to" clang5 links/program

# .dwo files in other places.
for at in gcc5 clang4; do
    name=$at-split
    told "$name: no .dwo" $name \
        "3 of 3 .dwo files are missing, the first is $name-a.dwo: inline frames are missing"
    hasnt got "inlined by" "$name: no .dwo"
    mkdir -p beside flat "below$PWD"
    cp $name beside/ && cp aside/$name-?.dwo beside/
    agree "$name: .dwo files beside the program" $at beside/$name
    cp aside/$name-?.dwo flat/
    agree "$name: .dwo files in a symbol folder" $at $name --symbols flat
    cp aside/$name-?.dwo "below$PWD/"
    agree "$name: .dwo files by their path below a symbol folder" $at $name --symbols below
    agree "$name: .dwo files anywhere below a symbol folder" $at $name --symbols .
    rm -r beside flat below

    cp aside/$name-?.dwo .
    rm $name-b.dwo
    told "$name: one .dwo is missing" $name "1 of 3 .dwo files are missing, the first is $name-b.dwo"
    has got "inlined by" "$name: the others are read"
    cp aside/$name-a.dwo $name-b.dwo
    told "$name: another .dwo" $name "$name-b.dwo: another build: its ID is"
    head -c 100 aside/$name-b.dwo >$name-b.dwo
    frames $name >got
    has err "$name-b.dwo" "$name: a .dwo that was cut"
    ln -sf $name $name-b.dwo
    frames $name >got
    has err "it is the very file that refers to it" "$name: a .dwo that is the program"
    rm $name-?.dwo
done

# What is kept between runs knows the .dwo files. Small modules are not kept, so this one gets larger.
name=gcc5-split
objcopy --dump-section .debug_line=lines $name
truncate -s +1M lines
objcopy --update-section .debug_line=lines $name kept
code_of kept
export XDG_CACHE_HOME=$PWD/cached
kept() { # kept CASE WORDS: what a run says of the way in which it read
    "$CAIRN" symbolize -v --index always kept <"$code" >got 2>err
    has err "$2" "$1"
}
kept "missing .dwo files" "indexed whole"
kept "missing .dwo files: nothing was kept" "indexed whole"
has err "3 of 3 .dwo files are missing" "told in each run"
cp aside/$name-?.dwo .
kept "the .dwo files are back" "indexed whole"
kept "an index is kept" "cache"
diff gcc5.frames got >/dev/null || fail "frames out of the cache"
touch -d 2001-01-01 $name-a.dwo
kept "a .dwo was changed" "indexed whole"
kept "and kept again" "cache"
export XDG_CACHE_HOME=$PWD/cached-by-itself
by_itself() { # by_itself CASE WORDS: the same, as nobody says how to read
    "$CAIRN" symbolize -v kept <"$code" >got 2>err
    has err "$2" "$1"
}
by_itself "a split program is as large as its lines tell, not as its own .debug_info" "indexed whole"
by_itself "and its index is kept" "index from the cache"
diff gcc5.frames got >/dev/null || fail "frames out of the cache of a program read by itself"
export XDG_CACHE_HOME=$PWD/cached
rm $name-?.dwo
kept "a .dwo is gone" "indexed whole"

# Alternate files in other places, and wrong ones.
id=$(readelf -n gcc5-alt/common | awk '/Build ID/ { print $3 }')
ln -s ../gcc5-alt/one links/one
agree "an alternate file, from what a link points to" gcc5 links/one
mv gcc5-alt/common common
told "no alternate file" gcc5-alt/one "the supplementary file common (dwz -m) is missing"
# strip takes the debug information and leaves the link, as in Debian's programs: it is no loss.
objcopy --strip-debug gcc5-alt/one bare
readelf -SW bare >sections
has sections gnu_debugaltlink "a stripped program keeps its link"
"$CAIRN" symbolize bare 0x1000 >got 2>err
hasnt err "supplementary" "a link in a stripped program"
mkdir -p "ids/.build-id/${id%"${id#??}"}" named/.dwz
cp common "ids/.build-id/${id%"${id#??}"}/${id#??}.debug"
agree "an alternate file by its build ID, in a symbol folder" gcc5 gcc5-alt/one --symbols ids
agree "an alternate file by its build ID, in the debug folder" gcc5 gcc5-alt/one --debug-dir ids
cp common named/.dwz/
agree "an alternate file in .dwz of the debug folder" gcc5 gcc5-alt/one --debug-dir named
agree "an alternate file by its name" gcc5 gcc5-alt/one --symbols .
cp gcc4-alt/common gcc5-alt/common
told "an alternate file of another build" gcc5-alt/one "another build: its ID is"
cp gcc5-alt/two gcc5-alt/common
told "an alternate file that has one" gcc5-alt/one "refers to another one, common, which none may"
ln -sf one gcc5-alt/common
told "an alternate file that is the program" gcc5-alt/one "it is the very file that refers to it"

finish "$n_checks checks"
