/* SPDX-License-Identifier: MIT */
/* cairn heap lost: what was found, in words or as JSON. */
#ifndef CAIRN_CLI_HEAP_LOST_H
#define CAIRN_CLI_HEAP_LOST_H

#include "cli/heap.h"

/* Looks, names, and leaves out what is suppressed or in other modules. */
int cli_lost_look(struct cli_heap_wanted *wanted, int pid, const struct cairn_heap_lost_opts *opts,
                  struct cairn_heap_lost *ret_lost, struct cairn_err *err);

/* Is more lost than --fail-over allows? Says so. */
bool cli_lost_gate(const struct cli_heap_wanted *wanted, const struct cairn_heap_lost *lost);

/* The stacks, `n_shown` of each kind at most (0: all), and their sums. */
void cli_lost_add(struct cairn_buffer *out, const struct cairn_heap_lost *lost, uint64_t n_shown,
                  bool wants_possibly);
/* The same as members of an open object. */
void cli_lost_put(struct cairn_json *json, const struct cairn_heap_lost *lost, uint64_t n_shown);
/* The sums alone: a line, or the members "lost", "possibly" and "unsure". */
void cli_lost_add_sums(struct cairn_buffer *out, const struct cairn_heap_lost *lost);
void cli_lost_put_sums(struct cairn_json *json, const struct cairn_heap_lost *lost);
/* How it was found, and why it may not be all: on stderr. */
void cli_lost_say(const struct cairn_heap_lost *lost, bool is_core);

/* Looks at the process of `look`, whose `lost` is filled: for each of its stacks. */
int cli_heap_report_lost(struct cli_heap_wanted *wanted, struct cli_heap_look *look,
                         struct cairn_heap_lost *ret_lost, struct cairn_err *err);

/* What is lost, with what hangs on it. */
void cli_lost_sum(const struct cairn_heap_leak *leaks, size_t n, uint64_t *ret_bytes,
                  uint64_t *ret_blocks);

#endif /* CAIRN_CLI_HEAP_LOST_H */
