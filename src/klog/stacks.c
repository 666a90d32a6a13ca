/* SPDX-License-Identifier: MIT */
/* The rings and buckets: opening, closing, handing out. */
#include "klog/stacks.h"

#include "base/alloc.h"
#include "base/error.h"

static void ring_init(struct cairn_klog_ring *ring)
{
    ring->prev = ring->next = ring;
}

static void ring_add_last(struct cairn_klog_ring *ring, struct cairn_klog_ring *entry)
{
    entry->prev = ring->prev;
    entry->next = ring;
    ring->prev->next = entry;
    ring->prev = entry;
}

static void ring_remove(struct cairn_klog_ring *entry)
{
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
    ring_init(entry);
}

static struct cairn_klog_stack *of_age(struct cairn_klog_ring *entry)
{
    return (struct cairn_klog_stack *)(void *)((char *)entry -
                                               offsetof(struct cairn_klog_stack, by_age));
}

static struct cairn_klog_stack *of_use(struct cairn_klog_ring *entry)
{
    return (struct cairn_klog_stack *)(void *)((char *)entry -
                                               offsetof(struct cairn_klog_stack, by_use));
}

void cairn_klog_stacks_init(struct cairn_klog_stacks *stacks)
{
    ring_init(&stacks->by_age);
    ring_init(&stacks->by_use);
    ring_init(&stacks->spare);
}

static void free_ring(struct cairn_klog_ring *ring)
{
    while (ring->next && ring->next != ring) {
        struct cairn_klog_stack *stack = of_age(ring->next);
        ring_remove(&stack->by_age);
        cairn_free(stack->frames);
        cairn_free(stack);
    }
}

void cairn_klog_stacks_done(struct cairn_klog_stacks *stacks)
{
    free_ring(&stacks->by_age);
    free_ring(&stacks->spare);
    cairn_table_done(&stacks->known);
    cairn_klog_printed_done(&stacks->printed);
}

static uint32_t bucket_of(uint64_t key, enum cairn_klog_phase phase, uint32_t next)
{
    uint64_t mixed = key ^ ((uint64_t)phase << 16 | (next & 0xffff)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed ^ mixed >> 32 ^ mixed >> 17) % CAIRN_KLOG_BUCKETS);
}

static void leave(struct cairn_klog_stacks *stacks, enum cairn_klog_by by,
                  struct cairn_klog_stack *stack)
{
    struct cairn_klog_link *link = &stack->links[by];
    if (link->bucket == UINT32_MAX)
        return;
    if (link->prev)
        link->prev->links[by].next = link->next;
    else
        stacks->buckets[by][link->bucket] = link->next;
    if (link->next)
        link->next->links[by].prev = link->prev;
    link->bucket = UINT32_MAX;
}

static void enter(struct cairn_klog_stacks *stacks, enum cairn_klog_by by,
                  struct cairn_klog_stack *stack, uint32_t bucket)
{
    struct cairn_klog_stack **first = &stacks->buckets[by][bucket];
    stack->links[by] = (struct cairn_klog_link){.next = *first, .bucket = bucket};
    if (*first)
        (*first)->links[by].prev = stack;
    *first = stack;
}

void cairn_klog_stacks_move(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                            enum cairn_klog_phase phase, uint32_t next)
{
    leave(stacks, CAIRN_KLOG_BY_LINE, stack);
    stack->phase = phase;
    stack->next = next;
    if (!stack->is_open || phase == CAIRN_KLOG_DONE)
        return;
    enter(stacks, CAIRN_KLOG_BY_LINE, stack, bucket_of(stack->key, phase, next));
}

static uint32_t thread_bucket_of(uint64_t key, int pid)
{
    return bucket_of(key, CAIRN_KLOG_DONE, (uint32_t)pid);
}

static struct cairn_klog_stack *new_stack(struct cairn_klog_stacks *stacks)
{
    struct cairn_klog_stack *stack;
    if (stacks->spare.next == &stacks->spare) {
        stack = cairn_alloc(1, sizeof *stack);
        if (stack)
            ring_init(&stack->by_age);
    } else {
        stack = of_age(stacks->spare.next);
        ring_remove(&stack->by_age);
        struct cairn_klog_frame *frames = stack->frames;
        size_t cap = stack->cap;
        *stack = (struct cairn_klog_stack){.frames = frames, .cap = cap};
    }
    return stack;
}

struct cairn_klog_stack *cairn_klog_stacks_open(struct cairn_klog_stacks *stacks,
                                                const struct cairn_klog_where *where,
                                                const struct cairn_klog_dump *dump)
{
    if (stacks->n_all >= CAIRN_KLOG_OPEN_MAX && stacks->by_use.next != &stacks->by_use) {
        struct cairn_klog_stack *oldest = of_use(stacks->by_use.next);
        oldest->dump.is_cut_short = 1;
        stacks->counts->n_closed++;
        cairn_klog_stacks_close(stacks, oldest);
    }
    struct cairn_klog_stack *stack = new_stack(stacks);
    if (!stack)
        return NULL;
    stack->dump = *dump;
    stack->dump.size = sizeof stack->dump;
    stack->dump.line = where->line;
    stack->key = where->key;
    stack->is_open = true;
    stack->first_line = stack->last_line = where->line;
    stack->last_us = where->time_us;
    stack->mixed_at = SIZE_MAX;
    for (int by = 0; by < CAIRN_KLOG_TABLES; by++)
        stack->links[by].bucket = UINT32_MAX;
    ring_add_last(&stacks->by_age, &stack->by_age);
    ring_add_last(&stacks->by_use, &stack->by_use);
    stacks->n_open++;
    stacks->n_all++;
    enter(stacks, CAIRN_KLOG_BY_THREAD, stack, thread_bucket_of(stack->key, stack->dump.pid));
    cairn_klog_stacks_move(stacks, stack, CAIRN_KLOG_AT_HEAD, 0);
    return stack;
}

/* A kernel part that is whole is a chain from now on. Without memory fewer are known. */
static void learn_chain(struct cairn_klog_stacks *stacks, const struct cairn_klog_stack *stack)
{
    uint64_t content = 0;
    uint32_t ignored;
    size_t n = 0;
    bool is_whole = stack->mixed_at == SIZE_MAX && !stack->is_doubtful && !stack->dump.is_headless;
    for (; n < stack->n && stack->frames[n].part == CAIRN_KLOG_KERNEL && is_whole; n++) {
        is_whole = !(stack->frames[n].marks & (CAIRN_KLOG_HOLE | CAIRN_KLOG_CUT));
        content = cairn_klog_stacks_content(content, &stack->frames[n]);
    }
    if (!n || !is_whole || !cairn_klog_stacks_ends_chain(stack->frames[n - 1].text) ||
        cairn_table_find(&stacks->known, content, &ignored))
        return;
    content = 0;
    for (size_t i = 0; i < n && stacks->known.n < CAIRN_KLOG_KNOWN_MAX; i++) {
        content = cairn_klog_stacks_content(content, &stack->frames[i]);
        (void)cairn_table_set(&stacks->known, content, 1);
    }
}

void cairn_klog_stacks_close(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack)
{
    if (!stack->is_open)
        return;
    leave(stacks, CAIRN_KLOG_BY_LINE, stack);
    leave(stacks, CAIRN_KLOG_BY_THREAD, stack);
    ring_remove(&stack->by_use);
    if (stack->rival)
        stack->rival->rival = NULL;
    stack->rival = NULL;
    if (stack->dump.kind == CAIRN_KLOG_CAPTURE)
        learn_chain(stacks, stack);
    stack->is_open = false;
    stacks->n_open--;
}

void cairn_klog_stacks_end_thread(struct cairn_klog_stacks *stacks, uint64_t key, int pid)
{
    struct cairn_klog_stack *stack =
                                stacks->buckets[CAIRN_KLOG_BY_THREAD][thread_bucket_of(key, pid)],
                            *next;
    for (; stack; stack = next) {
        next = stack->links[CAIRN_KLOG_BY_THREAD].next;
        /* Whose dump it is may be unknown; then one of these ended, and it is unknown which. */
        if (stack->key != key || stack->dump.pid != pid || stack->dump.is_whose)
            continue;
        cairn_klog_stacks_close(stacks, stack);
    }
}

void cairn_klog_stacks_age(struct cairn_klog_stacks *stacks, const struct cairn_klog_where *now,
                           bool all)
{
    while (stacks->by_use.next != &stacks->by_use) {
        struct cairn_klog_stack *stack = of_use(stacks->by_use.next);
        bool has_times = now && now->time_us != UINT64_MAX && stack->last_us != UINT64_MAX;
        bool stood = all || now->line - stack->last_line > CAIRN_KLOG_STILL_LINES ||
                     (has_times && now->time_us > stack->last_us &&
                      now->time_us - stack->last_us > CAIRN_KLOG_STILL_US);
        if (!stood)
            break;
        cairn_klog_stacks_close(stacks, stack);
    }
}

uint64_t cairn_klog_stacks_content(uint64_t content, const struct cairn_klog_frame *frame)
{
    uint64_t item = frame->va ^ (uint64_t)(uintptr_t)frame->text ^ (uint64_t)frame->part << 62;
    content = (content ^ item) * UINT64_C(0x9e3779b97f4a7c15);
    return content ^ content >> 29;
}

bool cairn_klog_stacks_add(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                           const struct cairn_klog_frame *frame)
{
    if (stack->n >= CAIRN_KLOG_FRAMES_MAX) {
        stack->dump.is_cut_short = 1;
        return true;
    }
    if (cairn_grow((void **)&stack->frames, &stack->cap, stack->n + 1, sizeof *stack->frames) < 0)
        return false;
    stack->frames[stack->n++] = *frame;
    stack->content = cairn_klog_stacks_content(stack->content, frame);
    stacks->counts->n_frames++;
    stacks->counts->n_holes += (frame->marks & CAIRN_KLOG_HOLE) != 0;
    return true;
}

void cairn_klog_stacks_use(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                           const struct cairn_klog_where *where)
{
    stack->last_line = where->line;
    if (where->time_us != UINT64_MAX)
        stack->last_us = where->time_us;
    if (!stack->is_open || stacks->by_use.prev == &stack->by_use)
        return;
    ring_remove(&stack->by_use);
    ring_add_last(&stacks->by_use, &stack->by_use);
}

static int hand_out(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                    struct cairn_err *err)
{
    struct cairn_klog_dump *dump = &stack->dump;
    dump->frames = stack->frames;
    dump->n_frames = stack->n;
    dump->is_mixed = stack->mixed_at != SIZE_MAX;
    if (dump->is_mixed)
        dump->n_frames = stack->mixed_at;
    if (dump->same_as && !dump->n_frames)
        cairn_klog_printed_find(&stacks->printed, stack->same_key, dump);
    if (dump->printed)
        cairn_klog_printed_keep(&stacks->printed, stack->key, dump);
    stacks->counts->n_dumps++;
    stacks->counts->n_mixed += dump->n_others > 0;
    if (!stacks->each || stacks->each(stacks->ctx, dump) == 0)
        return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_IO, "the dumps of the log are not taken any more");
}

int cairn_klog_stacks_hand_out(struct cairn_klog_stacks *stacks, struct cairn_err *err)
{
    int code = CAIRN_OK;
    while (code == CAIRN_OK && stacks->by_age.next != &stacks->by_age) {
        struct cairn_klog_stack *stack = of_age(stacks->by_age.next);
        if (stack->is_open)
            break;
        code = hand_out(stacks, stack, err);
        ring_remove(&stack->by_age);
        ring_add_last(&stacks->spare, &stack->by_age);
        stacks->n_all--;
    }
    return code;
}

struct cairn_klog_stack *cairn_klog_stacks_bucket(const struct cairn_klog_stacks *stacks,
                                                  uint64_t key, enum cairn_klog_phase phase,
                                                  uint32_t next)
{
    return stacks->buckets[CAIRN_KLOG_BY_LINE][bucket_of(key, phase, next)];
}

struct cairn_klog_stack *cairn_klog_stacks_before(const struct cairn_klog_stacks *stacks,
                                                  const struct cairn_klog_stack *stack)
{
    struct cairn_klog_ring *entry = stack ? stack->by_use.prev : stacks->by_use.prev;
    return entry == &stacks->by_use ? NULL : of_use(entry);
}
