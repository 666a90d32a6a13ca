/* SPDX-License-Identifier: MIT */
/* What a symbolizer is made of: its modules, by what was asked for, and what they share. */
#ifndef CAIRN_SYMBOL_SYMBOLIZER_H
#define CAIRN_SYMBOL_SYMBOLIZER_H

#include "symbol/frames.h"

/* How a module was asked for. Contents of those before CAIRN_ASKED_BYTES can be dropped and read
 * again. */
enum cairn_asked {
    CAIRN_ASKED_PATH,
    CAIRN_ASKED_FILE,
    CAIRN_ASKED_FD,
    CAIRN_ASKED_BYTES,
    CAIRN_ASKED_LIST
};

/* One answer of open, good or bad. */
struct cairn_symbolizer_entry {
    struct cairn_module module; /* first: a module is its entry */
    enum cairn_asked kind;
    char *asked, *asked_id;   /* id: "" where none was given */
    uint64_t hash;            /* of the three above */
    struct cairn_err failure; /* code is CAIRN_OK where the module is sound */
};

struct cairn_symbolizer {
    struct cairn_debugfile_finder *finder;
    struct cairn_demangler demangler;
    struct cairn_symbolizer_entry **entries;
    size_t n, cap;
    struct cairn_frames frames;
    struct cairn_way_settings way;
    size_t memory_bytes; /* SIZE_MAX: no bound */
    uint64_t now;        /* counts look-ups */
    unsigned n_reloads;  /* modules dropped for the bound */
    bool no_inlines, no_debug_info;
    bool discriminators, symbol_files;
};

/* Finds and opens the files of a module the first time; later its contents alone were dropped. */
int cairn_symbolizer_load(struct cairn_symbolizer *s, struct cairn_symbolizer_entry *e,
                          struct cairn_err *err);

/* Frees the modules. */
void cairn_symbolizer_close_all(struct cairn_symbolizer *s);

/* Before a look-up: makes room, and reads what the module lost. */
int cairn_symbolizer_prepare(struct cairn_symbolizer *s, struct cairn_module *module,
                             struct cairn_err *err);

/* One address of a module that is prepared, by the way that was chosen. The frames are the
 * symbolizer's, until the next look-up; their texts hold until the module is read in another way or
 * the bound of memory is kept. */
int cairn_symbolizer_look_up(struct cairn_symbolizer *s, struct cairn_module *module,
                             uint64_t vaddr, struct cairn_symbol *ret_symbol,
                             struct cairn_err *err);

/* Before a look-up, while nobody holds an answer: drops what was not used for longest until the
 * bound is kept. */
void cairn_symbolizer_keep_bound(struct cairn_symbolizer *s);

#endif /* CAIRN_SYMBOL_SYMBOLIZER_H */
