/* SPDX-License-Identifier: MIT */
#include "attach/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "base/file.h"
#include "proc/threads.h"

/* LOOKED_AT: of a process with thousands of threads it is enough to find a good one. */
enum {
    RANK_NONE,
    RANK_OTHER,
    RANK_MENDED,
    RANK_RUNS,
    RANK_WAITS,
    PATH_BYTES = 64,
    LOOKED_AT = 256
};

/* Calls that the kernel begins anew by itself, with what is left of their time. */
static const long waiting[] = {
    SYS_futex,    SYS_nanosleep, SYS_clock_nanosleep, SYS_ppoll,
    SYS_pselect6, SYS_wait4,     SYS_waitid,          SYS_epoll_pwait,
#ifdef SYS_epoll_wait
    SYS_poll,     SYS_pause,     SYS_epoll_wait,
#endif
#ifdef SYS_select
    SYS_select,
#endif
};

/* Calls that tell how much they have done when they are interrupted, and those whose beginning
 * anew is not the same call. */
static const long halves[] = {
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_sendfile,
    SYS_splice,
    SYS_vmsplice,
    SYS_tee,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_connect,
    SYS_copy_file_range,
    SYS_process_vm_writev,
    SYS_process_vm_readv,
    SYS_preadv,
    SYS_pread64,
    SYS_readv,
    SYS_msgsnd,
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_vfork
    SYS_vfork,
    SYS_fork,
#endif
    SYS_clone,
};

static bool has(const long *list, size_t n, long number)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == number)
            return true;
    return false;
}

int cairn_choose_rank(const char *text)
{
    char *end;
    if (strncmp(text, "running", 7) == 0)
        return RANK_RUNS;
    long number = strtol(text, &end, 0);
    if (end == text || *end != ' ')
        return RANK_NONE;
    if (number < 0) /* it sleeps outside of a call: a page is read */
        return RANK_OTHER;
    if (has(halves, sizeof halves / sizeof *halves, number))
        return RANK_NONE;
    return has(waiting, sizeof waiting / sizeof *waiting, number) ? RANK_WAITS : RANK_MENDED;
}

static int rank_of(int pid, int tid)
{
    char path[PATH_BYTES];
    struct cairn_thread_stat stat;
    struct cairn_buffer text = {0};
    if (cairn_thread_stat(pid, tid, &stat, NULL) < 0 || strchr("DZXx", stat.state))
        return RANK_NONE;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
    /* Not every kernel tells (CONFIG_HAVE_ARCH_TRACEHOOK); then by its state. */
    int rank = cairn_file_slurp(path, 256, &text, NULL) == CAIRN_OK
                   ? cairn_choose_rank(cairn_buffer_text(&text))
                   : RANK_OTHER;
    cairn_buffer_done(&text);
    return rank;
}

struct choice {
    int tid, rank;
};

/* Into its place among the best. */
static void insert(struct choice best[CAIRN_CHOICES], size_t *n, struct choice one)
{
    size_t at = *n;
    while (at > 0 && best[at - 1].rank < one.rank)
        at--;
    if (at == CAIRN_CHOICES)
        return;
    size_t last = *n < CAIRN_CHOICES ? *n : CAIRN_CHOICES - 1;
    memmove(&best[at + 1], &best[at], (last - at) * sizeof *best);
    best[at] = one;
    *n = last + 1;
}

int cairn_choose_threads(int pid, int ret_tids[CAIRN_CHOICES], size_t *ret_n, struct cairn_err *err)
{
    struct cairn_threads threads = {0};
    struct choice best[CAIRN_CHOICES + 1];
    size_t n = 0;
    int result = cairn_threads_read(pid, &threads, err);
    for (size_t i = 0; result == CAIRN_OK && i < threads.n && i < LOOKED_AT; i++) {
        struct choice one = {threads.tids[i], rank_of(pid, threads.tids[i])};
        if (one.rank != RANK_NONE)
            insert(best, &n, one);
    }
    cairn_threads_done(&threads);
    if (result < 0)
        return result;
    for (size_t i = 0; i < n; i++)
        ret_tids[i] = best[i].tid;
    *ret_n = n;
    return n ? CAIRN_OK
             : cairn_fail(err, CAIRN_E_SUPPORT,
                          "pid %d: each of its threads ends, waits for a disk, or is in the middle "
                          "of a write, which would end short: try again",
                          pid);
}
