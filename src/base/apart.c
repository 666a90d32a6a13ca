/* SPDX-License-Identifier: MIT */
#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

struct request {
    cairn_apart_fn fn;
};

struct reply {
    long result;
};

/* Guarded by `lock`. */
static struct {
    pid_t owner; /* the process that forked the helper: a forked child starts its own */
    pid_t pid;   /* 0: none runs */
    int socket;
    uint8_t *io;
    pid_t left[CAIRN_APART_LEFT_MAX]; /* killed, but maybe never ended */
    unsigned n_left;
} apart;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One message of `size` bytes, with a descriptor where `fd` is one. */
static bool send_message(int to, void *bytes, size_t size, int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec io = {bytes, size};
    struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    ssize_t put;
    do
        put = sendmsg(to, &message, MSG_NOSIGNAL);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)size;
}

static bool receive_message(int from, void *bytes, size_t size, int *ret_fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof *ret_fd)] = {0};
    struct iovec io = {bytes, size};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got;
    *ret_fd = -1;
    do
        got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(head), sizeof *ret_fd);
    return got == (ssize_t)size;
}

/* A pipe of the command's would stay open as long as a helper that was left behind. */
static void close_all_but(int fd)
{
    enum { FDS_MAX = 1 << 16 };
    bool closed = syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0) == 0;
    closed = closed && (fd == 0 || syscall(SYS_close_range, 0u, (unsigned)fd - 1, 0) == 0);
    for (int i = 0; !closed && i < FDS_MAX; i++)
        if (i != fd)
            close(i);
}

static _Noreturn void serve(int fd, uint8_t *io, pid_t parent)
{
    sigset_t all;
    struct request request;
    int passed;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "cairn-apart");
    close_all_but(fd);
    cairn_log_set(NULL, NULL, 0); /* its sink may take locks, and has no stderr here */
    while (getppid() == parent && receive_message(fd, &request, sizeof request, &passed)) {
        int made = -1;
        struct reply reply = {.result = request.fn(io, passed, &made)};
        if (!send_message(fd, &reply, sizeof reply, made))
            break;
        if (made >= 0)
            close(made);
        if (passed >= 0)
            close(passed);
    }
    _exit(0);
}

static void drop_helper(void)
{
    close(apart.socket);
    munmap(apart.io, CAIRN_APART_BYTES);
    apart.pid = 0;
}

/* Those that were left behind and have ended since: FUSE servers may answer late. */
static void reap_left(void)
{
    for (unsigned i = 0; i < apart.n_left;)
        if (waitpid(apart.left[i], NULL, WNOHANG | __WALL) != 0)
            apart.left[i] = apart.left[--apart.n_left];
        else
            i++;
}

/* Without an exit signal, so that the program that we are in is not told of a child. */
static pid_t fork_silently(void)
{
    return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
}

static bool start_helper(void)
{
    int sockets[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return false;
    void *io = mmap(NULL, CAIRN_APART_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pid_t pid = io == MAP_FAILED ? -1 : fork_silently();
    if (pid == 0)
        serve(sockets[1], io, parent);
    close(sockets[1]);
    if (pid < 0) {
        close(sockets[0]);
        if (io != MAP_FAILED)
            munmap(io, CAIRN_APART_BYTES);
        return false;
    }
    apart.owner = parent;
    apart.pid = pid;
    apart.socket = sockets[0];
    apart.io = io;
    return true;
}

static bool has_helper(void)
{
    if (apart.owner && apart.owner != getpid()) { /* we are a child of who started it */
        if (apart.pid)
            drop_helper();
        apart.n_left = 0;
        apart.owner = 0;
    }
    reap_left();
    return apart.pid || start_helper();
}

static void leave_behind(void)
{
    kill(apart.pid, SIGKILL);
    apart.left[apart.n_left++] = apart.pid;
    drop_helper();
}

/* 0, -ETIMEDOUT, or -EPIPE: the helper has ended. */
static int await_reply(const struct cairn_apart_call *call, struct reply *ret_reply, int *ret_fd)
{
    uint64_t ms = call->deadline_ms ? call->deadline_ms : CAIRN_APART_DEADLINE_MS;
    uint64_t until_ns = cairn_now_ns() + ms * 1000000u, left_ns;
    struct pollfd wait = {.fd = apart.socket, .events = POLLIN};
    do { /* once more behind the deadline: we may not have run since the reply came */
        uint64_t now_ns = cairn_now_ns();
        left_ns = now_ns < until_ns ? until_ns - now_ns : 0;
        int n = poll(&wait, 1, (int)((left_ns + 999999) / 1000000));
        if (n > 0 && receive_message(apart.socket, ret_reply, sizeof *ret_reply, ret_fd))
            return 0;
        if (n > 0 || (n < 0 && errno != EINTR))
            return -EPIPE;
    } while (left_ns);
    return -ETIMEDOUT;
}

static void copy_out(const struct cairn_apart_call *call, const uint8_t *io, long result)
{
    size_t size = call->out_size;
    if (call->out_is_result && (size_t)result < size)
        size = (size_t)result;
    if (size)
        memcpy(call->out, io + call->out_off, size);
}

static long do_apart(const struct cairn_apart_call *call)
{
    struct request request = {call->fn};
    struct reply reply;
    int made = -1;
    if (call->in_size)
        memcpy(apart.io, call->in, call->in_size);
    int code = send_message(apart.socket, &request, sizeof request, call->fd)
                   ? await_reply(call, &reply, &made)
                   : -EPIPE;
    if (code < 0) {
        if (call->note_size)
            memcpy(call->noted, apart.io + call->note_off, call->note_size);
        leave_behind();
        return code;
    }
    if (reply.result >= 0)
        copy_out(call, apart.io, reply.result);
    if (call->ret_fd)
        *call->ret_fd = made;
    else if (made >= 0)
        close(made);
    return reply.result;
}

/* `io` is the caller's to free. */
static long do_here(const struct cairn_apart_call *call, uint8_t *io)
{
    int made = -1;
    if (call->in_size)
        memcpy(io, call->in, call->in_size);
    long result = call->fn(io, call->fd, &made);
    if (result >= 0)
        copy_out(call, io, result);
    if (call->ret_fd)
        *call->ret_fd = made;
    else if (made >= 0)
        close(made);
    return result;
}

static long do_without_helper(const struct cairn_apart_call *call)
{
    void *io = mmap(NULL, CAIRN_APART_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (io == MAP_FAILED)
        return -ENOMEM;
    long result = do_here(call, io);
    munmap(io, CAIRN_APART_BYTES);
    return result;
}

long cairn_apart_do(const struct cairn_apart_call *call)
{
    long result = -EPIPE;
    pthread_mutex_lock(&lock);
    /* Twice, for a helper may have been killed by somebody else while it had nothing to do. */
    for (int i = 0; i < 2 && result == -EPIPE; i++) {
        bool has = has_helper();
        if (apart.n_left == CAIRN_APART_LEFT_MAX)
            result = -EUSERS;
        else
            result = has ? do_apart(call) : do_without_helper(call);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

bool cairn_apart_is_used(void)
{
    pthread_mutex_lock(&lock);
    bool used = apart.owner == getpid() && (apart.pid || apart.n_left);
    pthread_mutex_unlock(&lock);
    return used;
}
