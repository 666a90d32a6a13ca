/* SPDX-License-Identifier: MIT */
/*
 * Name index: where the functions of a module lie, by their linkage names. For what names functions
 * and gives no addresses, as the kernel's log does. Made by one pass over the symbol table.
 */
#ifndef CAIRN_SYMBOL_NAME_INDEX_H
#define CAIRN_SYMBOL_NAME_INDEX_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

struct cairn_name_index;

/* Of .symtab, else .dynsym. CAIRN_E_NOMEM; damage of the table is logged, the index is empty. */
int cairn_name_index_new(struct cairn_module *module, struct cairn_name_index **ret_index,
                         struct cairn_err *err);
void cairn_name_index_free(struct cairn_name_index *index); /* accepts NULL */

/*
 * The vaddr of the function of that name. Of several that one whose size is `function_size`: as the
 * kernel prints it, which counts up to the next symbol, so that it may be some bytes more than the
 * table says. 0: unknown. False: no such function, or several among which nothing decides.
 */
bool cairn_name_index_find(const struct cairn_name_index *index, const char *name, size_t name_size,
                           uint64_t function_size, uint64_t *ret_vaddr);

#endif /* CAIRN_SYMBOL_NAME_INDEX_H */
