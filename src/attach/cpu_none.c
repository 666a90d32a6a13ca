/* SPDX-License-Identifier: MIT */
/* No file for this CPU yet: every attach is refused before it begins, by cairn_cpu_machine. */
#include "attach/cpu.h"

const struct cairn_span cairn_cpu_call_insn = {NULL, 0};
const uint16_t cairn_cpu_machine = 0;
const uint32_t cairn_cpu_audit = 0;
const enum cairn_hook_cpu cairn_cpu_hook = CAIRN_HOOK_CPU_NONE;
const struct cairn_cpu_relocs cairn_cpu_relocs = {0, 0, 0, 0};
const struct cairn_span cairn_cpu_thread_code = {NULL, 0};
const unsigned cairn_cpu_return_at = 0;

bool cairn_cpu_knows(const struct cairn_still_regs *regs)
{
    (void)regs;
    return false;
}

uint64_t cairn_cpu_ip(const struct cairn_still_regs *regs)
{
    (void)regs;
    return 0;
}

uint64_t cairn_cpu_sp(const struct cairn_still_regs *regs)
{
    (void)regs;
    return 0;
}

void cairn_cpu_set_call(struct cairn_still_regs *regs, uint64_t va, long number,
                        const uint64_t args[CAIRN_CALL_ARGS])
{
    (void)regs;
    (void)va;
    (void)number;
    (void)args;
}

bool cairn_cpu_called(const struct cairn_still_regs *regs, uint64_t va, int64_t *ret_result)
{
    (void)regs;
    (void)va;
    (void)ret_result;
    return false;
}

bool cairn_cpu_set_thread_pointer(int tid, uint64_t pointer)
{
    (void)tid;
    (void)pointer;
    return false;
}

void cairn_cpu_set_entry(struct cairn_still_regs *regs, const struct cairn_cpu_entry *entry)
{
    (void)regs;
    (void)entry;
}
