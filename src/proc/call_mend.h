/* SPDX-License-Identifier: MIT */
/* Call mend: system calls that a stop of their thread ends with EINTR, though no signal came, go
 * on. */
#ifndef CAIRN_PROC_CALL_MEND_H
#define CAIRN_PROC_CALL_MEND_H

#include "proc/call_abi.h"

/* Is a call of this number among them (signal(7), "Interruption of system calls by stop signals",
 * and measured)? */
bool cairn_call_ends_by_stops(uint64_t number);

/* The call that a thread sleeps in; not known where the kernel does not decide early: it is not
 * needed there. */
void cairn_call_see(int tid, struct cairn_call_seen *ret);

/* Do signals wait for the thread that this mask does not block? NULL: its own. */
bool cairn_call_has_signals(int tid, const uint64_t *blocked);

/* A thread stands where PTRACE_INTERRUPT stopped it: cairn_call_mend_regs() in its registers. The
 * call has its arguments of before, so that a timeout begins anew. `seen`: from before the stop. */
bool cairn_call_mend(int tid, const struct cairn_call_seen *seen);

#endif /* CAIRN_PROC_CALL_MEND_H */
