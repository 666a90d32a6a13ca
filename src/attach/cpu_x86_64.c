/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "attach/cpu.h"

enum {
    CODE_64 = 0x33 /* cs of 64-bit code (arch/x86/include/asm/segment.h) */
};

static const uint8_t syscall_insn[] = {0x0f, 0x05};
const struct cairn_span cairn_cpu_call_insn = {syscall_insn, sizeof syscall_insn};
const uint16_t cairn_cpu_machine = EM_X86_64;
const uint32_t cairn_cpu_audit = AUDIT_ARCH_X86_64;
const enum cairn_hook_cpu cairn_cpu_hook = CAIRN_HOOK_X86_64;
const struct cairn_cpu_relocs cairn_cpu_relocs = {.relative = R_X86_64_RELATIVE,
                                                  .absolute = R_X86_64_64,
                                                  .glob_dat = R_X86_64_GLOB_DAT,
                                                  .jump_slot = R_X86_64_JUMP_SLOT};

enum { RETURN_AT = 2 };
static const uint8_t thread_code[] = {
    0x0f, 0x05,              /* syscall */
    0x89, 0xc7,              /* mov %eax, %edi */
    0xb8, SYS_exit, 0, 0, 0, /* mov $SYS_exit, %eax */
    0x0f, 0x05,              /* syscall */
    0x0f, 0x0b,              /* ud2 */
};
const struct cairn_span cairn_cpu_thread_code = {thread_code, sizeof thread_code};
const unsigned cairn_cpu_return_at = RETURN_AT;

static struct user_regs_struct load(const struct cairn_still_regs *regs)
{
    struct user_regs_struct user;
    memcpy(&user, regs->raw, sizeof user);
    return user;
}

static void store(struct cairn_still_regs *regs, const struct user_regs_struct *user)
{
    memcpy(regs->raw, user, sizeof *user);
}

bool cairn_cpu_knows(const struct cairn_still_regs *regs)
{
    return regs->size == sizeof(struct user_regs_struct) && load(regs).cs == CODE_64;
}

uint64_t cairn_cpu_ip(const struct cairn_still_regs *regs)
{
    return load(regs).rip;
}

uint64_t cairn_cpu_sp(const struct cairn_still_regs *regs)
{
    return load(regs).rsp;
}

void cairn_cpu_set_call(struct cairn_still_regs *regs, uint64_t va, long number,
                        const uint64_t args[CAIRN_CALL_ARGS])
{
    struct user_regs_struct user = load(regs);
    user.rip = va;
    user.rax = (unsigned long long)number;
    user.orig_rax = ~0ULL;
    user.rdi = args[0];
    user.rsi = args[1];
    user.rdx = args[2];
    user.r10 = args[3];
    user.r8 = args[4];
    user.r9 = args[5];
    store(regs, &user);
}

bool cairn_cpu_called(const struct cairn_still_regs *regs, uint64_t va, int64_t *ret_result)
{
    struct user_regs_struct user = load(regs);
    if (user.rip != va + sizeof syscall_insn)
        return false;
    *ret_result = (int64_t)user.rax;
    return true;
}

void cairn_cpu_set_entry(struct cairn_still_regs *regs, const struct cairn_cpu_entry *entry)
{
    enum { DIRECTION = 0x400 };
    struct user_regs_struct user = load(regs);
    user.rip = entry->va;
    user.rdi = entry->arg;
    user.rax = 0;
    user.orig_rax = ~0ULL;
    user.rbp = 0;
    user.rsp = entry->sp;
    user.fs_base = entry->thread_pointer;
    user.eflags &= ~(unsigned long long)DIRECTION;
    store(regs, &user);
}

/* It is among the others. */
bool cairn_cpu_set_thread_pointer(int tid, uint64_t pointer)
{
    (void)tid;
    (void)pointer;
    return true;
}
