/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/inode.h"

#include <asm/stat.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's own structure. On 32-bit arm that of a libc whose time_t has 64 bits is another. */
#ifdef SYS_fstat64
enum { STAT_CALL = SYS_fstat64 };
typedef struct stat64 kernel_stat;
#else
enum { STAT_CALL = SYS_fstat };
typedef struct stat kernel_stat;
#endif
enum { KIND_BITS = 0170000, REGULAR = 0100000 }; /* <sys/stat.h> has them, and another stat */
_Static_assert(sizeof((kernel_stat){0}.st_ino) == 8, "a number of the file system's is whole");

bool cairn_inode_of(int fd, uint64_t *ret_inode)
{
    int saved = errno;
    kernel_stat st;
    bool done = syscall(STAT_CALL, (long)fd, &st) == 0 && (st.st_mode & KIND_BITS) == REGULAR;
    errno = saved;
    if (done)
        *ret_inode = st.st_ino;
    return done;
}
