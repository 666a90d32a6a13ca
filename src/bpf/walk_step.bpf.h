/* SPDX-License-Identifier: MIT */
/*
 * Walk step: from a frame to its caller, for walk.bpf.c alone. What is read of the process may be
 * anything, and so may the rules be: each step must rise, and so many are taken at most.
 */
#ifndef CAIRN_BPF_WALK_STEP_H
#define CAIRN_BPF_WALK_STEP_H

#include "bpf/walk_cpu.bpf.h"

/* The innermost frame is in the page of uprobes: the instruction there is the copy of a probed one,
 * or a function has just returned to the page. */
static __always_inline void leave_page(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    if (!is_replaced(cpu, cpu->ip))
        return;
    cpu->words.is_bad = 1; /* another probe's copy would have the same address */
    __u64 copy = BPF_CORE_READ(task, utask, xol_vaddr);
    if (copy && cpu->ip - copy <= XOL_BYTES) {
        cpu->ip = BPF_CORE_READ(task, utask, vaddr) + (cpu->ip - copy);
        return;
    }
    __u64 stack = BPF_CORE_READ(task, utask, return_instances, stack);
    __u64 returned = stack + 8 * RETURNS_ON_STACK, ret = cpu->ip;
    if (stack && returned - cpu->sp <= PAGE_PUSHED)
        ret = true_return(cpu, cpu->ip, stack);
    if (ret == cpu->ip) {
        leave_page_call(cpu);
        return;
    }
    cpu->ip = ret;
    cpu->sp = returned;
}

static __always_inline long step_pointer(struct cairn_bpf_walk_cpu *cpu, __u32 place)
{
    __u64 fp = cpu->fp, next, ret;
    note_fp(cpu);
    if (!(place & PLACE_FP_OK) || fp % 8 || fp < cpu->sp || fp - cpu->sp > CAIRN_BPF_STACK_MAX)
        return stop(cpu, is_root(cpu) ? CAIRN_END_OUTERMOST : CAIRN_END_NO_RULE);
    if (read_word(cpu, fp, &next) || read_word(cpu, fp + 8, &ret))
        return stop(cpu, CAIRN_END_UNREADABLE);
    if (!ret)
        return stop(cpu, CAIRN_END_NO_RULE);
    go_by_record(cpu, next, ret);
    cpu->fp_va = fp;
    cpu->exact = 0;
    return add(cpu, cpu->ip | CAIRN_BPF_BY_FP);
}

/* One frame. A handler returns to the first of the kernel's instructions, behind no call, so that
 * the byte before may belong to nobody. In their system call a thread stands behind the last. */
static long step(__u32 i, void *ctx)
{
    struct walker *w = ctx;
    struct cairn_bpf_walk_cpu *cpu = w->cpu;
    __u64 back = !cpu->exact;
    (void)i;
    if (is_replaced(cpu, cpu->ip)) { /* the list had no true address */
        cpu->frames[last_entry(cpu) & (CAIRN_BPF_FRAMES_MAX - 1)] |= CAIRN_BPF_EXACT;
        return stop(cpu, CAIRN_END_UPROBE);
    }
    __u32 place = find(w, cpu->ip - back);
    if (!cairn_rule_kind(place & CAIRN_RULE_MASK)) {
        __u32 beside = find(w, cpu->ip - !back);
        if (cairn_rule_kind(beside & CAIRN_RULE_MASK) == CAIRN_RULE_SIGNAL)
            place = beside;
    }
    if (!(place & PLACE_IS_CODE))
        return stop(cpu, cpu->is_missing ? CAIRN_END_NEW : CAIRN_END_NO_MODULE);
    __u32 rule = place & CAIRN_RULE_MASK;
    if (!cairn_rule_kind(rule)) {
        cpu->words.is_bad = 1; /* code and other registers decide */
        rule = rule_by_code(cpu);
    }
    __u32 kind = cairn_rule_kind(rule);
    if (kind == CAIRN_RULE_SIDE)
        cpu->words.is_bad = 1;
    if (kind == CAIRN_RULE_SIGNAL || is_sigreturn(cpu, kind))
        return step_signal(cpu);
    if (can_step(cpu, place, kind))
        return step_rule(cpu, rule);
    if (kind == CAIRN_RULE_OUTERMOST)
        return stop(cpu, cairn_rule_payload(rule) == CAIRN_RULE_SWITCHED ? CAIRN_END_SWITCHED
                                                                         : CAIRN_END_OUTERMOST);
    if (kind == CAIRN_RULE_SIDE)
        return go_by_hint(cpu, rule) ? add(cpu, cpu->ip) : stop(cpu, CAIRN_END_NO_REGISTER);
    if (place & PLACE_NO_ROOM)
        return stop(cpu, CAIRN_END_NO_ROOM);
    if (go_by_link(w, kind))
        return add(cpu, cpu->ip | CAIRN_BPF_BY_FP);
    return step_pointer(cpu, place);
}

#endif /* CAIRN_BPF_WALK_STEP_H */
