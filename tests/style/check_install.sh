#!/bin/sh
# SPDX-License-Identifier: MIT
# What `meson install` leaves is whole: check_install.sh SOURCE_ROOT BUILD_FOLDER. Headers, the
# libraries, shared and static, their pkg-config files, the pages and the command are there; the
# examples compile against them with what pkg-config says, linked to the one kind and to the other,
# and run. What only names addresses is linked to libcairn-symbolize, which needs little.
set -eu
src=$1
build=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

DESTDIR="$work/root" meson install -C "$build" --no-rebuild --quiet >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
pc=$(find "$work/root" -name cairn.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
[ -n "$prefix" ] || { echo "cairn.pc names no prefix"; exit 1; }
lib=$(dirname "$(dirname "$pc")")
failed=0
complain() {
    echo "$1"
    failed=1
}
need() {
    [ -e "$1" ] || complain "not installed: ${1#"$work/root"}"
}
for header in "$src"/include/cairn/*.h; do
    need "$work/root$prefix/include/cairn/${header##*/}"
done
need "$work/root$prefix/include/memory_tracker.h"
for page in "$src"/docs/man/*.1; do
    need "$work/root$prefix/share/man/man1/${page##*/}"
done
if [ -f "$build/cli/completions/cairn" ]; then
    for script in bash-completion/completions/cairn zsh/site-functions/_cairn fish/vendor_completions.d/cairn.fish; do
        need "$work/root$prefix/share/$script"
    done
fi
for library in libcairn libcairn-symbolize libcairn-unwind; do
    need "$lib/$library.a"
    need "$lib/$library.so"
    need "$lib/$library.so.0"
    need "$lib/pkgconfig/${library#lib}.pc"
done
# Who symbolizes links nothing else: a new dependency of the rooms below is a decision.
readelf -d "$lib/libcairn-symbolize.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needs"
grep -v -E '^(libz|libzstd|liblzma|libc|libm|libpthread|ld-linux[-a-z0-9_]*)\.so' "$work/needs" &&
    complain "libcairn-symbolize needs what it should not"
# Who walks its own stack links libc.
readelf -d "$lib/libcairn-unwind.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needs"
grep -v -E '^(libc|ld-linux[-a-z0-9_]*)\.so' "$work/needs" &&
    complain "libcairn-unwind needs what it should not"
need "$lib/libcairn-track.so.0"
# Who hooks the own process links libc.
need "$lib/libcairn-hook.so.0"
need "$lib/pkgconfig/cairn-hook.pc"
readelf -d "$lib/libcairn-hook.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needs"
grep -v -E '^(libc|ld-linux[-a-z0-9_]*)\.so' "$work/needs" &&
    complain "libcairn-hook needs what it should not"
if [ -e "$build/bindings/jni/cairn.jar" ]; then
    need "$work/root$prefix/share/java/cairn.jar"
    need "$lib/libcairn-jni.so"
fi
need "$work/root$prefix/bin/cairn"
"$work/root$prefix/bin/cairn" version >/dev/null || complain "the installed command does not run"

# The links in place of addr2line, found by way of each other.
need "$work/root$prefix/bin/cairn-addr2line"
where=$("$work/root$prefix/bin/cairn-addr2line" --where) || complain "addr2line --where fails"
case $where in
"$(realpath "$work/root$prefix")"/*/cairn/addr2line) ;;
*) complain "addr2line --where: $where" ;;
esac
PATH="$where:$PATH" addr2line --version | grep -q cairn || complain "in PATH is another addr2line"

PKG_CONFIG_PATH="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root"
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
sleep 300 & # whose stack is printed
target=$!
trap 'kill $target; rm -rf "$work"' EXIT
n=0
for example in "$src"/examples/*.c; do
    name=$(basename "$example" .c)
    package=cairn
    set --
    if [ "$name" = symbolize ]; then
        package=cairn-symbolize
        set -- "$work/$name"
    elif [ "$name" = backtrace_pid ]; then
        set -- "$target"
        scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)
        if [ "$scope" != 0 ] && [ "$(id -u)" != 0 ]; then
            echo "skipped: $name: kernel.yama.ptrace_scope is $scope"
            continue
        fi
    fi
    # shellcheck disable=SC2046 # lists of options
    gcc -std=c99 -g -no-pie -Wall -Wextra -Werror -o "$work/$name" "$example" \
        $(pkg-config --cflags --libs $package)
    # Its own functions are what it is asked for.
    # shellcheck disable=SC2046
    [ "$name" != symbolize ] || set -- "$1" $(nm "$1" | awk '$3 == "main" || $3 == "print" { print $1 }') 1
    LD_LIBRARY_PATH="$lib" XDG_CACHE_HOME="$work" "$work/$name" "$@" >"$work/$name.out" ||
        complain "$name fails"
    # The archive by its name: -lcairn would find the shared library first.
    # shellcheck disable=SC2046
    gcc -std=c99 -g -Wall -Wextra -Werror -o "$work/$name-static" "$example" \
        $(pkg-config --cflags $package) "$lib/lib$package.a" \
        $(pkg-config --static --libs $package | sed "s/-l$package\>//")
    XDG_CACHE_HOME="$work" "$work/$name-static" "$@" >"$work/$name-static.out" ||
        complain "$name fails, linked statically"
    cat "$work/$name.out"
    [ -s "$work/$name.out" ] || complain "$name prints nothing"
    cmp "$work/$name.out" "$work/$name-static.out" || failed=1
    [ "$(wc -l <"$example")" -le 40 ] || complain "$name: an example has at most 40 lines"
    n=$((n + 1))
done
[ $n -gt 0 ] || complain "there is no example"

# A program asks the tracker in itself: linked with it, or built once and preloaded.
if [ -e "$build/libcairn-heap.so" ]; then
    need "$lib/libcairn-heap.so"
    need "$lib/libcairn-heap.so.0"
    mkdir -m 700 "$work/states"
    # shellcheck disable=SC2046
    gcc -std=c99 -g -o "$work/tracked" "$src/examples/memory_tracker.c" \
        $(pkg-config --cflags --libs cairn-heap)
    CAIRN_HEAP_DIR="$work/states" LD_LIBRARY_PATH="$lib" "$work/tracked" >"$work/tracked.out"
    grep -q '^Leak #[0-9]*: ptr=0x[0-9a-f]*, size=64, so=tracked$' "$work/tracked.out" ||
        complain "an example that is linked with -lcairn-heap finds no block"
    for kind in "" -static; do
        CAIRN_HEAP_DIR="$work/states" LD_PRELOAD="$lib/libcairn-heap.so.0" LD_LIBRARY_PATH="$lib" \
            "$work/memory_tracker$kind" >"$work/preloaded.out"
        grep -q "^3 allocations, 1 frees$" "$work/preloaded.out" ||
            complain "memory_tracker$kind does not find the tracker that is preloaded"
    done
fi
if [ "$(grep -c ' main at .*/symbolize.c:[1-9]' "$work/symbolize.out")" != 1 ] ||
    [ "$(grep -c ' print at .*/symbolize.c:[1-9]' "$work/symbolize.out")" != 1 ] ||
    ! grep -q '^1 outside the module$' "$work/symbolize.out"; then
    complain "symbolize does not name its own functions"
fi
exit $failed
