/* SPDX-License-Identifier: MIT */
/*
 * Lost child: a report of lost blocks for the program itself. What decides them is no part of the
 * tracker: a child executes the cairn command, which reads this process while it runs on.
 *
 *     this thread ── clone(2), no signal at its end ──► child ──► child: cairn heap lost PID
 *                 ◄── a pipe: the report ─────────────────────────
 */
#ifndef CAIRN_HEAP_LOST_CHILD_H
#define CAIRN_HEAP_LOST_CHILD_H

#include "heap/out.h"

enum cairn_heap_lost_form { CAIRN_HEAP_LOST_TEXT, CAIRN_HEAP_LOST_JSON };

/*
 * Adds the report to `out`. Takes a second or more. 0, or an errno: ENOENT, the command is neither
 * beside this library nor in the bin folder above it; EPERM, the process has sealed itself; EIO,
 * the command failed; what it says is in `out` (text), or on stderr if `is_loud` (JSON). EFBIG: it
 * is larger than 256 MiB.
 */
int cairn_heap_lost_report(enum cairn_heap_lost_form form, bool is_loud,
                           struct cairn_heap_out *out);

enum { CAIRN_HEAP_SET_PTRACER = 0x59616d61 }; /* PR_SET_PTRACER (Documentation/LSM/Yama) */

/* The program has allowed a process to trace it, which holds again behind a report. */
void cairn_heap_lost_note_ptracer(unsigned long pid);

#endif /* CAIRN_HEAP_LOST_CHILD_H */
