/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "rt/seal.h"

atomic_uint cairn_seal;
#ifndef CAIRN_NO_TLS
_Thread_local uint32_t cairn_seal_of_child
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif

/* `call` as long as it is interrupted; its result or a negative errno: EPERM behind a seal. */
#define UNTIL_DONE(call)                                                                           \
    ({                                                                                             \
        int saved_ = errno;                                                                        \
        long got_ = -EPERM;                                                                        \
        if (!cairn_seal_forbids_files()) {                                                         \
            do                                                                                     \
                got_ = (call);                                                                     \
            while (got_ < 0 && errno == EINTR);                                                    \
            if (got_ < 0)                                                                          \
                got_ = -errno;                                                                     \
        }                                                                                          \
        errno = saved_;                                                                            \
        got_;                                                                                      \
    })

int cairn_sys_open(const char *path, int flags, unsigned mode)
{
    return (int)UNTIL_DONE(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

void cairn_sys_close(int fd)
{
    int saved = errno;
    syscall(SYS_close, fd);
    errno = saved;
}

int cairn_sys_move(int fd, int at_least)
{
    int saved = errno;
    long moved = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, at_least);
    if (moved >= 0)
        syscall(SYS_close, fd);
    errno = saved;
    return moved >= 0 ? (int)moved : fd;
}

long cairn_sys_read(int fd, void *to, size_t size)
{
    return UNTIL_DONE(syscall(SYS_read, fd, to, size));
}

long cairn_sys_read_file(const char *path, char *to, size_t size)
{
    int fd = cairn_sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    size_t n = 0;
    while (n + 1 < size) {
        long got = cairn_sys_read(fd, to + n, size - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    cairn_sys_close(fd);
    to[n] = 0;
    return (long)n;
}

enum { WORD_BITS = 8 * sizeof(long) };

long cairn_sys_read_at(int fd, void *to, size_t size, uint64_t off)
{
    if (WORD_BITS == 64)
        return UNTIL_DONE(syscall(SYS_pread64, fd, to, size, off));
    return UNTIL_DONE(syscall(SYS_pread64, fd, to, size, 0L, (long)off, (long)(off >> 32)));
}

long cairn_sys_read_link(const char *path, char *to, size_t size)
{
    return UNTIL_DONE(syscall(SYS_readlinkat, AT_FDCWD, path, to, size));
}

long cairn_sys_fallocate(int fd, int mode, uint64_t off, uint64_t bytes)
{
    if (WORD_BITS == 64)
        return UNTIL_DONE(syscall(SYS_fallocate, fd, mode, off, bytes));
    return UNTIL_DONE(syscall(SYS_fallocate, fd, mode, (long)off, (long)(off >> 32), (long)bytes,
                              (long)(bytes >> 32)));
}

long cairn_sys_truncate(int fd, uint64_t bytes)
{
    if (WORD_BITS == 64)
        return UNTIL_DONE(syscall(SYS_ftruncate, fd, bytes));
#ifdef SYS_ftruncate64
#ifdef __arm__ /* a 64-bit argument begins at an even register */
    return UNTIL_DONE(syscall(SYS_ftruncate64, fd, 0L, (long)bytes, (long)(bytes >> 32)));
#else
    return UNTIL_DONE(syscall(SYS_ftruncate64, fd, (long)bytes, (long)(bytes >> 32)));
#endif
#else
    return -ENOSYS;
#endif
}

long cairn_sys_write(int fd, const void *from, size_t size)
{
    return UNTIL_DONE(syscall(SYS_write, fd, from, size));
}

long cairn_sys_write_at(int fd, const void *from, size_t size, uint64_t off)
{
    if (WORD_BITS == 64)
        return UNTIL_DONE(syscall(SYS_pwrite64, fd, from, size, off));
    return UNTIL_DONE(syscall(SYS_pwrite64, fd, from, size, 0L, (long)off, (long)(off >> 32)));
}

long cairn_sys_write_zeros(int fd, uint64_t off, uint64_t bytes)
{
    static const char zeros[4096];
    while (bytes > 0) {
        long got = cairn_sys_write_at(fd, zeros,
                                      bytes < sizeof(zeros) ? (size_t)bytes : sizeof(zeros), off);
        if (got <= 0)
            return got < 0 ? got : -ENOSPC;
        off += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return 0;
}

enum { BLOCK_BYTES = 512, NS = 1000000000 };

/* By statx(2), whose layout is that of all CPUs. */
static int stat_at(int fd, const char *path, int flags, struct cairn_sys_stat *ret)
{
    struct statx found;
    long got = UNTIL_DONE(syscall(SYS_statx, fd, path, flags, STATX_BASIC_STATS, &found));
    if (got == 0)
        *ret = (struct cairn_sys_stat){.dev = makedev(found.stx_dev_major, found.stx_dev_minor),
                                       .ino = found.stx_ino,
                                       .uid = found.stx_uid,
                                       .gid = found.stx_gid,
                                       .mode = found.stx_mode,
                                       .bytes = found.stx_blocks * BLOCK_BYTES,
                                       .written_ns = (uint64_t)found.stx_mtime.tv_sec * NS +
                                                     found.stx_mtime.tv_nsec};
    return (int)got;
}

int cairn_sys_stat_fd(int fd, struct cairn_sys_stat *ret)
{
    return stat_at(fd, "", AT_EMPTY_PATH, ret);
}

int cairn_sys_stat_path(const char *path, struct cairn_sys_stat *ret)
{
    return stat_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, ret);
}

int cairn_sys_stat_in(int folder, const char *name, struct cairn_sys_stat *ret)
{
    return stat_at(folder, name, AT_SYMLINK_NOFOLLOW, ret);
}

int cairn_sys_open_in(int folder, const char *name, int flags)
{
    return (int)UNTIL_DONE(syscall(SYS_openat, folder, name, flags | O_CLOEXEC, 0));
}

int cairn_sys_unlink_in(int folder, const char *name)
{
    return (int)UNTIL_DONE(syscall(SYS_unlinkat, folder, name, 0));
}

long cairn_sys_list(int folder, void *entries, size_t size)
{
    return UNTIL_DONE(syscall(SYS_getdents64, folder, entries, size));
}

bool cairn_sys_is_gone(uint32_t pid)
{
    return UNTIL_DONE(syscall(SYS_kill, pid, 0)) == -ESRCH;
}

int cairn_sys_mkdir(const char *path, unsigned mode)
{
    return (int)UNTIL_DONE(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int cairn_sys_rename(const char *from, const char *to)
{
    return (int)UNTIL_DONE(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int cairn_sys_link(const char *from, const char *to)
{
    return (int)UNTIL_DONE(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW));
}

int cairn_sys_unlink(const char *path)
{
    return (int)UNTIL_DONE(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

uint32_t cairn_sys_uid(void)
{
    return cairn_seal_forbids_files() ? UINT32_MAX : (uint32_t)syscall(SYS_geteuid);
}

uint32_t cairn_sys_gid(void)
{
    return cairn_seal_forbids_files() ? UINT32_MAX : (uint32_t)syscall(SYS_getegid);
}

bool cairn_sys_has_capabilities(int fd)
{
    return UNTIL_DONE(syscall(SYS_fgetxattr, fd, "security.capability", NULL, 0)) > 0;
}

bool cairn_sys_may_execute(const char *path)
{
    return UNTIL_DONE(syscall(SYS_faccessat, AT_FDCWD, path, X_OK)) == 0;
}

uint64_t cairn_sys_limit(int resource)
{
    struct { /* of 64 bits each, whatever the word */
        uint64_t soft, hard;
    } limit;
    long got = UNTIL_DONE(syscall(SYS_prlimit64, 0, resource, NULL, &limit));
    return got == 0 ? limit.soft : UINT64_MAX;
}

uint64_t cairn_sys_ram_bytes(void)
{
    struct sysinfo info;
    long got = UNTIL_DONE(syscall(SYS_sysinfo, &info));
    return got == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
}

int cairn_sys_signal_stack(stack_t *ret)
{
    return (int)UNTIL_DONE(syscall(SYS_sigaltstack, NULL, ret));
}

static uint64_t set_signals(uint64_t held)
{
    uint64_t before = 0;
    (void)UNTIL_DONE(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &held, &before, sizeof(held)));
    return before;
}

uint64_t cairn_sys_hold_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    uint64_t held = UINT64_MAX;
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        held &= ~(UINT64_C(1) << (faults[i] - 1));
    return set_signals(held);
}

void cairn_sys_release_signals(uint64_t before)
{
    set_signals(before);
}
