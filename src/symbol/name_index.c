/* SPDX-License-Identifier: MIT */
#include "symbol/name_index.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "symbol/module.h"

/* Functions start at multiples of 16 or 64, behind them is padding. */
enum { PADDING_MAX = 64 };

struct slot {
    const char *name; /* in `names`, for the module's contents may be dropped; NULL: free */
    uint64_t vaddr, size;
};

struct cairn_name_index {
    struct slot *slots; /* open addressing, at most half full, a power of two */
    size_t n_slots;
    struct cairn_arena names;
};

static uint64_t hash_name(const char *name, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* False: memory is gone. */
static bool enter(struct cairn_name_index *index, const struct cairn_elf_symbol *symbol)
{
    size_t mask = index->n_slots - 1, size = strlen(symbol->name);
    size_t at = (size_t)hash_name(symbol->name, size) & mask;
    while (index->slots[at].name) {
        const struct slot *slot = &index->slots[at];
        if (slot->vaddr == symbol->vaddr && strcmp(slot->name, symbol->name) == 0)
            return true;
        at = (at + 1) & mask;
    }
    char *name = cairn_arena_alloc(&index->names, size + 1);
    if (!name)
        return false;
    memcpy(name, symbol->name, size + 1);
    index->slots[at] = (struct slot){name, symbol->vaddr, symbol->size};
    return true;
}

/* The entries as they stand in the file: to sort them by address takes longer than all else. */
static int enter_table(struct cairn_name_index *index, const struct cairn_elf_symbol_table *table,
                       struct cairn_err *err)
{
    struct cairn_elf_symbol symbol;
    for (uint32_t i = 1; i < table->n; i++)
        if (cairn_elf_symbol_table_get(table, i, &symbol) && !enter(index, &symbol))
            return cairn_fail_memory(err);
    return CAIRN_OK;
}

static int fill(struct cairn_name_index *index, struct cairn_module *module, struct cairn_err *err)
{
    struct cairn_elf_symbol_table table = {0};
    const struct cairn_elf *const files[] = {&module->debug, &module->image, &module->image};
    int code = CAIRN_OK;
    for (int i = 0; i < 3 && code == CAIRN_OK && !table.n; i++) {
        cairn_elf_symbol_table_done(&table);
        table = (struct cairn_elf_symbol_table){0};
        code = cairn_elf_symbol_table_open(files[i], i < 2 ? CAIRN_ELF_SYMTAB : CAIRN_ELF_DYNSYM,
                                           &module->image, &table, err);
    }
    for (index->n_slots = 16; index->n_slots < (size_t)table.n * 2; index->n_slots *= 2)
        ;
    index->slots = cairn_alloc(index->n_slots, sizeof *index->slots);
    if (code == CAIRN_OK)
        code = index->slots ? enter_table(index, &table, err) : cairn_fail_memory(err);
    cairn_elf_symbol_table_done(&table);
    return code;
}

int cairn_name_index_new(struct cairn_module *module, struct cairn_name_index **ret_index,
                         struct cairn_err *err)
{
    struct cairn_name_index *index = cairn_alloc(1, sizeof *index);
    struct cairn_err why = {0};
    if (!index)
        return cairn_fail_memory(err);
    int code = fill(index, module, &why);
    if (code == CAIRN_E_NOMEM) {
        cairn_name_index_free(index);
        return cairn_fail_memory(err);
    }
    if (code < 0)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    *ret_index = index;
    return CAIRN_OK;
}

void cairn_name_index_free(struct cairn_name_index *index)
{
    if (!index)
        return;
    cairn_free(index->slots);
    cairn_arena_done(&index->names);
    cairn_free(index);
}

/* By how much the printed size is more than the table's; UINT64_MAX: it is another function's. */
static uint64_t excess(uint64_t table_size, uint64_t function_size)
{
    bool fits = function_size >= table_size && function_size - table_size < PADDING_MAX;
    return fits ? function_size - table_size : UINT64_MAX;
}

bool cairn_name_index_find(const struct cairn_name_index *index, const char *name, size_t name_size,
                           uint64_t function_size, uint64_t *ret_vaddr)
{
    const struct slot *found = NULL;
    uint64_t least = UINT64_MAX;
    size_t n = 0, n_least = 0, mask = index->n_slots - 1;
    if (!index->slots)
        return false;
    for (size_t at = (size_t)hash_name(name, name_size) & mask; index->slots[at].name;
         at = (at + 1) & mask) {
        const struct slot *slot = &index->slots[at];
        if (strncmp(slot->name, name, name_size) != 0 || slot->name[name_size])
            continue;
        uint64_t more = function_size ? excess(slot->size, function_size) : UINT64_MAX;
        n_least = more < least ? 1 : n_least + (more == least);
        if (more < least || !found)
            found = slot;
        least = more < least ? more : least;
        n++;
    }
    if (!found || (n > 1 && (least == UINT64_MAX || n_least > 1)))
        return false;
    *ret_vaddr = found->vaddr;
    return true;
}
