/* SPDX-License-Identifier: MIT */
#include "formats/heap_view.h"

#include <stdlib.h>

#include <cairn/frame.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    CHUNK = CAIRN_HEAP_CHUNK,
    ENTRIES = CHUNK / 8, /* of a leaf */
    STACKS = CHUNK / sizeof(struct cairn_heap_stack),
    EPOCHS = CHUNK / sizeof(struct cairn_heap_epoch),
    LARGES = CHUNK / sizeof(struct cairn_heap_large),
    GRANULE_BITS_MAX = 12
};

bool cairn_heap_view_sniff(struct cairn_span head)
{
    return head.size >= sizeof CAIRN_HEAP_MAGIC &&
           memcmp(head.data, CAIRN_HEAP_MAGIC, sizeof CAIRN_HEAP_MAGIC) == 0;
}

static const uint8_t *chunk_at(const struct cairn_heap_view *view, uint32_t chunk)
{
    return view->bytes.data + (size_t)chunk * CHUNK;
}

/* The row of a chunk; the kind of one that is not there is FREE. */
static struct cairn_heap_row row_of(const struct cairn_heap_view *view, uint32_t chunk)
{
    struct cairn_heap_row row = {0};
    uint32_t table = 0, i = chunk;
    size_t off = CAIRN_HEAP_HEADER_BYTES;
    if (chunk >= CAIRN_HEAP_TABLE_AT) {
        i = (chunk - CAIRN_HEAP_TABLE_AT) % CAIRN_HEAP_TABLE_ROWS;
        table = chunk - i;
        off = 0;
    }
    if (chunk < view->n_chunks)
        memcpy(&row, chunk_at(view, table) + off + i * sizeof row, sizeof row);
    return row;
}

static bool parts_put(struct cairn_heap_parts *parts, uint64_t at, uint32_t chunk)
{
    size_t old = parts->cap;
    if (cairn_grow((void **)&parts->chunks, &parts->cap, (size_t)at + 1, sizeof *parts->chunks) < 0)
        return false;
    if (parts->cap > old)
        memset(parts->chunks + old, 0, (parts->cap - old) * sizeof *parts->chunks);
    parts->chunks[at] = chunk;
    if (at >= parts->n)
        parts->n = (size_t)at + 1;
    return true;
}

static struct cairn_heap_parts *parts_of(struct cairn_heap_view *view, unsigned kind)
{
    switch (kind) {
    case CAIRN_HEAP_STACKS:
        return &view->stacks;
    case CAIRN_HEAP_EPOCHS:
        return &view->epochs;
    case CAIRN_HEAP_MODULES:
        return &view->modules;
    case CAIRN_HEAP_LARGE:
        return &view->large;
    default:
        return NULL;
    }
}

static bool index_chunks(struct cairn_heap_view *view)
{
    for (uint32_t i = 1; i < view->n_chunks; i++) {
        const struct cairn_heap_row row = row_of(view, i);
        struct cairn_heap_parts *parts = parts_of(view, row.kind);
        if (row.kind > CAIRN_HEAP_MAPS || (parts && row.arg >= view->n_chunks))
            view->n_damaged++;
        else if (parts && !parts_put(parts, row.arg, i))
            return false;
    }
    return true;
}

/* Element `i` of an array of `per_chunk` elements a chunk. */
static bool element(const struct cairn_heap_view *view, const struct cairn_heap_parts *parts,
                    uint64_t i, size_t per_chunk, void *to, size_t size)
{
    size_t part = (size_t)(i / per_chunk);
    if (part >= parts->n || !parts->chunks[part])
        return false;
    memcpy(to, chunk_at(view, parts->chunks[part]) + (size_t)(i % per_chunk) * size, size);
    return true;
}

static bool index_large(struct cairn_heap_view *view)
{
    uint64_t n = (uint64_t)view->large.n * LARGES;
    struct cairn_heap_large large;
    for (uint64_t i = 0; i < n; i++)
        if (element(view, &view->large, i, LARGES, &large, sizeof large) && large.va &&
            cairn_table_set(&view->large_of, large.va, (uint32_t)i) < 0)
            return false;
    return true;
}

static int check_header(const struct cairn_heap_view *view, struct cairn_err *err)
{
    const struct cairn_heap_header *h = &view->header;
    if (h->version == (CAIRN_HEAP_VERSION << 8 | CAIRN_HEAP_VERSION >> 8))
        return cairn_fail(err, CAIRN_E_FORMAT, "the heap state of a machine of other byte order");
    if (h->version != CAIRN_HEAP_VERSION) {
        cairn_fail(err, CAIRN_E_FORMAT, "a heap state of version %u, expected %d", h->version,
                   CAIRN_HEAP_VERSION);
        cairn_hint(err, "read it with the cairn that its libcairn-heap.so came with");
        return CAIRN_E_FORMAT;
    }
    if (h->word != 4 && h->word != 8)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "a heap state with addresses of %u bytes: its header is damaged",
                          h->word);
    return CAIRN_OK;
}

/* The words of a command, each with a zero behind it, become one text. */
static void one_line(char command[static sizeof((struct cairn_heap_header *)0)->command])
{
    size_t n = sizeof((struct cairn_heap_header *)0)->command;
    command[--n] = '\0';
    while (n && !command[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        command[i] = command[i] ? command[i] : ' ';
}

int cairn_heap_view_open(struct cairn_span bytes, struct cairn_heap_view *ret_view,
                         size_t *ret_size, struct cairn_err *err)
{
    struct cairn_heap_view view = {0};
    if (!cairn_heap_view_sniff(bytes))
        return cairn_fail(err, CAIRN_E_FORMAT, "no heap state: it does not begin with \"%s\"",
                          CAIRN_HEAP_MAGIC);
    if (bytes.size < CHUNK)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "a heap state that is cut off after %zu bytes, within its header",
                          bytes.size);
    memcpy(&view.header, bytes.data, sizeof view.header);
    one_line(view.header.command);
    int result = check_header(&view, err);
    if (result < 0)
        return result;
    view.n_chunks = view.header.n_chunks;
    if (view.n_chunks > bytes.size / CHUNK) {
        view.n_damaged += view.n_chunks - bytes.size / CHUNK;
        view.n_chunks = (uint32_t)(bytes.size / CHUNK);
    }
    if (view.n_chunks == 0)
        view.n_chunks = 1;
    view.bytes = (struct cairn_span){bytes.data, (size_t)view.n_chunks * CHUNK};
    if (!index_chunks(&view) || !index_large(&view)) {
        cairn_heap_view_close(&view);
        return cairn_fail_memory(err);
    }
    size_t room = view.stacks.n * STACKS;
    view.n_stacks = view.header.n_stacks < room ? view.header.n_stacks : (uint32_t)room;
    if (view.n_stacks > CAIRN_HEAP_MAX_STACKS)
        view.n_stacks = CAIRN_HEAP_MAX_STACKS;
    *ret_size = view.bytes.size;
    *ret_view = view;
    return CAIRN_OK;
}

void cairn_heap_view_close(struct cairn_heap_view *view)
{
    struct cairn_heap_parts *const all[] = {&view->stacks, &view->epochs, &view->modules,
                                            &view->large};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cairn_free(all[i]->chunks);
    cairn_table_done(&view->large_of);
    *view = (struct cairn_heap_view){0};
}

bool cairn_heap_view_stack(const struct cairn_heap_view *view, uint32_t stack,
                           struct cairn_heap_stack *ret_stack)
{
    return stack < view->n_stacks &&
           element(view, &view->stacks, stack, STACKS, ret_stack, sizeof *ret_stack);
}

bool cairn_heap_view_record(const struct cairn_heap_view *view, uint32_t stack,
                            struct cairn_heap_record *ret_record)
{
    struct cairn_heap_stack counts;
    struct cairn_heap_record record;
    if (stack == 0 || !cairn_heap_view_stack(view, stack, &counts))
        return false;
    uint64_t chunk = counts.log / CAIRN_HEAP_CHUNK, off = counts.log % CAIRN_HEAP_CHUNK;
    if (chunk == 0 || chunk >= view->n_chunks || off % 8 || off + sizeof record.head > CHUNK)
        return false;
    const struct cairn_heap_row row = row_of(view, (uint32_t)chunk);
    if (row.kind != CAIRN_HEAP_LOG)
        return false;
    const uint8_t *from = chunk_at(view, (uint32_t)chunk) + off;
    memcpy(&record.head, from, sizeof record.head);
    record.rets = from + sizeof record.head;
    if (record.head.n * UINT64_C(8) > CHUNK - off - sizeof record.head ||
        record.head.n + record.head.n_shared > CAIRN_MAX_FRAMES ||
        (record.head.n_shared && (record.head.base == 0 || record.head.base >= stack)))
        return false;
    *ret_record = record;
    return true;
}

uint64_t cairn_heap_record_ret(const struct cairn_heap_record *record, uint32_t i)
{
    uint64_t ret;
    memcpy(&ret, record->rets + (size_t)i * 8, sizeof ret);
    return ret;
}

static bool large_size(const struct cairn_heap_view *view, uint64_t va, uint64_t *ret_size)
{
    uint32_t at;
    struct cairn_heap_large large;
    if (!cairn_table_find(&view->large_of, va, &at) ||
        !element(view, &view->large, at, LARGES, &large, sizeof large))
        return false;
    *ret_size = large.size;
    return true;
}

static void leaf_blocks(struct cairn_heap_view *view, uint32_t chunk,
                        const struct cairn_heap_row *row, cairn_heap_block_fn each, void *ctx)
{
    const uint8_t *entries = chunk_at(view, chunk);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint64_t entry;
        memcpy(&entry, entries + (size_t)i * 8, sizeof entry);
        if (!entry)
            continue;
        struct cairn_heap_block block = {
            .va = cairn_heap_entry_va(entry, row->arg + ((uint64_t)i << row->granule_bits),
                                      row->granule_bits),
            .size = cairn_heap_entry_size(entry),
            .stack = cairn_heap_entry_stack(entry),
            .epoch = cairn_heap_entry_epoch(entry),
            .kind = cairn_heap_entry_kind(entry),
        };
        if (block.kind == CAIRN_HEAP_KIND_NONE || block.stack >= view->n_stacks) {
            view->n_damaged++;
            block.stack = 0;
        }
        if (block.size == CAIRN_HEAP_SIZE_ASIDE && !large_size(view, block.va, &block.size))
            view->n_damaged++;
        each(ctx, &block);
    }
}

/* A leaf's chunk and the first va that it stands for. */
struct leaf {
    uint64_t va;
    uint32_t chunk;
};

static int compare_leaves(const void *x, const void *y)
{
    const struct leaf *a = x, *b = y;
    if (a->va != b->va)
        return a->va < b->va ? -1 : 1;
    return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

int cairn_heap_view_sorted_blocks(struct cairn_heap_view *view, cairn_heap_block_fn each, void *ctx)
{
    struct leaf *leaves = cairn_alloc((size_t)view->n_chunks + 1, sizeof *leaves);
    size_t n = 0;
    if (!leaves)
        return CAIRN_E_NOMEM;
    for (uint32_t i = 1; i < view->n_chunks; i++) {
        const struct cairn_heap_row row = row_of(view, i);
        if (row.kind == CAIRN_HEAP_LEAF && row.granule_bits <= GRANULE_BITS_MAX)
            leaves[n++] = (struct leaf){row.arg, i};
    }
    if (n)
        qsort(leaves, n, sizeof *leaves, compare_leaves);
    for (size_t i = 0; i < n; i++) {
        const struct cairn_heap_row row = row_of(view, leaves[i].chunk);
        leaf_blocks(view, leaves[i].chunk, &row, each, ctx);
    }
    cairn_free(leaves);
    return CAIRN_OK;
}

void cairn_heap_view_blocks(struct cairn_heap_view *view, cairn_heap_block_fn each, void *ctx)
{
    for (uint32_t i = 1; i < view->n_chunks; i++) {
        const struct cairn_heap_row row = row_of(view, i);
        if (row.kind != CAIRN_HEAP_LEAF)
            continue;
        if (row.granule_bits > GRANULE_BITS_MAX)
            view->n_damaged++;
        else
            leaf_blocks(view, i, &row, each, ctx);
    }
}

void cairn_heap_view_maps(struct cairn_heap_view *view, cairn_heap_map_fn each, void *ctx)
{
    for (uint32_t i = 1; i < view->n_chunks; i++) {
        const struct cairn_heap_row row = row_of(view, i);
        if (row.kind != CAIRN_HEAP_MAPS)
            continue;
        for (size_t k = 0; k < CHUNK / sizeof(struct cairn_heap_map); k++) {
            struct cairn_heap_map map;
            memcpy(&map, chunk_at(view, i) + k * sizeof map, sizeof map);
            if (!map.from)
                continue;
            if (map.to > map.from && map.stack < view->n_stacks &&
                map.kind <= CAIRN_HEAP_MAP_ALLOCATOR)
                each(ctx, &map);
            else
                view->n_damaged++;
        }
    }
}

void cairn_heap_view_deltas(struct cairn_heap_view *view, cairn_heap_delta_fn each, void *ctx)
{
    for (uint32_t i = 1; i < view->n_chunks; i++) {
        const struct cairn_heap_row row = row_of(view, i);
        struct cairn_heap_thread thread;
        if (row.kind != CAIRN_HEAP_DELTAS)
            continue;
        size_t n = row.n, room = view->n_chunks - i;
        if (n > room)
            n = room;
        memcpy(&thread, chunk_at(view, i), sizeof thread);
        size_t deltas = (n * CHUNK - (n ? sizeof thread : 0)) / sizeof(struct cairn_heap_delta);
        if (thread.n_deltas > deltas)
            view->n_damaged++;
        else
            deltas = thread.n_deltas;
        const uint8_t *from = chunk_at(view, i) + sizeof thread;
        for (size_t k = 0; k < deltas; k++) {
            struct cairn_heap_delta delta;
            memcpy(&delta, from + k * sizeof delta, sizeof delta);
            if ((uint32_t)delta.key < view->n_stacks)
                each(ctx, &delta);
            else
                view->n_damaged++;
        }
    }
}

bool cairn_heap_view_epoch(const struct cairn_heap_view *view, uint32_t epoch,
                           struct cairn_heap_epoch *ret_epoch)
{
    return element(view, &view->epochs, epoch, EPOCHS, ret_epoch, sizeof *ret_epoch) &&
           ret_epoch->begin_ns;
}

static bool mapping_at(const uint8_t *chunk, size_t off, struct cairn_heap_mapping *ret_mapping)
{
    struct cairn_heap_mapping mapping;
    memcpy(&mapping.head, chunk + off, sizeof mapping.head);
    const struct cairn_heap_module *head = &mapping.head;
    const uint8_t *texts = chunk + off + sizeof *head;
    if (head->bytes < sizeof *head || head->bytes % 8 || head->bytes > CHUNK - off ||
        (uint64_t)head->n_build_id + head->n_path > head->bytes - sizeof *head)
        return false;
    mapping.build_id = (struct cairn_span){texts, head->n_build_id};
    mapping.path = (struct cairn_span){texts + head->n_build_id, head->n_path};
    *ret_mapping = mapping;
    return true;
}

void cairn_heap_view_mappings(struct cairn_heap_view *view, cairn_heap_mapping_fn each, void *ctx)
{
    for (size_t part = 0; part < view->modules.n; part++) {
        struct cairn_heap_mapping mapping;
        uint32_t number = view->modules.chunks[part], bytes;
        for (size_t off = 0; number && off + sizeof mapping.head <= CHUNK; off += bytes) {
            memcpy(&bytes, chunk_at(view, number) + off, sizeof bytes);
            if (bytes == 0)
                break;
            if (!mapping_at(chunk_at(view, number), off, &mapping)) {
                view->n_damaged++;
                break;
            }
            if (mapping.head.from < mapping.head.to)
                each(ctx, &mapping);
            else
                view->n_damaged++;
        }
    }
}
