/* SPDX-License-Identifier: MIT */
/* cairn heap holds: which block is asked about, and the answers in words or as JSON. */
#ifndef CAIRN_CLI_HEAP_HOLDS_H
#define CAIRN_CLI_HEAP_HOLDS_H

#include <cairn/heap_holds.h>

#include "cli/heap.h"

/* A process or a core file. */
struct cli_holds_target {
    int pid;          /* 0: a core file, */
    const char *core; /* whose path this is */
};

/* "0xADDR", "#N": blocks of the Nth stack that cairn heap leaks lists, or a function: blocks that
 * it allocated, the largest first. `ret_vas` is freed by the caller. */
int cli_holds_find(struct cli_heap_wanted *wanted, const struct cli_holds_target *target,
                   const char *what, uint64_t **ret_vas, size_t *ret_n, struct cairn_err *err);

/* Paths to the block. */
void cli_holds_add(struct cairn_buffer *out, struct cairn_heap_holds *holds);
/* The same as members of an open object. */
void cli_holds_put(struct cairn_json *json, struct cairn_heap_holds *holds);

/* What keeps most: at most `n_shown` rows (0: all), below each other. CAIRN_E_NOMEM. */
int cli_holds_add_tree(struct cairn_buffer *out, struct cairn_heap_holds *holds, uint64_t n_shown,
                       struct cairn_err *err);
int cli_holds_put_tree(struct cairn_json *json, struct cairn_heap_holds *holds, uint64_t n_shown,
                       struct cairn_err *err);

/* Nodes below each other, those that retain most first: their numbers, `*ret_n` of them, and how
 * deep each is. Both are freed by the caller. */
int cli_holds_order(const struct cairn_heap_holds *holds, uint64_t n_shown, size_t **ret_order,
                    unsigned **ret_depths, size_t *ret_n, struct cairn_err *err);

/* "cache in /usr/bin/server", with C++ names as people write them. */
void cli_holds_add_name(struct cairn_buffer *out, const char *name);

/* What was read, on stderr. */
void cli_holds_say(struct cairn_heap_holds *holds, bool is_core);

#endif /* CAIRN_CLI_HEAP_HOLDS_H */
