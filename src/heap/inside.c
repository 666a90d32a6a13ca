/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/inside.h"

#include <string.h>

#include "heap/epoch.h"
#include "rt/pairs.h"

enum {
    ENTRIES = 1 << CAIRN_HEAP_LEAF_BITS,
    LARGES = CAIRN_HEAP_CHUNK / (int)sizeof(struct cairn_heap_large)
};

static uint64_t load(const _Atomic(uint64_t) *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* Behind the end of the file a load is a SIGBUS: so the header is not asked. */
static uint32_t chunks_of(const struct cairn_tracked_state *state)
{
    uint32_t n = atomic_load(&state->n_chunks);
    return n <= state->reserved_bytes >> CAIRN_HEAP_CHUNK_BITS ? n : 1;
}

static bool is_of(const struct cairn_tracked_state *state, uint32_t chunk,
                  enum cairn_heap_chunk_kind kind)
{
    return atomic_load_explicit(&cairn_heap_state_row(state, chunk)->kind, memory_order_acquire) ==
           kind;
}

/* The chunks of a kind, by their `arg`, whose number is the value. */
static bool list_chunks(const struct cairn_tracked_state *state, uint32_t n_chunks,
                        enum cairn_heap_chunk_kind kind, struct cairn_array *ret)
{
    for (uint32_t i = 1; i < n_chunks; i++) {
        if (!is_of(state, i, kind))
            continue;
        struct cairn_pair *pair = cairn_array_add(ret, 1, sizeof(*pair));
        if (!pair)
            return false;
        *pair = (struct cairn_pair){load(&cairn_heap_state_row(state, i)->arg), i};
    }
    cairn_pairs_sort(ret->items, ret->n);
    return true;
}

static void add_delta(const struct cairn_heap_delta *delta, struct cairn_heap_counts *counts)
{
    uint64_t allocs = load(&delta->allocs), frees = load(&delta->frees);
    counts->n_allocs += cairn_heap_counted_blocks(allocs);
    counts->alloc_bytes += cairn_heap_counted_bytes(allocs);
    counts->n_frees += cairn_heap_counted_blocks(frees);
    counts->free_bytes += cairn_heap_counted_bytes(frees);
}

CAIRN_THREAD_BLOCK_ACCESS static void add_thread(const struct cairn_tracked_state *state,
                                                 uint32_t n_chunks, uint32_t first,
                                                 struct cairn_heap_counts *counts)
{
    uint32_t n = cairn_heap_state_row(state, first)->n;
    if (n == 0 || n > n_chunks - first)
        return;
    const struct cairn_heap_thread *thread = cairn_heap_state_at(state, first);
    size_t room = ((size_t)n << CAIRN_HEAP_CHUNK_BITS) - sizeof(*thread);
    uint32_t deltas = thread->n_deltas;
    for (uint32_t i = 0; i < deltas && i < room / sizeof(thread->deltas[0]); i++)
        add_delta(&thread->deltas[i], counts);
}

/* Numbers whose counts there are. */
static uint32_t stacks_of(const struct cairn_tracked_heap *heap)
{
    uint32_t n = atomic_load(&heap->state.header->n_stacks), chunk = 0;
    while (chunk < CAIRN_HEAP_STACK_CHUNKS && atomic_load(&heap->stacks.chunks[chunk]))
        chunk++;
    uint32_t room = chunk * CAIRN_HEAP_STACKS_A_CHUNK;
    return n < room ? n : room;
}

void cairn_heap_inside_count(const struct cairn_tracked_heap *heap,
                             struct cairn_heap_counts *ret_counts)
{
    struct cairn_heap_counts counts = {0};
    uint32_t n_chunks = chunks_of(&heap->state), n_stacks = stacks_of(heap);
    for (uint32_t i = 0; i < n_stacks; i++) {
        const struct cairn_heap_stack *stack = cairn_heap_stacks_at(&heap->stacks, i);
        counts.n_allocs += load(&stack->n_allocs);
        counts.alloc_bytes += load(&stack->alloc_bytes);
        counts.n_frees += load(&stack->n_frees);
        counts.free_bytes += load(&stack->free_bytes);
    }
    for (uint32_t i = 1; i < n_chunks; i++)
        if (is_of(&heap->state, i, CAIRN_HEAP_DELTAS))
            add_thread(&heap->state, n_chunks, i, &counts);
    *ret_counts = counts;
}

/* The sizes that do not fit into their entries, by address. */
static bool list_large(const struct cairn_heap_inside *inside, struct cairn_array *ret)
{
    const struct cairn_tracked_state *state = &inside->heap->state;
    for (uint32_t i = 1; i < inside->n_chunks; i++) {
        const struct cairn_heap_large *large = cairn_heap_state_at(state, i);
        for (int k = 0; is_of(state, i, CAIRN_HEAP_LARGE) && k < LARGES; k++) {
            uint64_t va = load(&large[k].va);
            struct cairn_pair *pair = va ? cairn_array_add(ret, 1, sizeof(*pair)) : NULL;
            if (pair)
                *pair = (struct cairn_pair){va, load(&large[k].size)};
            else if (va)
                return false;
        }
    }
    cairn_pairs_sort(ret->items, ret->n);
    return true;
}

static uint64_t size_of(uint64_t entry, uint64_t va, const struct cairn_array *large)
{
    const struct cairn_pair *pairs = large->items;
    uint32_t size = cairn_heap_entry_size(entry);
    if (size != CAIRN_HEAP_SIZE_ASIDE)
        return size;
    size_t i = cairn_pairs_find(pairs, large->n, va);
    return i < large->n && pairs[i].key == va ? pairs[i].value : size;
}

/* A leaf may be given back meanwhile, and become something else: then nothing of it counts. */
static bool add_leaf(struct cairn_heap_inside *inside, const struct cairn_pair *leaf,
                     const struct cairn_array *large)
{
    const struct cairn_tracked_state *state = &inside->heap->state;
    const struct cairn_heap_row *row = cairn_heap_state_row(state, (uint32_t)leaf->value);
    const _Atomic(uint64_t) *entries = cairn_heap_state_at(state, (uint32_t)leaf->value);
    unsigned bits = row->granule_bits & CAIRN_HEAP_GRANULE_MASK;
    size_t n_before = inside->blocks.n;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint64_t entry = load(&entries[i]);
        if (!entry || cairn_heap_entry_kind(entry) == CAIRN_HEAP_KIND_NONE)
            continue;
        struct cairn_heap_live_block *block = cairn_array_add(&inside->blocks, 1, sizeof(*block));
        if (!block)
            return false;
        uint64_t va = cairn_heap_entry_va(entry, leaf->key + ((uint64_t)i << bits), bits);
        *block = (struct cairn_heap_live_block){va, size_of(entry, va, large),
                                                cairn_heap_entry_stack(entry),
                                                cairn_heap_entry_epoch(entry)};
        bytes += block->size;
    }
    if (is_of(state, (uint32_t)leaf->value, CAIRN_HEAP_LEAF) && load(&row->arg) == leaf->key)
        inside->bytes += bytes;
    else
        inside->blocks.n = n_before;
    return true;
}

static bool list_blocks(struct cairn_heap_inside *inside)
{
    struct cairn_array leaves = {0}, large = {0};
    bool done = list_large(inside, &large) &&
                list_chunks(&inside->heap->state, inside->n_chunks, CAIRN_HEAP_LEAF, &leaves);
    for (size_t i = 0; done && i < leaves.n; i++)
        done = add_leaf(inside, (const struct cairn_pair *)leaves.items + i, &large);
    cairn_array_done(&leaves);
    cairn_array_done(&large);
    return done;
}

/* The records of one chunk. They are only ever appended; what is damaged ends it. */
CAIRN_THREAD_BLOCK_ACCESS static bool add_modules(struct cairn_heap_inside *inside,
                                                  const char *chunk)
{
    struct cairn_heap_module head;
    for (size_t off = 0; off + sizeof(head) <= CAIRN_HEAP_CHUNK; off += head.bytes) {
        memcpy(&head, chunk + off, sizeof(head));
        uint64_t texts = (uint64_t)head.n_build_id + head.n_path;
        if (head.bytes < sizeof(head) || head.bytes % 8 || head.bytes > CAIRN_HEAP_CHUNK - off ||
            texts > head.bytes - sizeof(head))
            break;
        struct cairn_heap_seen *seen = cairn_array_add(&inside->modules, 1, sizeof(*seen));
        if (!seen)
            return false;
        const char *text = chunk + off + sizeof(head);
        *seen = (struct cairn_heap_seen){
            .from = head.from,
            .to = head.to,
            .off = head.off,
            .inode = head.inode,
            .path = text + head.n_build_id,
            .build_id = (const uint8_t *)text,
            .n_path = head.n_path,
            .n_build_id = head.n_build_id,
        };
    }
    return true;
}

static bool list_modules(struct cairn_heap_inside *inside)
{
    struct cairn_array chunks = {0};
    const struct cairn_tracked_state *state = &inside->heap->state;
    bool done = list_chunks(state, inside->n_chunks, CAIRN_HEAP_MODULES, &chunks);
    for (size_t i = 0; done && i < chunks.n; i++) {
        uint32_t chunk = (uint32_t)((const struct cairn_pair *)chunks.items)[i].value;
        done = add_modules(inside, cairn_heap_state_at(state, chunk));
    }
    cairn_array_done(&chunks);
    return done;
}

bool cairn_heap_inside_open(struct cairn_heap_inside *ret_inside, struct cairn_tracked_heap *heap)
{
    struct cairn_heap_inside inside = {.heap = heap, .n_chunks = chunks_of(&heap->state)};
    cairn_heap_state_read_begin(&heap->state);
    bool done = list_blocks(&inside);
    cairn_heap_state_read_end(&heap->state);
    if (!done) {
        cairn_heap_inside_close(&inside);
        return false;
    }
    /* Behind the blocks, so that none has a stack or a mapping that is not there. */
    inside.n_stacks = stacks_of(heap);
    inside.n_chunks = chunks_of(&heap->state);
    if (!list_modules(&inside)) {
        cairn_heap_inside_close(&inside);
        return false;
    }
    *ret_inside = inside;
    return true;
}

void cairn_heap_inside_close(struct cairn_heap_inside *inside)
{
    cairn_array_done(&inside->blocks);
    cairn_array_done(&inside->modules);
}

/* A copy of a stack's record without its own addresses, and where those are; NULL if it makes no
 * sense. */
static const uint64_t *record_of(const struct cairn_heap_inside *inside, uint32_t stack,
                                 struct cairn_heap_log *ret_head)
{
    const struct cairn_tracked_heap *heap = inside->heap;
    if (stack == 0 || stack >= inside->n_stacks)
        return NULL;
    uint64_t at = atomic_load_explicit(&cairn_heap_stacks_at(&heap->stacks, stack)->log,
                                       memory_order_acquire);
    uint64_t chunk = at >> CAIRN_HEAP_CHUNK_BITS, off = at & (CAIRN_HEAP_CHUNK - 1);
    if (chunk == 0 || chunk >= inside->n_chunks || off % 8 ||
        off + sizeof(*ret_head) > CAIRN_HEAP_CHUNK ||
        !is_of(&heap->state, (uint32_t)chunk, CAIRN_HEAP_LOG))
        return NULL;
    const char *log = (const char *)cairn_heap_state_at(&heap->state, (uint32_t)chunk) + off;
    memcpy(ret_head, log, sizeof(*ret_head));
    if (ret_head->n > (CAIRN_HEAP_CHUNK - off - sizeof(*ret_head)) / 8 ||
        ret_head->n + ret_head->n_shared > CAIRN_HEAP_FRAMES ||
        (ret_head->n_shared && ret_head->base >= stack))
        return NULL;
    return (const uint64_t *)(const void *)(log + sizeof(*ret_head));
}

uint32_t cairn_heap_inside_stack(const struct cairn_heap_inside *inside, uint32_t stack,
                                 uint64_t *ret_rets, uint32_t *ret_n_modules)
{
    struct cairn_heap_log head;
    const uint64_t *rets = record_of(inside, stack, &head);
    if (!rets)
        return 0;
    uint32_t n = (uint32_t)head.n_shared + head.n, wanted = n;
    size_t n_modules = inside->modules.n;
    *ret_n_modules = head.n_modules < n_modules ? head.n_modules : (uint32_t)n_modules;
    /* From the innermost part outwards: of each base the first `wanted`. */
    while (rets && wanted <= (uint32_t)head.n_shared + head.n) {
        uint32_t shared = head.n_shared;
        if (wanted > shared)
            memcpy(ret_rets + shared, rets, (wanted - shared) * sizeof(*ret_rets));
        wanted = wanted < shared ? wanted : shared;
        if (wanted == 0)
            return n;
        rets = record_of(inside, stack = head.base, &head);
    }
    return 0;
}

bool cairn_heap_inside_is_caller(const struct cairn_heap_inside *inside, uint32_t stack)
{
    struct cairn_heap_log head;
    return record_of(inside, stack, &head) && (head.flags & CAIRN_HEAP_LOG_CALLER);
}

uint32_t cairn_heap_inside_module(const struct cairn_heap_inside *inside, uint32_t n, uint64_t va)
{
    const struct cairn_heap_seen *modules = inside->modules.items;
    for (uint32_t i = n; i-- > 0;)
        if (va >= modules[i].from && va < modules[i].to)
            return i;
    return n;
}

uint64_t cairn_heap_inside_age_ns(const struct cairn_heap_inside *inside, uint32_t epoch)
{
    const struct cairn_heap_epoch *chunk =
        atomic_load(&inside->heap->epochs[epoch / CAIRN_HEAP_EPOCHS_A_CHUNK]);
    uint64_t begin_ns = chunk ? load(&chunk[epoch % CAIRN_HEAP_EPOCHS_A_CHUNK].begin_ns) : 0;
    uint64_t now_ns = cairn_heap_epoch_now_ns();
    return begin_ns && now_ns > begin_ns ? now_ns - begin_ns : 0;
}
