/* SPDX-License-Identifier: MIT */
#include "sample/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "proc/process.h"

enum { TEXT_BYTES_MAX = 1 << 16, DEPTH_MAX = 64 };

/* Where version 2 is mounted: alone, or beside version 1. */
static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
enum { ROOTS = sizeof roots / sizeof *roots };

bool cairn_cgroup_read(const char *text, struct cairn_buffer *ret_path)
{
    static const char mark[] = "0::", deleted[] = " (deleted)";
    const size_t tail = sizeof deleted - 1;
    while (strncmp(text, mark, sizeof mark - 1) != 0) {
        text = strchr(text, '\n');
        if (!text)
            return false;
        text++;
    }
    text += sizeof mark - 1;
    size_t size = strcspn(text, "\n");
    if (size > tail && memcmp(text + size - tail, deleted, tail) == 0)
        size -= tail;
    cairn_buffer_add(ret_path, text, size);
    return size > 0;
}

int cairn_cgroup_of(int pid, struct cairn_buffer *ret_path, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    int code = cairn_process_slurp(pid, "cgroup", TEXT_BYTES_MAX, &text, err);
    if (code == CAIRN_OK && !cairn_cgroup_read(cairn_buffer_text(&text), ret_path))
        code = cairn_fail(err, CAIRN_E_MISSING, "pid %d: in no cgroup of version 2", pid);
    cairn_buffer_done(&text);
    return code;
}

static bool is_version_2(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* One path. 0, ENOENT, ENOTSUP where it is of version 1, or another errno. */
static int try_path(const char *path, int *ret_fd)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOTDIR ? ENOENT : errno;
    if (!is_version_2(fd)) {
        close(fd);
        return ENOTSUP;
    }
    *ret_fd = fd;
    return 0;
}

static bool has_version_2(void)
{
    int fd = -1;
    for (size_t i = 0; i < ROOTS; i++)
        if (try_path(roots[i], &fd) == 0) {
            close(fd);
            return true;
        }
    return false;
}

static int fail_open(const char *name, int os_errno, struct cairn_err *err)
{
    if (!has_version_2()) {
        cairn_fail(err, CAIRN_E_SUPPORT, "%s: no cgroups of version 2 are mounted here", name);
        cairn_hint(err, "boot with systemd.unified_cgroup_hierarchy=1, or as root: mount -t "
                        "cgroup2 none /sys/fs/cgroup/unified");
        return CAIRN_E_SUPPORT;
    }
    if (os_errno == ENOTSUP) {
        cairn_fail(err, CAIRN_E_SUPPORT, "%s: not a cgroup of version 2", name);
        cairn_hint(err, "the line that begins with 0:: in /proc/PID/cgroup names the one of a "
                        "process");
        return CAIRN_E_SUPPORT;
    }
    if (os_errno != ENOENT)
        return cairn_fail_os(err, os_errno, "%s", name);
    cairn_fail(err, CAIRN_E_MISSING, "%s: no such cgroup", name);
    cairn_hint(err, "a path, or a name below /sys/fs/cgroup, as the line that begins with 0:: in "
                    "/proc/PID/cgroup has it");
    return CAIRN_E_MISSING;
}

int cairn_cgroup_open(const char *name, int *ret_fd, struct cairn_buffer *ret_path,
                      struct cairn_err *err)
{
    const size_t before = ret_path->size;
    int refused = ENOENT;
    for (size_t i = 0; i <= ROOTS; i++) {
        ret_path->size = before;
        if (i < ROOTS) /* before the path as it is: "/" and "/tmp" are names of groups, too */
            cairn_buffer_printf(ret_path, "%s/%s", roots[i], name + strspn(name, "/"));
        else
            cairn_buffer_printf(ret_path, "%s", name);
        if (ret_path->failed)
            return cairn_fail_memory(err);
        int code = try_path(cairn_buffer_text(ret_path) + before, ret_fd);
        if (code == 0)
            return CAIRN_OK;
        if (code != ENOENT)
            refused = code;
    }
    ret_path->size = before;
    return fail_open(name, refused, err);
}

bool cairn_cgroup_is_root(int fd)
{
    return faccessat(fd, "cgroup.type", F_OK, 0) != 0 && errno == ENOENT;
}

static bool each_here(int folder, bool (*fn)(void *ctx, int pid), void *ctx)
{
    int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    bool goes_on = true;
    while (file && goes_on && fscanf(file, "%d", &pid) == 1)
        goes_on = pid <= 0 || fn(ctx, pid); /* 0: of another pid namespace */
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return goes_on;
}

static bool each_below(int folder, int depth, bool (*fn)(void *ctx, int pid), void *ctx)
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = own < 0 ? NULL : fdopendir(own);
    const struct dirent *entry;
    bool goes_on = each_here(folder, fn, ctx);
    while (list && goes_on && depth < DEPTH_MAX && (entry = readdir(list))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int fd = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        goes_on = fd < 0 || each_below(fd, depth + 1, fn, ctx);
        if (fd >= 0)
            close(fd);
    }
    if (list)
        closedir(list);
    else if (own >= 0)
        close(own);
    return goes_on;
}

bool cairn_cgroup_each(int fd, bool (*fn)(void *ctx, int pid), void *ctx)
{
    return each_below(fd, 0, fn, ctx);
}
