/* SPDX-License-Identifier: MIT */
/*
 * One module: its files, symbol tables and debug information, read as far as look-ups need them.
 *
 *     files ──► sections ──► unit map ──► unit table ──► record
 *       └─────► symbol tables                             └──► names (policy: function_name.h)
 *
 * A module outlives its contents: they can be dropped to save memory and come back with the next
 * look-up.
 */
#ifndef CAIRN_SYMBOL_MODULE_H
#define CAIRN_SYMBOL_MODULE_H

#include <cairn/symbolizer.h>

#include "base/strings.h"
#include "base/table.h"
#include "debugfile/debugfile.h"
#include "dwarf/discriminator.h"
#include "dwarf/name.h"
#include "symbol/dwarf_files.h"
#include "symbol/module_functions.h"
#include "symbol/module_symbols.h"
#include "symbol/module_way.h"
#include "symbol/unit_finder.h"
#include "symbol/unit_table.h"
#include "symlist/list.h"

enum { CAIRN_MODULE_N_SECTIONS = 10 };

/* What is known of the function whose name begins at one DIE. */
struct cairn_function {
    const char *linkage;                  /* NULL: none; in C the plain name */
    const char *suffix;                   /* what the compiler hung behind it; NULL: nothing */
    const char *name;                     /* as the DIE says it, unqualified */
    const char *shown;                    /* as the user asked for it; NULL: not made yet */
    uint64_t declared;                    /* the DIE whose surroundings qualify the name */
    struct cairn_dwarf_units *home;       /* where that DIE lives */
    const struct cairn_dwarf_units *from; /* where the DIE lives that the search began with */
    uint32_t next; /* number (index + 1) of one with the same key from another file, or 0 */
    uint32_t decl_line;
    bool is_plain; /* `linkage` is `name` */
    bool is_cut;   /* the suffix was looked for, and is no part of `linkage` any more */
};

/* Fills what DWARF says of the function whose name begins at a DIE of `from`; `shown` is not made
 * yet. CAIRN_E_NOMEM. */
int cairn_function_read(struct cairn_dwarf_units *from, uint32_t die,
                        struct cairn_function *ret_function, struct cairn_err *err);

/* The same where the name was read already. */
void cairn_function_of_name(const struct cairn_dwarf_units *from,
                            const struct cairn_dwarf_name *name,
                            struct cairn_function *ret_function);

struct cairn_module_unit {
    struct cairn_unit_table *table; /* NULL: not read, dropped, or damaged */
    size_t bytes;                   /* of the table, as it was made */
    uint64_t used;                  /* the clock's time of the last look-up */
    bool failed;                    /* nothing could be read; said once */
    bool told;                      /* a warning about this unit was given */
};

struct cairn_module_discriminators {
    struct cairn_dwarf_discriminators of;
    bool read;
};

enum { CAIRN_MODULE_N_RECENT = 512 }; /* a power of two */

/* An answer of a table that is larger than the CPU's cache. */
struct cairn_recent {
    uint64_t key;
    uint32_t first; /* as the table has it, plus 1; 0: no answer */
};

/* The part of a section that was last said to be needed soon. */
struct cairn_soon {
    uint64_t from, to;
};

struct cairn_module {
    struct cairn_module_info info; /* texts are owned below */
    char *path, *debug_path, *build_id, *machine;
    bool loaded;
    uint64_t used;

    struct cairn_debugfile_found found;
    struct cairn_debugfile_finder *finder; /* where more files may be; NULL: nowhere */
    bool is_listed;                        /* names come from `list`, and there is no ELF file */
    struct cairn_symbol_list list;         /* of the kernel, or of a JIT compiler */
    uint8_t *owned_bytes; /* of cairn_symbolizer_open_bytes(); such a module is never unloaded */
    struct cairn_elf image, debug; /* the same file twice where there is only one */
    bool has_image;                /* program headers with offsets that mean something */

    struct cairn_module_symbols symbols;
    struct cairn_module_functions functions_without_name;

    bool no_debug_info; /* none is read */
    bool has_dwarf;     /* the rest is valid */
    struct cairn_elf_data sections[CAIRN_MODULE_N_SECTIONS];
    struct cairn_dwarf_range *code;
    struct cairn_dwarf dwarf;
    struct cairn_dwarf_units units;
    struct cairn_module_unit *unit_states; /* by number of the unit */
    size_t n_unit_states, cap_unit_states;
    struct cairn_unit_scratch scratch;
    size_t n_tables_read;
    struct cairn_soon info_soon, line_soon;
    struct cairn_unit_finder unit_finder;
    struct cairn_dwarf_files files;
    unsigned n_told;                                    /* warnings about units */
    size_t table_bytes;                                 /* of all unit tables */
    size_t memory_bytes;                                /* the user's bound; 0: none */
    struct cairn_module_discriminators *discriminators; /* by number of the unit */
    size_t n_discriminators, cap_discriminators, discriminator_bytes;

    struct cairn_index *index; /* where all answers come from; NULL: from units and symbols */
    struct cairn_module_way way;

    struct cairn_table function_of; /* DIE -> index in functions */
    struct cairn_function *functions;
    size_t n_functions, cap_functions;
    struct cairn_recent recent[CAIRN_MODULE_N_RECENT]; /* of `function_of`: a unit repeats itself */
    struct cairn_arena names;                          /* qualified names */
    struct cairn_strings cut_names;                    /* symbols without their suffix */
};

/* Takes over `found`. CAIRN_E_FORMAT, CAIRN_E_NOMEM: then `found` is closed and nothing is kept. */
int cairn_module_load(struct cairn_module *m, struct cairn_debugfile_found *found,
                      struct cairn_err *err);

/* The same for a copy of bytes in memory. */
int cairn_module_load_bytes(struct cairn_module *m, const char *name, const void *bytes,
                            size_t size, struct cairn_err *err);

/* Drops everything but `info`, the texts and the mapped files, which cost nothing that the system
 * could not take back: the program headers are asked at any time. */
void cairn_module_unload(struct cairn_module *m);

/* The file that debug information is read from: the debug file, unless it has symbols only. */
const struct cairn_elf *cairn_module_dwarf_elf(const struct cairn_module *m);

/* Drops what was read of debug information. */
void cairn_module_unload_dwarf(struct cairn_module *m);

/* Closes the files too. */
void cairn_module_close(struct cairn_module *m);

/* Drops what was remembered of names, because the texts that it points to are about to go. */
void cairn_module_forget_names(struct cairn_module *m);

/* Does a PT_LOAD hold this address? */
bool cairn_module_holds(const struct cairn_module *m, uint64_t vaddr);

/* What debug information knows of an address. */
struct cairn_place {
    struct cairn_dwarf_unit *unit; /* of the module's own: lines count from its folder */
    struct cairn_unit_table *table;
    const struct cairn_unit_record *record; /* NULL: nothing; the other two are unset then */
};

/* `now` is the clock of the caches. CAIRN_E_NOMEM; damage is logged once and gives no record. */
int cairn_module_find_place(struct cairn_module *m, uint64_t vaddr, uint64_t now,
                            struct cairn_place *ret_place, struct cairn_err *err);

/* Where the functions of an open unit are described: `unit` itself, or what a skeleton stands for.
 * Not for several threads at once. CAIRN_E_NOMEM. */
int cairn_module_find_home(struct cairn_module *m, struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_units **ret_home, struct cairn_dwarf_unit **ret_unit,
                           struct cairn_err *err);

/* Reads debug sections and aranges, where that is still to be done. Errors as below. */
int cairn_module_need_dwarf(struct cairn_module *m, struct cairn_err *err);

/* Reads both maps of units. Damage is logged; without debug information both are empty.
 * CAIRN_E_NOMEM. */
int cairn_module_need_maps(struct cairn_module *m, struct cairn_err *err);

/* Logs what is wrong with a unit of the module, the first time. CAIRN_E_NOMEM: nobody can remember
 * that it was. */
int cairn_module_tell_damage(struct cairn_module *m, const struct cairn_dwarf_unit *unit,
                             struct cairn_err *why, struct cairn_err *err);

/* The functions of the unit of `home` that holds a DIE, for qualified names; reads the unit if need
 * be. NULL where it is damaged. */
int cairn_module_functions_at(struct cairn_module *m, struct cairn_dwarf_units *home, uint64_t die,
                              uint64_t now, struct cairn_dwarf_unit **ret_unit,
                              const struct cairn_dwarf_functions **ret_functions,
                              struct cairn_err *err);

/* The discriminator of an address, whatever way its frames came; reads the unit's line program the
 * first time. 0: it has none, nobody knows, or there is no memory to find out. */
uint32_t cairn_module_find_discriminator(struct cairn_module *m, uint64_t vaddr);

/* Forgets them: they are read again when asked for. */
void cairn_module_drop_discriminators(struct cairn_module *m);

/* What the module holds in memory, mapped files not counted. */
size_t cairn_module_bytes(const struct cairn_module *m);

/* When the unit table that was not used for longest was used; UINT64_MAX: there is none but those
 * used at `now`. */
uint64_t cairn_module_oldest_table(const struct cairn_module *m, uint64_t now);

/* Frees that table; false: there is none. */
bool cairn_module_drop_oldest(struct cairn_module *m, uint64_t now);

/* May a look-up still change how the module is read? */
static inline bool cairn_module_has_choice(const struct cairn_module *m)
{
    return !m->way.settled && !m->is_listed;
}

#endif /* CAIRN_SYMBOL_MODULE_H */
