/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/term.h"

struct input {
    int fd;
    const char *name; /* for messages */
    int os_errno;     /* why reading failed; 0: it did not */
    uint64_t bytes;
};

static long read_input(void *ctx, void *buf, size_t size)
{
    struct input *input = ctx;
    ssize_t got;
    do
        got = read(input->fd, buf, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        input->os_errno = errno;
    else
        input->bytes += (uint64_t)got;
    cli_progress("%s: %llu MB read", input->name, (unsigned long long)(input->bytes >> 20));
    return (long)got;
}

int cli_read_profile(const char *path, enum cairn_format format, struct cairn_profile **ret_profile,
                     struct cairn_err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct input input = {.fd = STDIN_FILENO, .name = is_stdin ? "stdin" : path};
    if (!is_stdin)
        input.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (input.fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int result = cairn_profile_read(read_input, &input, format, ret_profile, err);
    if (!is_stdin)
        close(input.fd);
    cli_progress_done();
    if (result < 0 && input.os_errno)
        return cairn_fail_os(err, input.os_errno, "%s", input.name);
    return result < 0 ? cairn_fail_in(err, result, input.name) : CAIRN_OK;
}
