/* SPDX-License-Identifier: MIT */
/*
 * Symbol list: names for ranges of addresses, where there is no ELF file: the kernel, and code that
 * a JIT compiler made. Sorted, apart, and never answering with the nearest name: what lies between
 * two symbols is unknown.
 */
#ifndef CAIRN_SYMLIST_LIST_H
#define CAIRN_SYMLIST_LIST_H

#include <cairn/error.h>
#include <cairn/symbol_source.h>

#include "base/buffer.h"
#include "base/strings.h"

enum { CAIRN_SYMBOL_LIST_LINES_MAX = 10000000 }; /* of one file; more are CAIRN_E_LIMIT */

struct cairn_listed_symbol {
    uint64_t start, end;
    uint32_t name;   /* where it begins in `names` */
    uint16_t module; /* a string of `modules`; 0: none */
    uint8_t rank;    /* of names for one address the highest is taken; 0: ends the one before it */
    bool shared;     /* other names stand for the same address */
};

struct cairn_symbol_list {
    struct cairn_listed_symbol *symbols;
    size_t n, cap;
    struct cairn_buffer names;    /* NUL-terminated, one behind the other */
    struct cairn_strings modules; /* of the kernel: "nf_tables" */
    enum cairn_symbol_source source;
    uint64_t kernel_text; /* the address of _text; 0: unknown */
};

void cairn_symbol_list_done(struct cairn_symbol_list *list); /* all-zero is fine */

/* Adds a row in the order of the text; `_join` or `_paint` makes a list of the rows. */
int cairn_symbol_list_add(struct cairn_symbol_list *list, const struct cairn_listed_symbol *row,
                          const char *name, size_t size, struct cairn_err *err);

static inline const char *cairn_symbol_list_name(const struct cairn_symbol_list *list,
                                                 const struct cairn_listed_symbol *symbol)
{
    return cairn_buffer_text(&list->names) + symbol->name;
}

/* Of rows that overlap the later one wins, and the earlier ones keep what is left of them. */
int cairn_symbol_list_paint(struct cairn_symbol_list *list, struct cairn_err *err);

/* The symbol that covers `va`, or NULL; borrowed. */
const struct cairn_listed_symbol *cairn_symbol_list_find(const struct cairn_symbol_list *list,
                                                         uint64_t va);

/* What the list holds in memory. */
size_t cairn_symbol_list_bytes(const struct cairn_symbol_list *list);

#endif /* CAIRN_SYMLIST_LIST_H */
