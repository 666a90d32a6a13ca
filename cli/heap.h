/* SPDX-License-Identifier: MIT */
/*
 * cairn heap: its parts share what a PID or a file stands for, how stacks get their names, and how
 * they are printed.
 */
#ifndef CAIRN_CLI_HEAP_H
#define CAIRN_CLI_HEAP_H

#include <cairn/heap.h>
#include <cairn/symbolizer.h>

#include "base/buffer.h"
#include "cli/args.h"
#include "cli/way_options.h"

/* "PID", a file, or a folder of states. `ret_pid`: 0 where it is none of a running process. */
int cli_heap_read(const char *input, struct cairn_heap **ret_heap, int *ret_pid,
                  struct cairn_err *err);

/* What all parts that name frames are told by options. */
struct cli_heap_names {
    int verbosity;
    struct cli_list symbol_dirs;
    struct cairn_symbolizer_opts symbols; /* in which way they are read */
};
enum cli_heap_name_row { CLI_HEAP_SYMBOLS, CLI_HEAP_VERBOSE, CLI_HEAP_WAYS };

/* Their rows in a table of options, from number `first` on. */
/* clang-format off */
#define CLI_HEAP_NAME_ROWS(first)                                                                  \
    [(first) + CLI_HEAP_SYMBOLS] = {"symbols", 's', "DIR",                                         \
        "look for binaries and debug files in DIR too; may be given several times"},               \
    [(first) + CLI_HEAP_VERBOSE] = {"verbose", 'v', NULL, "say what is done; twice: more"},        \
    CLI_WAY_ROWS((first) + CLI_HEAP_WAYS)
/* clang-format on */

/* One of these options; false after having said what is wrong. */
bool cli_heap_take_name(struct cli_args *args, int row, const char *value,
                        struct cli_heap_names *names);

/* The one PID or FILE that is the operand; NULL after having said what is wrong. */
const char *cli_heap_input(struct cli_args *args);

/* Names the frames of a profile: those of a running process by its own files. */
int cli_heap_name(const struct cli_heap_names *names, int pid, struct cairn_profile *profile,
                  struct cairn_err *err);

/* The last part of a module's or a file's path, so that no terminal is fooled. */
void cli_heap_add_base(struct cairn_buffer *out, const char *path);

/* The frames of a stack, a line each, as cairn prints them. */
void cli_heap_add_stack(struct cairn_buffer *out, const struct cairn_profile *profile,
                        uint32_t stack);

/* The innermost frames, for a line of a table: "zmalloc < createObject < initServer (server.c:9)".
 */
void cli_heap_add_place(struct cairn_buffer *out, const struct cairn_profile *profile,
                        uint32_t stack);

/* Live blocks one by one, for texts that list them so. */
struct cli_heap_blocks {
    const struct cairn_heap_block_info *items;
    size_t n;
    const struct cairn_profile *profile; /* named */
};
void cli_heap_add_tracker(struct cairn_buffer *out, struct cairn_heap *heap,
                          const struct cli_heap_blocks *blocks, int pid);
void cli_heap_add_ndk(struct cairn_buffer *out, struct cairn_heap *heap,
                      const struct cli_heap_blocks *blocks, int pid);

/* What each subcommand is. */
extern const struct cli_command cli_heap_run, cli_heap_leaks, cli_heap_report, cli_heap_mark,
    cli_heap_env;

/* "peak 12.3 MB, 4 kB in 3 blocks live at exit; ..." and the largest stacks, on stderr. */
int cli_heap_say_summary(struct cairn_heap *heap, const struct cli_heap_names *names,
                         struct cairn_err *err);

#endif /* CAIRN_CLI_HEAP_H */
