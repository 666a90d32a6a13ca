/* SPDX-License-Identifier: MIT */
/*
 * Descriptors into another process, through no path that both would have to know: it makes a pair
 * of sockets, we take one end (pidfd_getfd(2), Linux 5.6), and send through it (unix(7),
 * SCM_RIGHTS) what it receives at the other.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/foothold.h"
#include "base/error.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* one number on every CPU */
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* What the process has in its page while it receives. */
struct letter {
    struct msghdr header;
    struct iovec io;
    char byte;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
};

static int take_socket(struct cairn_foothold *foothold, int their_fd, struct cairn_err *err)
{
    int pidfd = (int)syscall(SYS_pidfd_open, foothold->target->pid, 0);
    int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, their_fd, 0);
    int os_errno = errno;
    if (pidfd >= 0)
        close(pidfd);
    if (fd < 0)
        return cairn_fail_os(err, os_errno, "pid %d: cannot take a socket of it (Linux 5.6 can)",
                             foothold->target->pid);
    foothold->socket = fd;
    return CAIRN_OK;
}

static int make_sockets(struct cairn_foothold *foothold, struct cairn_err *err)
{
    const uint64_t args[CAIRN_CALL_ARGS] = {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
                                            foothold->page_va};
    struct cairn_err later;
    uint64_t ignored;
    int pair[2];
    int result =
        cairn_foothold_call(foothold, "cannot make sockets", SYS_socketpair, args, &ignored, err);
    if (result == CAIRN_OK)
        result = cairn_target_read(foothold->target, foothold->page_va, pair, sizeof pair, err);
    if (result < 0)
        return result;
    foothold->their_socket = pair[1];
    result = take_socket(foothold, pair[0], err);
    int closed = cairn_foothold_close_fd(foothold, pair[0], &later);
    if (result == CAIRN_OK && closed < 0 && err)
        *err = later;
    return result < 0 ? result : closed;
}

static int send_fd(const struct cairn_foothold *foothold, int fd, struct cairn_err *err)
{
    char byte = 0;
    struct iovec io = {&byte, 1};
    struct letter letter = {.byte = 0};
    struct msghdr header = {.msg_iov = &io,
                            .msg_iovlen = 1,
                            .msg_control = &letter.control,
                            .msg_controllen = sizeof letter.control};
    struct cmsghdr *control = CMSG_FIRSTHDR(&header);
    *control = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    /* What is at the other end, and whether there is space, only the process says. */
    return sendmsg(foothold->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1
               ? CAIRN_OK
               : cairn_fail_os(err, errno, "pid %d: cannot send it a descriptor",
                               foothold->target->pid);
}

static int receive_fd(struct cairn_foothold *foothold, int *ret_their_fd, struct cairn_err *err)
{
    uint64_t va = foothold->page_va, ignored;
    struct letter letter = {.byte = 0};
    letter.io = (struct iovec){(void *)(uintptr_t)(va + offsetof(struct letter, byte)), 1};
    letter.header =
        (struct msghdr){.msg_iov = (struct iovec *)(uintptr_t)(va + offsetof(struct letter, io)),
                        .msg_iovlen = 1,
                        .msg_control = (void *)(uintptr_t)(va + offsetof(struct letter, control)),
                        .msg_controllen = sizeof letter.control};
    int result = cairn_target_write(foothold->target, va, &letter, sizeof letter, err);
    const uint64_t args[CAIRN_CALL_ARGS] = {(uint64_t)foothold->their_socket, va, MSG_CMSG_CLOEXEC};
    if (result == CAIRN_OK)
        result = cairn_foothold_call(foothold, "cannot receive a descriptor", SYS_recvmsg, args,
                                     &ignored, err);
    if (result == CAIRN_OK)
        result = cairn_target_read(foothold->target, va, &letter, sizeof letter, err);
    if (result < 0)
        return result;
    if (letter.control.head.cmsg_len != CMSG_LEN(sizeof(int)) ||
        letter.control.head.cmsg_type != SCM_RIGHTS)
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "pid %d: has no descriptor left (ulimit -n): none could be handed in",
                          foothold->target->pid);
    memcpy(ret_their_fd, CMSG_DATA(&letter.control.head), sizeof *ret_their_fd);
    return CAIRN_OK;
}

int cairn_foothold_hand(struct cairn_foothold *foothold, int fd, int *ret_their_fd,
                        struct cairn_err *err)
{
    int result = foothold->socket >= 0 ? CAIRN_OK : make_sockets(foothold, err);
    if (result == CAIRN_OK)
        result = send_fd(foothold, fd, err);
    return result < 0 ? result : receive_fd(foothold, ret_their_fd, err);
}

int cairn_foothold_map_file(struct cairn_foothold *foothold, int fd, uint64_t size, int prot,
                            uint64_t *ret_va, struct cairn_err *err)
{
    struct cairn_err later;
    int their_fd, result = cairn_foothold_hand(foothold, fd, &their_fd, err);
    if (result < 0)
        return result;
    const struct cairn_foothold_mapping want = {
        .size = size, .prot = prot, .flags = MAP_PRIVATE, .fd = their_fd};
    result = cairn_foothold_map(foothold, &want, ret_va, err);
    int closed = cairn_foothold_close_fd(foothold, their_fd, &later);
    if (result == CAIRN_OK && closed < 0 && err)
        *err = later;
    return result < 0 ? result : closed;
}
