/* SPDX-License-Identifier: MIT */
/*
 * Module of a space: what one ELF file says of unwinding, wherever it is mapped.
 *
 *     vaddr ──► .eh_frame ──► .debug_frame ──► .ARM.exidx ──► nothing covers it
 *               (by .eh_frame_hdr, or by an index made here)
 *
 * And the names of its functions, opened when the first is asked for.
 */
#ifndef CAIRN_UNWIND_SPACE_MODULE_H
#define CAIRN_UNWIND_SPACE_MODULE_H

#include "base/buffer.h"
#include "dwarf/cfi.h"
#include "elf/compressed.h"
#include "elf/symtab.h"
#include "unwind/crt.h"
#include "unwind/fp_function.h"
#include "unwind/go_runtime.h"
#include "unwind/sections.h"

/* Sorted by `from`; none overlaps the next. */
struct cairn_fde_place {
    uint64_t from, to; /* vaddrs */
    uint64_t off;      /* of the FDE in its section */
};

/* Of a section of CFI that has no table of its own. */
struct cairn_fde_index {
    struct cairn_fde_place *places;
    size_t n, cap;
};

enum { CAIRN_SPACE_SYMTABS_MAX = 4 };

struct cairn_space_module {
    const void *file, *debug_file; /* what it was made of; borrowed */
    struct cairn_elf elf, debug;   /* the same where there is no debug file */
    bool usable;                   /* else only `file` is set */
    struct cairn_unwind_sections sections;
    struct cairn_elf_data debug_frame; /* its bytes, where they were packed or another file's */
    uint8_t go[CAIRN_GO_BYTES];        /* sections.known: unwind/go_runtime.h */
    uint64_t entry_bytes;              /* of the function where the file begins to run */
    uint8_t crt[CAIRN_CRT_BYTES];      /* what stands for it where there is none: unwind/crt.h */
    struct cairn_buffer derived;       /* both, that and unwind/derive.h; from derived_off on */
    size_t derived_off;
    bool asked_derived; /* in vain, or `derived` is all that will be */
    bool asked_met;     /* and because a walk met code without a rule */
    struct cairn_fde_index known_index, eh_index, debug_index;
    bool has_exidx; /* and nothing else */
    bool asked_fp, keeps_fp;
    bool asked_table; /* `table` is all that will be */
    uint32_t n_asked; /* how often it was, before */
    enum cairn_unwind_table_end table_end;
    void *image; /* owned; NULL: no table */
    struct cairn_unwind_table table;
    bool asked_names;
    struct cairn_elf_symtab symtabs[CAIRN_SPACE_SYMTABS_MAX];
    size_t n_symtabs;
    struct cairn_elf_data minidebug;
};

/* What covers a vaddr. */
struct cairn_module_entry {
    enum { CAIRN_ENTRY_NONE, CAIRN_ENTRY_FDE, CAIRN_ENTRY_EXIDX, CAIRN_ENTRY_RULE } kind;
    const struct cairn_cfi *cfi;
    struct cairn_fde fde;
    size_t exidx;  /* number of the entry */
    uint32_t rule; /* of the module's table; cairn_space_module_find() does not ask that */
};

/* A file that is none, or damaged, makes a module that knows nothing; the log says why.
 * CAIRN_E_NOMEM. */
int cairn_space_module_new(struct cairn_span file, struct cairn_span debug_file,
                           struct cairn_space_module **ret_module, struct cairn_err *err);
void cairn_space_module_free(struct cairn_space_module *module); /* NULL is fine */

void cairn_space_module_find(const struct cairn_space_module *module, uint64_t vaddr,
                             struct cairn_module_entry *ret_entry);

/* Has what covers a vaddr been made of the code there? */
bool cairn_space_module_is_derived(const struct cairn_space_module *module, uint64_t vaddr);

/* Bytes of code whose rules were made of it. */
uint64_t cairn_space_module_derived_bytes(const struct cairn_space_module *module);

/* Makes unwind rules of code that has none, once, because a walk met such code; true where there
 * are some now that were not there before. Takes some 6 ms for 100 KB. */
bool cairn_space_module_derive(struct cairn_space_module *module);

enum cairn_table_when { CAIRN_TABLE_WHEN_IT_PAYS, CAIRN_TABLE_NOW };

/* All rules of the module as a table, for walks that want no more; NULL: not yet, or it has none
 * that say the same as the above. Made once it was asked for so often that it would have paid: in
 * the end that is at most twice what knowing before would have cost. */
const struct cairn_unwind_table *cairn_space_module_table(struct cairn_space_module *module,
                                                          const struct cairn_unwind_arch *arch,
                                                          enum cairn_table_when when);

/* Do its functions keep frame pointers? Asked of its rules, once; true where it has none, or they
 * are of another CPU. */
bool cairn_space_module_keeps_fp(struct cairn_space_module *module,
                                 const struct cairn_unwind_arch *arch);

/* The same of the one function that holds the vaddr: has it set up a frame pointer before it? Asked
 * of its code. */
struct cairn_fp_function cairn_space_module_function(struct cairn_space_module *module,
                                                     uint64_t vaddr);

/* The function that holds the vaddr, or NULL; borrowed from the module. */
const struct cairn_elf_symbol *cairn_space_module_symbol(struct cairn_space_module *module,
                                                         uint64_t vaddr);

#endif /* CAIRN_UNWIND_SPACE_MODULE_H */
