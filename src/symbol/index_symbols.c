/* SPDX-License-Identifier: MIT */
/* Who answers can change where a symbol begins or ends and nowhere else: so each such address is
 * asked once. */
#include "symbol/index_symbols.h"

#include "base/alloc.h"
#include "base/error.h"
#include "symbol/demangle.h"

struct bounds {
    uint32_t *at; /* from the base on */
    size_t n;
};

static int list_bounds(const struct cairn_module_symtab *tables, size_t n_tables,
                       uint64_t *ret_base, struct bounds *ret_bounds, struct cairn_err *err)
{
    uint64_t low = UINT64_MAX, high = 0;
    size_t n = 0;
    for (size_t t = 0; t < n_tables; t++) {
        const struct cairn_elf_symtab *table = &tables[t].symtab;
        n += table->n;
        for (size_t i = 0; i < table->n; i++) {
            uint64_t end = table->symbols[i].vaddr + table->symbols[i].size;
            low = table->symbols[i].vaddr < low ? table->symbols[i].vaddr : low;
            high = end > high ? end : high;
        }
    }
    if (n && (high < low || high - low >= UINT32_MAX))
        return cairn_fail(err, CAIRN_E_LIMIT, "symbols from 0x%llx to 0x%llx: more than 4 GiB",
                          (unsigned long long)low, (unsigned long long)high);
    struct bounds b = {.at = cairn_realloc(NULL, n ? 2 * n : 1, sizeof *b.at)};
    if (!b.at)
        return cairn_fail_memory(err);
    for (size_t t = 0; t < n_tables; t++) {
        const struct cairn_elf_symtab *table = &tables[t].symtab;
        for (size_t i = 0; i < table->n; i++) {
            uint64_t vaddr = table->symbols[i].vaddr;
            b.at[b.n++] = (uint32_t)(vaddr - low);
            b.at[b.n++] = (uint32_t)(vaddr + table->symbols[i].size - low);
        }
    }
    if (cairn_dwarf_sort(b.at, b.n, sizeof *b.at) < 0) {
        cairn_free(b.at);
        return cairn_fail_memory(err);
    }
    *ret_base = n ? low : 0;
    *ret_bounds = b;
    return CAIRN_OK;
}

static int take_symbol(struct cairn_module *m, uint32_t start, struct cairn_index_names *names,
                       struct cairn_index_parts *parts, const struct cairn_elf_symbol **last,
                       struct cairn_err *err)
{
    const struct cairn_elf_symbol *symbol;
    enum cairn_symbol_source source;
    uint32_t row[CAIRN_SYMBOL_COLUMNS] = {start};
    int code = cairn_module_find_symbol(m, parts->symbol_base + start, &symbol, &source, err);
    if (code < 0 || symbol == *last)
        return code;
    *last = symbol;
    if (symbol) {
        const char *suffix;
        size_t size = cairn_symbol_split_suffix(symbol->name, &suffix);
        row[CAIRN_SYMBOL_TEXT] = cairn_index_names_text(names, symbol->name, size);
        row[CAIRN_SYMBOL_SUFFIX] = cairn_index_names_text(names, suffix, strlen(suffix));
        row[CAIRN_SYMBOL_BACK] = (uint32_t)(parts->symbol_base + start - symbol->vaddr);
        row[CAIRN_SYMBOL_FLAGS] = CAIRN_SYMBOL_IS | (symbol->shared ? CAIRN_SYMBOL_SHARED : 0) |
                                  (uint32_t)source << CAIRN_SYMBOL_SOURCE_SHIFT;
        if (row[CAIRN_SYMBOL_TEXT] == UINT32_MAX || row[CAIRN_SYMBOL_SUFFIX] == UINT32_MAX)
            return cairn_fail_memory(err);
    }
    cairn_columns_add(&parts->symbols, row);
    return cairn_index_names_count(names, err);
}

int cairn_index_symbols_take(struct cairn_module *m, struct cairn_index_names *names,
                             struct cairn_index_parts *parts, struct cairn_err *err)
{
    const struct cairn_module_symtab *tables;
    const struct cairn_elf_symbol *last = NULL;
    struct bounds bounds = {0};
    size_t n;
    int code = cairn_module_symbol_tables(m, &tables, &n, err);
    if (code == CAIRN_OK)
        code = list_bounds(tables, n, &parts->symbol_base, &bounds, err);
    for (size_t i = 0; code == CAIRN_OK && i < bounds.n; i++)
        if (!i || bounds.at[i] != bounds.at[i - 1])
            code = take_symbol(m, bounds.at[i], names, parts, &last, err);
    cairn_free(bounds.at);
    return code;
}
