/* SPDX-License-Identifier: MIT */
/* System calls of this CPU by number: their names, and how many arguments count of those in which
 * threads are found. */
#ifndef CAIRN_SNAPSHOT_SYSCALL_H
#define CAIRN_SNAPSHOT_SYSCALL_H

/* NULL: not known. Static. */
const char *cairn_syscall_name(long number);

/* -1: not known. */
int cairn_syscall_arguments(const char *name);

#endif /* CAIRN_SNAPSHOT_SYSCALL_H */
