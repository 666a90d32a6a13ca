/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Tidy: where nobody said where states go, nobody clears them up either. So who comes removes the
 * oldest that processes which have ended left there: all but the last CAIRN_HEAP_TIDY_KEPT, and
 * those that take more than a bound together; the last one always stays, whatever its size.
 *
 *     PID-STARTTICKS[.N].heap    ended: there is no such process, or it started at another time,
 *                                in the pid namespace (pid_namespaces(7)) that the file names
 *
 * A process of another namespace, of a container that shares the folder, may live: it stays.
 */
#ifndef CAIRN_HEAP_TIDY_H
#define CAIRN_HEAP_TIDY_H

#include <stdint.h>

enum {
    CAIRN_HEAP_TIDY_KEPT = 16,
    CAIRN_HEAP_TIDY_SHARE = 10 /* of the memory for one state */
};

/* Two that tidy one folder at a time remove the same. Nothing happens to a folder that is not ours
 * alone. */
void cairn_heap_tidy(const char *dir, uint64_t most_bytes);

/* In which namespace our pid counts; 0: not known. */
uint64_t cairn_heap_tidy_space(void);

#endif /* CAIRN_HEAP_TIDY_H */
