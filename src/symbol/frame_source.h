/* SPDX-License-Identifier: MIT */
/*
 * What the policy for names asks of debug information and symbols. There are two who answer: the
 * units of DWARF, read as look-ups need them (frames_units.c), and an index (frames_index.c). Both
 * must give the same answers.
 *
 *     address ─► place: file, line, node ─► node: caller's node, file and line ─► ...
 *                                     └──► function: linkage, plain, shown name, declared line
 *     address ─► symbol
 */
#ifndef CAIRN_SYMBOL_FRAME_SOURCE_H
#define CAIRN_SYMBOL_FRAME_SOURCE_H

#include "symbol/frames.h"

/* Numbers mean what their source says; 0 as a node is "no function". */
struct cairn_frame_place {
    bool known; /* a function or a line is; the others are 0 else */
    uint32_t node;
    uint32_t file, line;
    struct cairn_unit_table *table; /* the source of units alone */
    struct cairn_dwarf_unit *unit;
};

struct cairn_frame_node {
    uint32_t parent; /* 0: a function of its own; else the lines below are where it was called */
    uint32_t call_file, call_line;
    uint32_t function; /* as the source counts them */
};

/* What covers an address. */
struct cairn_frame_symbol {
    uint64_t vaddr;
    const char *bare;     /* the name without version and suffix; NULL: there is no symbol */
    const char *readable; /* the bare name demangled in full; NULL: nobody did yet */
    const char *suffix;   /* NULL: none */
    enum cairn_symbol_source source;
    bool shared; /* other symbols cover the same bytes */
};

/* All fail with CAIRN_E_NOMEM alone. Texts hold until names are forgotten. */
struct cairn_frame_source {
    int (*find)(const struct cairn_frames_request *q, struct cairn_frame_place *ret_place,
                struct cairn_err *err);
    void (*node)(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                 uint32_t node, struct cairn_frame_node *ret_node);
    /* NULL where it is not known. */
    int (*path)(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                uint32_t file, const char **ret_path, struct cairn_err *err);
    int (*function)(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                    uint32_t function, struct cairn_function **ret_function, struct cairn_err *err);
    /* The plain name with what is around it. */
    int (*qualify)(const struct cairn_frames_request *q, const struct cairn_function *function,
                   const char **ret_name, struct cairn_err *err);
    int (*symbol)(const struct cairn_frames_request *q, struct cairn_frame_symbol *ret_symbol,
                  struct cairn_err *err);
    /* Does the function that `place` is in begin (or go on) at `vaddr`? */
    bool (*same_function)(const struct cairn_frames_request *q,
                          const struct cairn_frame_place *place, uint64_t vaddr);
};

extern const struct cairn_frame_source cairn_frames_of_units;
extern const struct cairn_frame_source cairn_frames_of_index;

#endif /* CAIRN_SYMBOL_FRAME_SOURCE_H */
