/* SPDX-License-Identifier: MIT */
#include <linux/audit.h>
#include <sys/syscall.h>

#include "proc/call_abi.h"

/* arch/arm/tools/syscall.tbl for 32-bit programs. */
const struct cairn_call_abi cairn_call_abi = {
    .native = {AUDIT_ARCH_AARCH64, SYS_mmap, SYS_mprotect, SYS_pkey_mprotect, SYS_prctl},
    .compat = {AUDIT_ARCH_ARM, 192, 125, 394, 172},
};

/* The result has taken the place of the first argument, and the kernel's copy is not shown. */
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
