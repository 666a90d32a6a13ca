/* SPDX-License-Identifier: MIT */
/*
 * Heap, within the room: the states that were read, one for each process.
 *
 *     file, folder, pid ──states.c──► bytes ──► view ──┬─totals.c──► sums over all, quality
 *                                                      ├─leaks.c───► profile, live blocks by stack
 *                                                      ├─mapped.c──► profile, live mappings
 *                                                      ├─blocks.c──► profile, each live block
 *                                                      └─save.c────► one compressed file
 *
 *     leaks of many processes ──merge.c──► one for each stack
 *     leaks of two looks ──keys.c──► stacks that are the same ──diff.c──► what grew, what shrank
 */
#ifndef CAIRN_WATCH_HEAP_H
#define CAIRN_WATCH_HEAP_H

#include <cairn/heap.h>

#include "base/buffer.h"
#include "base/file.h"
#include "elf/symbol_table.h"
#include "elf/symtab.h"
#include "formats/heap_profile.h"

struct cairn_heap_state {
    struct cairn_buffer bytes; /* a copy */
    struct cairn_heap_view view;
    struct cairn_heap_sums sums;          /* of all live blocks */
    uint64_t n_damaged, n_damaged_stacks; /* passed over: on reading, and when stacks were made */
    uint64_t read_ns;                     /* CLOCK_MONOTONIC up to which it tells; 0: unknown */
};

/* A mapping whose file was looked into. */
struct cairn_heap_place {
    char *path;
    uint64_t from, vaddr;
    struct cairn_file file;
    struct cairn_elf_symtab symtab; /* opened when it is first asked */
    bool has_file, has_symtab;
};
void cairn_heap_place_done(struct cairn_heap_place *place);

struct cairn_heap_untracked_program {
    char *path;
    uint32_t kind; /* enum cairn_program_kind */
    uint64_t n;
};

struct cairn_heap {
    struct cairn_heap_state *states;
    size_t n, cap;
    struct cairn_heap_place *places;
    size_t n_places, cap_places;
    struct cairn_heap_untracked_program *untracked; /* of all states, once somebody asked */
    size_t n_untracked, cap_untracked;
    bool has_untracked;
};

/* How many starts of untracked programs a state notes. */
uint64_t cairn_heap_count_untracked(const struct cairn_heap_state *state);
/* Right behind a run: resolves links in the paths of untracked programs, so that each has one name.
 * Later the files may be others. */
void cairn_heap_resolve_untracked(struct cairn_heap *heap);
/* Notes a program that was seen from outside, unless the states know it. `kind`: enum
 * cairn_program_kind. */
void cairn_heap_add_untracked(struct cairn_heap *heap, const char *path, uint32_t kind);

/* Takes over `bytes`, which hold one state or several, and those after it. `read_ns`: of a running
 * process the time at which they were read, else 0; the state's flags keep that it ran. On failure
 * the bytes are freed. */
int cairn_heap_take(struct cairn_heap *heap, struct cairn_buffer *bytes, uint64_t read_ns,
                    struct cairn_err *err);

/* The states of one file or process together have at most so many bytes. */
static const size_t CAIRN_HEAP_STATES_MAX = SIZE_MAX / 2 > UINT32_MAX ? (size_t)(UINT64_C(1) << 36)
                                                                      : SIZE_MAX / 4;

/* Does the process go on that wrote it? False where that is not known. */
bool cairn_heap_is_running(const struct cairn_heap_header *header);

/* Does it end in ".heap"? */
bool cairn_heap_is_state_name(const char *name);

/* The state of a running process from its file, which is closed. */
int cairn_heap_read_opened(int fd, const char *who, struct cairn_heap **ret_heap,
                           struct cairn_err *err);

/* Of struct cairn_heap_leak: the most bytes first. For qsort(3). */
int cairn_heap_compare_leaks(const void *x, const void *y);

/* cairn_profile_cut_of(), NULL where no end was cut. */
const char *cairn_heap_cut_of(const struct cairn_profile *p, size_t sample);

/* The square root, rounded. */
uint64_t cairn_heap_error(double squared);

/* CLOCK_MONOTONIC */
uint64_t cairn_heap_now(void);

/* When the state was read or ended, by its own epochs where nothing else is known. */
uint64_t cairn_heap_end_ns(const struct cairn_heap_state *state);

/* cairn_heap_profile_add() of a state's view, whose damage is counted once however often. */
int cairn_heap_add_to(struct cairn_heap_state *state, const struct cairn_heap_sums *sums,
                      struct cairn_profile *profile, uint32_t *ret_stacks, struct cairn_err *err);

/* How long before that an epoch began, ns. UINT64_MAX: not known. */
uint64_t cairn_heap_age(const struct cairn_heap_state *state, uint32_t epoch);

/* The epochs whose blocks a filter keeps. CAIRN_E_ARG: there is no such mark. */
int cairn_heap_select_epochs(const struct cairn_heap_state *state,
                             const struct cairn_heap_filter *filter,
                             struct cairn_heap_select *ret_select, struct cairn_err *err);

/* Is the image of the build with this ID, in hexadecimal digits? True where none is given. */
bool cairn_heap_is_of_build(const struct cairn_elf *elf, const char *hex);

/* Adds the lines of a text. CAIRN_E_FORMAT names the first that is wrong; those before it hold. */
int cairn_heap_suppressions_add(struct cairn_heap_suppressions *s, struct cairn_span text,
                                struct cairn_err *err);

/* Suppressions out of a text; cairn_heap_suppressions_read() without the file. */
int cairn_heap_suppressions_parse(struct cairn_span text, struct cairn_heap_suppressions **ret_s,
                                  struct cairn_err *err);

/* The first function of that name in one table of symbols: it may be local, as hidden ones are once
 * they are linked. */
bool cairn_heap_find_function(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                              const char *name, struct cairn_elf_symbol *ret_symbol);

/* As execvp(3) finds it. False: it does not, or `size` is too small. */
bool cairn_heap_find_program(const char *name, char *ret_path, size_t size);

/* A caller's filter, of any size; NULL: all. */
struct cairn_heap_filter cairn_heap_filter_of(const struct cairn_heap_filter *filter);
bool cairn_heap_filter_is_all(const struct cairn_heap_filter *filter);

#endif /* CAIRN_WATCH_HEAP_H */
