/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <string.h>

#include <cairn/hook.h>

static const char *const cpus[] = {
    [CAIRN_HOOK_X86_64] = "x86-64",
    [CAIRN_HOOK_AARCH64] = "aarch64",
    [CAIRN_HOOK_A32] = "arm",
    [CAIRN_HOOK_T32] = "thumb",
};
enum { N_CPUS = sizeof cpus / sizeof *cpus };

const char *cairn_hook_cpu_name(enum cairn_hook_cpu cpu)
{
    return (unsigned)cpu < N_CPUS ? cpus[cpu] : NULL;
}

enum cairn_hook_cpu cairn_hook_cpu_of_name(const char *name)
{
    size_t size = strlen(name) + 1;
    for (unsigned i = CAIRN_HOOK_CPU_NONE + 1; i < N_CPUS; i++)
        if (size == strlen(cpus[i]) + 1 && memcmp(name, cpus[i], size) == 0)
            return (enum cairn_hook_cpu)i;
    return CAIRN_HOOK_CPU_NONE;
}

const char *cairn_hook_reason_text(enum cairn_hook_reason reason)
{
    static const char *const texts[] = {
        [CAIRN_HOOK_FINE] = "nothing is wrong",
        [CAIRN_HOOK_NO_CPU] = "instructions of this CPU are not supported",
        [CAIRN_HOOK_CUT_OFF] = "the bytes end inside an instruction",
        [CAIRN_HOOK_NOT_CODE] = "the bytes are no instruction, or an unknown one",
        [CAIRN_HOOK_TOO_LARGE] = "too many instructions, or a copy too long",
        [CAIRN_HOOK_OUT_OF_REACH] = "a distance does not fit from the new address",
        [CAIRN_HOOK_CALLS] = "a shadow stack would refuse the return address of a moved call",
        [CAIRN_HOOK_READS_PC] = "it reads its own address in a way that cannot be rewritten",
        [CAIRN_HOOK_NO_REGISTER] = "the jump back has no free register",
        [CAIRN_HOOK_EXCLUSIVE] = "it is part of an exclusive access or a transaction",
        [CAIRN_HOOK_BRANCHES_IN] = "a branch leads into the middle of the changed instructions",
        [CAIRN_HOOK_BACKWARDS] = "the function jumps back to its first instruction",
        [CAIRN_HOOK_TOO_SHORT] = ("too short: no padding in reach, and no free page at the targets "
                                  "that the following bytes allow"),
        [CAIRN_HOOK_HOOKED] = "diverted already by another tool",
        [CAIRN_HOOK_UNCHECKED] = "the copy failed its own check (an error in cairn)",
        [CAIRN_HOOK_RETURNS_IN] = "a call returns into the middle of the changed instructions",
        [CAIRN_HOOK_MISALIGNED] = "no instruction of this CPU can be at this address",
    };
    enum { N_TEXTS = sizeof texts / sizeof *texts };
    return (unsigned)reason < N_TEXTS ? texts[reason] : "unknown reason";
}

const char *cairn_hook_way_name(enum cairn_hook_way way)
{
    static const char *const names[] = {
        [CAIRN_HOOK_WAY_NONE] = "none", [CAIRN_HOOK_WAY_ONE] = "one",
        [CAIRN_HOOK_WAY_PAD] = "pad",   [CAIRN_HOOK_WAY_PUN] = "pun",
        [CAIRN_HOOK_WAY_LATE] = "late", [CAIRN_HOOK_WAY_BRANCH] = "b",
    };
    enum { N_NAMES = sizeof names / sizeof *names };
    return (unsigned)way < N_NAMES ? names[way] : "unknown";
}
