#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that no tracker can be in run as ever under `cairn heap run`, by themselves and as children,
# however they are started, and are named with the reason; programs that are started with another
# environment, or as another user, are tracked.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc python3
[ -f "$BUILD/libcairn-heap.so" ] || { echo "skipped: there is no libcairn-heap.so"; exit 77; }
py=/usr/bin/python3
unset ASAN_OPTIONS # statuses are those of a user's run

cat >lose.c <<'CC'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    static void *volatile kept;
    kept = malloc(1001);
    kept = NULL;
    char *volatile p = malloc(2002);
    p = NULL;
    puts("ran");
    fflush(stdout);
    return 3;
}
CC

# untracked NAME REASON [PROGRAM]: ./NAME, which is run by PROGRAM, does the same as without, alone and as a child in each way.
untracked() {
    local status
    ./"$1" >plain 2>plain.err
    status=$?
    "$CAIRN" heap run -f -o run.heap -- ./"$1" >out 2>log
    same "$1: status" $? $status
    cmp -s plain out || fail "$1: another output" out
    has log "$1 was not tracked: $2" "$1"
    "$CAIRN" heap run -f -o run.heap -- sh -c "./$1; exit \$?" >out 2>log
    same "$1 of a shell: status" $? $status
    cmp -s plain out || fail "$1 of a shell: another output" out
    same "$1 of a shell: named once" "$(grep -c "${3:-$1} ran, and is not tracked: $2" log)" 1
    has log "every block of tracked programs recorded; 1 program started that is NOT TRACKED" "$1 of a shell"
    hasnt log "ld.so" "$1 of a shell"
    "$CAIRN" heap leaks run.heap >out 2>log
    has log "1 program started that is NOT TRACKED" "$1 of a shell: what the file says"
    [ "$1" != lsan ] || return # each of them takes long
    "$CAIRN" heap run -f -o run.heap -- ./starts "$1" >out 2>log
    same "$1: each way to start it" "$(grep -c "^ran" out) $(grep -c "status $status$" out)" "$(($(grep -c ^ran plain) * 12)) 12"
    has log "12 programs started that are NOT TRACKED" "$1: each way to start it"
}

# Each function of exec(3) and posix_spawn(3), in children of fork and vfork.
cat >starts.c <<'CC'
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int by(int way, char *name)
{
    char *argv[] = {name, NULL};
    int fd = open(name, O_RDONLY);
    switch (way) {
    case 0: return execve(name, argv, environ);
    case 1: return execv(name, argv);
    case 2: return execvp(name, argv);
    case 3: return execvpe(name, argv, environ);
    case 4: return execl(name, name, (char *)NULL);
    case 5: return execle(name, name, (char *)NULL, environ);
    case 6: return execlp(name, name, (char *)NULL);
    case 7: return fexecve(fd, argv, environ);
    case 8: return execveat(AT_FDCWD, name, argv, environ, 0);
    default: return execveat(fd, "", argv, environ, AT_EMPTY_PATH);
    }
}
int main(int argc, char **argv)
{
    static char *volatile kept, name[256];
    int status;
    kept = malloc(5005);
    snprintf(name, sizeof name, "./%s", argv[argc - 1]);
    for (int i = 0; i < 12; i++) {
        pid_t pid;
        char *const words[] = {name, NULL};
        fflush(stdout);
        if (i == 10)
            posix_spawn(&pid, name, NULL, NULL, words, environ);
        else if (i == 11)
            posix_spawnp(&pid, name, NULL, NULL, words, environ);
        else if ((pid = i % 2 ? vfork() : fork()) == 0)
            _exit(by(i, name) ? 99 : 0);
        waitpid(pid, &status, 0);
        printf("status %d\n", WEXITSTATUS(status));
    }
    return 0;
}
CC
gcc -O1 -w -o starts starts.c || { fail "starts.c does not compile"; finish untracked; }
gcc -O1 -fno-builtin -w -o lose lose.c

# What can be tracked is, in each way.
"$CAIRN" heap run -f -o run.heap -- ./starts lose >out 2>log || fail "starts lose" log
same "each way to start a program: it ran" "$(grep -c 'status 3$' out)" 12
has log "every block recorded" "each way to start a program"
same "each way to start a program: tracked" \
    "$("$CAIRN" heap leaks --json --top 0 run.heap 2>/dev/null | $py -c 'import json, sys
print(sum(l["blocks"] for l in json.load(sys.stdin)["leaks"] if l["bytes"] == 1001 * l["blocks"]))')" 12
"$CAIRN" heap run -f -o run.heap -- ./starts nothing_of_that_name >out 2>log
has log "every block recorded" "what cannot be started"

rm -f plain
if ! gcc -O1 -w -fsanitize=address -o asan lose.c 2>log; then
    skip "AddressSanitizer" "gcc links none: $(tail -n 1 log)"
elif ./asan >plain 2>&1; grep -q ran plain; then
    untracked asan "it is built with AddressSanitizer or LeakSanitizer"
else
    skip "AddressSanitizer" "it does not run here without a tracker: $(head -n 1 plain)"
fi
if ! gcc -O1 -w -fno-builtin -fsanitize=leak -o lsan lose.c 2>log; then
    skip "LeakSanitizer" "gcc links none: $(tail -n 1 log)"
elif ./lsan >plain 2>&1; grep -q 'definite\|LeakSanitizer: detected' plain; then
    untracked lsan "it is built with AddressSanitizer or LeakSanitizer"
    same "LeakSanitizer's verdict" "$("$CAIRN" heap run -f -o run.heap -- ./lsan >out 2>log; echo $?)" 23
else
    skip "LeakSanitizer" "it finds nothing here without a tracker: $(head -n 1 plain)"
fi
if gcc -O1 -w -static -o static lose.c 2>log; then
    untracked static "it is linked statically"
else
    skip "a static program, a script that it interprets, starts that fail, those of musl" "gcc links none: $(tail -n 1 log)"
fi
# Another loader, which would not take the tracker; here only the name is another one.
gcc -O1 -w -Wl,--dynamic-linker="$PWD/linker64" -o other lose.c
cp "$(readelf -l lose | sed -n 's/.*interpreter: \(.*\)\]/\1/p')" linker64
untracked other "its loader is neither glibc's nor musl's"
# The environment of the one that is started is made on the stack, here of 6 KiB beyond what the kernel needs for a signal.
cat >handler.c <<'CC'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *words[] = {"./other", NULL};
static volatile int status = -1;
static void on(int number)
{
    int ended = -1;
    pid_t pid = vfork();
    (void)number;
    if (pid == 0) {
        execve(words[0], words, environ);
        _exit(99);
    }
    waitpid(pid, &ended, 0);
    status = WEXITSTATUS(ended);
}
int main(void)
{
    size_t least = getauxval(51 /* AT_MINSIGSTKSZ */), size = ((least ? least : 2048) + 6144 + 4095) / 4096 * 4096;
    char *pages = mmap(NULL, size + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t used = (least ? least : 2048) + 6144;
    stack_t stack = {.ss_sp = pages + 65536, .ss_size = used};
    struct sigaction action = {.sa_handler = on, .sa_flags = SA_ONSTACK};
    free(malloc(1));
    mprotect(pages + 65536, size, PROT_READ | PROT_WRITE);
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        return 98;
    raise(SIGUSR1);
    return status;
}
CC
gcc -O1 -w -o handler handler.c || { fail "handler.c does not compile"; finish untracked; }
env -i "PATH=$PATH" "$CAIRN" heap run -f -o run.heap -- ./handler >out 2>log
same "a handler's stack: status" $? 3
has log "other ran, and is not tracked: its loader is neither glibc's nor musl's" "a handler's stack"

# A file of another ABI that the kernel takes for a script's interpreter never starts; judged all the same.
printf '#!%s\n' "$PWD/static" >script
chmod +x script
[ ! -x static ] || untracked script "it is linked statically" static

# A program that is reached by several links has one name.
if [ -x static ]; then
    ln -s static alias
    ln -s alias other_alias
    "$CAIRN" heap run -f -o run.heap -- sh -c './alias; ./other_alias; ./static; exit 0' >out 2>log
    same "links to a program: named once" "$(grep -c 'ran, and' log) $(grep -c "$PWD/static ran, and" log)" "1 1"
    has log "3 programs started that are NOT TRACKED" "links to a program"
fi

# Each program that the kernel refuses to start is taken back, and leaves room for the others.
cat >retry.c <<'CC'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char *words[] = {"./static", NULL};
    free(malloc(1));
    for (int i = 0; i < 20; i++)
        execv("./refused", words);
    execv("./static", words);
    return 99;
}
CC
if [ -x static ]; then
    gcc -O1 -w -o retry retry.c || { fail "retry.c does not compile"; finish untracked; }
    cp static refused
    chmod a-x refused
    "$CAIRN" heap run -f -o run.heap -- ./retry >out 2>log
    same "what cannot be started, often: status" $? 3
    has log "static ran, and is not tracked: it is linked statically" "what cannot be started, often"
    has log "1 program started that is NOT TRACKED" "what cannot be started, often"
fi

# musl: tracked.
if command -v musl-gcc >/dev/null; then
    musl-gcc -O1 -fno-builtin -o musl lose.c 2>log || { fail "musl-gcc" log; finish untracked; }
    "$CAIRN" heap run -f -o run.heap -- ./musl >out 2>log
    same "musl: status" $? 3
    has log "every block recorded" "musl"
    "$CAIRN" heap leaks run.heap >out 2>log
    has out "1.0 kB in 1 block" "musl: what was lost"
    "$CAIRN" heap run -f -o run.heap -- ./starts musl >out 2>log
    same "musl, each way to start it" "$(grep -c 'status 3$' out)" 12
    musl-gcc -O1 -w '-Dexecveat(...)=syscall(SYS_execveat, __VA_ARGS__)' -o musl_starts starts.c 2>log || fail "musl-gcc starts.c" log
    if [ -x static ]; then
        "$CAIRN" heap run -f -o run.heap -- ./musl_starts static >out 2>log
        same "of a program of musl" "$(grep -c 'status 3$' out)" 12
    fi
else
    skip musl "musl-gcc is missing"
fi

# blocks_lost: of 1,001 bytes, in run.heap.
blocks_lost() {
    "$CAIRN" heap leaks --json --top 0 run.heap 2>/dev/null | $py -c 'import json, sys
print(sum(l["blocks"] for l in json.load(sys.stdin)["leaks"] if l["bytes"] == 1001 * l["blocks"]))'
}

# An environment of its own: tracked, and it is as it was meant.
"$CAIRN" heap run -f -o run.heap -- env -i ./lose >out 2>log
same "env -i: tracked" "$(blocks_lost)" 1
has log "every block recorded" "env -i"
"$CAIRN" heap run -f -o run.heap -- env -i A=b "$(command -v env)" >out 2>log
same "env -i: the environment" "$(cat out)" "A=b"
preload=$(ldd ./lose | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
# shellcheck disable=SC2016 # its own shell expands it
"$CAIRN" heap run -f -o run.heap -- env LD_PRELOAD="$preload" sh -c 'echo "$LD_PRELOAD"; exec ./lose' >out 2>log
same "an LD_PRELOAD of its own: what it is" "$(head -n 1 out)" "$preload"
same "an LD_PRELOAD of its own: tracked" "$(blocks_lost)" 1
"$CAIRN" heap run -f -o run.heap -- $py -c 'import subprocess
subprocess.run(["./lose"], env={})
subprocess.run(["/usr/bin/env"], env={"A": "b"})' >out 2>log
same "python3's env={}: tracked" "$(blocks_lost)" 1
same "python3's env={}: the environment" "$(grep -c . out) $(tail -n 1 out)" "2 A=b"
"$CAIRN" heap run --no-follow -f -o run.heap -- sh -c 'env -i ./lose; true' >out 2>log
same "--no-follow" "$(blocks_lost)" 0
hasnt log "NOT TRACKED" "--no-follow"

# Another user may not write the folder of states: named.
if [ "$(id -u)" = 0 ]; then
    chmod 711 "$WORK" || fail "chmod of $WORK"
    for by in "setpriv --reuid=65534 --clear-groups" "runuser -u nobody --" "su -s /bin/sh nobody -c"; do
        command -v "${by%% *}" >/dev/null || { skip "$by" "${by%% *} is missing"; continue; }
        # shellcheck disable=SC2086 # several words
        $by ./lose >plain 2>&1 || [ $? = 3 ] || { skip "$by" "not even without a tracker: $(head -n 1 plain)"; continue; }
        # shellcheck disable=SC2086
        "$CAIRN" heap run -f -o run.heap -- $by ./lose >out 2>log
        same "$by: status" $? 3
        same "$by: the output" "$(cat out)" ran
        has log "is not tracked: its user or root directory does not reach the tracker" "$by"
        has log "every block of tracked programs recorded" "$by"
    done
else
    skip "another user" "only root may become one"
fi

# valgrind's findings are its own.
if command -v valgrind >/dev/null; then
    timeout 100 valgrind --leak-check=full -q ./lose >plain 2>plain.err
    timeout 100 "$CAIRN" heap run -f -o run.heap -- valgrind --leak-check=full -q ./lose >out 2>log
    same "valgrind: status" $? 3
    same "valgrind: what it finds" "$(grep -c 'definitely lost' log)" "$(grep -c 'definitely lost' plain.err)"
    hasnt log "libcairn-heap" "valgrind: what it finds"
    has log "valgrind emulates its program" "valgrind"
else
    skip valgrind "it is missing"
fi

finish "what cannot be tracked runs untracked and is named ($n_checks checks)"
