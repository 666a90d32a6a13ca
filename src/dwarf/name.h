/* SPDX-License-Identifier: MIT */
/* What a function is called: through origins and specifications, and with the namespaces and types
 * around its declaration where the compiler gave no linkage name. */
#ifndef CAIRN_DWARF_NAME_H
#define CAIRN_DWARF_NAME_H

#include "base/buffer.h"
#include "dwarf/function.h"
#include "dwarf/signature.h"

struct cairn_dwarf_name {
    const char *linkage; /* NULL: the compiler gave none */
    const char *name;    /* unqualified; NULL: none */
    uint32_t decl_line;  /* 0: unknown */
    uint64_t declared;   /* the last DIE of the chain: what is around it qualifies the name */
    struct cairn_dwarf_units *home; /* where that DIE lives */
    bool is_c; /* as the last unit on the way says that has a language: parts that dwz moved away
                  have none */
};

/* Follows at most 16 origins, into other files too; damage gives what was found before it.
 * CAIRN_E_NOMEM. */
int cairn_dwarf_function_name(struct cairn_dwarf_units *units, uint64_t die,
                              struct cairn_dwarf_name *ret_name, struct cairn_err *err);

/* The same DIE by DIE: where many names are asked for, searches take turns, and what one reads next
 * is on its way into the CPU's cache meanwhile. */
struct cairn_dwarf_name_search {
    struct cairn_dwarf_name found;
    struct cairn_dwarf_spot at;           /* to be read next; `home` is NULL at the end */
    struct cairn_dwarf_unit *unit;        /* where the last one was, or is expected; or NULL */
    const struct cairn_dwarf_units *home; /* of `unit` */
    unsigned n_read;
};

/* `unit` is an open one of `units` that the DIE may be in, or NULL. */
void cairn_dwarf_name_begin(struct cairn_dwarf_name_search *search, struct cairn_dwarf_units *units,
                            struct cairn_dwarf_unit *unit, uint64_t die);

/* Reads one DIE of a search that has not ended. CAIRN_E_NOMEM. */
int cairn_dwarf_name_step(struct cairn_dwarf_name_search *search, struct cairn_err *err);

enum { CAIRN_DWARF_AROUND_MAX = 2 * 64 + 1, CAIRN_DWARF_KNOWN_SCOPES = 64 };

/* What is around a declaration, from the outermost scope to the innermost: names of namespaces,
 * types and functions, of sections or for good. What has no name is "(anonymous namespace)" and the
 * like. */
struct cairn_dwarf_around {
    const char *names[CAIRN_DWARF_AROUND_MAX];
    unsigned n;
};

/* Names of scopes of one unit that were read last; all-zero to begin. */
struct cairn_dwarf_known_scopes {
    struct {
        uint64_t die;     /* 0: none */
        const char *name; /* NULL: damaged */
    } scopes[CAIRN_DWARF_KNOWN_SCOPES];
};

/*
 * What is around the DIE at `off` of `unit`, whose walk gave `functions`: nothing in a unit in C,
 * or outside all scopes. `known` is that of the unit, or NULL. CAIRN_E_NOMEM.
 */
int cairn_dwarf_around(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                       const struct cairn_dwarf_functions *functions, uint64_t off,
                       struct cairn_dwarf_known_scopes *known,
                       struct cairn_dwarf_around *ret_around, struct cairn_err *err);

/* Appends it as "ns::Type::". CAIRN_E_NOMEM. */
int cairn_dwarf_qualify(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                        const struct cairn_dwarf_functions *functions, uint64_t off,
                        struct cairn_buffer *out, struct cairn_err *err);

#endif /* CAIRN_DWARF_NAME_H */
