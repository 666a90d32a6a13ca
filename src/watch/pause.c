/* SPDX-License-Identifier: MIT */
/*
 * A pause is a field of the state. The tracker reads it when the header's turn has changed: no
 * thread is stopped for it, and no code of the process is changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "watch/heap.h"
#include "watch/open_state.h"

static bool set_pause(int fd, uint32_t paused)
{
    const off_t paused_at = offsetof(struct cairn_heap_header, paused);
    return pwrite(fd, &paused, sizeof paused, paused_at) == sizeof paused &&
           cairn_heap_turn_state(fd);
}

static int check_state(int fd, const char *who, struct cairn_err *err)
{
    struct cairn_heap_header header;
    if (pread(fd, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.magic, CAIRN_HEAP_MAGIC, sizeof header.magic) != 0 ||
        header.version != CAIRN_HEAP_VERSION)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is no state of this version", who);
    return CAIRN_OK;
}

int cairn_heap_record(int pid, int on, struct cairn_err *err)
{
    struct cairn_buffer who = {0};
    int fd = -1, result = cairn_heap_open_state(pid, O_RDWR, &who, &fd, err);
    if (result == CAIRN_OK)
        result = check_state(fd, cairn_buffer_text(&who), err);
    if (result == CAIRN_OK &&
        !set_pause(fd, CAIRN_HEAP_WAS_PAUSED | (on ? 0u : (uint32_t)CAIRN_HEAP_PAUSED)))
        result = cairn_fail_os(err, errno, "%s: cannot be written", cairn_buffer_text(&who));
    if (fd >= 0)
        close(fd);
    cairn_buffer_done(&who);
    return result;
}
