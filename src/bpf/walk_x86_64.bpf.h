/* SPDX-License-Identifier: MIT */
/*
 * Walk on x86-64: its registers, and its rules (unwind/rule_x86_64.h), for walk.bpf.c alone.
 */
#ifndef CAIRN_BPF_WALK_X86_64_H
#define CAIRN_BPF_WALK_X86_64_H

#include "bpf/walk_return.bpf.h"
#include "unwind/clone_x86_64.h"
#include "unwind/rule_x86_64.h"

enum {
    USER_CS_32 = 0x23, /* arch/x86/include/asm/segment.h, __USER32_CS */
    TS_COMPAT = 2,     /* arch/x86/include/asm/thread_info.h */
    CS_MASK = 0xffff   /* beside it is what FRED keeps (Linux 6.9) */
};

/* Of the registers' words those that an interpreter's loop may have its state in: rbx, rbp, r12 to
 * r15, and rdi at its begin. */
#define GUEST_REGS (0x3full | 1ull << 14)
/* The words of LuaJIT's registers: r14, DISPATCH; rdx, BASE. */
#define GUEST_DISPATCH 1
#define GUEST_BASE     12

/* The word of the registers that says whom they belong to, and what it says. */
#define MODE_OF(regs) ((regs)->cs)

static __always_inline int is_user(__u64 cs)
{
    return (cs & 3) != 0;
}

static __always_inline int is_user_32(__u64 cs)
{
    return (cs & CS_MASK) == USER_CS_32;
}

static __always_inline void take_32(struct cairn_bpf_walk_cpu *cpu, const bpf_user_pt_regs_t *regs)
{
    cpu->ip = (__u32)regs->rip;
    cpu->sp = (__u32)regs->rsp;
}

static __always_inline void take(struct cairn_bpf_walk_cpu *cpu, const bpf_user_pt_regs_t *regs)
{
    cpu->ip = regs->rip;
    cpu->sp = regs->rsp;
    cpu->fp = regs->rbp;
    cpu->lr = regs->rdi;
    cpu->ax = regs->rax;
}

/* Is the system call that begins one of i386's table? By int 0x80 any program may call so. */
static __always_inline int is_compat_call(struct task_struct *task)
{
    return bpf_core_field_exists(task->thread_info) && (task->thread_info.status & TS_COMPAT);
}

static __always_inline void call_args(const bpf_user_pt_regs_t *regs, int is_compat, __u64 *args)
{
    args[0] = is_compat ? (__u32)regs->rbx : regs->rdi;
    args[1] = is_compat ? (__u32)regs->rcx : regs->rsi;
    args[2] = is_compat ? (__u32)regs->rdx : regs->rdx;
    args[3] = is_compat ? (__u32)regs->rsi : regs->r10;
    args[4] = is_compat ? (__u32)regs->rdi : regs->r8;
    args[5] = is_compat ? (__u32)regs->rbp : regs->r9;
}

/* Where a function begins, and where it has returned (System V ABI for x86-64, 3.2.3). */
static __always_inline void function_args(const bpf_user_pt_regs_t *regs, __u64 *args)
{
    args[0] = regs->rdi;
    args[1] = regs->rsi;
    args[2] = regs->rdx;
    args[3] = regs->rcx;
    args[4] = regs->r8;
    args[5] = regs->r9;
}
#define RETURNED(regs) ((regs)->rax)

/* The stack pointer where a function begins, the same when it has returned, and the address that it
 * returns to. A call pushes that, and ret takes it. */
#define STACK_OF(regs)            ((regs)->rsp)
#define STACK_BEFORE_RETURN(regs) ((regs)->rsp - 8)
static __always_inline __u64 return_address(const bpf_user_pt_regs_t *regs)
{
    __u64 ret = 0;
    return bpf_probe_read_user(&ret, sizeof ret, (void *)regs->rsp) ? 0 : ret;
}

/* At a data breakpoint: does the instruction that made the access stand before ip? Not if a call
 * wrote its return address, which is at sp, or if ip is at a string instruction that goes on. */
static __always_inline int stands_behind(struct cairn_bpf_walk_cpu *cpu,
                                         const bpf_user_pt_regs_t *regs, __u64 va, __u64 bytes)
{
    if (regs->rsp < va + bytes && va < regs->rsp + 8)
        return 0;
    if (!regs->rcx || bpf_probe_read_user(cpu->code, 4, (void *)regs->rip))
        return 1;
    __u32 at = cpu->code[0] == 0x66 ? 1 : 0; /* 16 bits */
    if (cpu->code[at] != 0xf3 && cpu->code[at] != 0xf2)
        return 1;
    at += (cpu->code[at + 1] & 0xf0) == 0x40 ? 2 : 1; /* REX */
    __u8 op = cpu->code[at];
    return !((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf));
}

/* The register that a walk from a system call may depend on beside ip, sp and fp; and whether fp is
 * one that each walk depends on. */
#define LINK_OF(regs) 0
enum { ALWAYS_USES_FP = 0 };

/* A call puts the return address where the stack pointer then points. */
enum { RETURNS_ON_STACK = 1 };

/* A function has returned to the page of uprobes, whose code pushes three registers for its system
 * call (Linux 6.11). Behind that the true address is above two of them. */
enum { PAGE_CALL = 0xd, PAGE_POP = 0xf, PAGE_RET = 0x10, PAGE_PUSHED = 24 };
static __always_inline void leave_page_call(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 off = cpu->ip - cpu->replaced, ret;
    __u64 at = cpu->sp + (off == PAGE_CALL ? 16 : off == PAGE_POP ? 8 : 0);
    if ((off != PAGE_CALL && off != PAGE_POP && off != PAGE_RET) ||
        bpf_probe_read_user(&ret, sizeof ret, (void *)at))
        return;
    cpu->ip = ret;
    cpu->sp = at + 8;
}

/* The kernel kept all registers of what it interrupted. */
static __always_inline long step_signal(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 at = cpu->sp, ip, sp, fp;
    if (read_word(cpu, at + CAIRN_X86_64_SIGNAL_FP, &fp) ||
        read_word(cpu, at + CAIRN_X86_64_SIGNAL_SP, &sp) ||
        read_word(cpu, at + CAIRN_X86_64_SIGNAL_IP, &ip))
        return stop(cpu, CAIRN_END_UNREADABLE);
    return go_to_signaled(cpu, ip, sp, fp);
}

/* Where the frame pointer points the caller's and the return address lie, and where they end the
 * caller's frame begins. */
static __always_inline void go_by_record(struct cairn_bpf_walk_cpu *cpu, __u64 fp, __u64 ret)
{
    cpu->ip = true_return(cpu, ret, cpu->fp + 8);
    cpu->sp = cpu->fp + 16;
    cpu->fp = fp;
}

/* The return address is in rdi, which is known in the innermost frame alone. */
static __always_inline int go_by_hint(struct cairn_bpf_walk_cpu *cpu, __u32 rule)
{
    __u32 n = cairn_rule_side_hint(rule);
    if (!n || cpu->stack.n != 1 || !cpu->lr)
        return 0;
    cpu->ip = cpu->lr;
    cpu->sp += (n - 1) * 8;
    cpu->exact = 0;
    return 1;
}

/* What the code says that no rule is of: of clone(2) who calls it, or that the stack begins. */
static __always_inline __u32 rule_by_code(struct cairn_bpf_walk_cpu *cpu)
{
    if (cpu->stack.n != 1 ||
        bpf_probe_read_user(cpu->code, CAIRN_CLONE_BYTES, (void *)(cpu->ip - CAIRN_CLONE_BEFORE)))
        return CAIRN_RULE_NONE;
    if (!cairn_x86_64_is_clone(cpu->code))
        return CAIRN_RULE_NONE;
    return cpu->ax ? cairn_x86_64_rule(CAIRN_X86_64_SP, 1, CAIRN_X86_64_FP_SAME)
                   : cairn_rule_make(CAIRN_RULE_OUTERMOST, 0);
}

/* No rule and no frame pointer leads on: does boost.context's code follow, to which a context's
 * first function returns (arch_x86_64.c)? */
static __always_inline int is_root(struct cairn_bpf_walk_cpu *cpu)
{
    if (cpu->exact || bpf_probe_read_user(cpu->code, 16, (void *)cpu->ip))
        return 0;
    __u64 at = cpu->code[0] == 0xf3 ? 4 : 0; /* endbr64 */
    return cpu->code[at] == 0x48 && cpu->code[at + 1] == 0x31 && cpu->code[at + 2] == 0xff &&
           cpu->code[at + 3] == 0xe8 && cpu->code[at + 8] == 0xf4;
}

/* There is no link register. */
static __always_inline int go_by_link(struct walker *w, __u32 kind)
{
    (void)w, (void)kind;
    return 0;
}

/* Does it return into the kernel's code behind a handler, though no table says so? */
static __always_inline int is_sigreturn(const struct cairn_bpf_walk_cpu *cpu, __u32 kind)
{
    (void)cpu, (void)kind;
    return 0;
}

/* A rule of this CPU, and all that it needs is known. */
static __always_inline int can_step(const struct cairn_bpf_walk_cpu *cpu, __u32 place, __u32 kind)
{
    (void)cpu, (void)place;
    return kind >= CAIRN_RULE_OF_CPU && kind <= CAIRN_X86_64_FP_CHAIN;
}

static __always_inline long step_rule(struct cairn_bpf_walk_cpu *cpu, __u32 rule)
{
    __u64 cfa = 0, ret, fp = cpu->fp, n = cairn_x86_64_cfa(rule);
    __u32 kind = cairn_rule_kind(rule), slot = cairn_x86_64_fp(rule);
    if (kind == CAIRN_X86_64_FP || kind == CAIRN_X86_64_FP_DEREF || kind == CAIRN_X86_64_FP_CHAIN ||
        (slot == CAIRN_X86_64_FP_AT_FP && kind != CAIRN_X86_64_PLT))
        note_fp(cpu);
    if (kind == CAIRN_X86_64_SP) {
        cfa = cpu->sp + n;
    } else if (kind == CAIRN_X86_64_FP) {
        cfa = fp + n;
    } else if (kind == CAIRN_X86_64_PLT) {
        cfa = cairn_x86_64_plt_cfa(rule, cpu->ip, cpu->sp);
        slot = CAIRN_X86_64_FP_SAME;
    } else if (kind == CAIRN_X86_64_FP_DEREF) {
        if (read_word(cpu, fp - n, &cfa))
            return stop(cpu, CAIRN_END_UNREADABLE);
    } else if (kind == CAIRN_X86_64_FP_CHAIN) {
        if (read_word(cpu, fp, &cfa))
            return stop(cpu, CAIRN_END_UNREADABLE);
        cfa += n;
    } else {
        if (read_word(cpu, cpu->sp + n, &cfa))
            return stop(cpu, CAIRN_END_UNREADABLE);
        cfa += 8;
    }
    if (cfa <= cpu->sp || cfa % 8)
        return stop(cpu, CAIRN_END_BAD_CFA);
    /* The lower one first: the window goes upwards. */
    if (slot != CAIRN_X86_64_FP_SAME) {
        __u64 at = slot == CAIRN_X86_64_FP_AT_FP ? fp : cfa - 8 * (__u64)slot;
        if (peek_word(cpu, at, &fp))
            return stop(cpu, CAIRN_END_UNREADABLE);
        cpu->fp_va = at;
    }
    if (read_word(cpu, cfa - 8, &ret))
        return stop(cpu, CAIRN_END_UNREADABLE);
    ret = true_return(cpu, ret, cfa - 8);
    if (!ret)
        return stop(cpu, CAIRN_END_OUTERMOST);
    cpu->ip = ret;
    cpu->sp = cfa;
    cpu->fp = fp;
    cpu->exact = 0;
    return add(cpu, ret);
}

#endif /* CAIRN_BPF_WALK_X86_64_H */
