/* SPDX-License-Identifier: MIT */
/* What cairn stack shows of a snapshot, whose frames are named already. */
#ifndef CAIRN_CLI_STACK_H
#define CAIRN_CLI_STACK_H

#include <stdbool.h>

#include <cairn/snapshot.h>

#include "base/json.h"

struct cli_stack_view {
    bool why;  /* how each frame was found */
    bool regs; /* the registers of each thread */
};

/* How often a stack was seen, and in which threads. */
struct cli_stack_group {
    uint32_t stack;
    uint64_t n_seen;
    int *tids; /* different ones */
    size_t n_tids, cap_tids;
    char *name; /* of the first thread; owned */
};
struct cli_stack_groups {
    struct cli_stack_group *items;
    size_t n, cap;
    uint64_t n_seen, n_takes;
};

/* Counts the threads of the last take. False: memory is gone. */
bool cli_stack_count(struct cli_stack_groups *groups, const struct cairn_snapshot *snapshot);
void cli_stack_sort(struct cli_stack_groups *groups); /* the most frequent first */
void cli_stack_groups_done(struct cli_stack_groups *groups);

/* The words for a thread's state. */
const char *cli_stack_state(char state);

/* Everything is escaped for a terminal. */
void cli_stack_head_text(struct cairn_buffer *out, const struct cairn_snapshot *snapshot,
                         const char *core);
void cli_stack_text(struct cairn_buffer *out, struct cairn_snapshot *snapshot,
                    const struct cli_stack_view *view);
void cli_stack_groups_text(struct cairn_buffer *out, struct cairn_snapshot *snapshot,
                           const struct cli_stack_groups *groups);

/* One object of the array that --json prints. */
void cli_stack_json(struct cairn_json *json, struct cairn_snapshot *snapshot, const char *core,
                    const struct cli_stack_view *view);
void cli_stack_groups_json(struct cairn_json *json, struct cairn_snapshot *snapshot,
                           const char *core, const struct cli_stack_groups *groups);

/* The names of DWARF's registers of a machine; NULL: it has no such register. */
const char *cli_stack_reg_name(uint32_t machine, unsigned reg);

#endif /* CAIRN_CLI_STACK_H */
