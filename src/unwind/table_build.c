/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * From CFI to a table. All entries are noted and sorted by where they begin; then they are read
 * again and their programs run in that order, and every row is written to its place at once.
 * Nothing is sorted but one note an entry, and that only where the linker did not.
 *
 *     work:  | header | pages | rules ... | low ... | side ... | writer | notes, twice | blocks |
 *     image: | header | blocks, pages | rules | low | side |      moved together at the end
 *
 * Entries of one section may overlap in a damaged file: one ends where the next one begins, which
 * is also how .eh_frame_hdr sees them. Functions that this library knows come first. Where
 * .eh_frame says nothing, .debug_frame is asked, then .ARM.exidx.
 */
#include "unwind/exidx.h"
#include "unwind/table_writer.h"

enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, MAX_LAYERS = 4 };

/* What is kept of an FDE: where it begins in the text, and where it lies in its section. */
struct note {
    uint32_t at, off;
};

/* One section. Its entries are taken from the first to the last, once. */
struct layer {
    const struct cairn_cfi *cfi; /* NULL: the layer is exidx */
    enum cairn_unwind_table_source source;
    const struct note *notes; /* by `at` */
    size_t n, next;
    bool have;         /* entry `next` was looked at: */
    uint64_t from, to; /* vaddrs; `to` is where the next one begins, or before */
    struct cairn_cfi_entry entry;
    struct cairn_cfi_iter iter;
};

struct build {
    const struct cairn_unwind_table_input *input;
    struct note *notes, *spare;
    size_t n_notes;   /* that there is room for, twice */
    uint32_t *blocks; /* room for those of all pages */
    struct cairn_unwind_table_writer w;
    unsigned n_layers;
    struct layer layers[MAX_LAYERS];
    uint64_t from, to; /* vaddrs: of all entries */
    uint32_t counts[RADIX];
};

/* What the sections can give at most. */
struct bounds {
    uint64_t n_notes, n_side, n_rows, n_pages;
};

/* No more than the sizes can hold. An entry has at least 10 bytes before its program; a row needs
 * an instruction that moves on and one that changes something, of a byte each, but for the first
 * one of an entry, the gap behind it, and rows of .debug_frame that one of .eh_frame cuts in two.
 */
static enum cairn_unwind_table_end measure(const struct cairn_unwind_table_input *input,
                                           struct bounds *ret_bounds)
{
    const uint64_t limit = UINT32_MAX;
    uint64_t eh = input->eh_frame ? input->eh_frame->bytes.size : 0;
    uint64_t debug = input->debug_frame ? input->debug_frame->bytes.size : 0;
    debug += input->known ? input->known->bytes.size : 0;
    uint64_t n_exidx = input->exidx ? cairn_exidx_count(input->exidx) : 0;
    struct bounds bounds = {0};
    if (input->text_from >= input->text_to || !(eh | debug | n_exidx))
        return CAIRN_TABLE_NOTHING;
    if (eh > limit || debug > limit || n_exidx > limit ||
        input->text_to - input->text_from > limit - CAIRN_TABLE_PAGE)
        return CAIRN_TABLE_TOO_BIG;
    bounds.n_notes = (eh + debug) / 10 + 1;
    bounds.n_side = bounds.n_notes + n_exidx;
    bounds.n_rows = (eh + debug) / 4 * 3 + 2 * n_exidx + 8;
    bounds.n_pages = (input->text_to - input->text_from) / CAIRN_TABLE_PAGE + 2;
    if (bounds.n_rows > limit)
        return CAIRN_TABLE_TOO_BIG;
    *ret_bounds = bounds;
    return CAIRN_TABLE_OK;
}

static struct cairn_unwind_table_layout widest(const struct bounds *bounds)
{
    return cairn_unwind_table_layout((struct cairn_unwind_table_counts){
        .n_kept = (uint32_t)bounds->n_pages,
        .n_rows = (uint32_t)bounds->n_rows,
        .n_side = (uint32_t)bounds->n_side,
    });
}

static uint64_t work_of(const struct bounds *bounds)
{
    uint64_t n_blocks = cairn_unwind_table_blocks((uint32_t)bounds->n_pages);
    return widest(bounds).end + sizeof(struct build) + bounds->n_notes * 2 * sizeof(struct note) +
           n_blocks * sizeof(uint32_t);
}

enum cairn_unwind_table_end cairn_unwind_table_measure(const struct cairn_unwind_table_input *input,
                                                       uint64_t *ret_work_bytes)
{
    struct bounds bounds;
    enum cairn_unwind_table_end end = measure(input, &bounds);
    if (end == CAIRN_TABLE_OK)
        *ret_work_bytes = work_of(&bounds);
    return end;
}

/* By digits of 11 bits from the lowest on; of equal ones the order stays. */
static void sort_notes(struct note *notes, struct note *spare, size_t n, uint32_t counts[])
{
    struct note *from = notes, *to = spare;
    bool sorted = true;
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++) {
        sorted &= !i || notes[i - 1].at <= notes[i].at;
        all |= notes[i].at;
    }
    for (unsigned shift = 0; !sorted && shift < 32 && all >> shift; shift += RADIX_BITS) {
        uint32_t sum = 0;
        memset(counts, 0, RADIX * sizeof *counts);
        for (size_t i = 0; i < n; i++)
            counts[from[i].at >> shift & (RADIX - 1)]++;
        for (unsigned i = 0; i < RADIX; i++) {
            uint32_t here = counts[i];
            counts[i] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++)
            to[counts[from[i].at >> shift & (RADIX - 1)]++] = from[i];
        struct note *done = to;
        to = from;
        from = done;
    }
    if (from != notes)
        memcpy(notes, from, n * sizeof *notes);
}

/* Notes the entries of a section that begin inside of the text, behind those of the section before.
 */
static void note_section(struct build *b, const struct cairn_cfi *cfi,
                         enum cairn_unwind_table_source source,
                         struct cairn_unwind_table_built *built)
{
    const uint64_t text_from = b->input->text_from, text_to = b->input->text_to;
    struct note *notes = b->notes + built->n_fdes;
    size_t room = b->n_notes - built->n_fdes, n = 0;
    struct layer *layer = &b->layers[b->n_layers];
    struct cairn_cfi_entry e;
    *layer = (struct layer){.cfi = cfi, .source = source, .notes = notes, .iter = {.cfi = cfi}};
    while (cfi && n < room && cairn_cfi_next_entry(&layer->iter, &e)) {
        if (e.from < text_from || e.from >= text_to)
            continue;
        b->to = e.to > b->to ? e.to : b->to;
        notes[n++] = (struct note){(uint32_t)(e.from - text_from), (uint32_t)e.off};
    }
    built->n_damaged += (uint32_t)layer->iter.n_damaged;
    built->n_fdes += (uint32_t)n;
    if (!n)
        return;
    sort_notes(notes, b->spare, n, b->counts);
    b->from = text_from + notes[0].at < b->from ? text_from + notes[0].at : b->from;
    layer->n = n;
    b->n_layers++;
}

static void note_exidx(struct build *b)
{
    const struct cairn_unwind_table_input *input = b->input;
    size_t n = input->exidx ? cairn_exidx_count(input->exidx) : 0;
    if (!n)
        return;
    uint64_t first = cairn_exidx_start(input->exidx, 0);
    first = first > input->text_from ? first : input->text_from;
    b->layers[b->n_layers++] = (struct layer){.source = CAIRN_TABLE_EXIDX, .n = n};
    b->from = first < b->from ? first : b->from;
    b->to = input->text_to; /* the last entry has no end */
}

/* Where entry `i` of a section begins; behind the last one: where the text ends. */
static uint64_t start_of(const struct build *b, const struct layer *layer, size_t i)
{
    if (i >= layer->n)
        return b->to;
    return layer->cfi ? b->input->text_from + layer->notes[i].at
                      : cairn_exidx_start(b->input->exidx, i);
}

/* Reads the next entry again. What it lies in may be written to meanwhile: then it has no text. */
static void read_next(struct layer *layer)
{
    enum { AHEAD = 4 };
    uint64_t off = layer->notes[layer->next].off;
    if (layer->next + AHEAD < layer->n)
        __builtin_prefetch(layer->cfi->bytes.data + layer->notes[layer->next + AHEAD].off);
    layer->iter.off = off;
    bool is_same = cairn_cfi_next_entry(&layer->iter, &layer->entry) && layer->entry.off == off &&
                   layer->entry.from == layer->from;
    if (!is_same)
        layer->to = layer->from;
    else if (layer->entry.to < layer->to)
        layer->to = layer->entry.to;
}

static void look_at_next(const struct build *b, struct layer *layer)
{
    if (layer->have)
        return;
    layer->have = true;
    layer->from = start_of(b, layer, layer->next);
    layer->to = start_of(b, layer, layer->next + 1);
    if (layer->cfi)
        read_next(layer);
}

/* The first entry that ends behind `at`; false: none does. */
static bool find_next(const struct build *b, struct layer *layer, uint64_t at)
{
    for (; layer->next < layer->n; layer->next++, layer->have = false) {
        look_at_next(b, layer);
        if (layer->to > at)
            return true;
    }
    return false;
}

/* Writes layer->next for [w.from, w.to). */
static void write_next(struct build *b, const struct layer *layer)
{
    if (layer->cfi)
        cairn_unwind_table_write_fde(&b->w, layer->cfi, layer->source, &layer->entry);
    else
        cairn_unwind_table_write_exidx(&b->w, b->input->exidx, layer->next);
}

/* Writes [from, to) by the first section of those from `k` on that speaks of it. */
static void fill(struct build *b, unsigned k, uint64_t from, uint64_t to)
{
    struct layer *layer = &b->layers[k];
    if (k == b->n_layers) {
        cairn_unwind_table_put(&b->w, from, CAIRN_RULE_NONE);
        return;
    }
    while (from < to && find_next(b, layer, from) && layer->from < to) {
        if (layer->from > from)
            fill(b, k + 1, from, layer->from);
        b->w.from = layer->from > from ? layer->from : from;
        b->w.to = layer->to < to ? layer->to : to;
        from = b->w.to;
        if (b->w.from < b->w.to) /* two may begin at one place */
            write_next(b, layer);
    }
    if (from < to)
        fill(b, k + 1, from, to);
}

/* What blocks[] says, where that takes less than three quarters of all pages; n_blocks 0: it does
 * not. The pages that are kept are moved to the front. */
static struct cairn_unwind_table_counts leave_out_pages(const struct build *b)
{
    const struct cairn_unwind_table_writer *w = &b->w;
    uint32_t n_pages = w->cap_pages, n_blocks = cairn_unwind_table_blocks(n_pages), n_kept = 0;
    struct cairn_unwind_table_counts all = {0, n_pages, w->n_rows, w->n_side};
    if (w->n_rows >= CAIRN_TABLE_EMPTY)
        return all;
    for (uint32_t k = 0, page = 0; k < n_blocks; k++, page += CAIRN_TABLE_BLOCK) {
        uint32_t end = n_pages - page < CAIRN_TABLE_BLOCK ? n_pages : page + CAIRN_TABLE_BLOCK;
        bool is_empty = w->pages[page] == w->pages[end];
        b->blocks[k] = is_empty ? CAIRN_TABLE_EMPTY | w->pages[page] : n_kept;
        n_kept += is_empty ? 0 : end - page;
    }
    if ((uint64_t)n_blocks + n_kept >= (uint64_t)n_pages / 4 * 3)
        return all;
    for (uint32_t k = 0; k < n_blocks; k++) {
        uint32_t page = k * CAIRN_TABLE_BLOCK, left = n_pages - page;
        if (!(b->blocks[k] & CAIRN_TABLE_EMPTY))
            memmove(w->pages + b->blocks[k], w->pages + page,
                    (left < CAIRN_TABLE_BLOCK ? left : CAIRN_TABLE_BLOCK) * sizeof *w->pages);
    }
    w->pages[n_kept] = w->n_rows;
    return (struct cairn_unwind_table_counts){n_blocks, n_kept, w->n_rows, w->n_side};
}

/* Every part to its place behind the one before, and the header. */
static struct cairn_span finish(const struct build *b, uint8_t *work)
{
    const struct cairn_unwind_table_writer *w = &b->w;
    for (uint32_t i = w->n_pages; i <= w->cap_pages; i++)
        w->pages[i] = w->n_rows;
    struct cairn_unwind_table_counts n = leave_out_pages(b);
    struct cairn_unwind_table_layout l = cairn_unwind_table_layout(n);
    struct cairn_unwind_table_header h = {
        .magic = CAIRN_TABLE_MAGIC,
        .version = CAIRN_TABLE_VERSION,
        .machine = b->input->arch->machine,
        .base = w->base,
        .from = b->from,
        .to = b->to,
        .bytes = l.end,
        .n_pages = w->cap_pages,
        .n_rows = w->n_rows,
        .n_side = w->n_side,
        .order = CAIRN_TABLE_ORDER,
        .n_blocks = n.n_blocks,
        .n_kept = n.n_kept,
    };
    if (n.n_blocks) { /* else all of that lies where it was written */
        memmove(work + l.pages, w->pages, ((size_t)n.n_kept + 1) * sizeof *w->pages);
        memcpy(work + l.blocks, b->blocks, n.n_blocks * sizeof *b->blocks);
        memmove(work + l.rules, w->rules, w->n_rows * sizeof *w->rules);
    }
    memmove(work + l.low, w->low, w->n_rows);
    memset(work + l.low + w->n_rows, 0, (size_t)(l.side - l.low) - w->n_rows);
    memmove(work + l.side, w->side, w->n_side * sizeof *w->side);
    memcpy(work, &h, sizeof h);
    return (struct cairn_span){work, (size_t)l.end};
}

static void start_writer(struct build *b, const struct bounds *bounds, uint8_t *work)
{
    struct cairn_unwind_table_writer *w = &b->w;
    uint64_t base = b->from & ~(uint64_t)(CAIRN_TABLE_PAGE - 1);
    uint32_t n_pages = (uint32_t)((b->to - 1 - base) / CAIRN_TABLE_PAGE + 1);
    struct cairn_unwind_table_layout l =
        cairn_unwind_table_layout((struct cairn_unwind_table_counts){
            0, n_pages, (uint32_t)bounds->n_rows, (uint32_t)bounds->n_side});
    void *pages = work + l.pages, *rules = work + l.rules, *side = work + l.side;
    cairn_unwind_table_start(w, b->input->arch);
    w->base = base;
    w->pages = pages;
    w->rules = rules;
    w->low = work + l.low;
    w->side = side;
    w->cap_pages = n_pages;
    w->cap_rows = (uint32_t)bounds->n_rows;
    w->cap_side = (uint32_t)bounds->n_side;
}

static void start_build(struct build *b, const struct cairn_unwind_table_input *input,
                        const struct bounds *bounds)
{
    void *notes = b + 1;
    b->input = input;
    b->n_notes = (size_t)bounds->n_notes;
    b->notes = notes;
    b->spare = b->notes + b->n_notes;
    void *blocks = b->spare + b->n_notes;
    b->blocks = blocks;
    b->n_layers = 0;
    b->from = UINT64_MAX;
    b->to = 0;
}

enum cairn_unwind_table_end cairn_unwind_table_build(const struct cairn_unwind_table_input *input,
                                                     void *work, uint64_t work_bytes,
                                                     struct cairn_unwind_table_built *ret_built)
{
    struct bounds bounds;
    enum cairn_unwind_table_end end = measure(input, &bounds);
    if (end != CAIRN_TABLE_OK)
        return end;
    if (work_bytes < work_of(&bounds))
        return CAIRN_TABLE_NO_ROOM;
    uint8_t *bytes = work;
    void *place = bytes + widest(&bounds).end;
    struct build *b = place;
    struct cairn_unwind_table_built built = {0};
    start_build(b, input, &bounds);
    note_section(b, input->known, CAIRN_TABLE_KNOWN, &built);
    note_section(b, input->eh_frame, CAIRN_TABLE_EH_FRAME, &built);
    note_section(b, input->debug_frame, CAIRN_TABLE_DEBUG_FRAME, &built);
    note_exidx(b);
    b->to = b->to < input->text_to ? b->to : input->text_to;
    if (b->from >= b->to)
        return CAIRN_TABLE_NOTHING;
    start_writer(b, &bounds, bytes);
    fill(b, 0, b->w.base, b->to);
    if (b->to < b->w.base + (uint64_t)b->w.cap_pages * CAIRN_TABLE_PAGE)
        cairn_unwind_table_put(&b->w, b->to, CAIRN_RULE_NONE);
    if (b->w.full)
        return CAIRN_TABLE_NO_ROOM;
    built.image = finish(b, bytes);
    *ret_built = built;
    return CAIRN_TABLE_OK;
}
