/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late libc: what libcairn-track uses of the process's own libc.
 */
#ifndef CAIRN_HEAP_LATE_LIBC_H
#define CAIRN_HEAP_LATE_LIBC_H

/* Finds its errno and its list of modules. Before anything else is called. */
void cairn_late_libc_find(void);

#endif /* CAIRN_HEAP_LATE_LIBC_H */
