/* SPDX-License-Identifier: MIT */
/* Texts, paths and functions of all units, each once, by number. */
#ifndef CAIRN_SYMBOL_INDEX_NAMES_H
#define CAIRN_SYMBOL_INDEX_NAMES_H

#include "symbol/index_image.h"
#include "symbol/index_units.h"

struct cairn_index_names {
    struct cairn_index_budget *budget; /* borrowed */
    struct cairn_span str;             /* .debug_str, borrowed; may be empty */
    struct cairn_strings texts, paths;
    struct cairn_table said;   /* what a function is known by at once -> its number */
    struct cairn_table around; /* what is around, and a name in it -> both as a number */
    struct cairn_strings odd;  /* texts that are not in `str` */
    struct cairn_buffer text;  /* a qualified name in the making */
    uint32_t n_around;
    struct cairn_table text_at;     /* address of a text that stays -> number */
    struct cairn_table qualified;   /* number of the plain name and of the qualified one -> pair */
    struct cairn_table function_of; /* name and declared line -> number of the function */
    uint32_t n_pairs;
};

/* Adds the functions, nodes and paths of a unit to `parts`, and tells the unit their numbers.
 * CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_index_names_take(struct cairn_index_names *names, struct cairn_index_unit *unit,
                           struct cairn_index_parts *parts, struct cairn_err *err);

/* Number of a text that is copied; UINT32_MAX where memory is gone. */
uint32_t cairn_index_names_text(struct cairn_index_names *names, const char *text, size_t size);

/* Counts what they take by now: CAIRN_E_LIMIT where the budget is spent. */
int cairn_index_names_count(struct cairn_index_names *names, struct cairn_err *err);

/* Demangles by several threads, and writes texts and paths. CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_index_names_write(struct cairn_index_names *names, unsigned n_threads,
                            struct cairn_index_parts *parts, struct cairn_err *err);
void cairn_index_names_done(struct cairn_index_names *names);

#endif /* CAIRN_SYMBOL_INDEX_NAMES_H */
