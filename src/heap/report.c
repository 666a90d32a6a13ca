/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/report.h"

#include <errno.h>
#include <string.h>

#include "heap/names.h"
#include "rt/pages.h"

/* A stack that live blocks have. */
struct shown {
    size_t first;      /* of its places, innermost first */
    uint32_t n;        /* of them */
    bool is_known;     /* the two above are */
    bool is_caller;    /* no stack was taken: its frame names the library, and is no backtrace */
    size_t from, size; /* its text; size 0: not made yet */
};

struct report {
    const struct cairn_heap_inside *inside;
    struct cairn_heap_names names;
    struct cairn_array shown;  /* by the stacks' numbers */
    struct cairn_array places; /* uint32_t */
    struct cairn_heap_out texts, *out;
    enum cairn_heap_report_form form;
};

static struct shown *shown_of(const struct report *r, uint32_t stack)
{
    return (struct shown *)r->shown.items + (stack < r->shown.n ? stack : 0);
}

static const struct cairn_heap_seen *module_of(const struct report *r,
                                               const struct cairn_tracked_place *place)
{
    if (place->module >= r->inside->modules.n)
        return NULL;
    return (const struct cairn_heap_seen *)r->inside->modules.items + place->module;
}

/* The i-th frame of a stack, from the innermost. */
static const struct cairn_tracked_place *place_of(const struct report *r, const struct shown *shown,
                                                  uint32_t i)
{
    return cairn_heap_names_place(&r->names, ((const uint32_t *)r->places.items)[shown->first + i]);
}

/* Notes the places of a stack, once. False: no memory. */
static bool take_stack(struct report *r, uint32_t stack)
{
    uint64_t rets[CAIRN_HEAP_FRAMES];
    uint32_t n_modules = 0;
    struct shown *shown = shown_of(r, stack);
    if (shown->is_known)
        return true;
    uint32_t n = cairn_heap_inside_stack(r->inside, stack, rets, &n_modules);
    *shown = (struct shown){.first = r->places.n,
                            .n = n,
                            .is_known = true,
                            .is_caller = cairn_heap_inside_is_caller(r->inside, stack)};
    uint32_t *places = n ? cairn_array_add(&r->places, n, sizeof(*places)) : NULL;
    if (n && !places)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t ret = rets[n - 1 - i];
        /* A return address may be the first one behind its module. */
        uint32_t module = cairn_heap_inside_module(r->inside, n_modules, ret - 1);
        places[i] = cairn_heap_names_note(&r->names, ret,
                                          module < n_modules ? module : CAIRN_HEAP_NO_MODULE);
        if (places[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static const char *base_of(const struct cairn_heap_seen *module, size_t *ret_n)
{
    const char *slash = module->n_path ? memrchr(module->path, '/', module->n_path) : NULL;
    const char *base = slash ? slash + 1 : module->path;
    *ret_n = (size_t)(module->path + module->n_path - base);
    return base;
}

static void put_base(struct cairn_heap_out *out, const struct cairn_heap_seen *module)
{
    size_t n = 0;
    const char *base = module ? base_of(module, &n) : NULL;
    if (n)
        cairn_heap_out_name(out, base, n);
    else
        cairn_heap_out_str(out, "unknown");
}

static void put_text_frame(struct report *r, uint32_t i, const struct cairn_tracked_place *place)
{
    struct cairn_heap_out *out = &r->texts;
    const struct cairn_heap_seen *module = module_of(r, place);
    const char *name = cairn_heap_names_text(&r->names, place);
    cairn_heap_out_str(out, "    #");
    cairn_heap_out_decimal(out, i);
    cairn_heap_out_str(out, ": ");
    cairn_heap_out_hex(out, place->ret);
    if (module && module->n_path) {
        cairn_heap_out_str(out, " ");
        put_base(out, module);
        cairn_heap_out_str(out, "+");
        cairn_heap_out_hex(out,
                           place->has_rel ? place->rel : place->ret - module->from + module->off);
    }
    if (*name) {
        cairn_heap_out_str(out, " (");
        cairn_heap_out_name(out, name, strlen(name));
        cairn_heap_out_str(out, ")");
    }
    cairn_heap_out_str(out, "\n");
}

static void put_build_id(struct cairn_heap_out *out, const struct cairn_heap_seen *module)
{
    cairn_heap_out_str(out, ", \"build_id\": \"");
    for (uint32_t i = 0; i < module->n_build_id; i++) {
        unsigned c = module->build_id[i];
        const char hex[] = {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
        cairn_heap_out_bytes(out, hex, sizeof(hex));
    }
    cairn_heap_out_str(out, "\"");
}

static void put_json_frame(struct report *r, uint32_t i, const struct cairn_tracked_place *place)
{
    struct cairn_heap_out *out = &r->texts;
    const struct cairn_heap_seen *module = module_of(r, place);
    const char *name = cairn_heap_names_text(&r->names, place);
    cairn_heap_out_str(out, i ? ", {\"address\": \"" : "{\"address\": \"");
    cairn_heap_out_hex(out, place->ret);
    cairn_heap_out_str(out, "\"");
    if (module && module->n_path) {
        cairn_heap_out_str(out, ", \"module\": ");
        cairn_heap_out_json(out, module->path, module->n_path);
        cairn_heap_out_str(out, ", \"offset\": \"");
        cairn_heap_out_hex(out,
                           place->has_rel ? place->rel : place->ret - module->from + module->off);
        cairn_heap_out_str(out, "\"");
        if (module->n_build_id)
            put_build_id(out, module);
    }
    if (*name) {
        cairn_heap_out_str(out, ", \"function\": ");
        cairn_heap_out_json(out, name, strlen(name));
    }
    cairn_heap_out_str(out, "}");
}

/* What a stack's blocks all have below their lines, made once. */
static void put_stack(struct report *r, struct shown *shown)
{
    struct cairn_heap_out *texts = &r->texts;
    if (shown->size == 0) {
        shown->from = texts->text.n;
        if (r->form == CAIRN_HEAP_REPORT_TEXT) {
            cairn_heap_out_str(texts, "  Backtrace (");
            cairn_heap_out_decimal(texts, shown->n);
            cairn_heap_out_str(texts, " frames):\n");
        }
        for (uint32_t i = 0; i < shown->n; i++) {
            if (r->form == CAIRN_HEAP_REPORT_TEXT)
                put_text_frame(r, i, place_of(r, shown, i));
            else
                put_json_frame(r, i, place_of(r, shown, i));
        }
        shown->size = texts->text.n - shown->from;
    }
    if (texts->failed)
        r->out->failed = texts->failed;
    else
        cairn_heap_out_bytes(r->out, (const char *)texts->text.items + shown->from, shown->size);
}

static const struct cairn_heap_seen *innermost_module(const struct report *r,
                                                      const struct shown *shown)
{
    return shown->n ? module_of(r, place_of(r, shown, 0)) : NULL;
}

static void put_text_block(struct report *r, size_t i, const struct cairn_heap_live_block *block)
{
    struct shown *shown = shown_of(r, block->stack);
    cairn_heap_out_str(r->out, "Leak #");
    cairn_heap_out_decimal(r->out, i + 1);
    cairn_heap_out_str(r->out, ": ptr=");
    cairn_heap_out_hex(r->out, block->va);
    cairn_heap_out_str(r->out, ", size=");
    cairn_heap_out_decimal(r->out, block->size);
    cairn_heap_out_str(r->out, ", so=");
    put_base(r->out, innermost_module(r, shown));
    cairn_heap_out_str(r->out, "\n");
    if (shown->n && !shown->is_caller)
        put_stack(r, shown);
    cairn_heap_out_str(r->out, "\n");
}

static void put_json_block(struct report *r, size_t i, const struct cairn_heap_live_block *block)
{
    struct shown *shown = shown_of(r, block->stack);
    cairn_heap_out_str(r->out, i ? ",\n{\"ptr\": \"" : "\n{\"ptr\": \"");
    cairn_heap_out_hex(r->out, block->va);
    cairn_heap_out_str(r->out, "\", \"size\": ");
    cairn_heap_out_decimal(r->out, block->size);
    cairn_heap_out_str(r->out, ", \"age_ms\": ");
    cairn_heap_out_decimal(r->out,
                           cairn_heap_inside_age_ns(r->inside, block->epoch) / (1000 * 1000));
    cairn_heap_out_str(r->out, ", \"so\": \"");
    put_base(r->out, innermost_module(r, shown));
    cairn_heap_out_str(r->out, "\", \"frames\": [");
    if (shown->n && !shown->is_caller)
        put_stack(r, shown);
    cairn_heap_out_str(r->out, "]}");
}

static void put_count(struct report *r, const char *text, uint64_t n, uint64_t bytes)
{
    const char *const *words =
        r->form == CAIRN_HEAP_REPORT_TEXT
            ? (const char *const[]){"", ": ", " (", " bytes)\n"}
            : (const char *const[]){"\"", "\": {\"blocks\": ", ", \"bytes\": ", "},\n"};
    cairn_heap_out_str(r->out, words[0]);
    cairn_heap_out_str(r->out, text);
    cairn_heap_out_str(r->out, words[1]);
    cairn_heap_out_decimal(r->out, n);
    cairn_heap_out_str(r->out, words[2]);
    cairn_heap_out_decimal(r->out, bytes);
    cairn_heap_out_str(r->out, words[3]);
}

static void put_all(struct report *r, const struct cairn_heap_counts *counts)
{
    bool is_text = r->form == CAIRN_HEAP_REPORT_TEXT;
    const struct cairn_heap_live_block *blocks = r->inside->blocks.items;
    size_t n = r->inside->blocks.n;
    cairn_heap_out_str(r->out, is_text ? "=== Memory Leak Report ===\n" : "{");
    put_count(r, is_text ? "Total Allocations" : "allocations", counts->n_allocs,
              counts->alloc_bytes);
    put_count(r, is_text ? "Total Frees" : "frees", counts->n_frees, counts->free_bytes);
    put_count(r, is_text ? "Current Leaks" : "live", n, r->inside->bytes);
    cairn_heap_out_str(r->out, is_text ? "\n" : "\"leaks\": [");
    if (is_text && n == 0)
        cairn_heap_out_str(r->out, "No memory leaks detected.\n");
    for (size_t i = 0; i < n && !r->out->failed; i++) {
        if (is_text)
            put_text_block(r, i, &blocks[i]);
        else
            put_json_block(r, i, &blocks[i]);
    }
    if (!is_text)
        cairn_heap_out_str(r->out, "]}\n");
}

static bool take_stacks(struct report *r)
{
    const struct cairn_heap_live_block *blocks = r->inside->blocks.items;
    size_t n = r->inside->n_stacks ? r->inside->n_stacks : 1;
    if (!cairn_array_add(&r->shown, n, sizeof(struct shown)))
        return false;
    for (size_t i = 0; i < r->inside->blocks.n; i++)
        if (!take_stack(r, blocks[i].stack))
            return false;
    cairn_heap_names_find(&r->names, r->inside);
    return true;
}

/* Drops the blocks of earlier epochs. */
static void keep_since(struct cairn_heap_inside *inside, uint32_t since)
{
    struct cairn_heap_live_block *blocks = inside->blocks.items;
    size_t n = 0;
    inside->bytes = 0;
    for (size_t i = 0; i < inside->blocks.n; i++)
        if (blocks[i].epoch >= since) {
            blocks[n] = blocks[i];
            inside->bytes += blocks[n++].size;
        }
    inside->blocks.n = n;
}

void cairn_heap_report(struct cairn_tracked_heap *heap, enum cairn_heap_report_form form,
                       const struct cairn_heap_counts *counts, uint32_t since,
                       struct cairn_heap_out *out)
{
    struct cairn_heap_inside inside;
    struct report report = {.inside = &inside, .texts = {.fd = -1}, .out = out, .form = form};
    if (!cairn_heap_inside_open(&inside, heap)) {
        out->failed = ENOMEM;
        return;
    }
    if (since)
        keep_since(&inside, since);
    if (take_stacks(&report))
        put_all(&report, counts);
    else
        out->failed = ENOMEM;
    cairn_array_done(&report.shown);
    cairn_array_done(&report.places);
    cairn_heap_out_done(&report.texts);
    cairn_heap_names_done(&report.names);
    cairn_heap_inside_close(&inside);
}
