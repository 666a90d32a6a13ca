/* SPDX-License-Identifier: MIT */
#include "symbol/module_stubs.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "symbol/module.h"

enum {
    NAME_MAX_BYTES = 16 * 1024,  /* longer names are not demangled either */
    NAMES_MAX_BYTES = 64 << 20,  /* of a whole table */
    RESOLVER_TEXT_BYTES = 6 + 18 /* "*ABS*+" and a number */
};

static void open_stubs(struct cairn_module *m)
{
    struct cairn_module_stubs *stubs = &m->symbols.stubs;
    if (!stubs->opened && m->has_image && !cairn_elf_is_debug_only(&m->image))
        cairn_elf_plt_open(&m->image, &stubs->plt);
    stubs->opened = true;
}

/* What stands before "@plt"; "" where the stub is not to be named. */
static int target_of(struct cairn_module *m, const struct cairn_elf_stub *stub,
                     char text[RESOLVER_TEXT_BYTES + 1], const char **ret_name,
                     struct cairn_err *err)
{
    const struct cairn_elf_symbol *symbol;
    enum cairn_symbol_source source;
    *ret_name = stub->name;
    if (stub->name)
        return CAIRN_OK;
    int code = cairn_module_find_listed(m, stub->resolver, &symbol, &source, err);
    snprintf(text, RESOLVER_TEXT_BYTES + 1, "*ABS*+0x%llx", (unsigned long long)stub->resolver);
    if (code == CAIRN_OK)
        *ret_name = symbol && symbol->vaddr == stub->resolver ? symbol->name : text;
    return code;
}

/* The symbol of a stub, its name in the arena. `ret_symbol->name` is NULL for one too long. */
static int name_stub(struct cairn_module *m, const struct cairn_elf_stub *stub,
                     struct cairn_elf_symbol *ret_symbol, struct cairn_err *err)
{
    char resolver[RESOLVER_TEXT_BYTES + 1];
    const char *target = "", *ending = stub->is_header ? ".plt" : "@plt";
    int code = stub->is_header ? CAIRN_OK : target_of(m, stub, resolver, &target, err);
    if (code < 0)
        return code;
    *ret_symbol = (struct cairn_elf_symbol){.vaddr = stub->vaddr,
                                            .size = stub->size,
                                            .bind = STB_LOCAL,
                                            .type = STT_FUNC,
                                            .sized = true};
    size_t size = strlen(target);
    if (size > NAME_MAX_BYTES)
        return CAIRN_OK;
    char *name = cairn_arena_alloc(&m->symbols.stubs.arena, size + strlen(ending) + 1);
    if (!name)
        return cairn_fail_memory(err);
    memcpy(name, target, size);
    strcpy(name + size, ending);
    ret_symbol->name = name;
    return CAIRN_OK;
}

static int know_stub(struct cairn_module *m, const struct cairn_elf_stub *stub,
                     const struct cairn_elf_symbol **ret_symbol, struct cairn_err *err)
{
    struct cairn_module_stubs *stubs = &m->symbols.stubs;
    struct cairn_elf_symbol *symbol = cairn_arena_alloc(&stubs->arena, sizeof *symbol);
    if (!symbol ||
        cairn_grow((void **)&stubs->known, &stubs->cap, stubs->n + 1, sizeof *stubs->known) < 0)
        return cairn_fail_memory(err);
    int code = name_stub(m, stub, symbol, err);
    if (code < 0)
        return code;
    if (cairn_table_set(&stubs->known_at, stub->vaddr, (uint32_t)stubs->n) < 0)
        return cairn_fail_memory(err);
    stubs->known[stubs->n++] = symbol;
    *ret_symbol = symbol;
    return CAIRN_OK;
}

int cairn_module_find_stub(struct cairn_module *m, uint64_t vaddr,
                           const struct cairn_elf_symbol **ret_symbol, struct cairn_err *err)
{
    struct cairn_module_stubs *stubs = &m->symbols.stubs;
    const struct cairn_elf_symbol *symbol = NULL;
    struct cairn_elf_stub stub;
    uint32_t index;
    bool found;
    open_stubs(m);
    int code = cairn_elf_plt_find(&stubs->plt, vaddr, &stub, &found, err);
    if (code < 0)
        return code;
    if (found && cairn_table_find(&stubs->known_at, stub.vaddr, &index))
        symbol = stubs->known[index];
    else if (found)
        code = know_stub(m, &stub, &symbol, err);
    if (code == CAIRN_OK)
        *ret_symbol = symbol && symbol->name ? symbol : NULL;
    return code;
}

int cairn_module_list_stubs(struct cairn_module *m, struct cairn_elf_symtab *ret_symtab,
                            struct cairn_err *err)
{
    struct cairn_module_stubs *stubs = &m->symbols.stubs;
    struct cairn_elf_plt_walk walk = {0};
    struct cairn_elf_symbol *symbols = NULL, symbol;
    struct cairn_elf_stub stub;
    size_t n = 0, cap = 0, used_before = stubs->arena.used_bytes;
    int code;
    open_stubs(m);
    while (cairn_elf_plt_next(&stubs->plt, &walk, &stub, &code, err)) {
        code = name_stub(m, &stub, &symbol, err);
        if (code == CAIRN_OK && stubs->arena.used_bytes - used_before > NAMES_MAX_BYTES)
            code = cairn_fail(err, CAIRN_E_LIMIT, "names of PLT stubs take more than %d bytes",
                              NAMES_MAX_BYTES);
        if (code == CAIRN_OK && cairn_grow((void **)&symbols, &cap, n + 1, sizeof symbol) < 0)
            code = cairn_fail_memory(err);
        if (code < 0)
            break;
        if (symbol.name)
            symbols[n++] = symbol;
    }
    if (code < 0) {
        cairn_free(symbols);
        return code;
    }
    return cairn_elf_symtab_of(symbols, n, ret_symtab, err);
}

void cairn_module_stubs_done(struct cairn_module_stubs *stubs)
{
    cairn_elf_plt_close(&stubs->plt);
    cairn_free(stubs->known);
    cairn_table_done(&stubs->known_at);
    cairn_arena_done(&stubs->arena);
    *stubs = (struct cairn_module_stubs){0};
}
