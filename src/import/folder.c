/* SPDX-License-Identifier: MIT */
#include "import/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FILES_MAX = 4096, NAME_BYTES = 32 };

static long read_at(void *ctx, uint64_t off, void *buf, size_t size)
{
    const int *fd = ctx;
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(*fd, (char *)buf + done, size - done, (off_t)(off + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : (long)done;
        done += (size_t)got;
    }
    return (long)done;
}

static int add(struct cairn_import_folder *folder, int fd, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return cairn_fail(err, CAIRN_E_ARG, "data.%zu is no regular file", folder->n);
    }
    if (folder->n == FILES_MAX ||
        cairn_grow((void **)&folder->fds, &folder->cap_fds, folder->n + 1, sizeof fd) < 0 ||
        cairn_grow((void **)&folder->inputs, &folder->cap_inputs, folder->n + 1,
                   sizeof *folder->inputs) < 0) {
        close(fd);
        return folder->n == FILES_MAX
                   ? cairn_fail(err, CAIRN_E_LIMIT, "more than %d files of data", FILES_MAX)
                   : cairn_fail_memory(err);
    }
    folder->fds[folder->n++] = fd;
    return CAIRN_OK;
}

int cairn_import_folder_open(const char *path, struct cairn_import_folder *ret_folder,
                             struct cairn_err *err)
{
    struct cairn_import_folder folder = {0};
    int code = CAIRN_OK, root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return cairn_fail_os(err, errno, "%s", path);
    while (code == CAIRN_OK) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "data.%zu", folder.n);
        int fd = openat(root, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 && errno == ENOENT)
            break;
        code = fd < 0 ? cairn_fail_os(err, errno, "%s", name) : add(&folder, fd, err);
    }
    close(root);
    for (size_t i = 0; i < folder.n; i++) /* the array of numbers moves no more */
        folder.inputs[i] = (struct cairn_format_input){.read_at = read_at, .ctx = &folder.fds[i]};
    if (code < 0)
        cairn_import_folder_close(&folder);
    else
        *ret_folder = folder;
    return code;
}

void cairn_import_folder_close(struct cairn_import_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++)
        close(folder->fds[i]);
    cairn_free(folder->fds);
    cairn_free(folder->inputs);
    *folder = (struct cairn_import_folder){0};
}
