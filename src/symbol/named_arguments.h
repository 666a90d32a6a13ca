/* SPDX-License-Identifier: MIT */
/*
 * Named arguments: what the registers of the calling convention hold where a function begins, by
 * the names and types of its debug information.
 */
#ifndef CAIRN_SYMBOL_NAMED_ARGUMENTS_H
#define CAIRN_SYMBOL_NAMED_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/symbolizer.h>

#include "base/arena.h"

enum { CAIRN_NAMED_ARGUMENTS_MAX = 8, CAIRN_NAMED_VALUES_MAX = 256 };

enum cairn_named_what {
    CAIRN_NAMED_VOID,
    CAIRN_NAMED_SIGNED,
    CAIRN_NAMED_UNSIGNED,
    CAIRN_NAMED_POINTER,
    CAIRN_NAMED_TEXT, /* a pointer to char */
    CAIRN_NAMED_ENUM,
    CAIRN_NAMED_OTHER /* in other registers, or not in one */
};

struct cairn_named_value { /* of an enum */
    const char *name;
    uint64_t value;
};

struct cairn_named_argument {
    const char *name; /* letters, digits, _ and $ alone; NULL: none */
    enum cairn_named_what what;
    unsigned bytes; /* 1 to 8 */
    unsigned reg;   /* the first is 0 */
    const struct cairn_named_value *values;
    size_t n_values;
};

struct cairn_named_arguments {
    struct cairn_named_argument items[CAIRN_NAMED_ARGUMENTS_MAX]; /* by register */
    size_t n;
    struct cairn_named_argument result;
    struct cairn_arena memory; /* texts and values */
};

/*
 * Of the function that begins at `vaddr`. Arguments in other registers or on the stack are left
 * out; so is all behind a structure that is passed by value. Returns 1, or 0: there is no debug
 * information, or the function is not called as C and C++ call. CAIRN_E_NOMEM and those of reading
 * the file; damage gives 0.
 */
int cairn_module_find_arguments(struct cairn_module *module, uint64_t vaddr,
                                struct cairn_named_arguments *ret_arguments, struct cairn_err *err);
void cairn_named_arguments_done(struct cairn_named_arguments *arguments); /* all-zero is fine */

#endif /* CAIRN_SYMBOL_NAMED_ARGUMENTS_H */
