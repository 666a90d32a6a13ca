/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Call: is an address one that a call returns to? What tells a return address from a number that
 * happens to point into code: the instruction before it. One file a CPU; all are always compiled.
 */
#ifndef CAIRN_CODE_CALL_H
#define CAIRN_CODE_CALL_H

#include "base/span.h"

enum { CAIRN_CALL_BYTES = 8 }; /* the longest call instruction, rounded up */

struct cairn_call {
    uint64_t target;  /* of a direct call; 0: not known */
    uint64_t pointer; /* where memory holds the target; 0: not known */
};

/* Does a call end right before `ret`, a return address as it lies on the stack (arm's bit 0 says
 * Thumb)? `code` is what lies before it, up to CAIRN_CALL_BYTES. Those of x86-64 differ in length:
 * other instructions may look like one, a call always does. */
bool cairn_call_x86_64(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call);
bool cairn_call_aarch64(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call);
bool cairn_call_arm(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call);

#endif /* CAIRN_CODE_CALL_H */
