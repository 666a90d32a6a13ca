/* SPDX-License-Identifier: MIT */
#include "proc/call_abi.h"

/* System calls of this CPU are not traced. */
const struct cairn_call_abi cairn_call_abi;

bool cairn_call_again(int tid)
{
    (void)tid;
    return false;
}

bool cairn_call_mend_regs(uint8_t *raw, size_t size, const struct cairn_call_seen *seen)
{
    (void)raw;
    (void)size;
    (void)seen;
    return false;
}
