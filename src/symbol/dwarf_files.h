/* SPDX-License-Identifier: MIT */
/*
 * The files that hold parts of a module's debug information beside its binary and its debug file:
 *
 *     module ──► skeleton ──► a.dwo, b.dwo ...     functions of one unit each
 *        │            └─────► FILE.dwp             or all of them together
 *        └─────► alternate file (dwz -m)           what several modules have in common
 *
 * Each is opened when the module's units first need it, verified, and kept until the module is
 * unloaded. One that is missing, or of another build, costs what only it knows; that is told once
 * for the module.
 */
#ifndef CAIRN_SYMBOL_DWARF_FILES_H
#define CAIRN_SYMBOL_DWARF_FILES_H

#include "base/table.h"
#include "debugfile/dwarf_places.h"
#include "dwarf/function.h"
#include "dwarf/signature.h"
#include "elf/compressed.h"

enum { CAIRN_SIDE_SECTIONS = 9 };

/* What a file is to the module. */
enum cairn_side_file_kind {
    CAIRN_SIDE_DWO,
    CAIRN_SIDE_PACKAGE, /* a .dwp */
    CAIRN_SIDE_SUP      /* the supplementary file */
};

/* One file that was opened. Never moves. */
struct cairn_side_file {
    enum cairn_side_file_kind kind;
    char *path;             /* absolute */
    struct cairn_file file; /* its size and time, for whoever remembers what it was */
    struct cairn_elf elf;
    struct cairn_elf_data sections[CAIRN_SIDE_SECTIONS];
    struct cairn_dwarf info, types; /* types: where DWARF 4 has a section for them */
    struct cairn_dwarf_units units, type_units;
    struct cairn_dwarf_package package;
};

/* Where the functions of a unit are. */
struct cairn_dwarf_home {
    struct cairn_dwarf_units *units; /* NULL: not looked for yet */
    struct cairn_dwarf_unit *unit;
};

/* What the files are for. Borrowed from the module, which sets it before anything is asked. */
struct cairn_dwarf_owner {
    struct cairn_debugfile_finder *finder; /* NULL: no file may be opened */
    const char *path;                      /* for messages */
    const char *image_path, *debug_path;   /* NULL: none */
    const struct cairn_file *image, *debug;
    struct cairn_dwarf *dwarf; /* the module's own sections */
    struct cairn_dwarf_units *units;
};

struct cairn_dwarf_files {
    struct cairn_dwarf_owner owner;
    struct cairn_side_file **files; /* those opened, in the order in which they were */
    size_t n, cap;
    struct cairn_table file_of; /* hash of a path -> index in files */
    uint32_t n_units;           /* numbers given to lists of units */

    struct cairn_side_file *package; /* NULL: none */
    bool has_package;                /* it was looked for */
    struct cairn_dwarf_home *homes;  /* by number of the skeleton */
    size_t n_homes, cap_homes;

    struct cairn_elf_data type_section; /* the module's own .debug_types */
    struct cairn_dwarf types;
    struct cairn_dwarf_units type_units;

    struct cairn_table functions_of; /* unit outside the module -> index in functions */
    struct cairn_dwarf_functions *functions;
    size_t n_functions, cap_functions;

    bool is_incomplete; /* a file is missing, or is not the right one: what was made without it
                           holds for this run, and may not be kept for another */
    bool told_missing, told_other;
    unsigned n_told;
};

/*
 * Looks for the alternate file of `elf`, which the module's sections came from, and for its type
 * units. What is missing or wrong is logged. CAIRN_E_NOMEM.
 */
int cairn_dwarf_files_open(struct cairn_dwarf_files *files, const struct cairn_dwarf_owner *owner,
                           const struct cairn_elf *elf, struct cairn_err *err);

/* Closes all; the module's tables and names must be gone. All-zero is fine. */
void cairn_dwarf_files_done(struct cairn_dwarf_files *files);

/* Where the functions of an open unit of the module are: in the unit itself, or in what a skeleton
 * stands for. CAIRN_E_NOMEM. */
int cairn_dwarf_files_home(struct cairn_dwarf_files *files, struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_home *ret_home, struct cairn_err *err);

/* The scopes of a unit that is no unit of the module, read the first time. Borrowed until the next
 * call. CAIRN_E_NOMEM. */
int cairn_dwarf_files_functions(struct cairn_dwarf_files *files, struct cairn_dwarf_units *home,
                                struct cairn_dwarf_unit *unit,
                                const struct cairn_dwarf_functions **ret_functions,
                                struct cairn_err *err);

/* Memory held, mapped files not counted. */
size_t cairn_dwarf_files_bytes(const struct cairn_dwarf_files *files);

/* For cairn_dwarf_files itself. */

/* Opens a file, once; CAIRN_OK with NULL where it was opened as something else. CAIRN_E_MISSING,
 * CAIRN_E_FORMAT, CAIRN_E_NOMEM and what reading gives. */
int cairn_side_file_open(struct cairn_dwarf_files *files, enum cairn_side_file_kind kind,
                         const char *path, struct cairn_side_file **ret_file,
                         struct cairn_err *err);

void cairn_side_file_free(struct cairn_side_file *file);

/* Opens the alternate file that `elf` names, if any. */
int cairn_dwarf_files_open_sup(struct cairn_dwarf_files *files, const struct cairn_elf *elf,
                               struct cairn_err *err);

#endif /* CAIRN_SYMBOL_DWARF_FILES_H */
