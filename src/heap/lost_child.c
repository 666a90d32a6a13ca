/* SPDX-License-Identifier: MIT */
#include "heap/lost_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/own_maps.h"
#include "rt/pages.h"
#include "rt/seal.h"
#include "rt/sys.h"

enum {
    PIECE_BYTES = 1 << 16,
    REPORT_MAX = 1 << 28,
    DIGITS = 12,
    FAILED = 126,
    NOT_EXECUTED = 127,
    FIRST_FD = 3,
    SET_PTRACER = CAIRN_HEAP_SET_PTRACER
};

extern char **environ;

/* On pages of its own. */
struct work {
    struct cairn_own_maps_text maps;
    char command[CAIRN_OWN_MAPS_LINE + 32];
    char pid[DIGITS];
    char piece[PIECE_BYTES];
    char *const *env;
};

/* Of the mapping that this function is in. */
static bool take_own_path(void *ctx, const struct cairn_own_mapping *mapping)
{
    struct work *work = ctx;
    uint64_t own = (uintptr_t)take_own_path;
    if (own < mapping->from || own >= mapping->to)
        return true;
    memcpy(work->command, mapping->path, strlen(mapping->path) + 1);
    return false;
}

static bool find_command(struct work *work)
{
    static const char *const places[] = {"/cairn", "/../bin/cairn", "/../../bin/cairn"};
    char *slash = NULL;
    if (!cairn_own_maps_each(&work->maps, take_own_path, work))
        return false;
    for (char *at = work->command; *at; at++)
        slash = *at == '/' ? at : slash;
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        memcpy(slash, places[i], strlen(places[i]) + 1);
        if (cairn_sys_may_execute(work->command))
            return true;
    }
    return false;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* The command is not to be tracked, nor to take our settings for its own. */
static char **copy_env(size_t *ret_bytes)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    *ret_bytes = (n + 1) * sizeof(char *);
    char **env = cairn_pages_map(*ret_bytes);
    for (size_t i = 0; env && i < n && environ[i]; i++) /* another thread may shorten it */
        if (!begins(environ[i], "LD_PRELOAD=") && !begins(environ[i], "CAIRN_HEAP_"))
            env[kept++] = environ[i];
    return env;
}

static void put_number(char to[DIGITS], unsigned value)
{
    size_t at = DIGITS - 1;
    char digits[DIGITS];
    digits[at] = 0;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(to, digits + at, DIGITS - at);
}

struct pipes {
    int report[2], go[2];
};

/* What the program has allowed itself (prctl(2)): the kernel does not say it again. */
static _Atomic(unsigned long) own_ptracer;
static _Atomic(long) own_ptracer_of; /* the process that did; a child has none of its parent's */

void cairn_heap_lost_note_ptracer(unsigned long pid)
{
    atomic_store(&own_ptracer, pid);
    atomic_store(&own_ptracer_of, syscall(SYS_getpid));
}

static void restore_ptracer(void)
{
    bool is_own = atomic_load(&own_ptracer_of) == syscall(SYS_getpid);
    syscall(SYS_prctl, SET_PTRACER, is_own ? atomic_load(&own_ptracer) : 0L, 0L, 0L, 0L);
}

static long clone_silently(void)
{
    return syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

/* What wait4(2) says, as an exit status. */
static int wait_for(long pid)
{
    int status = 0;
    long got;
    while ((got = syscall(SYS_wait4, pid, &status, __WALL, NULL)) < 0 && errno == EINTR) {
    }
    return got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

__attribute__((noreturn)) static void end(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((noreturn)) static void execute(const struct work *work, const struct pipes *pipes,
                                              enum cairn_heap_lost_form form, bool is_loud)
{
    const char *const argv[] = {"cairn",   "heap",
                                "lost",    "--top=0",
                                work->pid, form == CAIRN_HEAP_LOST_JSON ? "--json" : NULL,
                                NULL};
    int null = cairn_sys_open("/dev/null", O_RDWR, 0);
    syscall(SYS_dup3, null, 0, 0);
    syscall(SYS_dup3, pipes->report[1], 1, 0);
    if (form == CAIRN_HEAP_LOST_TEXT || !is_loud)
        syscall(SYS_dup3, form == CAIRN_HEAP_LOST_TEXT ? pipes->report[1] : null, 2, 0);
    /* The command gets none of the program's: a connection that it closes meanwhile is closed. */
    syscall(SYS_close_range, (unsigned)FIRST_FD, ~0U, 0U);
    cairn_sys_release_signals(0);
    syscall(SYS_execve, work->command, argv, work->env);
    end(NOT_EXECUTED);
}

/* Where the program ignores SIGCHLD (SA_NOCLDWAIT too), the kernel keeps no exit status, and ours
 * would be ECHILD. The zeros are SIG_DFL without flags, whatever the order of the fields. */
static void stop_ignoring_children(void)
{
    enum { KERNEL_MASK_BYTES = 8 };
    const uint64_t action[4] = {0};
    syscall(SYS_rt_sigaction, SIGCHLD, action, NULL, (size_t)KERNEL_MASK_BYTES);
}

/* What is executed ends with SIGCHLD, however it was made (execve(2)): so that is for this child,
 * which holds signals back, and not for the program. Only bare system calls: a thread that is not
 * here may hold any lock of the C library's. */
__attribute__((noreturn)) static void be_child(const struct work *work, const struct pipes *pipes,
                                               enum cairn_heap_lost_form form, bool is_loud)
{
    char go;
    cairn_sys_close(pipes->go[1]);
    if (cairn_sys_read(pipes->go[0], &go, 1) != 1)
        end(FAILED);
    stop_ignoring_children();
    long pid = clone_silently();
    if (pid == 0)
        execute(work, pipes, form, is_loud);
    syscall(SYS_close_range, 0U, ~0U, 0U); /* who waits for their end is not to wait for us */
    end(pid < 0 ? FAILED : wait_for(pid));
}

static void close_pipe(int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            cairn_sys_close(fds[i]);
    fds[0] = fds[1] = -1;
}

/* Not 0 to 2, which the child gives to the command: EMFILE if that cannot be. */
static int open_pipe(int fds[2])
{
    fds[0] = fds[1] = -1;
    if (syscall(SYS_pipe2, fds, O_CLOEXEC) < 0)
        return errno;
    for (int i = 0; i < 2; i++)
        if (fds[i] < FIRST_FD && (fds[i] = cairn_sys_move(fds[i], FIRST_FD)) < FIRST_FD)
            return EMFILE;
    return 0;
}

static int read_report(int fd, struct work *work, struct cairn_heap_out *out)
{
    size_t n = 0;
    long got;
    while ((got = cairn_sys_read(fd, work->piece, sizeof(work->piece))) > 0) {
        n += (size_t)got;
        if (n > REPORT_MAX)
            return EFBIG;
        cairn_heap_out_bytes(out, work->piece, (size_t)got);
    }
    return got < 0 ? (int)-got : out->failed;
}

static int run(struct work *work, struct pipes *pipes, enum cairn_heap_lost_form form, bool is_loud,
               struct cairn_heap_out *out)
{
    uint64_t signals = cairn_sys_hold_signals();
    long pid = clone_silently();
    int failed = errno;
    if (pid == 0)
        be_child(work, pipes, form, is_loud);
    cairn_sys_release_signals(signals);
    if (pid < 0)
        return failed;
    cairn_sys_close(pipes->report[1]);
    cairn_sys_close(pipes->go[0]);
    pipes->report[1] = pipes->go[0] = -1;
    syscall(SYS_prctl, SET_PTRACER, pid, 0L, 0L, 0L);
    (void)cairn_sys_write(pipes->go[1], "g", 1);
    failed = read_report(pipes->report[0], work, out);
    close_pipe(pipes->report); /* a command that still writes ends by that */
    int status = wait_for(pid);
    restore_ptracer();
    if (failed || status == 0)
        return failed;
    return status == NOT_EXECUTED ? ENOENT : EIO;
}

int cairn_heap_lost_report(enum cairn_heap_lost_form form, bool is_loud, struct cairn_heap_out *out)
{
    struct pipes pipes = {{-1, -1}, {-1, -1}};
    size_t env_bytes = 0;
    if (cairn_seal_forbids_files())
        return EPERM;
    struct work *work = cairn_pages_map(sizeof(*work));
    char **env = copy_env(&env_bytes);
    int failed = work && env ? 0 : ENOMEM;
    if (!failed && !find_command(work))
        failed = ENOENT;
    if (!failed)
        failed = open_pipe(pipes.report);
    if (!failed)
        failed = open_pipe(pipes.go);
    if (!failed) {
        work->env = env;
        put_number(work->pid, (unsigned)syscall(SYS_getpid));
        failed = run(work, &pipes, form, is_loud, out);
    }
    close_pipe(pipes.report);
    close_pipe(pipes.go);
    cairn_pages_unmap(env, env_bytes);
    cairn_pages_unmap(work, sizeof(*work));
    return failed;
}
