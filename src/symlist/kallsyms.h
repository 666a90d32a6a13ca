/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own list of its symbols, as /proc/kallsyms prints it, and System.map, which is the
 * same without modules and without what KASLR added:
 *
 *     ffffffff81000000 T _text
 *     ffffffffc0a01010 t nft_do_chain\t[nf_tables]
 *
 * There are no sizes: a function reaches up to the next symbol, at most to the end of the kernel's
 * text (_etext, _einittext) or of its module.
 */
#ifndef CAIRN_SYMLIST_KALLSYMS_H
#define CAIRN_SYMLIST_KALLSYMS_H

#include "symlist/list.h"

/*
 * Reads the functions. `modules` is a text as /proc/modules has it, which says where modules end;
 * where it is empty, or its addresses are hidden, the last function of a module ends with its page.
 * Fills `list`, which must be all-zero, and which is so again after a failure.
 * CAIRN_E_ACCESS: every address is 0, for the kernel hides them; the hint says what to do.
 * CAIRN_E_FORMAT: not one line is a symbol. CAIRN_E_LIMIT: more lines than can be true.
 */
int cairn_kallsyms_read(struct cairn_span text, struct cairn_span modules,
                        struct cairn_symbol_list *list, struct cairn_err *err);

#endif /* CAIRN_SYMLIST_KALLSYMS_H */
