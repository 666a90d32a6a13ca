/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "rt/seal.h"
#include "rt/sys.h"

/* A filter of seccomp(2) may end the process for any of these. */
static long result(long got)
{
    return got < 0 ? -errno : got;
}

int cairn_socket_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    int saved = errno;
    if (cairn_seal_forbids_files())
        return -EPERM;
    if (n >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, n + 1);
    int fd = (int)result(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    long got = fd;
    while (fd >= 0 &&
           (got = result(syscall(SYS_connect, fd, &address, sizeof(address)))) == -EINTR) {
    }
    if (fd >= 0 && got < 0)
        cairn_sys_close(fd);
    errno = saved;
    return got < 0 ? (int)got : fd;
}

long cairn_socket_send(int fd, const void *from, size_t size)
{
    int saved = errno;
    long got = -EPERM;
    while (!cairn_seal_forbids_files() &&
           (got = result(syscall(SYS_sendto, fd, from, size, MSG_NOSIGNAL, NULL, 0))) == -EINTR) {
    }
    errno = saved;
    return got;
}

int cairn_socket_peer(int fd)
{
    struct {
        int pid;
        unsigned uid, gid;
    } peer = {0};
    unsigned size = sizeof(peer);
    int saved = errno;
    if (cairn_seal_forbids_files() ||
        syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        peer.pid = 0;
    errno = saved;
    return peer.pid;
}
