/* SPDX-License-Identifier: MIT */
/*
 * Where a call of the program's was stopped, the kernel has decided already whether it begins it
 * anew: then the instruction pointer stands at the call once more, with its first argument in x0
 * (arch/arm64/kernel/signal.c, do_signal). Behind a stop at a call's end the kernel restores x7, so
 * that a call of ours must leave x7 alone (arch/arm64/kernel/ptrace.c, report_syscall).
 */
#include <asm/ptrace.h>
#include <elf.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "attach/cpu.h"

enum { INSN_BYTES = 4, X8 = 8, X29 = 29, X30 = 30 };

static const uint8_t svc_insn[] = {0x01, 0x00, 0x00, 0xd4};
const struct cairn_span cairn_cpu_call_insn = {svc_insn, sizeof svc_insn};
const uint16_t cairn_cpu_machine = EM_AARCH64;
const uint32_t cairn_cpu_audit = AUDIT_ARCH_AARCH64;
const enum cairn_hook_cpu cairn_cpu_hook = CAIRN_HOOK_AARCH64;
const struct cairn_cpu_relocs cairn_cpu_relocs = {.relative = R_AARCH64_RELATIVE,
                                                  .absolute = R_AARCH64_ABS64,
                                                  .glob_dat = R_AARCH64_GLOB_DAT,
                                                  .jump_slot = R_AARCH64_JUMP_SLOT};

_Static_assert(SYS_exit == 93, "as the code below has it");
static const uint8_t thread_code[] = {
    0x01, 0x00, 0x00, 0xd4, /* svc #0 */
    0xa8, 0x0b, 0x80, 0xd2, /* mov x8, #SYS_exit */
    0x01, 0x00, 0x00, 0xd4, /* svc #0 */
    0x00, 0x00, 0x00, 0x00, /* udf #0 */
};
const struct cairn_span cairn_cpu_thread_code = {thread_code, sizeof thread_code};
const unsigned cairn_cpu_return_at = INSN_BYTES;

static struct user_pt_regs load(const struct cairn_still_regs *regs)
{
    struct user_pt_regs user;
    memcpy(&user, regs->raw, sizeof user);
    return user;
}

static void store(struct cairn_still_regs *regs, const struct user_pt_regs *user)
{
    memcpy(regs->raw, user, sizeof *user);
}

/* Of a 32-bit thread the kernel gives fewer. */
bool cairn_cpu_knows(const struct cairn_still_regs *regs)
{
    return regs->size == sizeof(struct user_pt_regs);
}

uint64_t cairn_cpu_ip(const struct cairn_still_regs *regs)
{
    return load(regs).pc;
}

uint64_t cairn_cpu_sp(const struct cairn_still_regs *regs)
{
    return load(regs).sp;
}

void cairn_cpu_set_call(struct cairn_still_regs *regs, uint64_t va, long number,
                        const uint64_t args[CAIRN_CALL_ARGS])
{
    struct user_pt_regs user = load(regs);
    user.pc = va;
    user.regs[X8] = (uint64_t)number;
    memcpy(user.regs, args, CAIRN_CALL_ARGS * sizeof *args);
    store(regs, &user);
}

bool cairn_cpu_called(const struct cairn_still_regs *regs, uint64_t va, int64_t *ret_result)
{
    struct user_pt_regs user = load(regs);
    if (user.pc != va + INSN_BYTES)
        return false;
    *ret_result = (int64_t)user.regs[0];
    return true;
}

void cairn_cpu_set_entry(struct cairn_still_regs *regs, const struct cairn_cpu_entry *entry)
{
    struct user_pt_regs user = load(regs);
    user.pc = entry->va;
    user.regs[0] = entry->arg;
    user.regs[X29] = 0;
    user.regs[X30] = entry->back;
    user.sp = entry->sp + sizeof entry->back; /* a multiple of 16 */
    store(regs, &user);
}

bool cairn_cpu_set_thread_pointer(int tid, uint64_t pointer)
{
    struct iovec io = {&pointer, sizeof pointer};
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_TLS, &io) == 0;
}
