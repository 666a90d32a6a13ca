/* SPDX-License-Identifier: MIT */
#include "trace/plain_stack.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/ptrace.h"
#include "sample/guest_walk.h"
#include "target/regs.h"

enum {
    SLOTS = 256,
    WAYS = 4, /* stacks of one function at one depth are kept beside each other */
    COPY_BYTES = 32 << 10,
    BLOCK_BYTES = 16 << 10,
    REGS_KEPT = 4
};

struct cairn_plain_memo {
    uint64_t version;             /* of the process's mappings, and so of the process; 0: empty */
    uint64_t ip, regs[REGS_KEPT]; /* without the frame pointer */
    uint64_t frame[REGS_KEPT];    /* the frame pointer */
    bool any_frame;               /* the walk does not depend on the frame pointer */
    uint32_t n_words;
    uint32_t n_bytes; /* from sp to the end of the last word */
    uint32_t used;    /* when it was recognized last */
    struct cairn_collected stack;
    uint16_t word[CAIRN_COPIED_READS_MAX];
    uint64_t value[CAIRN_COPIED_READS_MAX];
};

/* DWARF's numbers of the registers that a walk is given at first, as bits. */
static uint64_t frame_reg(uint32_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return 1 << 6;
    case EM_386:
        return 1 << 5;
    case EM_AARCH64:
        return 1 << 29;
    case EM_ARM:
        return 1 << 11 | 1 << 7;
    default:
        return 0;
    }
}

/* The stack pointer, and the return address of a function that has not saved it. */
static uint64_t other_regs(uint32_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return 1 << 7;
    case EM_386:
        return 1 << 4;
    case EM_AARCH64:
        return 1ull << 31 | 1 << 30;
    case EM_ARM:
        return 1 << 13 | 1 << 14;
    default:
        return 0;
    }
}

int cairn_plain_stacks_init(struct cairn_plain_stacks *stacks, struct cairn_collect *collect)
{
    *stacks = (struct cairn_plain_stacks){.collect = collect};
    stacks->memos = cairn_alloc(SLOTS * WAYS, sizeof *stacks->memos);
    stacks->copy = cairn_alloc(1, COPY_BYTES);
    stacks->block.bytes = cairn_alloc(1, BLOCK_BYTES);
    return stacks->memos && stacks->copy && stacks->block.bytes ? CAIRN_OK : CAIRN_E_NOMEM;
}

void cairn_plain_stacks_done(struct cairn_plain_stacks *stacks)
{
    cairn_table_done(&stacks->stale);
    cairn_free(stacks->memos);
    cairn_free(stacks->copy);
    cairn_free(stacks->block.bytes);
    *stacks = (struct cairn_plain_stacks){0};
}

int cairn_plain_stacks_moved(struct cairn_plain_stacks *stacks, int pid)
{
    return cairn_table_set(&stacks->stale, (uint64_t)pid, 1);
}

size_t cairn_plain_read(int tid, uint64_t va, void *to, size_t size)
{
    const struct iovec local = {to, size}, remote = {(void *)(uintptr_t)va, size};
    const ssize_t n = process_vm_readv(tid, &local, 1, &remote, 1, 0);
    return n > 0 ? (size_t)n : 0;
}

static bool read_regs(struct cairn_plain_stacks *stacks, int tid)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    size_t size;
    return cairn_ptrace_prstatus(tid, raw, &size) == 0 &&
           cairn_target_regs((struct cairn_span){raw, size}, false, &stacks->regs);
}

bool cairn_plain_stacks_regs(struct cairn_plain_stacks *stacks, int tid,
                             struct cairn_cursor_regs *ret_regs)
{
    if (!read_regs(stacks, tid))
        return false;
    *ret_regs = stacks->regs;
    return true;
}

/* The first of WAYS. */
static struct cairn_plain_memo *slot_of(struct cairn_plain_stacks *stacks, uint64_t version)
{
    const uint64_t key[] = {stacks->regs.ip, cairn_target_sp(&stacks->regs), version};
    return stacks->memos + cairn_hash_bytes(key, sizeof key) % SLOTS * WAYS;
}

static void take_regs(const struct cairn_cursor_regs *regs, uint64_t wanted,
                      uint64_t ret_kept[REGS_KEPT])
{
    size_t n = 0;
    memset(ret_kept, 0, REGS_KEPT * sizeof *ret_kept);
    for (unsigned i = 0; i < CAIRN_UNWIND_REGS; i++)
        if ((wanted & regs->known) >> i & 1)
            ret_kept[n++] = regs->reg[i];
}

static bool is_of(const struct cairn_plain_memo *memo, uint64_t version, uint64_t ip,
                  const uint64_t kept[REGS_KEPT])
{
    return memo->version == version && memo->ip == ip &&
           memcmp(memo->regs, kept, sizeof memo->regs) == 0;
}

static uint64_t word_at(const uint8_t *copy, uint32_t word)
{
    uint64_t value;
    memcpy(&value, copy + (size_t)word * CAIRN_COPIED_WORD, sizeof value);
    return value;
}

static bool words_hold(const struct cairn_plain_memo *memo, const uint8_t *copy)
{
    for (uint32_t i = 0; i < memo->n_words; i++)
        if (word_at(copy, memo->word[i]) != memo->value[i])
            return false;
    return true;
}

/* One read for all that are kept of that place. */
static struct cairn_plain_memo *recognize(struct cairn_plain_stacks *stacks, uint64_t version,
                                          int tid)
{
    struct cairn_plain_memo *memos = slot_of(stacks, version);
    uint64_t kept[REGS_KEPT], frame[REGS_KEPT];
    size_t n_bytes = 0;
    stacks->alike = NULL;
    take_regs(&stacks->regs, other_regs(stacks->regs.machine), kept);
    take_regs(&stacks->regs, frame_reg(stacks->regs.machine), frame);
    for (size_t i = 0; i < WAYS; i++)
        if (is_of(&memos[i], version, stacks->regs.ip, kept) && memos[i].n_bytes > n_bytes)
            n_bytes = memos[i].n_bytes;
    if (!n_bytes)
        return NULL;
    const size_t got = cairn_plain_read(tid, cairn_target_sp(&stacks->regs), stacks->copy, n_bytes);
    for (size_t i = 0; i < WAYS; i++) {
        struct cairn_plain_memo *memo = &memos[i];
        if (!is_of(memo, version, stacks->regs.ip, kept) || memo->n_bytes > got ||
            !words_hold(memo, stacks->copy))
            continue;
        if (memo->any_frame || memcmp(memo->frame, frame, sizeof frame) == 0)
            return memo;
        stacks->alike = memo;
    }
    return NULL;
}

static void learn(struct cairn_plain_stacks *stacks, uint64_t version,
                  const struct cairn_collected *stack)
{
    struct cairn_plain_memo *memos = slot_of(stacks, version), *memo = memos;
    const struct cairn_copied_reads *reads = &stacks->reads;
    if (!reads->n || reads->is_over) /* the reads of the first walk of all were not noted */
        return;
    for (size_t i = 0; i < WAYS; i++)
        if (memos[i].used < memo->used)
            memo = &memos[i];
    memo->version = version;
    memo->ip = stacks->regs.ip;
    memo->any_frame = false;
    take_regs(&stacks->regs, other_regs(stacks->regs.machine), memo->regs);
    take_regs(&stacks->regs, frame_reg(stacks->regs.machine), memo->frame);
    memo->n_words = reads->n;
    memo->n_bytes = 0;
    memo->stack = *stack;
    memo->used = (uint32_t)stacks->n_walked;
    for (uint32_t i = 0; i < reads->n; i++) {
        const uint32_t end = (reads->word[i] + 1u) * CAIRN_COPIED_WORD;
        memo->word[i] = reads->word[i];
        memo->value[i] = word_at(stacks->copy, reads->word[i]);
        if (end > memo->n_bytes)
            memo->n_bytes = end;
    }
}

/* The maps anew where they have changed, or the CPU is in code that is new to us. */
static int look_at_space(struct cairn_plain_stacks *stacks, struct cairn_space *space)
{
    uint32_t one;
    const uint64_t pid = (uint64_t)space->code.pid;
    if (!cairn_table_find(&stacks->stale, pid, &one) &&
        cairn_stream_space_find(&space->code, stacks->regs.ip))
        return CAIRN_OK;
    cairn_table_remove(&stacks->stale, pid);
    cairn_space_forget_maps(&stacks->collect->spaces, space);
    int code = cairn_space_read(&stacks->collect->spaces, space, NULL);
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK; /* else it just ended */
}

/* Frames of interpreters are in memory that the thread will change. */
static int catch_guests(struct cairn_plain_stacks *stacks, struct cairn_space *space)
{
    struct cairn_collect *collect = stacks->collect;
    int code =
        cairn_guest_looks_find(&collect->guest_looks, &collect->spaces, space, &stacks->guests);
    if (code == CAIRN_OK && stacks->guests)
        (void)cairn_guest_walk_catch(stacks->guests, &stacks->regs, &code);
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
}

/* Beyond the copy: deep stacks, and what a handler with a stack of its own interrupted. */
static bool read_more(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_plain_stacks *stacks = ctx;
    struct cairn_plain_block *block = &stacks->block;
    if (va < block->va || va - block->va >= block->n || size > block->n - (va - block->va)) {
        block->va = va & ~(uint64_t)(CAIRN_COPY_PAGE - 1);
        block->n = cairn_plain_read(stacks->tid, block->va, block->bytes, BLOCK_BYTES);
    }
    if (va - block->va >= block->n || size > block->n - (va - block->va))
        return false;
    memcpy(to, block->bytes + (va - block->va), size);
    return true;
}

static int walk_with(struct cairn_plain_stacks *stacks, int pid, uint64_t regs,
                     struct cairn_collected *ret_stack)
{
    const uint64_t now_ns = cairn_now_ns();
    struct cairn_copied *copied = &stacks->collect->copies.copied;
    struct cairn_collect *collect = stacks->collect;
    const uint64_t sp = cairn_target_sp(&stacks->regs);
    struct cairn_copy copy = {.regs = stacks->regs,
                              .stack = {.va = sp, .bytes = {stacks->copy, stacks->n_copied}},
                              .goes_on = stacks->n_copied == COPY_BYTES};
    const struct cairn_sampled caught = {
        .pid = pid,
        .tid = stacks->tid,
        .copy = &copy,
        .guests = stacks->guests,
        .sp = sp,
        .user = {.regs = {.ip = stacks->guests ? stacks->regs.ip : 0}},
        .now_ns = now_ns,
        .time_ns = now_ns};
    copy.regs.known &= regs;
    stacks->reads.n = 0;
    stacks->reads.is_over = !copied->unwind || sp % CAIRN_COPIED_WORD;
    stacks->block.n = 0;
    copied->reads = &stacks->reads;
    copied->more = read_more;
    copied->more_ctx = stacks;
    int code = cairn_collect_stack(collect, &caught, ret_stack);
    copied->reads = NULL;
    copied->more = NULL;
    return code;
}

static int walk(struct cairn_plain_stacks *stacks, struct cairn_space *space,
                struct cairn_collected *ret_stack)
{
    const int pid = space->code.pid;
    const uint64_t others = other_regs(stacks->regs.machine);
    stacks->n_walked++;
    stacks->guests = NULL;
    if (catch_guests(stacks, space) < 0 ||
        (stacks->guests && cairn_guest_walk_name(stacks->guests) < 0))
        return CAIRN_E_NOMEM;
    stacks->n_copied =
        cairn_plain_read(stacks->tid, cairn_target_sp(&stacks->regs), stacks->copy, COPY_BYTES);
    int code = walk_with(stacks, pid, others | frame_reg(stacks->regs.machine), ret_stack);
    if (code < 0 || stacks->guests)
        return code;
    if (ret_stack->cut)
        return walk_with(stacks, pid, UINT64_MAX, ret_stack);
    if (stacks->alike && stacks->alike->stack.stack == ret_stack->stack) {
        struct cairn_collected without;
        code = walk_with(stacks, pid, others, &without);
        stacks->alike->any_frame =
            code == CAIRN_OK && !without.cut && without.stack == ret_stack->stack;
        return code;
    }
    learn(stacks, space->code.version, ret_stack);
    return CAIRN_OK;
}

int cairn_plain_stacks_catch(struct cairn_plain_stacks *stacks, int pid, int tid,
                             struct cairn_collected *ret_stack)
{
    struct cairn_space *space = cairn_spaces_get(&stacks->collect->spaces, pid);
    *ret_stack = (struct cairn_collected){.pid = pid, .tid = tid};
    if (!space)
        return CAIRN_E_NOMEM;
    stacks->tid = tid;
    if (!read_regs(stacks, tid))
        return CAIRN_OK; /* it was killed meanwhile */
    if (look_at_space(stacks, space) < 0)
        return CAIRN_E_NOMEM;
    stacks->alike = NULL;
    struct cairn_plain_memo *memo =
        space->guests ? NULL : recognize(stacks, space->code.version, tid);
    if (!memo)
        return walk(stacks, space, ret_stack);
    memo->used = (uint32_t)stacks->n_walked;
    *ret_stack = memo->stack;
    ret_stack->tid = tid;
    stacks->n_remembered++;
    return CAIRN_OK;
}
