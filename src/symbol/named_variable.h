/* SPDX-License-Identifier: MIT */
/* Named variable: a variable of a module by its name, with its size. */
#ifndef CAIRN_SYMBOL_NAMED_VARIABLE_H
#define CAIRN_SYMBOL_NAMED_VARIABLE_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

struct cairn_named_variable {
    uint64_t vaddr, size; /* size 0: the symbol has none, as an assembler's label */
    bool is_thread_local; /* each thread has one: `vaddr` is an offset in its block */
    bool is_function;
};

/* By linkage name, else by the full demangled name, of a function also without its
 * arguments; the symbol table of the debug file comes before
 * that of the image, and the dynamic one last. CAIRN_E_MISSING: the hint has the names that differ
 * least. */
int cairn_module_find_variable(const struct cairn_module *module, const char *name,
                               struct cairn_named_variable *ret_variable, struct cairn_err *err);

#endif /* CAIRN_SYMBOL_NAMED_VARIABLE_H */
