/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/ask.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/start.h"
#include "rt/socket.h"
#include "rt/sys.h"

/* Of a folder that nobody named for this run no answer comes. */
static bool put_path(char path[CAIRN_HEAP_PATH])
{
    static const char name[] = "/" CAIRN_HEAP_ASK_SOCKET;
    const struct cairn_tracked_heap *heap = cairn_heap_present();
    if (!heap || heap->settings.own_dir)
        return false;
    size_t n = strlen(heap->settings.dir);
    if (n + sizeof(name) > CAIRN_HEAP_PATH)
        return false;
    memcpy(path, heap->settings.dir, n);
    memcpy(path + n, name, sizeof(name));
    return true;
}

bool cairn_heap_ask_may(void)
{
    char path[CAIRN_HEAP_PATH];
    struct cairn_sys_stat found;
    return put_path(path) && cairn_sys_stat_path(path, &found) == 0 && S_ISSOCK(found.mode);
}

static bool is_parent(int fd)
{
    return cairn_socket_peer(fd) == (int)syscall(SYS_getppid);
}

bool cairn_heap_ask(enum cairn_heap_ask_kind kind, struct cairn_heap_answer *ret_answer)
{
    const struct cairn_heap_question question = {.kind = kind};
    struct cairn_heap_answer answer;
    char path[CAIRN_HEAP_PATH];
    int fd = put_path(path) ? cairn_socket_connect(path) : -1;
    if (fd < 0)
        return false;
    bool done = (kind != CAIRN_HEAP_ASK_EXIT || is_parent(fd)) &&
                cairn_socket_send(fd, &question, sizeof(question)) == (long)sizeof(question) &&
                cairn_sys_read(fd, &answer, sizeof(answer)) == (long)sizeof(answer);
    cairn_sys_close(fd);
    if (done)
        *ret_answer = answer;
    return done;
}
