/* SPDX-License-Identifier: MIT */
/*
 * The index of a module: all that look-ups need of its debug information and symbols, in one image
 * that is the same in memory and in a file (docs/formats/index.md). It is queried in place.
 *
 *     records    address ─► node, file, line          nodes     ─► function, caller, call site
 *     symbols    address ─► name, suffix, source      functions ─► names, declared line
 *     texts, paths
 */
#ifndef CAIRN_SYMBOL_INDEX_H
#define CAIRN_SYMBOL_INDEX_H

#include "symbol/index_columns.h"
#include "symbol/index_strings.h"

struct cairn_module;
struct cairn_index_function;
struct cairn_index_node;

/* Changes with the layout and with what the builder puts in: an image of another version is made
 * anew. */
enum { CAIRN_INDEX_VERSION = 3 };

struct cairn_index {
    struct cairn_span image; /* borrowed */
    uint64_t base;           /* vaddr that records count from */
    uint64_t symbol_base;    /* and symbols */
    struct cairn_columns records, nodes, functions, symbols;
    struct cairn_texts texts, paths;
    struct cairn_columns_cursor record_at, symbol_at;
    struct cairn_index_node *nodes_read; /* that were asked for last */
    struct cairn_index_function **read;  /* functions that were asked for, in blocks */
    size_t read_bytes;
    size_t n_forgotten; /* how often cairn_index_forget() was called */
};

/*
 * Reads the whole module, by `n_threads` threads (0: one for each CPU that the process may use),
 * and appends its image to `ret_image`. Damage costs what it damaged and is logged, by the calling
 * thread alone. CAIRN_E_LIMIT: the module is too large for an index, or takes more memory than
 * `memory_bytes` or more than its size allows (index_budget.h); its units still can be read.
 * CAIRN_E_NOMEM.
 */
int cairn_index_build(struct cairn_module *m, unsigned n_threads, size_t memory_bytes,
                      struct cairn_buffer *ret_image, struct cairn_err *err);

/* Looks at the head alone, however large the image is; borrows it until cairn_index_done(). The
 * image may be anybody's bytes: answers out of a damaged one are wrong, but bounded.
 * CAIRN_E_FORMAT: no image, one that was cut short, or of another version. */
int cairn_index_open(struct cairn_span image, struct cairn_index *ret_index, struct cairn_err *err);
void cairn_index_done(struct cairn_index *index); /* all-zero is fine */

/* Drops what was remembered of texts and functions; what answers pointed to goes. */
void cairn_index_forget(struct cairn_index *index);

/* What it remembers, in bytes; the image is not counted. */
size_t cairn_index_bytes(const struct cairn_index *index);

#endif /* CAIRN_SYMBOL_INDEX_H */
