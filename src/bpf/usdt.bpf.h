/* SPDX-License-Identifier: MIT */
/* USDT: the program at static probes, which reads their arguments; a part of walk.bpf.c. See
 * trace.h. */
#ifndef CAIRN_BPF_USDT_BPF_H
#define CAIRN_BPF_USDT_BPF_H

#include "bpf/probe.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CAIRN_TRACE_PLACES);
    __type(key, __u32);
    __type(value, struct cairn_bpf_usdt);
} trace_places SEC(".maps");

struct registers {
    __u64 word[CAIRN_TRACE_REG_WORDS];
};

/* What the program at a USDT probe reads arguments from; no local variable, for its size. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct registers);
} trace_registers SEC(".maps");

struct reading {
    const struct cairn_bpf_usdt *place;
    const struct registers *regs;
    struct cairn_bpf_pending *of;
};

static __always_inline __u64 register_of(const struct registers *regs, __u64 number)
{
    HIDE(number);
    return regs->word[number & (CAIRN_TRACE_REG_WORDS - 1)];
}

static __always_inline __u64 address_of(const struct registers *regs,
                                        const struct cairn_bpf_arg *arg)
{
    __u64 index = register_of(regs, arg->index);
    if (arg->extend == CAIRN_TRACE_EXTEND_U32)
        index = (__u32)index;
    else if (arg->extend == CAIRN_TRACE_EXTEND_S32)
        index = (__s64)(__s32)index;
    return register_of(regs, arg->reg) + (index << (arg->shift & 3)) + arg->value;
}

/* Nonzero: the memory cannot be read. */
static __always_inline long read_operand(const struct registers *regs,
                                         const struct cairn_bpf_arg *arg, __u64 *ret_value)
{
    __u64 bytes = arg->bytes, value = arg->value;
    HIDE(bytes);
    if (!bytes || bytes > sizeof value)
        return -1;
    if (arg->operand == CAIRN_TRACE_OPERAND_REGISTER) {
        value = register_of(regs, arg->reg) >> (arg->shift & 63);
    } else if (arg->operand == CAIRN_TRACE_OPERAND_MEMORY) {
        value = 0;
        if (bpf_probe_read_user(&value, bytes, (void *)address_of(regs, arg)))
            return -1;
    }
    __u64 unused = 64 - 8 * bytes & 63;
    value <<= unused;
    *ret_value = arg->is_signed ? (__u64)((__s64)value >> unused) : value >> unused;
    return 0;
}

static long read_arg(__u32 i, void *ctx)
{
    struct reading *r = ctx;
    __u64 value = 0, slot = i;
    if (i >= CAIRN_TRACE_ARGS_MAX)
        return 1;
    const struct cairn_bpf_arg *arg = &r->place->args[i];
    if (arg->operand != CAIRN_TRACE_OPERAND_NONE && read_operand(r->regs, arg, &value))
        r->of->unread |= CAIRN_TRACE_UNREAD_MEMORY << 2 * i;
    HIDE(slot);
    r->of->args[slot & (CAIRN_TRACE_ARG_SLOTS - 1)] = value;
    return 0;
}

/* False: there is no such place. */
static __always_inline int usdt_args(const bpf_user_pt_regs_t *regs, struct cairn_bpf_pending *of)
{
    __u32 zero = 0, number = bpf_get_attach_cookie((void *)regs) >> 32;
    struct cairn_bpf_usdt *place = bpf_map_lookup_elem(&trace_places, &number);
    struct registers *words = bpf_map_lookup_elem(&trace_registers, &zero);
    if (!place || !words)
        return 0;
    of->unread = place->unread;
    if (!place->n_args)
        return 1;
    __builtin_memcpy(words, regs, sizeof *regs);
    struct reading reading = {.place = place, .regs = words, .of = of};
    bpf_loop(place->n_args, read_arg, &reading, 0);
    return 1;
}

SEC("uprobe")
int cairn_trace_usdt(bpf_user_pt_regs_t *regs)
{
    struct hit hit = {};
    if (!begin_hit((void *)regs, &hit, 0))
        return 0;
    if (!usdt_args(regs, hit.of)) {
        hit.stats->n_lost++;
        hit.cpu->busy = 0;
        return 0;
    }
    if (!judge_hit(&hit))
        return 0;
    keep_regs(regs, hit.of);
    if (!cairn_trace_no_stack)
        take_stack(hit.cpu, hit.task, regs, 0, hit.of, hit.stats);
    take_pointed(&hit, 0);
    end_hit(&hit);
    return 0;
}

#endif /* CAIRN_BPF_USDT_BPF_H */
