/* SPDX-License-Identifier: MIT */
/* Lists of the kernel's symbols and maps of JIT compilers: what comes out is sorted and apart. The
 * bytes are both texts, and those of a list behind a NUL say where modules end. */
#include "symlist/jit_map.h"
#include "symlist/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct cairn_symbol_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct cairn_listed_symbol *symbol = &list->symbols[i];
        if (symbol->start >= symbol->end || (i && symbol[-1].end > symbol->start) ||
            cairn_symbol_list_find(list, symbol->start) != symbol ||
            cairn_symbol_list_find(list, symbol->end - 1) != symbol ||
            !*cairn_symbol_list_name(list, symbol))
            __builtin_trap();
    }
    cairn_symbol_list_done(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_symbol_list list = {0};
    struct cairn_span text = {data, size}, modules = {0};
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    if (cairn_jit_map_read(text, &list, NULL) == CAIRN_OK)
        check(&list);
    if (nul) {
        text.size = (size_t)(nul - data);
        modules = (struct cairn_span){nul + 1, size - text.size - 1};
    }
    if (cairn_kallsyms_read(text, modules, &list, NULL) == CAIRN_OK)
        check(&list);
    return 0;
}
