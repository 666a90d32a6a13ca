/* SPDX-License-Identifier: MIT */
/*
 * Walk on aarch64: its registers, and its rules (unwind/rule_aarch64.h), for walk.bpf.c alone.
 */
#ifndef CAIRN_BPF_WALK_AARCH64_H
#define CAIRN_BPF_WALK_AARCH64_H

#include "bpf/walk_return.bpf.h"
#include "unwind/rule_aarch64.h"

/* struct rt_sigframe (arch/arm64/kernel/signal.c): siginfo, then the ucontext, whose mcontext
 * begins with the fault's address. Bytes from sp: */
enum {
    SIGNAL_REGS = 312,
    SIGNAL_FP = SIGNAL_REGS + 29 * 8,
    SIGNAL_LR = SIGNAL_FP + 8,
    SIGNAL_SP = SIGNAL_FP + 16,
    SIGNAL_IP = SIGNAL_FP + 24
};

enum { TIF_32BIT = 1 << 22 }; /* arch/arm64/include/asm/thread_info.h */

static const __u64 SIGRETURN = 0xd4000001d2801168; /* mov x8, #139; svc #0 */

/* The word of the registers that says whom they belong to, and what it says. */
#define MODE_OF(regs) ((regs)->pstate)

/* Of the registers' words those that an interpreter's loop may have its state in: x19 to x28, and
 * x0 at its begin. */
#define GUEST_REGS (0x1ff80000ull | 1)
/* The words of LuaJIT's registers, which is not read on this CPU yet: x22, GL; x19, BASE. */
#define GUEST_DISPATCH 22
#define GUEST_BASE     19

static __always_inline int is_user(__u64 pstate)
{
    return (pstate & PSR_MODE_MASK) == PSR_MODE_EL0t;
}

static __always_inline int is_user_32(__u64 pstate)
{
    return (pstate & PSR_MODE32_BIT) != 0;
}

static __always_inline void take_32(struct cairn_bpf_walk_cpu *cpu, const bpf_user_pt_regs_t *regs)
{
    cpu->ip = (__u32)regs->pc;
    cpu->sp = (__u32)regs->regs[13];
}

static __always_inline void take(struct cairn_bpf_walk_cpu *cpu, const bpf_user_pt_regs_t *regs)
{
    cpu->ip = regs->pc;
    cpu->sp = regs->sp;
    cpu->fp = regs->regs[29];
    cpu->lr = regs->regs[30];
    cpu->sp_is_floor = 0;
}

/* Is the system call that begins one of arm's table? */
static __always_inline int is_compat_call(struct task_struct *task)
{
    return (task->thread_info.flags & TIF_32BIT) != 0;
}

static __always_inline void call_args(const bpf_user_pt_regs_t *regs, int is_compat, __u64 *args)
{
    for (int i = 0; i < 6; i++)
        args[i] = is_compat ? (__u32)regs->regs[i] : regs->regs[i];
}

/* Where a function begins, and where it has returned (AAPCS64, 6.8.2). */
static __always_inline void function_args(const bpf_user_pt_regs_t *regs, __u64 *args)
{
    call_args(regs, 0, args);
}
#define RETURNED(regs) ((regs)->regs[0])

/* The stack pointer where a function begins, the same when it has returned, and the address that it
 * returns to. */
#define STACK_OF(regs)            ((regs)->sp)
#define STACK_BEFORE_RETURN(regs) ((regs)->sp)
static __always_inline __u64 return_address(const bpf_user_pt_regs_t *regs)
{
    return regs->regs[30];
}

/* A data breakpoint stops before the instruction. */
static __always_inline int stands_behind(struct cairn_bpf_walk_cpu *cpu,
                                         const bpf_user_pt_regs_t *regs, __u64 va, __u64 bytes)
{
    (void)cpu, (void)regs, (void)va, (void)bytes;
    return 0;
}

/* The register that a walk from a system call may depend on beside ip, sp and fp; and whether fp is
 * one that each walk depends on. */
#define LINK_OF(regs) ((regs)->regs[30])
enum { ALWAYS_USES_FP = 1 };

/* A call leaves the return address in x30; where the function stores it is its own choice. */
enum { RETURNS_ON_STACK = 0 };

/* The page of uprobes that functions return to has a breakpoint alone. */
enum { PAGE_PUSHED = 0 };
static __always_inline void leave_page_call(struct cairn_bpf_walk_cpu *cpu)
{
    (void)cpu;
}

/* The kernel kept all registers of what it interrupted. */
static __always_inline long step_signal(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 at = cpu->sp, ip, sp, fp, lr;
    if (cpu->sp_is_floor)
        return stop(cpu, CAIRN_END_NO_REGISTER);
    if (read_word(cpu, at + SIGNAL_FP, &fp) || read_word(cpu, at + SIGNAL_LR, &lr) ||
        read_word(cpu, at + SIGNAL_SP, &sp) || read_word(cpu, at + SIGNAL_IP, &ip))
        return stop(cpu, CAIRN_END_UNREADABLE);
    cpu->lr = lr;
    return go_to_signaled(cpu, ip, sp, fp);
}

/* Where x29 points its caller's and the return address lie, anywhere in their frame. */
static __always_inline void go_by_record(struct cairn_bpf_walk_cpu *cpu, __u64 fp, __u64 ret)
{
    __u64 above = cpu->fp + 16;
    cpu->ip = true_return_within(cpu, ret & CAIRN_AARCH64_ADDRESS_BITS, above, ~0ull);
    cpu->sp = above;
    cpu->sp_is_floor = 1;
    cpu->fp = fp;
}

/* The innermost frame is in code that no rule is of, which called nobody that has one: the link
 * register is right if it leads to such code. False: no, or a record says the same and more. */
static __always_inline int go_by_link(struct walker *w, __u32 kind)
{
    struct cairn_bpf_walk_cpu *cpu = w->cpu;
    __u64 lr = cpu->lr & CAIRN_AARCH64_ADDRESS_BITS, kept;
    if (!cpu->exact || kind != CAIRN_RULE_NONE || !lr)
        return 0;
    if (cairn_rule_kind(find(w, lr - 1) & CAIRN_RULE_MASK) < CAIRN_RULE_OF_CPU)
        return 0;
    if (!read_word(cpu, cpu->fp + 8, &kept) && (kept & CAIRN_AARCH64_ADDRESS_BITS) == lr)
        return 0;
    cpu->ip = lr;
    cpu->sp_is_floor = 1;
    cpu->exact = 0;
    return 1;
}

/* No code that starts a stack is told by its instructions. */
static __always_inline int is_root(struct cairn_bpf_walk_cpu *cpu)
{
    (void)cpu;
    return 0;
}

/* Does it return into the kernel's code behind a handler, though no table says so? That of the vdso
 * is a function like others by its CFI. */
static __always_inline int is_sigreturn(const struct cairn_bpf_walk_cpu *cpu, __u32 kind)
{
    __u64 code;
    if (cpu->exact || (kind != CAIRN_RULE_NONE && kind != CAIRN_AARCH64_LEAF))
        return 0;
    return !bpf_probe_read_user(&code, sizeof code, (void *)cpu->ip) && code == SIGRETURN;
}

/* None that is known by its code. */
static __always_inline __u32 rule_by_code(const struct cairn_bpf_walk_cpu *cpu)
{
    (void)cpu;
    return CAIRN_RULE_NONE;
}

/* No rule has one. */
static __always_inline int go_by_hint(const struct cairn_bpf_walk_cpu *cpu, __u32 rule)
{
    (void)cpu, (void)rule;
    return 0;
}

/* A rule of this CPU, and all that it needs is known. Behind a frame pointer's record that is no
 * stack pointer, but where x29 points to the record that the rule means. */
static __always_inline int can_step(const struct cairn_bpf_walk_cpu *cpu, __u32 place, __u32 kind)
{
    if (kind < CAIRN_RULE_OF_CPU || kind > (CAIRN_AARCH64_SPLIT | CAIRN_AARCH64_FROM_FP))
        return 0;
    return kind & CAIRN_AARCH64_FROM_FP || !cpu->sp_is_floor ||
           (kind == CAIRN_AARCH64_PAIR && place & PLACE_FP_OK);
}

/* Bytes below the CFA where a frame keeps them; 0: in their registers. */
struct places {
    __u64 fp, ra;
};

static __always_inline struct places places_of(__u32 rule, __u32 form)
{
    __u64 slot = cairn_aarch64_slot(rule);
    if (form == CAIRN_AARCH64_SPLIT)
        return (struct places){cairn_aarch64_split_fp(rule), cairn_aarch64_split_ra(rule)};
    if (form == CAIRN_AARCH64_PAIR)
        return (struct places){slot, slot - 8};
    return form == CAIRN_AARCH64_RA ? (struct places){0, slot} : (struct places){slot, 0};
}

static __always_inline long step_rule(struct cairn_bpf_walk_cpu *cpu, __u32 rule)
{
    __u32 form = cairn_aarch64_form(rule);
    struct places at = places_of(rule, form);
    __u64 cfa = cairn_aarch64_is_fp(rule) ? cpu->fp : cpu->sp, fp = cpu->fp, ret = cpu->lr;
    cfa += form == CAIRN_AARCH64_SPLIT ? cairn_aarch64_split_cfa(rule) : cairn_aarch64_cfa(rule);
    __u64 by_record = cpu->sp_is_floor && !cairn_aarch64_is_fp(rule);
    if (by_record)
        cfa = fp + at.fp;
    /* A caller's x30 is the return address into it. */
    if ((!at.ra && !cpu->exact) || cfa % 16 || cfa < cpu->sp || (cfa == cpu->sp && !cpu->exact))
        return stop(cpu, CAIRN_END_BAD_CFA);
    if ((at.fp && read_word(cpu, cfa - at.fp, &fp)) || (at.ra && read_word(cpu, cfa - at.ra, &ret)))
        return stop(cpu, CAIRN_END_UNREADABLE);
    ret = true_return(cpu, ret & CAIRN_AARCH64_ADDRESS_BITS, cfa);
    if (!ret)
        return stop(cpu, CAIRN_END_OUTERMOST);
    cpu->ip = ret;
    cpu->sp = cfa;
    cpu->sp_is_floor = 0;
    cpu->fp = fp;
    cpu->exact = 0;
    return add(cpu, by_record ? ret | CAIRN_BPF_BY_FP : ret);
}

#endif /* CAIRN_BPF_WALK_AARCH64_H */
