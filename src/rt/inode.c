/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/inode.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The call whose structure is libc's own struct stat, but for what musl appended to arm's. */
enum {
#ifdef SYS_fstat64
    STAT_CALL = SYS_fstat64
#else
    STAT_CALL = SYS_fstat
#endif
};
_Static_assert(sizeof((struct stat){0}.st_ino) == 8, "with _FILE_OFFSET_BITS=64");

bool cairn_inode_of(int fd, uint64_t *ret_inode)
{
    int saved = errno;
    struct stat st;
    bool done = syscall(STAT_CALL, (long)fd, &st) == 0 && S_ISREG(st.st_mode);
    errno = saved;
    if (done)
        *ret_inode = st.st_ino;
    return done;
}
