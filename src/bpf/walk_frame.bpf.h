/* SPDX-License-Identifier: MIT */
/*
 * Walk frame: the words of a stack as they are read, and its frames as they are found, for
 * walk.bpf.c alone.
 */
#ifndef CAIRN_BPF_WALK_FRAME_H
#define CAIRN_BPF_WALK_FRAME_H

#include "bpf/walk_files.bpf.h"

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

/* Walks note what they read, so that the next one can be compared with it (trace.h). */
const volatile __u32 cairn_has_words = 0;

enum { WORDS_BYTES = PAGE - 8 }; /* how far from the stack pointer a noted word may be */

static __always_inline void note_word(struct cairn_bpf_walk_cpu *cpu, __u64 va, __u64 word)
{
    __u64 n = cpu->words.n, off = va - (cpu->stack.sp & ~(__u64)7);
    if (!cairn_has_words)
        return;
    if (n >= CAIRN_BPF_WORDS_MAX || off >= WORDS_BYTES || off & 7) {
        cpu->words.is_bad = 1;
        return;
    }
    cpu->words.n = n + 1;
    HIDE(n);
    n &= CAIRN_BPF_WORDS_MAX - 1;
    cpu->words.off[n] = off;
    cpu->words.value[n] = word;
    if (off + 8 > cpu->words.end)
        cpu->words.end = off + 8;
}

/* Not noted: the walk may never depend on it. */
static __always_inline long peek_word(struct cairn_bpf_walk_cpu *cpu, __u64 va, __u64 *ret_word)
{
    __u64 off = va - cpu->low;
    if (off < cpu->size && !(off & 7)) {
        *ret_word = cpu->window[off / 8 & (CAIRN_BPF_WINDOW_WORDS - 1)];
        return 0;
    }
    return read_far(cpu, va, ret_word);
}

static __always_inline long read_word(struct cairn_bpf_walk_cpu *cpu, __u64 va, __u64 *ret_word)
{
    long failed = peek_word(cpu, va, ret_word);
    if (!failed)
        note_word(cpu, va, *ret_word);
    return failed;
}

/* The frame pointer decides. Mostly it is any value of the program, which no rule asks for. */
static __always_inline void note_fp(struct cairn_bpf_walk_cpu *cpu)
{
    if (!cairn_has_words)
        return;
    if (cpu->fp_va)
        note_word(cpu, cpu->fp_va, cpu->fp);
    else
        cpu->words.uses_fp = 1;
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

static __always_inline long stop(struct cairn_bpf_walk_cpu *cpu, enum cairn_unwind_end end)
{
    cpu->end = end;
    return 1;
}

/* The entry of the frame that was added last. */
static __always_inline __u64 last_entry(const struct cairn_bpf_walk_cpu *cpu)
{
    __u64 beyond = cpu->stack.beyond;
    if (beyond)
        return CAIRN_BPF_INNER_FRAMES + ((beyond - 1) & (CAIRN_BPF_OUTER_FRAMES - 1));
    return (cpu->stack.n - 1u) & (CAIRN_BPF_FRAMES_MAX - 1);
}

/* Over the oldest of the outermost frames. */
static __always_inline long add_beyond(struct cairn_bpf_walk_cpu *cpu, __u64 frame)
{
    if (cpu->stack.beyond >= cpu->beyond_max)
        return stop(cpu, CAIRN_END_MAX_FRAMES);
    cpu->stack.beyond++;
    cpu->frames[last_entry(cpu) & (CAIRN_BPF_FRAMES_MAX - 1)] = frame;
    return 0;
}

static __always_inline long add(struct cairn_bpf_walk_cpu *cpu, __u64 frame)
{
    __u64 n = cpu->stack.n;
    if (n >= CAIRN_BPF_FRAMES_MAX)
        return add_beyond(cpu, frame);
    cpu->frames[n & (CAIRN_BPF_FRAMES_MAX - 1)] = frame;
    cpu->stack.n = n + 1;
    cpu->stack.hash = mixed(cpu->stack.hash, frame);
    if (n + 1 == CAIRN_BPF_INNER_FRAMES)
        cpu->inner_hash = cpu->stack.hash;
    return 0;
}

/* From a signal frame to what the signal interrupted. */
static __always_inline long go_to_signaled(struct cairn_bpf_walk_cpu *cpu, __u64 ip, __u64 sp,
                                           __u64 fp)
{
    cpu->frames[last_entry(cpu) & (CAIRN_BPF_FRAMES_MAX - 1)] |= CAIRN_BPF_EXACT;
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

#endif /* CAIRN_BPF_WALK_FRAME_H */
