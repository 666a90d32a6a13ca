/* SPDX-License-Identifier: MIT */
#include "attach/late_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Examples of what differs each time. */
enum { FD = 1000, PID = 4242, BYTES = 1 << 16, MODE = 0600 };
#define VA         UINT64_C(0x7f0000010000)
#define HERE       ((uint64_t)AT_FDCWD)
#define RW         (PROT_READ | PROT_WRITE)
#define MAPS_QUERY _IOWR('f', 17, char[104]) /* PROCMAP_QUERY of Linux 6.11 */

enum {
    NO_SUCH_HOW = 0x7fff, /* of rt_sigprocmask: whether an address can be read (rt/self.c) */
    SIGSET_BYTES = 8,
    DONT_DUMP = 16, /* the advice of rt/pages.c */
    WIPE_ON_FORK = 18,
    POPULATE_WRITE = 23,
    FREE_PAGES = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
    FILE_PAGES = MAP_SHARED | MAP_NORESERVE
};

#define NEEDED(call, text, ...)                                                                    \
    {                                                                                              \
        text, SYS_##call, true,                                                                    \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define WANTED(call, text, ...)                                                                    \
    {                                                                                              \
        text, SYS_##call, false,                                                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct cairn_late_call cairn_late_calls[] = {
    /* Memory: of threads, of tables, of what is recorded. */
    NEEDED(mmap, "mmap", VA, BYTES, RW, FREE_PAGES, ~UINT64_C(0)),
    NEEDED(mmap, "mmap of a file", 0, BYTES, PROT_NONE, FILE_PAGES, FD),
    NEEDED(mmap, "mmap of a file", VA, BYTES, RW, FILE_PAGES | MAP_FIXED, FD),
    NEEDED(munmap, "munmap", VA, BYTES),
    NEEDED(mprotect, "mprotect", VA, BYTES, RW),
    NEEDED(mremap, "mremap", VA, BYTES, 2 * BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, VA + BYTES),
    NEEDED(madvise, "madvise (MADV_POPULATE_WRITE)", VA, BYTES, POPULATE_WRITE),
    WANTED(madvise, "madvise (MADV_DONTNEED)", VA, BYTES, MADV_DONTNEED),
    WANTED(madvise, "madvise (MADV_REMOVE)", VA, BYTES, MADV_REMOVE),
    WANTED(madvise, "madvise (MADV_DONTDUMP)", VA, BYTES, DONT_DUMP),
    WANTED(madvise, "madvise (MADV_WIPEONFORK)", VA, BYTES, WIPE_ON_FORK),
    NEEDED(fallocate, "fallocate", FD, 0, BYTES, BYTES),
    WANTED(fallocate, "fallocate (FALLOC_FL_PUNCH_HOLE)", FD,
           FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BYTES, BYTES),
    NEEDED(ftruncate, "ftruncate", FD, BYTES),
    WANTED(sysinfo, "sysinfo", VA),
    WANTED(prlimit64, "prlimit64", 0, RLIMIT_AS, 0, VA),
    WANTED(prlimit64, "prlimit64", 0, RLIMIT_FSIZE, 0, VA),

    /* Who is here, and when. */
    NEEDED(gettid, "gettid", 0),
    NEEDED(getpid, "getpid", 0),
    NEEDED(clock_gettime, "clock_gettime", CLOCK_MONOTONIC_COARSE, VA),
    NEEDED(clock_gettime, "clock_gettime", CLOCK_REALTIME, VA),
    WANTED(getuid, "getuid", 0),
    WANTED(geteuid, "geteuid", 0),
    WANTED(getegid, "getegid", 0),
    WANTED(kill, "kill (of signal 0)", PID, 0),
    WANTED(tgkill, "tgkill (of signal 0)", PID, PID, 0),
    WANTED(futex, "futex", VA, FUTEX_WAIT, 1, VA),
    WANTED(futex, "futex", VA, FUTEX_WAKE, 1),
    WANTED(sched_yield, "sched_yield", 0),
    WANTED(nanosleep, "nanosleep", VA, 0),

    /* Walks. */
    NEEDED(rt_sigprocmask, "rt_sigprocmask", NO_SUCH_HOW, VA, 0, SIGSET_BYTES),
    NEEDED(rt_sigprocmask, "rt_sigprocmask", SIG_SETMASK, VA, VA, SIGSET_BYTES),
    WANTED(process_vm_readv, "process_vm_readv", PID, VA, 1, VA, 1, 0),
    WANTED(sigaltstack, "sigaltstack", 0, VA),

    /* Modules, and the files of what is recorded; a child of fork(2) makes its own. */
    WANTED(openat, "openat", HERE, VA, O_RDONLY | O_CLOEXEC, 0),
    WANTED(openat, "openat (O_CREAT)", HERE, VA, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
           MODE),
    WANTED(openat, "openat", FD, VA, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0),
    WANTED(read, "read", FD, VA, BYTES),
    WANTED(pread64, "pread64", FD, VA, BYTES, 0),
    WANTED(write, "write", FD, VA, BYTES),
    WANTED(pwrite64, "pwrite64", FD, VA, BYTES, 0),
    WANTED(close, "close", FD),
    WANTED(fcntl, "fcntl (F_DUPFD_CLOEXEC)", FD, F_DUPFD_CLOEXEC, FD),
    WANTED(fstat, "fstat", FD, VA),
    WANTED(fstatfs, "fstatfs", FD, VA),
    WANTED(statx, "statx", FD, VA, AT_EMPTY_PATH, STATX_BASIC_STATS, VA),
    WANTED(ioctl, "ioctl", FD, MAPS_QUERY, VA),
    WANTED(readlinkat, "readlinkat", HERE, VA, VA, BYTES),
    WANTED(getdents64, "getdents64", FD, VA, BYTES),
    WANTED(mkdirat, "mkdirat", HERE, VA, S_IRWXU),
    WANTED(linkat, "linkat", HERE, VA, HERE, VA, AT_SYMLINK_FOLLOW),
    WANTED(unlinkat, "unlinkat", HERE, VA, 0),
    WANTED(renameat2, "renameat2", HERE, VA, HERE, VA, 0),
    WANTED(faccessat, "faccessat", HERE, VA, X_OK),
    WANTED(fgetxattr, "fgetxattr", FD, VA, 0, 0),

    /* How our thread in the process ends where we were killed. */
    NEEDED(exit, "exit", 0),
};
const size_t cairn_late_calls_n = sizeof cairn_late_calls / sizeof cairn_late_calls[0];
