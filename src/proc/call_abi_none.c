/* SPDX-License-Identifier: MIT */
#include "proc/call_abi.h"

/* System calls of this CPU are not traced. */
const struct cairn_call_abi cairn_call_abi;

bool cairn_call_again(int tid)
{
    (void)tid;
    return false;
}

bool cairn_call_ends_by_stops(uint64_t number)
{
    (void)number;
    return false;
}

bool cairn_call_mend(int tid)
{
    (void)tid;
    return false;
}
