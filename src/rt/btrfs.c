/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/btrfs.h"

#include <errno.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/sys.h"

enum { STATFS_WORDS = 64, UUID_TEXT = 36, PATH_BYTES = 128 };
static const uint32_t MAGIC = 0x9123683e; /* linux/magic.h */

/* Of struct statfs the first word, whatever the CPU. */
static bool is_btrfs(int fd)
{
    unsigned long found[STATFS_WORDS];
    return syscall(SYS_fstatfs, fd, found) == 0 && (uint32_t)found[0] == MAGIC;
}

static void put_uuid(char to[UUID_TEXT + 1], const uint8_t id[BTRFS_FSID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < BTRFS_FSID_SIZE; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            to[at++] = '-';
        to[at++] = digits[id[i] >> 4];
        to[at++] = digits[id[i] & 15];
    }
    to[at] = 0;
}

static bool has_quotas(int fd)
{
    static const char before[] = "/sys/fs/btrfs/", behind[] = "/qgroups";
    struct btrfs_ioctl_fs_info_args info;
    struct cairn_sys_stat found;
    char path[PATH_BYTES];
    memset(&info, 0, sizeof(info));
    if (syscall(SYS_ioctl, fd, BTRFS_IOC_FS_INFO, &info) != 0)
        return false;
    memcpy(path, before, sizeof(before) - 1);
    put_uuid(path + sizeof(before) - 1, info.fsid);
    memcpy(path + sizeof(before) - 1 + UUID_TEXT, behind, sizeof(behind));
    return cairn_sys_stat_path(path, &found) == 0;
}

bool cairn_btrfs_write_in_place(int fd)
{
    int saved = errno, flags = 0;
    bool done = true;
    if (is_btrfs(fd)) {
        done = !has_quotas(fd);
        if (done && syscall(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) == 0) {
            flags |= FS_NOCOW_FL; /* ioctl_iflags(2) */
            syscall(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
        }
    }
    errno = saved;
    return done;
}
