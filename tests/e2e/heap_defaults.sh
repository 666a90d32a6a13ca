#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn heap: what the C and C++ libraries keep in every program is left out and said in one line,
# and a program's own suppressions hold.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
[ -f "$(dirname "$CAIRN")/libcairn-heap.so" ] || { echo "skipped: there is no libcairn-heap.so"; exit 77; }

cat >keeps.c <<'TEXT'
#include <dlfcn.h>
#include <grp.h>
#include <libintl.h>
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void nothing(void) {}
static void *thread(void *ctx) { return ctx; }
__attribute__((noinline)) static void lose(void) { void *volatile p = malloc(1234); (void)p; }
int main(int argc, char **argv)
{
    pthread_t t;
    time_t now = time(NULL);
    setlocale(LC_ALL, "C.UTF-8");
    bindtextdomain("x", "/tmp");
    textdomain("x");
    gettext("hello");
    for (int i = 0; i < 40; i++)
        atexit(nothing);
    getpwnam("root");
    getgrnam("root");
    getservbyname("ssh", "tcp");
    localtime(&now);
    setenv("A", "b", 1);
    dlopen("libm.so.6", RTLD_NOW);
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    strsignal(200);
    puts("x");
    if (argc > 1)
        lose();
    for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) /* no program has that */
        if (fputs("x", fopen("/dev/null", "w")) < 0)
            return 1;
    return 0;
}
TEXT
cat >keeps.cpp <<'TEXT'
#include <iostream>
#include <locale>
#include <sstream>
#include <thread>
int main()
{
    std::ios::sync_with_stdio(false);
    std::locale::global(std::locale("C.UTF-8"));
    std::thread t([] {});
    t.join();
    std::ostringstream s;
    s << 3.5;
    std::cout << s.str() << "\n";
    try { throw 3; } catch (int) {}
}
TEXT
gcc -w -g -o keeps keeps.c -ldl -pthread || exit 1
g++ -g -o keepscpp keeps.cpp -pthread || exit 1

# leaks OPTION...: of the last run; text in `out`.
heap() {
    "$CAIRN" heap run --force -o last.heap -- "$@" >/dev/null 2>log || fail "heap run -- $*" log
}
leaks() {
    "$CAIRN" heap leaks --top 0 "$@" last.heap >out 2>log || fail "heap leaks $*" log
}

for program in ./keeps ./keepscpp; do
    heap $program
    leaks
    has out "No memory leaks detected." "$program, which loses nothing"
    same "$program: one line" "$(grep -c 'left out, as in every program: ' log)" 1
    leaks --no-default-suppressions
    hasnt out "No memory leaks" "$program, with all that it has"
    hasnt log "left out, as in every" "$program, with all that it has"
    at_least 3 "$(grep -c 'old$' out)" "stacks of $program"
done
has out "sync_with_stdio" "what the C++ library keeps"
"$CAIRN" heap leaks --json last.heap >out 2>log
same "JSON" "$(ask '[s["default"] for s in j["suppressed"] if s["bytes"] > 72000 and "exceptions" in s["pattern"]]')" "[True]"
"$CAIRN" heap run --force --fail-over 1000 -o gate.heap -- ./keepscpp >/dev/null 2>log
same "the gate is for what the program lost" $? 0

# What the program loses is listed, also where it loses what others keep.
heap ./keeps lose
leaks
has out "1.2 kB in 1 block" "a leak"
same "leaks" "$(grep -c 'old$' out)" 1
heap ./keeps lose 20
leaks
has out "81.9 kB in 20 blocks" "buffers of 20 files that stay open"
has out "fopen" "files that stay open"

# The program's own suppressions, out of its file: each way to return a text.
cat >lsan.c <<'TEXT'
#include <stdlib.h>
__attribute__((noinline)) void known(void) { void *volatile p = malloc(4321); (void)p; }
__attribute__((noinline)) void unknown(void) { void *volatile p = malloc(1234); (void)p; }
const char *__lsan_default_suppressions(void)
{
#ifdef BUSY
    return getenv("SUPPRESSIONS");
#else
    return "# known\nleak:^known$\n";
#endif
}
int main(void) { known(); unknown(); return 0; }
TEXT
case $(uname -m) in
x86_64) kinds="-O0 -O2 -O2_-fcf-protection -O0_-fcf-protection -O2_-no-pie_-fno-pie -O0_-no-pie_-fno-pie -O2_-rdynamic_-s" ;;
aarch64) kinds="-O0 -O2 -O2_-mbranch-protection=standard" ;;
*) kinds= ;;
esac
for kind in $kinds; do
    # shellcheck disable=SC2086
    gcc -g ${kind//_/ } -Wl,--build-id -fno-builtin -o lsan lsan.c || exit 1
    heap ./lsan
    leaks
    has log "4.3 kB in 1 block from 1 stack by leak:^known$" "$kind: the program's suppression"
    hasnt out "    known  lsan" "$kind: what it is for"
    has out "1.2 kB in 1 block" "$kind: another block"
    leaks --no-default-suppressions
    has out "4.3 kB in 1 block" "$kind: without it"
done
if [ -n "$kinds" ]; then
    gcc -g -O1 -DBUSY -Wl,--build-id -fno-builtin -o lsan lsan.c || exit 1
    SUPPRESSIONS=leak:known heap ./lsan
    leaks
    has log "does more than return a text, and is not run" "a function that does more"
    has out "4.3 kB in 1 block" "a function that does more"
else
    skip "the program's own suppressions" "the code of this CPU is not read"
fi

finish "default suppressions: $n_checks checks"
