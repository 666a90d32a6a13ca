/* SPDX-License-Identifier: MIT */
#include "watch/lost_pass.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/core.h"
#include "watch/lost_feed.h"

enum { MALLOC_ALIGN = 16 }; /* glibc's, of 64-bit programs */

/* Blocks of a state, in ascending order. */
struct listing {
    struct cairn_lost_search *search;
    struct cairn_reach *reach; /* gets the suspects, or all blocks in the first pass */
    const struct cairn_heap_view *view;
    uint32_t stack;        /* the last one that was asked for: */
    bool is_ignored;       /* is it of blocks that are no leaks? */
    size_t next;           /* suspect of the pass before */
    size_t n_kept, n_lost; /* suspects that live, and those of them that are not doubtful */
    uint32_t n_all;        /* blocks of `reach` that were gone through */
    struct cairn_err *err;
    int code;
};

int cairn_lost_search_open(struct cairn_lost_search *search, struct cairn_heap_core *core,
                           struct cairn_err *err)
{
    search->core = core;
    if (core) {
        search->pid = cairn_heap_core_pid(core);
        search->kernel.is_whole = true; /* as far as a core file has it */
        return cairn_lost_space_open_core(core, &search->space, err);
    }
    int code = cairn_lost_space_open(search->pid, &search->space, err);
    if (code == CAIRN_OK)
        cairn_lost_threads_open(&search->threads);
    return code;
}

void cairn_lost_search_done(struct cairn_lost_search *search)
{
    cairn_heap_free(search->core_heap);
    cairn_lost_space_close(&search->space);
    cairn_lost_threads_close(&search->threads);
    cairn_lost_kernel_done(&search->kernel);
    cairn_reach_blocks_done(&search->blocks);
    cairn_reach_free(search->reach);
    cairn_free(search->suspects.items);
    cairn_free(search->doubtful.items);
    cairn_free(search->ignored.vas);
}

int cairn_lost_suspects_add(struct cairn_lost_suspects *to,
                            const struct cairn_lost_suspect *suspect)
{
    if (cairn_grow((void **)&to->items, &to->cap, to->n + 1, sizeof *to->items) < 0)
        return CAIRN_E_NOMEM;
    to->items[to->n++] = *suspect;
    return CAIRN_OK;
}

static int check_header(const struct cairn_heap_header *h, struct cairn_err *err)
{
    if (h->word != sizeof(uint64_t))
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "process %u is a program of %u bits; lost blocks are looked for in those "
                          "of 64 bits alone",
                          h->pid, h->word * 8u);
    if (h->flags & CAIRN_HEAP_NOT_ASKED)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "process %u asks another malloc than the tracker's: its blocks are not "
                          "known",
                          h->pid);
    return CAIRN_OK;
}

/* Blocks that the tracker does not know of may lie between those that it does. */
static bool may_lack_blocks(const struct cairn_heap_header *h)
{
    static const enum cairn_heap_loss losses[] = {CAIRN_HEAP_LOSS_FULL, CAIRN_HEAP_LOSS_ADDRESS,
                                                  CAIRN_HEAP_LOSS_OVERLAP, CAIRN_HEAP_LOSS_UNKNOWN,
                                                  CAIRN_HEAP_LOSS_INHERITED};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (h->loss_blocks[losses[i]])
            return true;
    bool is_late_unknown = (h->flags & CAIRN_HEAP_LATE) && !h->older;
    return h->sample_bytes || h->parent || is_late_unknown || h->older_unread_bytes ||
           (h->flags & (CAIRN_HEAP_FULL | CAIRN_HEAP_APART | CAIRN_HEAP_OTHER_NAMES));
}

/* The program itself uses brk(2), beside malloc. */
static void see_map(void *ctx, const struct cairn_heap_map *map)
{
    struct cairn_lost_search *s = ctx;
    s->has_gaps |= map->kind == CAIRN_HEAP_MAP_BREAK;
}

int cairn_lost_pass_read_state(struct cairn_lost_search *s, struct cairn_heap **ret_heap,
                               struct cairn_err *err)
{
    struct cairn_heap *heap = s->core_heap;
    int code = CAIRN_OK;
    s->core_heap = NULL;
    if (!heap)
        code = s->core ? cairn_heap_core_read(s->core, &heap, err)
                       : cairn_heap_read_pid(s->pid, &heap, err);
    if (code < 0)
        return code;
    code = check_header(&heap->states[0].view.header, err);
    if (code < 0) {
        cairn_heap_free(heap);
        return code;
    }
    s->space.machine = heap->states[0].view.header.machine;
    s->has_gaps |= may_lack_blocks(&heap->states[0].view.header);
    s->has_rounded = (heap->states[0].view.header.flags & CAIRN_HEAP_UNSEEN) ||
                     heap->states[0].view.header.older;
    cairn_heap_view_maps(&heap->states[0].view, see_map, s);
    *ret_heap = heap;
    return CAIRN_OK;
}

void cairn_lost_pass_drop_state(struct cairn_lost_search *search, struct cairn_heap *heap)
{
    if (search->core && !search->core_heap)
        search->core_heap = heap;
    else
        cairn_heap_free(heap);
}

/* What is not in memory: registers, and what the kernel keeps. */
static int read_words(struct cairn_lost_search *s, enum cairn_lost_stop stop, struct cairn_err *err)
{
    if (s->core)
        return cairn_lost_threads_read_core(&s->threads, s->core, err);
    int code = cairn_lost_threads_read(&s->threads, s->pid, stop, s->tracer, err);
    if (code == CAIRN_OK && !cairn_lost_kernel_read(&s->kernel, s->pid))
        code = cairn_fail_memory(err);
    return code;
}

static void feed_words(const struct cairn_lost_search *s)
{
    for (size_t i = 0; i < s->threads.n_words; i++)
        cairn_reach_word(s->reach, s->threads.words[i].word);
    for (size_t i = 0; i < s->kernel.n; i++)
        cairn_reach_word(s->reach, s->kernel.words[i].word);
    for (size_t i = 0; i < s->ignored.n; i++)
        cairn_reach_word(s->reach, s->ignored.vas[i]);
}

static int flood(struct cairn_lost_search *s, struct cairn_err *err)
{
    const struct cairn_reach_memory memory = cairn_lost_space_memory(&s->space);
    int code = cairn_reach_flood(s->reach, &memory, err);
    if (code == CAIRN_E_STOPPED)
        code = cairn_fail(err, CAIRN_E_MISSING, "process %d ended while it was read", s->pid);
    return code;
}

static int feed_root(void *ctx, uint64_t va, struct cairn_span bytes)
{
    (void)va;
    cairn_reach_root(ctx, bytes);
    return CAIRN_OK;
}

int cairn_lost_pass_begin(struct cairn_lost_search *search, const struct cairn_reach_blocks *blocks,
                          enum cairn_lost_stop stop, struct cairn_err *err)
{
    struct cairn_lost_space *space = &search->space;
    int code = cairn_lost_space_load(space, err);
    if (code == CAIRN_OK)
        code = cairn_lost_space_find_arenas(space, blocks, err);
    search->reach->tables = space->tables.items;
    search->reach->n_tables = space->tables.n;
    search->reach->slack = search->has_rounded ? MALLOC_ALIGN - 1 : 0;
    /* The upper byte of an address is the program's own (ARM ARM, "Address tagging"). */
    search->reach->tag_bits = space->machine == EM_AARCH64 ? UINT64_C(0xff) << 56 : 0;
    if (code == CAIRN_OK)
        code = read_words(search, stop, err);
    if (code == CAIRN_OK && !cairn_lost_threads_cut(&search->threads, blocks, space))
        code = cairn_fail_memory(err);
    return code;
}

/* Everything that is read of the process, with registers before and behind. */
static int look(struct cairn_lost_search *s, const struct cairn_reach_blocks *blocks,
                bool with_blocks, enum cairn_lost_stop stop, struct cairn_err *err)
{
    struct cairn_lost_feed f = {.search = s,
                                .blocks = blocks,
                                .with_blocks = with_blocks,
                                .root = feed_root,
                                .ctx = s->reach};
    int code = cairn_lost_pass_begin(s, blocks, stop, err);
    if (code == CAIRN_OK) {
        feed_words(s);
        code = cairn_lost_space_each(&s->space, with_blocks || s->has_gaps, cairn_lost_feed_piece,
                                     &f, err);
    }
    if (code == CAIRN_OK)
        code = flood(s, err);
    if (code == CAIRN_OK && !s->tracer && !s->core)
        code = read_words(s, stop, err);
    if (code == CAIRN_OK && !s->tracer) {
        feed_words(s);
        code = flood(s, err);
    }
    if (code == CAIRN_OK)
        code = cairn_lost_space_check(&s->space, err);
    s->n_passes++;
    return code;
}

/* Neighbours often have one stack. */
static bool is_ignored(struct listing *l, uint32_t stack)
{
    struct cairn_heap_record record;
    if (stack == l->stack)
        return l->is_ignored;
    l->stack = stack;
    l->is_ignored = cairn_heap_view_record(l->view, stack, &record) &&
                    (record.head.flags & CAIRN_HEAP_LOG_IGNORED);
    return l->is_ignored;
}

/* In later passes such a block is no suspect, and so what is in it counts. */
static int add_ignored(struct cairn_lost_ignored *to, uint64_t va)
{
    if (cairn_grow((void **)&to->vas, &to->cap, to->n + 1, sizeof *to->vas) < 0)
        return CAIRN_E_NOMEM;
    to->vas[to->n++] = va;
    return CAIRN_OK;
}

static void add_block(void *ctx, const struct cairn_heap_block *block)
{
    struct listing *l = ctx;
    if (l->code < 0)
        return;
    l->search->n_blocks++;
    l->search->bytes += block->size;
    l->code = cairn_reach_add(l->reach, block->va, block->size, l->err);
    if (l->code == CAIRN_OK && is_ignored(l, block->stack))
        l->code = add_ignored(&l->search->ignored, block->va);
}

/* The blocks that the pass did not reach, or did by doubtful pointers alone. */
static void judge_block(void *ctx, const struct cairn_heap_block *block)
{
    struct listing *l = ctx;
    struct cairn_lost_search *s = l->search;
    size_t index;
    if (l->code < 0 || !cairn_reach_find(l->reach, block->va, &index))
        return;
    enum cairn_reach_mark mark = cairn_reach_mark_of(l->reach, index);
    const struct cairn_lost_suspect suspect = {block->va, block->size, block->stack, block->epoch,
                                               mark == CAIRN_REACH_POSSIBLY};
    if (mark == CAIRN_REACH_HELD)
        return;
    s->n_lost += !suspect.is_doubtful;
    l->code = cairn_lost_suspects_add(&s->suspects, &suspect);
}

static int each_block(struct listing *l, struct cairn_heap *heap, cairn_heap_block_fn each)
{
    int code = cairn_heap_view_sorted_blocks(&heap->states[0].view, each, l);
    code = code < 0 ? code : l->code;
    return code == CAIRN_E_NOMEM ? cairn_fail_memory(l->err) : code;
}

/* An empty table of blocks, and the state that they come from. */
static int begin(struct cairn_lost_search *search, struct listing *l, struct cairn_heap **ret_heap,
                 struct cairn_err *err)
{
    *l = (struct listing){.search = search, .err = err};
    int code = cairn_reach_new(&search->reach, err);
    if (code == CAIRN_OK)
        code = cairn_lost_pass_read_state(search, ret_heap, err);
    l->reach = search->reach;
    return code;
}

int cairn_lost_pass_first(struct cairn_lost_search *search, struct cairn_err *err)
{
    struct listing l;
    struct cairn_heap *heap = NULL;
    int code = begin(search, &l, &heap, err);
    if (code < 0)
        return code;
    l.view = &heap->states[0].view;
    code = each_block(&l, heap, add_block);
    if (code == CAIRN_OK)
        code = cairn_reach_seal(search->reach, err);
    if (code == CAIRN_OK)
        code = look(search, &search->reach->blocks, false, CAIRN_LOST_STOP_RUNNING, err);
    search->ignored.n = 0; /* the first pass alone has them among what it reaches */
    if (code == CAIRN_OK)
        code = each_block(&l, heap, judge_block);
    cairn_lost_pass_drop_state(search, heap);
    return code;
}

bool cairn_lost_is_same(const struct cairn_lost_suspect *suspect,
                        const struct cairn_heap_block *block)
{
    return suspect->va == block->va && suspect->size == block->size &&
           suspect->stack == block->stack && suspect->epoch == block->epoch;
}

/* All blocks go into the search's table, suspects that still live into the pass's. */
static void list_block(void *ctx, const struct cairn_heap_block *block)
{
    struct listing *l = ctx;
    struct cairn_lost_suspects *suspects = &l->search->suspects;
    if (l->code < 0)
        return;
    l->code = cairn_reach_blocks_add(&l->search->blocks, block->va, block->size, l->err);
    while (l->next < suspects->n && suspects->items[l->next].va < block->va)
        l->next++;
    if (l->code < 0 || l->next >= suspects->n ||
        !cairn_lost_is_same(&suspects->items[l->next], block))
        return;
    l->n_lost += !suspects->items[l->next].is_doubtful;
    suspects->items[l->n_kept++] = suspects->items[l->next++];
    l->code = cairn_reach_add(l->reach, block->va, block->size, l->err);
}

/* Those that the pass did not find held stay. */
static void keep_suspects(struct cairn_lost_search *s)
{
    size_t n_kept = 0, n_lost = 0;
    for (size_t i = 0; i < s->suspects.n; i++) {
        struct cairn_lost_suspect suspect = s->suspects.items[i];
        size_t index;
        enum cairn_reach_mark mark = CAIRN_REACH_HELD;
        if (cairn_reach_find(s->reach, suspect.va, &index))
            mark = cairn_reach_mark_of(s->reach, index);
        if (mark == CAIRN_REACH_HELD)
            continue;
        suspect.is_doubtful |= mark == CAIRN_REACH_POSSIBLY;
        n_lost += !suspect.is_doubtful;
        s->suspects.items[n_kept++] = suspect;
    }
    s->n_saved += s->n_lost - n_lost;
    s->n_lost = n_lost;
    s->suspects.n = n_kept;
}

int cairn_lost_pass_next(struct cairn_lost_search *search, enum cairn_lost_stop stop,
                         struct cairn_err *err)
{
    struct listing l;
    struct cairn_heap *heap = NULL;
    cairn_reach_free(search->reach);
    cairn_reach_blocks_done(&search->blocks);
    search->reach = NULL;
    int code = begin(search, &l, &heap, err);
    if (code < 0)
        return code;
    code = each_block(&l, heap, list_block);
    cairn_lost_pass_drop_state(search, heap);
    if (code == CAIRN_OK)
        code = cairn_reach_blocks_seal(&search->blocks, err);
    if (code == CAIRN_OK)
        code = cairn_reach_seal(search->reach, err);
    if (code < 0)
        return code;
    search->n_gone += search->n_lost - l.n_lost;
    search->n_lost = l.n_lost;
    search->suspects.n = l.n_kept;
    for (size_t i = 0; i < search->suspects.n; i++)
        if (search->suspects.items[i].is_doubtful)
            cairn_reach_doubt(search->reach, search->suspects.items[i].va);
    code = look(search, &search->blocks, true, stop, err);
    if (code == CAIRN_OK)
        keep_suspects(search);
    return code;
}
