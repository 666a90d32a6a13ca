/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/remote.h"

enum { PIECE = 65536 };

int cli_remote_write_message(int fd, const void *bytes, size_t size, const char *who,
                             struct cairn_err *err)
{
    const uint32_t head = (uint32_t)size;
    int code = cairn_write_all(fd, &head, sizeof head, who, err);
    return code < 0 ? code : cairn_write_all(fd, bytes, size, who, err);
}

int cli_remote_read_message(int fd, struct cairn_buffer *in, const char *who,
                            const uint8_t **ret_bytes, size_t *ret_size, struct cairn_err *err)
{
    uint32_t size;
    if (!cairn_buffer_reserve(in, PIECE))
        return cairn_fail_memory(err);
    ssize_t n = read(fd, in->data + in->size, PIECE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0)
        return cairn_fail(err, CAIRN_E_IO, "%s has gone", who);
    in->size += (size_t)n;
    if (in->size < sizeof size)
        return 0;
    memcpy(&size, in->data, sizeof size);
    if (in->size - sizeof size < size)
        return 0;
    *ret_bytes = in->data + sizeof size;
    *ret_size = size;
    in->size = 0;
    return 1;
}
