/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#ifndef CAIRN_RT_INODE_H
#define CAIRN_RT_INODE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a regular file; false: it is none, or cannot be asked. By a system call alone, for fstat(3) is
 * newer than GLIBC_2.17: before 2.33 it was no function of libc.so. */
bool cairn_inode_of(int fd, uint64_t *ret_inode);

#endif /* CAIRN_RT_INODE_H */
