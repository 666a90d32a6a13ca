/* SPDX-License-Identifier: MIT */
/* The bound on memory: what is held, and what goes first. */
#include "base/log.h"
#include "symbol/symbolizer.h"

enum { RELOADS_TOLD = 1000 };

static size_t bytes_of_names(const struct cairn_symbolizer *s)
{
    return s->demangler.mangled.arena.used_bytes + s->demangler.plain.arena.used_bytes +
           s->demangler.cap * sizeof *s->demangler.plain_of;
}

static size_t bytes_held(const struct cairn_symbolizer *s)
{
    size_t bytes = bytes_of_names(s);
    for (size_t i = 0; i < s->n; i++)
        bytes += cairn_module_bytes(&s->entries[i]->module);
    return bytes;
}

/* The loaded module that was not used for longest, but not the one in use. */
static struct cairn_symbolizer_entry *find_oldest(const struct cairn_symbolizer *s)
{
    struct cairn_symbolizer_entry *oldest = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct cairn_symbolizer_entry *e = s->entries[i];
        if (e->module.loaded && e->kind < CAIRN_ASKED_BYTES && e->module.used != s->now &&
            (!oldest || e->module.used < oldest->module.used))
            oldest = e;
    }
    return oldest;
}

/* Frees the unit table that was not used for longest in any module. False: there is none. */
static bool drop_oldest_table(const struct cairn_symbolizer *s)
{
    struct cairn_module *from = NULL;
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < s->n; i++) {
        struct cairn_module *m = &s->entries[i]->module;
        uint64_t used = cairn_module_oldest_table(m, s->now);
        if (used < oldest) {
            oldest = used;
            from = m;
        }
    }
    return from && cairn_module_drop_oldest(from, s->now);
}

/* A bound that is too small for what is asked costs time without end; whoever set it should know.
 */
static void count_reload(struct cairn_symbolizer *s)
{
    if (++s->n_reloads != RELOADS_TOLD)
        return;
    cairn_log(CAIRN_LOG_WARNING,
              "the bound of %zu bytes is too small for these modules: contents were dropped and "
              "read again %d times; a larger one is faster",
              s->memory_bytes, RELOADS_TOLD);
}

/* What the last answer pointed to may go now. First what is cheap to read again:
 * unit tables and discriminators; then whole modules, whose sections and symbols must be unpacked
 * and sorted; then the demangled names. Least recently used ones first. */
void cairn_symbolizer_keep_bound(struct cairn_symbolizer *s)
{
    struct cairn_symbolizer_entry *oldest;
    while (bytes_held(s) > s->memory_bytes && drop_oldest_table(s))
        ;
    if (bytes_held(s) > s->memory_bytes)
        for (size_t i = 0; i < s->n; i++)
            cairn_module_drop_discriminators(&s->entries[i]->module);
    while (bytes_held(s) > s->memory_bytes && (oldest = find_oldest(s)) != NULL) {
        cairn_module_unload(&oldest->module);
        count_reload(s);
    }
    if (bytes_held(s) <= s->memory_bytes || bytes_of_names(s) <= s->memory_bytes / 8)
        return;
    for (size_t i = 0; i < s->n; i++)
        cairn_module_forget_names(&s->entries[i]->module);
    enum cairn_names names = s->demangler.names;
    cairn_demangler_done(&s->demangler);
    s->demangler = (struct cairn_demangler){.names = names};
}
