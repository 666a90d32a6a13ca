#!/bin/bash
# SPDX-License-Identifier: MIT
# examples/crash_handler.c as its user has it: it says where it crashed, and dies of the same signal;
# with its symbols, without, as a file that is gone, and under a name that is none for a terminal.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc strip

[ -e "$BUILD/libcairn.a" ] || { echo "skipped: no libcairn.a in $BUILD"; exit 77; }
case ${CAIRN_BUILD:-} in
*San*) echo "skipped: the library wants its sanitizer's compiler and runtime"; exit 77 ;;
esac
gcc -std=c99 -O1 -g -I"$SRC/include" -o crash "$SRC/examples/crash_handler.c" \
    "$BUILD/libcairn.a" -pthread || { fail "it does not compile"; finish "crash_handler"; }

# crash HOW COMMAND WANTED_STATUS: its stack is in the file `out`.
crash() {
    { (ulimit -c 0; ulimit -s 1024; exec "$2" "$1") >/dev/null 2>out; } 2>shell
    same "$2 $1: status" "$?" "$3"
}

crash abort ./crash 134
has out ' main+0x' "abort: its own function"
has out '/crash+0x' "abort: its module"
has out ' abort+0x' "abort: a function of libc"
hasnt out 'the stack ends here' "abort: the stack is whole"

crash overflow ./crash 139
has out ' overflow+0x' "overflow: the function"
has out '#1023 ' "overflow: the last frame"
has out 'the stack ends here: deeper than the frame limit' "overflow: why it ends"

# From within a handler: nobody has called the frame between it and what it interrupted. libc's has a
# symbol without a size, which names nothing here; this one has a size, and a neighbour before it.
if [ "$(uname -m)" = x86_64 ]; then
    cat >within.c <<'END'
#include <cairn/unwind.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
__asm__(".text\n.type neighbour, @function\nneighbour:\nnop\nret\n.size neighbour, .-neighbour\n"
        ".type own_restorer, @function\nown_restorer:\nmov $15, %rax\nsyscall\n"
        ".size own_restorer, .-own_restorer\n");
void own_restorer(void);
static void on_signal(int number)
{
    (void)number;
    cairn_unwind_print(2);
}
int main(void)
{
    const struct {
        void (*handler)(int);
        unsigned long flags; /* SA_RESTORER */
        void (*restorer)(void);
        unsigned long mask;
    } action = {on_signal, 0x04000000, own_restorer, 0};
    syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof action.mask);
    return raise(SIGUSR1);
}
END
    gcc -O1 -g -D_GNU_SOURCE -I"$SRC/include" -o within within.c "$BUILD/libcairn.a" -pthread ||
        fail "a handler does not compile"
    ./within 2>out
    has out ' on_signal+0x' "within a handler: the handler"
    has out ' own_restorer+0x0 ' "within a handler: the signal's frame"
    has out ' main+0x' "within a handler: what was interrupted"
else
    skip "the frame of a signal" "it is written for x86-64"
fi

# Stripped, its static function has no name, and takes no neighbour's either.
strip -o bare crash
crash overflow ./bare 139
hasnt out 'overflow+0x' "stripped: no name"
has out '/bare+0x' "stripped: the module all the same"

# A name with an escape sequence, a line break and a backslash.
odd=$(printf 'a\033[31m\\b\nc')
cp crash "$odd"
crash abort "./$odd" 134
hasnt out "$(printf '\033')" "an odd name: no escape sequence"
has out 'a\x1b[31m\\b\\012c+0x' "an odd name: escaped"

finish "crash_handler"
