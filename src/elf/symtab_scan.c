/* SPDX-License-Identifier: MIT */
/* One pass over a table in any order: what in it decides about one address. */
#include "elf/symtab_scan.h"

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

struct few {
    struct cairn_elf_symbol *symbols;
    size_t n, cap;
    bool overflow;
};

static void keep(struct few *few, const struct cairn_elf_symbol *symbol)
{
    if (few->n < few->cap)
        few->symbols[few->n++] = *symbol;
    else
        few->overflow = true;
}

/* The innermost sized symbol that covers `vaddr`, and those with the very same bytes. */
static void scan_sized(const struct cairn_elf_symbol_table *t, uint64_t vaddr, struct few *few)
{
    const struct cairn_elf_symbol *best = few->symbols;
    struct cairn_elf_symbol symbol;
    for (uint32_t i = 1; (i = cairn_elf_symbol_table_next(t, i, vaddr)) < t->n; i++) {
        if (!cairn_elf_symbol_table_get(t, i, &symbol) || !symbol.sized ||
            vaddr - symbol.vaddr >= symbol.size)
            continue;
        int order = few->n ? compare_u64(symbol.vaddr, best->vaddr) : 1;
        if (!order)
            order = compare_u64(best->size, symbol.size);
        if (order > 0)
            few->n = 0;
        if (order >= 0)
            keep(few, &symbol);
    }
}

/* Where the last symbol before `vaddr` begins. False: nowhere. Adds the next symbol behind `vaddr`,
 * where labels end. */
static bool find_last(const struct cairn_elf_symbol_table *t, uint64_t vaddr, struct few *few,
                      uint64_t *ret_last)
{
    struct cairn_elf_symbol symbol, next = {.vaddr = UINT64_MAX};
    uint64_t last = 0;
    bool found = false;
    for (uint32_t i = 1; i < t->n; i++) {
        if (!cairn_elf_symbol_table_get(t, i, &symbol))
            continue;
        if (symbol.vaddr > vaddr && symbol.vaddr < next.vaddr)
            next = symbol;
        if (symbol.vaddr > vaddr || symbol.vaddr < last)
            continue;
        found = true;
        last = symbol.vaddr;
    }
    if (next.name)
        keep(few, &next);
    *ret_last = last;
    return found;
}

/* Where no sized symbol covers `vaddr`: the last place before it where a symbol begins, all that
 * begin there or reach over it, and the next place behind it. */
static void scan_labels(const struct cairn_elf_symbol_table *t, uint64_t vaddr, struct few *few)
{
    struct cairn_elf_symbol symbol;
    uint64_t last, end = UINT64_MAX;
    bool found = find_last(t, vaddr, few, &last);
    for (uint32_t i = 1; found && i < t->n; i++) {
        enum cairn_elf_entry entry = cairn_elf_symbol_table_read(t, i, &symbol);
        if (entry == CAIRN_ELF_ENTRY_END && symbol.vaddr > last && symbol.vaddr < end)
            end = symbol.vaddr;
        if (entry == CAIRN_ELF_ENTRY_CODE && symbol.vaddr <= last &&
            (symbol.vaddr == last || (symbol.sized && last - symbol.vaddr < symbol.size)))
            keep(few, &symbol);
    }
    for (size_t i = 0; i < few->n; i++) {
        struct cairn_elf_symbol *label = &few->symbols[i];
        if (!label->sized && label->vaddr == last && end - last < label->size)
            label->size = end - last;
    }
}

bool cairn_elf_symtab_scan(const struct cairn_elf_symbol_table *table, uint64_t vaddr,
                           struct cairn_elf_symbol *symbols, size_t cap, size_t *ret_n)
{
    struct few few = {.symbols = symbols, .cap = cap};
    scan_sized(table, vaddr, &few);
    if (!few.n)
        scan_labels(table, vaddr, &few);
    *ret_n = few.n;
    return !few.overflow;
}
