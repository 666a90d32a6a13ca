/* SPDX-License-Identifier: MIT */
/* What cairn stack shows of a snapshot, whose frames are named already. */
#ifndef CAIRN_CLI_STACK_H
#define CAIRN_CLI_STACK_H

#include <stdbool.h>

#include <cairn/snapshot.h>

#include "base/json.h"

struct cli_stack_view {
    bool why;        /* how each frame was found */
    bool regs;       /* the registers of each thread */
    bool coroutines; /* those that no thread runs, too */
    bool no_fold;    /* frames that repeat are printed one by one */
    enum cairn_guest_view guest;
};

enum { CLI_STACK_WAYS = CAIRN_SNAPSHOT_SAMPLE + 1 };

/* How often a stack was seen, in which threads, and how it was read there. */
struct cli_stack_group {
    uint32_t stack;
    enum cairn_unwind_end end;
    bool is_walked; /* there are frames of the program, and `end` is why no more */
    bool has_other_names;
    uint64_t n_seen, n_by_way[CLI_STACK_WAYS];
    uint64_t held_max_ns;
    int *tids; /* different ones */
    size_t n_tids, cap_tids;
    char *name, *reason, *end_detail;    /* of the first thread; owned */
    struct cairn_snapshot_frame *frames; /* of the first thread; NULL: not kept. Owned */
    uint32_t n_frames;
};
struct cli_stack_groups {
    bool keeps_frames; /* for `why` */
    struct cli_stack_group *items;
    size_t n, cap;
    uint64_t n_seen, n_takes;
};

/* Counts the threads of the last take. False: memory is gone. */
bool cli_stack_count(struct cli_stack_groups *groups, const struct cairn_snapshot *snapshot);
/* The stack of a thread, or of coroutines. */
struct cli_stack_source {
    struct cairn_snapshot *snapshot;
    /* cairn_snapshot_frame() or cairn_snapshot_coroutine_frame() */
    int (*get)(const struct cairn_snapshot *snapshot, size_t index, size_t frame,
               struct cairn_snapshot_frame *ret_frame);
    size_t index;
    uint32_t n_frames;
};

/* The numbers of the frames of a source, and of a group, the innermost first; cairn_free() them.
 * NULL: memory is gone. */
uint32_t *cli_stack_source_frames(const struct cli_stack_source *source);
uint32_t *cli_stack_group_frames(const struct cairn_profile *profile,
                                 const struct cli_stack_group *group, uint32_t *ret_n);
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
                           const struct cli_stack_groups *groups,
                           const struct cli_stack_view *view);

/* The frames of a user stack, innermost first. */
void cli_stack_frames_text(struct cairn_buffer *out, const struct cairn_profile *profile,
                           const uint32_t *frames, uint32_t n, const struct cli_stack_view *view);

/* Coroutines that no thread runs, behind the threads. */
void cli_stack_coroutines_text(struct cairn_buffer *out, struct cairn_snapshot *snapshot,
                               const struct cli_stack_view *view);

/* One object of the array that --json prints. */
void cli_stack_json(struct cairn_json *json, struct cairn_snapshot *snapshot, const char *core,
                    const struct cli_stack_view *view);
void cli_stack_groups_json(struct cairn_json *json, struct cairn_snapshot *snapshot,
                           const char *core, const struct cli_stack_groups *groups,
                           const struct cli_stack_view *view);

/* The names of DWARF's registers of a machine; NULL: it has no such register. */
const char *cli_stack_reg_name(uint32_t machine, unsigned reg);
/* The registers that are known: four a line, or as the object "registers". */
void cli_stack_regs_text(struct cairn_buffer *out, const struct cairn_cursor_regs *regs);
void cli_stack_regs_json(struct cairn_json *json, const struct cairn_cursor_regs *regs);

/* What the core file says of its process and of what ended it: lines, or members of the open
 * object. */
void cli_stack_core_text(struct cairn_buffer *out, const struct cairn_snapshot *snapshot);
void cli_stack_core_json(struct cairn_json *json, const struct cairn_snapshot *snapshot);

#endif /* CAIRN_CLI_STACK_H */
