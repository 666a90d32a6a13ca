#!/bin/bash
# SPDX-License-Identifier: MIT
# libcairn-hook as an embedder uses it: hooks under load, libraries that come and go, exceptions, stacks and
# signals through hooked functions, and the example of examples/.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
[ "$(uname -m)" = x86_64 ] || { echo "skipped: hooks in the own process are written for x86-64"; exit 77; }
need gcc g++ nm shuf

build() { # NAME SOURCE OPTION...
    local name=$1 source=$2 compiler=gcc
    shift 2
    case $source in *.cc) compiler=g++ ;; esac
    $compiler -O1 -g -Wall -Wextra -pthread -I"$SRC/include" -o "$name" "$SRC/$source" "$@" -L"$BUILD" \
        -Wl,-rpath,"$BUILD" -l:libcairn-hook.so.0 2>log || { cat log; exit 1; }
}
for name in stress later gone signals; do build $name tests/e2e/embed/$name.c; done
for name in throw stepped; do build $name tests/e2e/embed/$name.cc; done
build hook_malloc examples/hook_malloc.c -std=c99

# Installed and removed while 4 threads call: none is lost, none is wrong, and libc's code is as it was.
libc=$(ldd stress | sed -n 's/.*=> \(.*libc.so.6\) .*/\1/p')
nm -D "$libc" | sed -n 's/.* [TWi] \(.*\)@@.*/\1/p' | sort -u |
    shuf --random-source=<(yes) -n 60 >names
printf '%s\n' labs abs ffs strtoul qsort getenv free calloc memset strlen strcpy snprintf >>names
./stress 2000 50 <names >stress.out 2>stress.err || fail "stress" stress.err
read -r _ times _ called _ counted _ toggled <stress.out
same "installs on malloc" "$times" 2000
same "calls of malloc that were counted" "$counted" "$called"
at_least 1 "$called" "calls of malloc"
at_least 1 "$toggled" "calls through the hook that comes and goes"
has stress.out " wrong 0 changed 0 " "results and code after all hooks are gone"
at_least 60 "$(sed -n 's/^functions \([0-9]*\) .*/\1/p' stress.out)" "functions hooked"
! grep -vE 'cannot be diverted|no such function' stress.err || fail "refusals" stress.err

# Libraries that are bound lazily and at once, loaded before and later; their constructors' calls.
cat >lib.c <<'END'
#include <unistd.h>
static int early;
static int (*pointer)(void) = getppid;
int ask(void) { return getppid(); }
int ask_by_pointer(void) { return pointer(); }
int asked_early(void) { return early; }
__attribute__((constructor)) static void begin(void) { early = getppid(); }
END
gcc -shared -fPIC -O1 -Wl,-z,lazy -o liblater_lazy.so lib.c
gcc -shared -fPIC -O1 -Wl,-z,now,-z,relro -o liblater_now.so lib.c
gcc -shared -fPIC -O1 -fno-plt -Wl,-z,now,-z,relro -o liblater_noplt.so lib.c
cp liblater_lazy.so liblater_first.so
cp liblater_now.so libother.so
./later ./liblater_first.so ./liblater_lazy.so ./liblater_now.so ./liblater_noplt.so ./libother.so >later.out 2>&1 ||
    fail "later" later.out
same "hooked libraries" "$(grep -c '^liblater_.*: constructor hooked call hooked pointer hooked$' later.out)" 6
same "other libraries" "$(grep -c '^libother.so: constructor plain call plain pointer plain$' later.out)" 2
has later.out "before hooked" "a library from before"
has later.out "removed: before plain call plain pointer plain" "removal"

# A library that is closed under its hook.
./gone ./liblater_now.so >gone.out 2>&1 || fail "gone" gone.out
same "closed under the hook" "$(grep -c '^hooked [123] removed CAIRN_E_MISSING$' gone.out)" 3
has gone.out "refused CAIRN_E_MISSING: function at 0x" "a function that is gone"

# Exceptions, and the stack as libgcc's unwinder sees it: caller, replacement, function, callee; the guard has a
# frame of its own between caller and replacement.
for mode in plain guarded; do
    ./throw $mode >throw.out 2>&1 || fail "throw $mode" throw.out
    has throw.out "results 3 -1 4 -1 5 hooked 5" "exceptions, $mode"
    same "caught, $mode" "$(grep -c '^caught seven$' throw.out)" 2
    read -r _ thrower hooked replacement outer <throw.out
    sed -n 's/^frame //p' throw.out | head -5 >frames
    [ $mode = plain ] || sed -i 4d frames
    same "stack, $mode" "$(head -4 frames | xargs)" "$thrower $hooked $replacement $outer"
done
# Of a thread that stands in moved code.
./stepped >stepped.out || fail "stepped" stepped.out
has stepped.out "result 5 island 3 cut 0" "steps in the island"
./stepped plain >stepped.out || fail "stepped, plain" stepped.out
hasnt stepped.out " cut 0" "steps in the island without unwind tables"
if command -v gdb >/dev/null; then
    gdb -nx -batch -ex 'break thrower' -ex run -ex bt --args ./throw plain >gdb.out 2>&1
    same "gdb's stack" "$(sed -n 's/^#[0-9]* .*\(thrower\|hooked\|replacement\|outer\|main\) (.*/\1/p' gdb.out | xargs)" \
        "thrower hooked replacement outer main"
else
    skip "gdb" "it is missing"
fi

./signals 5 >signals.out || fail "signals" signals.out
has signals.out "wrong 0 missed 0 signals came" "signal handlers that call hooked functions"

./hook_malloc >example.out || fail "example" example.out
has example.out "blocks" "the example"
finish "libcairn-hook: hooks under load, libraries, exceptions, stacks, signals"
