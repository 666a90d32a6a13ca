/* SPDX-License-Identifier: MIT */
#include "watch/asked.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

enum {
    BACKLOG = 64,
    QUESTION_MS = 100,
    DROPS_MOST = 16 /* of one call: the caller has the command's end to look for */
};

static bool put_address(struct sockaddr_un *address, const char *folder)
{
    const size_t size = sizeof address->sun_path;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path, size, "%s/" CAIRN_HEAP_ASK_SOCKET, folder);
    return n > 0 && (size_t)n < size;
}

static int listen_at(const char *folder)
{
    struct sockaddr_un address;
    if (!put_address(&address, folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return -1;
}

void cairn_asked_open(struct cairn_asked *asked, const char *folder)
{
    *asked = (struct cairn_asked){.listener = listen_at(folder), .asker = -1};
    if (asked->listener < 0)
        cairn_log(CAIRN_LOG_WARNING,
                  "%s/" CAIRN_HEAP_ASK_SOCKET ": no socket (%s): programs cannot ask for looks",
                  folder, strerror(errno));
}

void cairn_asked_close(struct cairn_asked *asked, const char *folder)
{
    struct sockaddr_un address;
    if (asked->asker >= 0)
        close(asked->asker);
    if (asked->listener >= 0) {
        close(asked->listener);
        if (put_address(&address, folder))
            unlink(address.sun_path);
    }
    *asked = (struct cairn_asked){.listener = -1, .asker = -1};
}

/* A process of another pid namespace than ours or one below it has no number here. */
static bool read_question(int fd, int *ret_pid, enum cairn_heap_ask_kind *ret_kind)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    struct cairn_heap_question question;
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (poll(&wait, 1, QUESTION_MS) != 1 ||
        recv(fd, &question, sizeof question, MSG_DONTWAIT) != (ssize_t)sizeof question ||
        question.kind < CAIRN_HEAP_ASK_CHECK || question.kind > CAIRN_HEAP_ASK_EXIT ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
        return false;
    *ret_pid = peer.pid;
    *ret_kind = (enum cairn_heap_ask_kind)question.kind;
    return true;
}

bool cairn_asked_next(struct cairn_asked *asked, int *ret_pid, enum cairn_heap_ask_kind *ret_kind)
{
    for (int i = 0; asked->listener >= 0 && asked->asker < 0 && i < DROPS_MOST; i++) {
        int fd = accept4(asked->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return false;
        if (read_question(fd, ret_pid, ret_kind))
            asked->asker = fd;
        else
            close(fd);
    }
    return asked->asker >= 0;
}

void cairn_asked_answer(struct cairn_asked *asked, const struct cairn_heap_answer *answer)
{
    if (asked->asker < 0)
        return;
    (void)send(asked->asker, answer, sizeof *answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(asked->asker);
    asked->asker = -1;
}
