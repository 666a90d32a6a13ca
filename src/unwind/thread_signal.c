/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/thread_signal.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The kernel's numbers of real-time signals are 32 to 64: the lowest three are the C libraries'
 * own, and of the last two qemu-user installs handlers but sends none. */
enum { REAL_TIME_FIRST = 35, REAL_TIME_LAST = 62 };
enum { INSTALLING = -1, LEFT = 32, PATH_BYTES = 64 };

static atomic_int installed; /* a signal, 0, or INSTALLING */
/* Threads with one of these in their queue, by the low bits of their numbers; the others are
 * forgotten, which costs a place of a queue. */
static atomic_int left[LEFT];

static bool is_free(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

static bool is_ours(int number, cairn_thread_handler_fn handler)
{
    struct sigaction there;
    return sigaction(number, NULL, &there) == 0 && (there.sa_flags & SA_SIGINFO) &&
           there.sa_sigaction == handler;
}

/* What comes in between the question and the answer is put back. */
static bool install(int number, cairn_thread_handler_fn handler)
{
    struct sigaction before,
        ours = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (sigaction(number, NULL, &before) != 0 || !is_free(&before) ||
        sigaction(number, &ours, &before) != 0)
        return false;
    if (is_free(&before))
        return true;
    sigaction(number, &before, NULL);
    return false;
}

static int install_any(cairn_thread_handler_fn handler)
{
    if (install(SIGURG, handler))
        return SIGURG;
    for (int number = REAL_TIME_LAST; number >= REAL_TIME_FIRST; number--)
        if (is_ours(number, handler) || install(number, handler))
            return number;
    return 0;
}

int cairn_thread_signal_get(cairn_thread_handler_fn handler)
{
    int number = atomic_load(&installed);
    if (number > 0 && is_ours(number, handler))
        return number;
    if (number == INSTALLING || !atomic_compare_exchange_strong(&installed, &number, INSTALLING))
        return 0;
    number = install_any(handler);
    atomic_store(&installed, number);
    return number;
}

static atomic_int *left_of(int tid)
{
    return &left[(unsigned)tid % LEFT];
}

void cairn_thread_signal_leave(int number, int tid)
{
    if (number >= REAL_TIME_FIRST) /* of the others one is pending at most */
        atomic_store(left_of(tid), tid);
}

static void status_path(int tid, char *ret_path)
{
    static const char before[] = "/proc/self/task/", behind[] = "/status";
    char digits[12];
    unsigned n = 0, value = (unsigned)tid;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(ret_path, before, sizeof before - 1);
    ret_path += sizeof before - 1;
    while (n > 0)
        *ret_path++ = digits[--n];
    memcpy(ret_path, behind, sizeof behind);
}

/* The number in base 16 behind "\nSigPnd:\t" (proc(5)): the thread's own queue. */
static uint64_t pending_in(const char *text)
{
    static const char key[] = "\nSigPnd:\t";
    uint64_t mask = 0;
    while (*text && strncmp(text, key, sizeof key - 1) != 0)
        text++;
    if (!*text)
        return 0;
    for (text += sizeof key - 1;; text++) {
        unsigned c = (unsigned char)*text;
        if (c - '0' < 10)
            mask = mask << 4 | (c - '0');
        else if (c - 'a' < 6)
            mask = mask << 4 | (c - 'a' + 10);
        else
            return mask;
    }
}

bool cairn_thread_signal_is_left(int number, int tid, char *room, size_t bytes)
{
    char path[PATH_BYTES];
    if (atomic_load(left_of(tid)) != tid)
        return false;
    status_path(tid, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, room, bytes - 1) : -1;
    if (fd >= 0)
        close(fd);
    room[n > 0 ? n : 0] = 0;
    bool is_pending = pending_in(room) >> (number - 1) & 1;
    if (!is_pending)
        atomic_store(left_of(tid), 0);
    return is_pending;
}
