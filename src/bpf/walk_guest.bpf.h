/* SPDX-License-Identifier: MIT */
/*
 * Walk guest: what an interpreter's frames on a stack are made of, copied at the moment of the
 * sample, for walk.bpf.c alone. Which frames they are is found out elsewhere and later; here as
 * much is copied as that may need.
 *
 *     copy of the stack     ...[ saved registers ][ return into the loop ]...
 *                                    └─ state ─► globals, calls, functions ─► pieces
 *
 * A frame of the interpreter's loop keeps its state in a register that each function saves which
 * uses it: it lies below the first return address into the loop, or a few frames deeper, or is in
 * the register yet. What lies there is a state if pointers come back to it.
 */
#ifndef CAIRN_BPF_WALK_GUEST_H
#define CAIRN_BPF_WALK_GUEST_H

#include "bpf/walk_frame.bpf.h"

enum {
    WORDS_A_STEP = 8, /* of the copy */
    BELOW_STEPS = 16, /* below a return address, where the nearest have no state */
    ABOVE_WORDS = 16,
    SLOTS_BYTES = 8192, /* of one of LuaJIT's stacks: those at its top */
    CALLS_MAX = 256,    /* of one state */
    GUEST_ADDRESS_BITS = 47,
    N_WORDS = sizeof((struct cairn_bpf_walk_cpu *)0)->frames / 8,
    PIECE_MAX = 256,
    PIECE_AT_MAX = N_WORDS - PIECE_MAX / 8 - 2
};

/* By process. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_GUESTS_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct cairn_bpf_guest);
} guests SEC(".maps");

__u32 cairn_has_guests = 0; /* nobody pays for them before */

static __always_inline struct cairn_bpf_guest *guest_of(struct task_struct *task, __u32 tgid)
{
    struct cairn_bpf_guest *guest;
    if (!cairn_has_guests || !task->mm)
        return 0;
    guest = bpf_map_lookup_elem(&guests, &tgid);
    return guest && guest->stack_start == task->mm->start_stack ? guest : 0;
}

/* One stack whose interpreters' memory is copied. */
struct gathering {
    struct cairn_bpf_walk_cpu *cpu;
    struct cairn_bpf_guest *guest;
    struct cairn_bpf_job *job; /* of `cpu`: this struct itself lies on the program's stack */
};

/* The number of the loop that holds the address, and one more; 0: none. */
static __always_inline __u32 loop_of(const struct cairn_bpf_guest *guest, __u64 va)
{
    if (va - guest->low >= guest->high - guest->low)
        return 0;
    for (__u32 i = 0; i < CAIRN_BPF_GUEST_LOOPS_MAX; i++)
        if (va - guest->loops[i].loop < guest->loops[i].loop_end - guest->loops[i].loop)
            return i + 1;
    return 0;
}

static long find_loop(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 at = i;
    if (at >= CAIRN_BPF_FRAMES_MAX)
        return 1;
    g->job->row = loop_of(g->guest, g->cpu->frames[at] & ~(CAIRN_BPF_BY_FP | CAIRN_BPF_EXACT));
    return g->job->row != 0;
}

/* Is one of the frames in an interpreter's loop, or may it be behind code that one has made? */
static __always_inline int passes_guest(struct cairn_bpf_walk_cpu *cpu,
                                        struct cairn_bpf_guest *guest)
{
    struct gathering g = {.cpu = cpu, .guest = guest, .job = &cpu->job};
    cpu->job.row = 0;
    if (guest->makes_code && cpu->end != CAIRN_END_OUTERMOST)
        return 1;
    bpf_loop(cpu->stack.n, find_loop, &g, 0);
    return cpu->job.row != 0;
}

/* Copies a piece behind those that are there; the number of its first word, or 0. */
__attribute__((noinline)) __u64 cairn_add_piece(struct cairn_bpf_walk_cpu *cpu, __u64 va,
                                                __u64 size)
{
    if (!cpu)
        return 0;
    __u64 at = cpu->piece_at, slot = va >> 4 & (CAIRN_BPF_SEEN_PIECES - 1);
    HIDE(at);
    HIDE(size);
    if (at > PIECE_AT_MAX || at >= cpu->piece_end || size > PIECE_MAX || size == 0)
        return 0;
    if (bpf_probe_read_user(&cpu->frames[at + 2], size, (void *)va))
        return 0;
    cpu->frames[at] = va;
    cpu->frames[at + 1] = size;
    cpu->seen[slot] = va;
    cpu->piece_at = at + 2 + size / 8;
    return at + 2;
}

/* Was it copied already? Forgets some, and then it is copied twice. */
static __always_inline int has_piece(const struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    return cpu->seen[va >> 4 & (CAIRN_BPF_SEEN_PIECES - 1)] == va;
}

/* A word of the piece that begins at word `at`. */
static __always_inline __u64 word_of(const struct cairn_bpf_walk_cpu *cpu, __u64 at, __u32 off)
{
    __u64 i = at + off / 8;
    HIDE(i);
    return i < N_WORDS ? cpu->frames[i] : 0;
}

static __always_inline __u64 user_word(__u64 va)
{
    __u64 word = 0;
    return bpf_probe_read_user(&word, sizeof word, (void *)va) ? 0 : word;
}

/* The main state of these globals, if they are some and it leads back to them; else 0. */
static __always_inline __u64 main_state(const struct cairn_guest_sketch *sketch, __u64 global)
{
    __u64 main = global + sketch->main;
    if (!(sketch->flags & CAIRN_SKETCH_MAIN_IN_GLOBAL)) {
        main = user_word(main);
        if (main + sketch->main_to_global != global)
            return 0;
    }
    return user_word(main + sketch->global) == global ? main : 0;
}

/* LuaJIT's: the main state lies just before the globals. */
static __always_inline __u64 main_of_luajit(__u64 global)
{
    __u64 main = user_word(global + CAIRN_SKETCH_LJ_MAIN), size = global - main;
    if (size < CAIRN_SKETCH_LJ_STATE || size > CAIRN_SKETCH_LJ_STATE_MAX)
        return 0;
    return user_word(main + CAIRN_SKETCH_LJ_GLOBAL) == global ? main : 0;
}

static __always_inline int is_thread(const struct cairn_guest_sketch *sketch, __u64 va)
{
    __u64 word = user_word(va + CAIRN_SKETCH_TYPE);
    if (sketch->kind == CAIRN_SKETCH_LUAJIT)
        return (word >> 8 * (CAIRN_SKETCH_LJ_TYPE - CAIRN_SKETCH_TYPE) & 0xff) ==
               CAIRN_SKETCH_LJ_THREAD;
    return (word & 0x0f) == CAIRN_SKETCH_THREAD;
}

/* Notes `va` if it is a state of the loop with that number; 1 if so. */
__attribute__((noinline)) __u32 cairn_try_state(struct cairn_bpf_walk_cpu *cpu,
                                                struct cairn_bpf_guest *guest, __u64 va, __u32 row)
{
    if (!cpu || !guest || row >= CAIRN_BPF_GUEST_LOOPS_MAX)
        return 0;
    __u64 n = cpu->n_states, global, main;
    if (va & 7 || va < PAGE || va >> GUEST_ADDRESS_BITS)
        return 0;
    for (__u64 i = 0; i < CAIRN_BPF_STATES_MAX; i++)
        if (i < n && cpu->states[i].va == va)
            return 1;
    HIDE(n);
    if (n >= CAIRN_BPF_STATES_MAX)
        return 0;
    const struct cairn_guest_sketch *sketch = &guest->loops[row];
    if (!is_thread(sketch, va))
        return 0;
    global = user_word(va + sketch->global);
    if (n && cpu->states[0].global == global)
        main = cpu->states[0].main;
    else
        main = sketch->kind == CAIRN_SKETCH_LUAJIT ? main_of_luajit(global)
                                                   : main_state(sketch, global);
    if (!main || !global)
        return 0;
    cpu->states[n].va = va;
    cpu->states[n].global = global;
    cpu->states[n].main = main;
    cpu->states[n].row = row;
    cpu->n_states = n + 1;
    return 1;
}

/* The state that runs, of the globals below LuaJIT's DISPATCH register. */
static long try_running(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 at = g->job->at + CAIRN_SKETCH_LJ_RUNS + 8ull * i;
    g->job->n_found += cairn_try_state(g->cpu, g->guest, user_word(at), g->job->row);
    return g->job->n_found != 0;
}

static __always_inline void try_dispatch(struct gathering *g, __u64 dispatch)
{
    /* 2022, 2026, OpenResty */
    if (main_of_luajit(dispatch - 3968))
        g->job->at = dispatch - 3968;
    else if (main_of_luajit(dispatch - 4000))
        g->job->at = dispatch - 4000;
    else if (main_of_luajit(dispatch - 4008))
        g->job->at = dispatch - 4008;
    else
        return;
    g->guest->dispatch = dispatch;
    g->job->n_found = 0;
    bpf_loop(CAIRN_SKETCH_LJ_RUNS_BYTES / 8, try_running, g, 0);
}

/* Words below the return address, those of a step. */
static long look_below(__u32 step, void *ctx)
{
    struct gathering *g = ctx;
    for (__u32 k = 1; k <= WORDS_A_STEP; k++) {
        __u64 at = g->job->at - (__u64)step * WORDS_A_STEP - k;
        HIDE(at);
        if (at < g->job->first || at >= N_WORDS)
            return 1;
        g->job->n_found += cairn_try_state(g->cpu, g->guest, g->cpu->frames[at], g->job->row);
    }
    return g->job->n_found != 0;
}

/* LuaJIT's loop has its state on the stack, a few words above where it returns to. */
static long look_above(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 at = g->job->at + i;
    HIDE(at);
    if (at >= g->job->end || at >= N_WORDS)
        return 1;
    g->job->n_found += cairn_try_state(g->cpu, g->guest, g->cpu->frames[at], g->job->row);
    return g->job->n_found != 0;
}

static __always_inline int is_luajit(const struct gathering *g)
{
    __u64 row = g->job->row;
    HIDE(row);
    return row < CAIRN_BPF_GUEST_LOOPS_MAX && g->guest->loops[row].kind == CAIRN_SKETCH_LUAJIT;
}

static long try_hit(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 n = i;
    HIDE(n);
    if (n >= g->cpu->n_hits || n >= CAIRN_BPF_HITS_MAX)
        return 1;
    g->job->at = g->cpu->hits[n];
    g->job->row = loop_of(g->guest, word_of(g->cpu, g->job->at, 0)) - 1;
    g->job->n_found = 0;
    if (is_luajit(g))
        bpf_loop(ABOVE_WORDS, look_above, g, 0);
    else
        bpf_loop(BELOW_STEPS, look_below, g, 0);
    return 0;
}

/* Notes the words of a step that lead into a loop. */
static long scan_copy(__u32 step, void *ctx)
{
    struct gathering *g = ctx;
    for (__u32 k = 0; k < WORDS_A_STEP; k++) {
        __u64 at = g->job->first + (__u64)step * WORDS_A_STEP + k, n = g->cpu->n_hits;
        HIDE(at);
        HIDE(n);
        if (at >= g->job->end || at >= N_WORDS || n >= CAIRN_BPF_HITS_MAX)
            return 1;
        if (!loop_of(g->guest, g->cpu->frames[at]))
            continue;
        g->cpu->hits[n] = at;
        g->cpu->n_hits = n + 1;
    }
    return 0;
}

/* The registers lie before the copy. */
static long try_reg(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 at = g->job->first - CAIRN_BPF_COPY_REGS + i;
    HIDE(at);
    if (at >= N_WORDS)
        return 1;
    if (GUEST_REGS >> (i & 63) & 1)
        cairn_try_state(g->cpu, g->guest, g->cpu->frames[at], g->job->row);
    return 0;
}

/* Where the CPU is in a loop, or in code that it made, registers have the state, or lead to it. */
static __always_inline void try_registers(struct gathering *g)
{
    __u64 at = g->job->first - CAIRN_BPF_COPY_REGS + GUEST_DISPATCH;
    if (!is_luajit(g)) {
        bpf_loop(CAIRN_BPF_COPY_REGS, try_reg, g, 0);
        return;
    }
    try_dispatch(g, word_of(g->cpu, at, 0));
    g->job->at = g->job->first;
    bpf_loop(ABOVE_WORDS, look_above, g, 0);
}

static long try_loop(__u32 row, void *ctx)
{
    struct gathering *g = ctx;
    g->job->row = row;
    if (row >= g->guest->n)
        return 1;
    try_registers(g);
    return 0;
}

/* A C function that compiled code calls may have saved the DISPATCH register and reused it. The
 * last DISPATCH that was seen in the process is tried. */
static long try_last(__u32 row, void *ctx)
{
    struct gathering *g = ctx;
    g->job->row = row;
    if (is_luajit(g))
        try_dispatch(g, g->guest->dispatch);
    return g->cpu->n_states != 0;
}

/* States of the loops that the stack, copied from the word `first` on, leads through. */
__attribute__((noinline)) __u32 cairn_find_states(struct cairn_bpf_walk_cpu *cpu,
                                                  struct cairn_bpf_guest *guest, __u64 first)
{
    if (!cpu || !guest || first >= N_WORDS)
        return 0;
    struct gathering g = {.cpu = cpu, .guest = guest, .job = &cpu->job};
    cpu->job = (struct cairn_bpf_job){.first = first, .end = first + cpu->stack.copied / 8};
    cpu->n_states = 0;
    cpu->n_hits = 0;
    bpf_loop(CAIRN_BPF_GUEST_LOOPS_MAX, try_loop, &g, 0);
    bpf_loop(CAIRN_BPF_COPY_MAX / 8 / WORDS_A_STEP, scan_copy, &g, 0);
    bpf_loop(CAIRN_BPF_HITS_MAX, try_hit, &g, 0);
    if (!cpu->n_states && guest->dispatch)
        bpf_loop(CAIRN_BPF_GUEST_LOOPS_MAX, try_last, &g, 0);
    return cpu->n_states;
}

/* The chunk's name, and the lines around that of the instruction before `pc`: when they are asked
 * for, the function may be gone. `at`: the piece of its Proto. */
static __always_inline void add_lines(struct cairn_bpf_walk_cpu *cpu,
                                      const struct cairn_guest_sketch *sketch, __u64 at, __u64 pc)
{
    __u64 source = word_of(cpu, at, sketch->source), lines = word_of(cpu, at, sketch->line_info);
    __u64 off = (pc - word_of(cpu, at, sketch->code)) / 4 * sketch->line_bytes;
    if (!has_piece(cpu, source))
        cairn_add_piece(cpu, source, CAIRN_SKETCH_SOURCE);
    if (off > CAIRN_SKETCH_LINES_BEFORE)
        lines += off - CAIRN_SKETCH_LINES_BEFORE;
    cairn_add_piece(cpu, lines & ~7ull, CAIRN_SKETCH_LINES);
}

/* A function's closure, and what it was made of; a word that tells the function from others. */
static __always_inline __u64 add_function(struct cairn_bpf_walk_cpu *cpu,
                                          const struct cairn_guest_sketch *sketch, __u64 slot,
                                          __u64 pc)
{
    __u64 va = word_of(cpu, slot, 0), at, proto;
    __u32 tag = word_of(cpu, slot, CAIRN_SKETCH_TYPE);
    int is_lua = (tag & 0xff) == CAIRN_SKETCH_LUA_CLOSURE;
    if (sketch->flags & CAIRN_SKETCH_TAGS_5_1)
        is_lua = tag == CAIRN_SKETCH_FUNCTION_5_1;
    else if (!is_lua && (tag & 0xff) != CAIRN_SKETCH_C_CLOSURE)
        return va;
    if (has_piece(cpu, va)) /* a function that calls itself */
        return user_word(va + sketch->closure);
    at = cairn_add_piece(cpu, va, CAIRN_SKETCH_CLOSURE);
    if (!at || !is_lua)
        return va;
    if (sketch->flags & CAIRN_SKETCH_TAGS_5_1 &&
        word_of(cpu, at, CAIRN_SKETCH_TYPE) >> 8 * (CAIRN_SKETCH_IS_C_5_1 - CAIRN_SKETCH_TYPE) &
            0xff)
        return va;
    proto = word_of(cpu, at, sketch->closure);
    if (has_piece(cpu, proto))
        return proto;
    at = cairn_add_piece(cpu, proto, CAIRN_SKETCH_PROTO);
    if (at)
        add_lines(cpu, sketch, at, pc);
    return proto;
}

/* Stacks whose functions are the same, each at the same place, are counted together. */
static __always_inline void mix_call(struct cairn_bpf_walk_cpu *cpu, __u64 function, __u64 pc)
{
    cpu->stack.hash = mixed(mixed(cpu->stack.hash, function), pc);
}

static long add_call(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 row = g->job->row, at, slot, pc;
    (void)i;
    HIDE(row);
    if (row >= CAIRN_BPF_GUEST_LOOPS_MAX || g->job->ci == g->job->base || !g->job->ci)
        return 1;
    const struct cairn_guest_sketch *sketch = &g->guest->loops[row];
    at = cairn_add_piece(g->cpu, g->job->ci, sketch->ci_size);
    if (!at)
        return 1;
    slot = cairn_add_piece(g->cpu, word_of(g->cpu, at, sketch->ci_func), CAIRN_SKETCH_SLOT);
    if (!slot)
        return 1;
    pc = word_of(g->cpu, at, sketch->ci_saved_pc);
    mix_call(g->cpu, add_function(g->cpu, sketch, slot, pc), pc);
    slot = (pc - 4) & ~7ull;
    if (sketch->flags & CAIRN_SKETCH_RUN_BY_CALL && !has_piece(g->cpu, slot))
        cairn_add_piece(g->cpu, slot, 8);
    if (sketch->flags & CAIRN_SKETCH_CI_ARRAY)
        g->job->ci -= sketch->ci_size;
    else
        g->job->ci = word_of(g->cpu, at, sketch->ci_previous);
    return 0;
}

static __always_inline void add_luajit_function(struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    __u64 at = has_piece(cpu, va) ? 0 : cairn_add_piece(cpu, va, CAIRN_SKETCH_LJ_FUNCTION);
    if (!at ||
        word_of(cpu, at, CAIRN_SKETCH_TYPE) >> 8 * (CAIRN_SKETCH_LJ_FFID - CAIRN_SKETCH_TYPE) &
            0xff)
        return;
    va = word_of(cpu, at, CAIRN_SKETCH_LJ_PC) - CAIRN_SKETCH_LJ_PROTO;
    if (!has_piece(cpu, va))
        cairn_add_piece(cpu, va, CAIRN_SKETCH_LJ_PROTO);
}

/* A function in a slot of LuaJIT's stack. The next slot may be where its caller goes on: the call
 * before that says where the caller's frame begins. */
static long add_slot(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 at = g->job->at + i, word = word_of(g->cpu, at, 0), call;
    if (word >> CAIRN_SKETCH_LJ_TAG_SHIFT != CAIRN_SKETCH_LJ_TAG_FUNCTION)
        return 0;
    add_luajit_function(g->cpu, word & ((1ull << CAIRN_SKETCH_LJ_TAG_SHIFT) - 1));
    call =
        (at + 1 < g->job->end ? word_of(g->cpu, at, 8) : user_word(g->job->base + 8ull * (i + 1))) -
        CAIRN_SKETCH_LJ_CALL;
    if (!(call & 3) && !has_piece(g->cpu, call))
        cairn_add_piece(g->cpu, call, 8);
    return 0;
}

/* A piece of the stack that begins at g->job->ci and ends at g->job->base, from its top down. */
static long add_slots(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 size = g->job->base - g->job->ci;
    (void)i;
    if (size > PIECE_MAX)
        size = PIECE_MAX;
    HIDE(size);
    g->job->base -= size;
    g->job->at = size ? cairn_add_piece(g->cpu, g->job->base, size) : 0;
    g->job->end = g->job->at + size / 8;
    if (!g->job->at)
        return 1;
    bpf_loop(size / 8, add_slot, g, 0);
    return 0;
}

static __always_inline void raise_top(struct gathering *g, __u64 base)
{
    if (base > g->job->base && base <= g->job->max && !(base & 7))
        g->job->base = base;
}

static long raise_by_global(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    raise_top(g, user_word(g->job->at + CAIRN_SKETCH_LJ_RUNS + 8ull * i));
    return 0;
}

/* `at`: the piece of the state. What lies above the top of its stack is no frame's; but in the
 * assembler the base of the innermost is in a register alone, in compiled code in the globals. */
static __always_inline void add_luajit(struct gathering *g, __u64 at, __u64 global)
{
    g->job->ci = word_of(g->cpu, at, CAIRN_SKETCH_LJ_STACK);
    g->job->base = word_of(g->cpu, at, CAIRN_SKETCH_LJ_TOP);
    g->job->max = word_of(g->cpu, at, CAIRN_SKETCH_LJ_MAX_STACK);
    g->job->at = global;
    if (!has_piece(g->cpu, global + CAIRN_SKETCH_LJ_VM_STATE)) {
        cairn_add_piece(g->cpu, global + CAIRN_SKETCH_LJ_VM_STATE, 16);
        cairn_add_piece(g->cpu, global + CAIRN_SKETCH_LJ_RUNS, CAIRN_SKETCH_LJ_RUNS_BYTES);
    }
    raise_top(g, word_of(g->cpu, g->job->first + GUEST_BASE, 0));
    bpf_loop(CAIRN_SKETCH_LJ_RUNS_BYTES / 8, raise_by_global, g, 0);
    if (g->job->ci & 7 || g->job->base & 7 || g->job->base < g->job->ci)
        return;
    bpf_loop(SLOTS_BYTES / PIECE_MAX, add_slots, g, 0);
}

static __always_inline void add_lua(struct gathering *g, const struct cairn_guest_sketch *sketch,
                                    __u64 at, __u64 va)
{
    if (sketch->saved_pc)
        mix_call(g->cpu, 0, word_of(g->cpu, at, sketch->saved_pc));
    g->job->ci = word_of(g->cpu, at, sketch->ci);
    g->job->base = sketch->flags & CAIRN_SKETCH_CI_ARRAY ? word_of(g->cpu, at, sketch->base_ci)
                                                         : va + sketch->base_ci;
    bpf_loop(CALLS_MAX, add_call, g, 0);
}

static long add_state(__u32 i, void *ctx)
{
    struct gathering *g = ctx;
    __u64 n = i, row, at;
    HIDE(n);
    if (n >= g->cpu->n_states || n >= CAIRN_BPF_STATES_MAX)
        return 1;
    row = g->cpu->states[n].row;
    HIDE(row);
    if (row >= CAIRN_BPF_GUEST_LOOPS_MAX)
        return 1;
    const struct cairn_guest_sketch *sketch = &g->guest->loops[row];
    int luajit = sketch->kind == CAIRN_SKETCH_LUAJIT;
    __u64 size = luajit ? CAIRN_SKETCH_LJ_STATE : CAIRN_SKETCH_STATE;
    at = cairn_add_piece(g->cpu, g->cpu->states[n].va, size);
    if (!at)
        return 1;
    if (!has_piece(g->cpu, g->cpu->states[n].main))
        cairn_add_piece(g->cpu, g->cpu->states[n].main, size);
    if (!luajit && !(sketch->flags & CAIRN_SKETCH_MAIN_IN_GLOBAL) &&
        !has_piece(g->cpu, g->cpu->states[n].global + sketch->main))
        cairn_add_piece(g->cpu, g->cpu->states[n].global + sketch->main, 8);
    g->job->row = row;
    if (luajit)
        add_luajit(g, at, g->cpu->states[n].global);
    else
        add_lua(g, sketch, at, g->cpu->states[n].va);
    return 0;
}

/* What they are made of, as pieces behind the copy. */
__attribute__((noinline)) __u32 cairn_add_states(struct cairn_bpf_walk_cpu *cpu,
                                                 struct cairn_bpf_guest *guest, __u64 end,
                                                 __u64 regs)
{
    if (!cpu || !guest || end >= N_WORDS)
        return 0;
    struct gathering g = {.cpu = cpu, .guest = guest, .job = &cpu->job};
    cpu->job = (struct cairn_bpf_job){.first = regs};
    cpu->piece_at = end;
    cpu->piece_end = end + CAIRN_BPF_PIECES_MAX / 8;
    __builtin_memset(cpu->seen, 0, sizeof cpu->seen);
    bpf_loop(CAIRN_BPF_STATES_MAX, add_state, &g, 0);
    return (cpu->piece_at - end) * 8;
}

/* Behind the copy of the stack, which begins at the word `first`. */
static __always_inline void gather_guest(struct cairn_bpf_walk_cpu *cpu,
                                         struct cairn_bpf_guest *guest, __u64 first)
{
    if (cairn_find_states(cpu, guest, first))
        cpu->stack.pieces = cairn_add_states(cpu, guest, first + cpu->stack.copied / 8,
                                             first - CAIRN_BPF_COPY_REGS);
}

#endif /* CAIRN_BPF_WALK_GUEST_H */
