/* SPDX-License-Identifier: MIT */
#include "proc/fuse.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "proc/process.h"

enum { MOUNTS_MAX_BYTES = 64 << 20 };

/* "fuse", "fuse.sshfs", "fuseblk": all three are served by a process. */
static bool is_fuse(const char *type)
{
    return strncmp(type, "fuse", 4) == 0 &&
           (type[4] == ' ' || type[4] == '.' || strncmp(type + 4, "blk", 3) == 0);
}

/* proc_pid_mountinfo(5): "36 35 0:43 / /mnt rw shared:1 - fuse.sshfs host: rw". */
static bool parse_line(struct cairn_fuse_devices *devices, const char *line, size_t size)
{
    unsigned major, minor;
    const char *dash = memmem(line, size, " - ", 3);
    if (!dash || !is_fuse(dash + 3) || sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 ||
        cairn_fuse_has(devices, major, minor))
        return true;
    if (cairn_grow((void **)&devices->devices, &devices->cap, devices->n + 1,
                   sizeof *devices->devices) < 0)
        return false;
    devices->devices[devices->n++] = (uint64_t)major << 32 | minor;
    return true;
}

bool cairn_fuse_devices_parse(struct cairn_fuse_devices *devices, const char *text)
{
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");
        if (!parse_line(devices, line, size))
            return false;
        line += size + (line[size] == '\n');
    }
    return true;
}

static void read_mounts(int pid, struct cairn_fuse_devices *devices)
{
    struct cairn_buffer text = {0};
    if (cairn_process_slurp(pid, "mountinfo", MOUNTS_MAX_BYTES, &text, NULL) == 0)
        (void)cairn_fuse_devices_parse(devices, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

/* Unknown is no: then both lists are read. */
static bool is_own_namespace(int pid)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
    return stat("/proc/self/ns/mnt", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Our list serves both in one namespace: behind chroot(2) a process is shown only a part of it. If
 * that is we, the deadline serves what is missing. */
void cairn_fuse_devices_read(int pid, struct cairn_fuse_devices *ret_devices)
{
    *ret_devices = (struct cairn_fuse_devices){0};
    read_mounts(getpid(), ret_devices);
    if (!is_own_namespace(pid))
        read_mounts(pid, ret_devices);
}

void cairn_fuse_devices_done(struct cairn_fuse_devices *devices)
{
    cairn_free(devices->devices);
    *devices = (struct cairn_fuse_devices){0};
}

bool cairn_fuse_has(const struct cairn_fuse_devices *devices, uint32_t major, uint32_t minor)
{
    for (size_t i = 0; i < devices->n; i++)
        if (devices->devices[i] == ((uint64_t)major << 32 | minor))
            return true;
    return false;
}
