/* SPDX-License-Identifier: MIT */
/* Named functions: all functions of a module that a name, or a pattern, means. */
#ifndef CAIRN_SYMBOL_NAMED_FUNCTIONS_H
#define CAIRN_SYMBOL_NAMED_FUNCTIONS_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

enum { CAIRN_NAMED_FUNCTIONS_MAX = 1 << 16 };

struct cairn_named_function {
    char *name; /* the linkage name, or the demangled one that was looked for; any bytes */
    uint64_t vaddr;
};

struct cairn_named_functions {
    struct cairn_named_function *items; /* by name and vaddr; each vaddr once */
    size_t n, cap;
    size_t n_resolvers; /* of functions that the loader chooses (IFUNC): they are left out */
};

/*
 * By linkage name, else by the full demangled one; all copies, such as those of a static function
 * in several units. With `is_pattern` (* and ?) functions alone, without the parts that a compiler
 * split off ("name.cold"); of several names of one function the shortest. None: `n` is 0.
 * CAIRN_E_LIMIT, CAIRN_E_FORMAT, CAIRN_E_NOMEM.
 */
int cairn_module_find_functions(const struct cairn_module *module, const char *name,
                                bool is_pattern, struct cairn_named_functions *ret_functions,
                                struct cairn_err *err);
void cairn_named_functions_done(struct cairn_named_functions *functions); /* all-zero is fine */

#endif /* CAIRN_SYMBOL_NAMED_FUNCTIONS_H */
