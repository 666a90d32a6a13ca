/* SPDX-License-Identifier: MIT */
/*
 * The resolver, as the files of this room share it.
 *
 *     token ──► key: where it counts from, value, kind ──► names ──► finished text
 *                                                            │ the first time
 *                                  address space or module ──┴──► vaddr ──► symbolizer
 */
#ifndef CAIRN_RESOLVE_RESOLVER_H
#define CAIRN_RESOLVE_RESOLVER_H

#include "base/address.h"
#include "base/buffer.h"
#include "resolve/address_space.h"
#include "resolve/jit.h"
#include "resolve/modules.h"

enum { CAIRN_WORDS_MAX = 1 << 30 }; /* modules named by a text; a slot of the names has 30 bits */

/* What one frame of a text is. */
struct cairn_key {
    uint64_t value; /* as the text says it: va, rel or off */
    uint32_t word;  /* 0: va; else the module that it counts from, see words */
    enum cairn_address_kind kind;
    bool is_function_start; /* an earlier run knew the function by this alone: no line is asked for
                             */
};

/* The finished text of one key. */
struct cairn_answer {
    const char *text; /* NULL where there is none, or it was forgotten */
    uint32_t size;
    bool was_text;  /* `text` is NULL only where it was forgotten */
    uint16_t cause; /* enum cairn_cause; CAIRN_CAUSE_NONE: it has a name. CAIRN_CAUSE_NO_SYMBOL
                       with a text: where its function begins; of a key with a module the text
                       goes behind that */
};

struct cairn_name_slot;

/* Each key once. The texts are what `max_bytes` bounds: they are forgotten and made again. */
struct cairn_name_cache {
    struct cairn_name_slot *slots; /* open addressing, at most 1/2 full, a power of two */
    size_t n_slots;
    struct cairn_answer *answers;
    size_t n, cap;
    struct cairn_strings texts;
    size_t max_bytes; /* 0: no bound */
    struct cairn_buffer buffer;
};

struct cairn_resolver {
    struct cairn_modules modules;
    struct cairn_address_space space; /* of the maps; empty where there are none */
    struct cairn_jit jit;
    struct cairn_name_cache names;
    struct cairn_table words; /* module of a token (a string) -> index + 1 of its module */
    struct cairn_known_module **by_word; /* by word; [0] is unused */
    size_t n_words, cap_words;
    enum cairn_leaf leaf;
    enum cairn_offsets offsets;
    bool lines, warned_no_mapping;
    const int *files; /* by number of a profile's module; -1: none. Borrowed */
    size_t n_files;
    struct cairn_klog_spaces *klog; /* maps of the processes of a kernel log; NULL: none */
    struct cairn_resolve_summary summary;
};

void cairn_name_cache_done(struct cairn_name_cache *names);

/* Where the address of a key lies. Only lack of memory fails. */
int cairn_resolver_find(struct cairn_resolver *resolver, struct cairn_key key,
                        struct cairn_resolve_place *ret_place, struct cairn_err *err);

/* The answer for a key, looked up the first time; borrowed until the next call. */
int cairn_resolver_name(struct cairn_resolver *resolver, struct cairn_key key,
                        struct cairn_answer *ret_answer, struct cairn_err *err);

/* Is there an answer for it that need not be made again? */
bool cairn_resolver_knows(const struct cairn_resolver *resolver, struct cairn_key key);

/* The word for the module of "module+0xoff", which has no NUL; looks for its files the first
 * time. */
int cairn_resolver_word(struct cairn_resolver *resolver, const char *module, size_t size,
                        uint32_t *ret_word, struct cairn_err *err);

/* Asks the symbolizer. A module that turns out to be damaged as a whole is given up with a warning;
 * `place->cause` then says so. The symbol is borrowed until the next call. */
int cairn_resolver_symbolize(struct cairn_resolver *resolver, struct cairn_resolve_place *place,
                             struct cairn_symbol *ret_symbol, struct cairn_err *err);

/* Where an address in the memory of process `pid` (0: unknown) lies: in what the maps say, in the
 * kernel, or in code made at run time. Only lack of memory fails. */
int cairn_resolver_place(struct cairn_resolver *resolver, int pid, uint64_t va,
                         struct cairn_resolve_place *ret_place, struct cairn_err *err);

/* CAIRN_WHAT_KERNEL, CAIRN_WHAT_JIT, or CAIRN_WHAT_NATIVE: by what gave the name. */
enum cairn_frame_what cairn_resolver_what(const struct cairn_resolve_place *place,
                                          const struct cairn_symbol *symbol);

/* Counts a different address. */
void cairn_resolver_count(struct cairn_resolver *resolver, const struct cairn_resolve_place *place);

/* The input has ended: what is to be warned of is said. Where it named its own modules, what lies
 * in none of them is no fault of the maps. */
void cairn_resolver_report(struct cairn_resolver *resolver, bool named_modules);

#endif /* CAIRN_RESOLVE_RESOLVER_H */
