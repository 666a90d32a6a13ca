/* SPDX-License-Identifier: MIT */
/*
 * Walk step: from a frame to its caller, for walk.bpf.c alone. What is read of the process may be
 * anything, and so may the rules be: each step must rise, and so many are taken at most.
 */
#ifndef CAIRN_BPF_WALK_STEP_H
#define CAIRN_BPF_WALK_STEP_H

#include "bpf/walk_search.bpf.h"

enum { PAGE = 4096 };

struct walker {
    struct cairn_bpf_walk_cpu *cpu;
    struct cairn_bpf_space *space;
};

/* Words out of the window: a page more where they lie above it, else read alone. All or nothing is
 * read at once, so that a piece never goes beyond a page. */
static __attribute__((noinline)) long read_far(struct cairn_bpf_walk_cpu *cpu, __u64 va,
                                               __u64 *ret_word)
{
    __u64 size = cpu->size, page = va & ~(__u64)(PAGE - 1);
    if (va % 8 || va < cpu->low || va - cpu->low >= CAIRN_BPF_STACK_MAX)
        return bpf_probe_read_user(ret_word, sizeof *ret_word, (void *)va);
    if (size <= PAGE && cpu->low + size == page) {
        HIDE(size);
        if (size > PAGE)
            return -1;
        if (bpf_probe_read_user((char *)cpu->window + size, PAGE, (void *)page))
            return -1;
        cpu->size = size + PAGE;
    } else {
        cpu->size = 0;
        if (bpf_probe_read_user(cpu->window, PAGE, (void *)page))
            return -1;
        cpu->low = page;
        cpu->size = PAGE;
    }
    *ret_word = cpu->window[(va - cpu->low) / 8 & (CAIRN_BPF_WINDOW_WORDS - 1)];
    return 0;
}

static __always_inline long read_word(struct cairn_bpf_walk_cpu *cpu, __u64 va, __u64 *ret_word)
{
    __u64 off = va - cpu->low;
    if (off < cpu->size && !(off & 7)) {
        *ret_word = cpu->window[off / 8 & (CAIRN_BPF_WINDOW_WORDS - 1)];
        return 0;
    }
    return read_far(cpu, va, ret_word);
}

static __always_inline void open_window(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 low = cpu->sp & ~(__u64)7, size = PAGE - (low & (PAGE - 1));
    cpu->low = low;
    cpu->size = 0;
    size &= 2 * PAGE - 1;
    HIDE(size);
    if (size > PAGE || size == 0)
        return;
    if (!bpf_probe_read_user(cpu->window, size, (void *)low))
        cpu->size = size;
}

static __always_inline __u64 mixed(__u64 hash, __u64 word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static __always_inline long stop(struct cairn_bpf_walk_cpu *cpu, enum cairn_bpf_end end)
{
    cpu->end = end;
    return 1;
}

static __always_inline long add(struct cairn_bpf_walk_cpu *cpu, __u64 frame)
{
    __u64 n = cpu->stack.n;
    if (n >= CAIRN_BPF_FRAMES_MAX)
        return stop(cpu, CAIRN_BPF_END_DEEP);
    cpu->frames[n & (CAIRN_BPF_FRAMES_MAX - 1)] = frame;
    cpu->stack.n = n + 1;
    cpu->stack.hash = mixed(cpu->stack.hash, frame);
    return 0;
}

/* The kernel kept all registers of what it interrupted. */
static __always_inline long step_signal(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 at = cpu->sp, ip, sp, fp;
    if (read_word(cpu, at + CAIRN_X86_64_SIGNAL_FP, &fp) ||
        read_word(cpu, at + CAIRN_X86_64_SIGNAL_SP, &sp) ||
        read_word(cpu, at + CAIRN_X86_64_SIGNAL_IP, &ip))
        return stop(cpu, CAIRN_BPF_END_UNREADABLE);
    cpu->frames[(cpu->stack.n - 1u) & (CAIRN_BPF_FRAMES_MAX - 1)] |= CAIRN_BPF_EXACT;
    cpu->ip = ip;
    cpu->fp = fp;
    cpu->exact = 1;
    if (sp - cpu->low > CAIRN_BPF_STACK_MAX) { /* a stack of its own for signals: begin anew */
        cpu->sp = sp;
        open_window(cpu);
    }
    cpu->sp = sp;
    return add(cpu, ip | CAIRN_BPF_EXACT);
}

static __always_inline long step_pointer(struct cairn_bpf_walk_cpu *cpu, __u32 place)
{
    __u64 fp = cpu->fp, next, ret;
    if (!(place & PLACE_FP_OK) || fp % 8 || fp < cpu->sp || fp - cpu->sp > CAIRN_BPF_STACK_MAX)
        return stop(cpu, CAIRN_BPF_END_NO_RULE);
    if (read_word(cpu, fp, &next) || read_word(cpu, fp + 8, &ret))
        return stop(cpu, CAIRN_BPF_END_UNREADABLE);
    if (!ret)
        return stop(cpu, CAIRN_BPF_END_NO_RULE);
    cpu->ip = ret;
    cpu->sp = fp + 16;
    cpu->fp = next;
    cpu->exact = 0;
    return add(cpu, ret | CAIRN_BPF_BY_FP);
}

static __always_inline long step_rule(struct cairn_bpf_walk_cpu *cpu, __u32 rule)
{
    __u64 cfa = 0, ret, fp = cpu->fp, n = cairn_x86_64_cfa(rule);
    __u32 kind = cairn_rule_kind(rule), slot = cairn_x86_64_fp(rule);
    if (kind == CAIRN_X86_64_SP) {
        cfa = cpu->sp + n;
    } else if (kind == CAIRN_X86_64_FP) {
        cfa = fp + n;
    } else if (kind == CAIRN_X86_64_PLT) {
        cfa = cairn_x86_64_plt_cfa(rule, cpu->ip, cpu->sp);
        slot = CAIRN_X86_64_FP_SAME;
    } else if (kind == CAIRN_X86_64_FP_DEREF) {
        if (read_word(cpu, fp - n, &cfa))
            return stop(cpu, CAIRN_BPF_END_UNREADABLE);
    } else {
        if (read_word(cpu, cpu->sp + n, &cfa))
            return stop(cpu, CAIRN_BPF_END_UNREADABLE);
        cfa += 8;
    }
    if (cfa <= cpu->sp || cfa % 8)
        return stop(cpu, CAIRN_BPF_END_BAD_CFA);
    /* The lower one first: the window goes upwards. */
    if (slot != CAIRN_X86_64_FP_SAME &&
        read_word(cpu, slot == CAIRN_X86_64_FP_AT_FP ? fp : cfa - 8 * (__u64)slot, &fp))
        return stop(cpu, CAIRN_BPF_END_UNREADABLE);
    if (read_word(cpu, cfa - 8, &ret))
        return stop(cpu, CAIRN_BPF_END_UNREADABLE);
    if (!ret)
        return stop(cpu, CAIRN_BPF_END_OUTERMOST);
    cpu->ip = ret;
    cpu->sp = cfa;
    cpu->fp = fp;
    cpu->exact = 0;
    return add(cpu, ret);
}

/* One frame. A handler returns to the first of the kernel's instructions, behind no call, so that
 * the byte before may belong to nobody. */
static long step(__u32 i, void *ctx)
{
    struct walker *w = ctx;
    struct cairn_bpf_walk_cpu *cpu = w->cpu;
    __u64 back = !cpu->exact;
    (void)i;
    __u32 place = find(cpu, w->space, cpu->ip - back);
    if (back && !cairn_rule_kind(place & CAIRN_RULE_MASK)) {
        __u32 here = find(cpu, w->space, cpu->ip);
        if (cairn_rule_kind(here & CAIRN_RULE_MASK) == CAIRN_RULE_SIGNAL)
            place = here;
    }
    if (!(place & PLACE_IS_CODE))
        return stop(cpu, CAIRN_BPF_END_NOT_CODE);
    __u32 kind = cairn_rule_kind(place & CAIRN_RULE_MASK);
    if (kind >= CAIRN_RULE_OF_CPU && kind <= CAIRN_X86_64_SP_DEREF)
        return step_rule(cpu, place & CAIRN_RULE_MASK);
    if (kind == CAIRN_RULE_OUTERMOST)
        return stop(cpu, CAIRN_BPF_END_OUTERMOST);
    if (kind == CAIRN_RULE_SIGNAL)
        return step_signal(cpu);
    if (kind == CAIRN_RULE_SIDE)
        return stop(cpu, CAIRN_BPF_END_SIDE);
    if (place & PLACE_NO_ROOM)
        return stop(cpu, CAIRN_BPF_END_NO_ROOM);
    return step_pointer(cpu, place);
}

#endif /* CAIRN_BPF_WALK_STEP_H */
