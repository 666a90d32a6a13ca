/* SPDX-License-Identifier: MIT */
/*
 * cairn heap: its parts share what a PID or a file stands for, how stacks get their names, and how
 * they are printed.
 */
#ifndef CAIRN_CLI_HEAP_H
#define CAIRN_CLI_HEAP_H

#include <cairn/heap.h>
#include <cairn/resolve.h>
#include <cairn/symbolizer.h>

#include "base/buffer.h"
#include "base/json.h"
#include "cli/args.h"
#include "cli/way_options.h"

/* "PID", a file, or a folder of states. `ret_pid`: 0 where it is none of a running process. */
int cli_heap_read(const char *input, struct cairn_heap **ret_heap, int *ret_pid,
                  struct cairn_err *err);

/* A pid, or the one process of that name. */
int cli_heap_find_process(const char *input, int *ret_pid, struct cairn_err *err);
/* The same, or a core file: then `*ret_core` is `input`, and the pid is 0. Else it is NULL. */
int cli_heap_find_target(const char *input, int *ret_pid, const char **ret_core,
                         struct cairn_err *err);
/* What a message calls it: "process 42", "core.42". Borrowed until the next call. */
const char *cli_heap_target_text(int pid, const char *core);

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

/* The one PID, NAME or FILE that is the operand; NULL after having said what is wrong. */
const char *cli_heap_input(struct cli_args *args);
/* The same of one PID or NAME. */
const char *cli_heap_process(struct cli_args *args);

/* What names frames: those of a running process by its own files. */
int cli_heap_resolver(const struct cli_heap_names *names, int pid,
                      struct cairn_resolver **ret_resolver, struct cairn_err *err);

/* Names the frames of one profile. */
int cli_heap_name(const struct cli_heap_names *names, int pid, struct cairn_profile *profile,
                  struct cairn_err *err);

/* The frames of a stack, a line each, as cairn prints them. */
void cli_heap_add_stack(struct cairn_buffer *out, const struct cairn_profile *profile,
                        uint32_t stack);

/* The same as the member "frames" of an object. */
void cli_heap_put_stack(struct cairn_json *json, const struct cairn_profile *profile,
                        uint32_t stack);

/* Members of an open object: the process that was asked about, and the path of its core file. */
void cli_heap_put_target(struct cairn_json *json, int pid, const char *core,
                         const struct cairn_heap *heap);
/* Members of an open object: how old a stack's blocks are, and whose they are. */
void cli_heap_put_origin(struct cairn_json *json, const struct cairn_heap *heap,
                         const struct cairn_heap_leak *leak);

/* The innermost frames, for a line of a table: "zmalloc < createObject < initServer (server.c:9)".
 */
void cli_heap_add_place(struct cairn_buffer *out, const struct cairn_profile *profile,
                        uint32_t stack);

/* Which live blocks are asked for, and how many there may be. Begins all-zero but for filter.size
 * and the way of names. */
struct cli_heap_wanted {
    struct cairn_heap_filter filter;
    struct cli_list modules; /* texts that a module's file name contains; none: all */
    const char *suppressions_file, *baseline;
    bool no_defaults; /* of --no-default-suppressions */
    bool has_limit;
    uint64_t limit; /* bytes: of --fail-over */
    struct cli_heap_names names;
    struct cairn_heap_suppressions *suppressions; /* cli_heap_wanted_open() */
    bool has_programs;                            /* their own suppressions are among them */
    struct cairn_resolver *resolver;
    int resolver_pid;
};
int cli_heap_wanted_open(struct cli_heap_wanted *wanted, struct cairn_err *err);
void cli_heap_wanted_done(struct cli_heap_wanted *wanted);

/* Rows of options that several parts have. */
/* clang-format off */
#define CLI_HEAP_SUPPRESSIONS_ROW {"suppressions", 0, "FILE",                                      \
    "leave out stacks that FILE names, in LeakSanitizer's form (lines \"leak:PATTERN\")"}
#define CLI_HEAP_NO_DEFAULTS_ROW {"no-default-suppressions", 0, NULL,                              \
    "list what the C and C++ libraries keep in every program too, and do not ask the program for " \
    "suppressions of its own"}
#define CLI_HEAP_BASELINE_ROW {"baseline", 0, "FILE",                                              \
    "hold it against the heap file FILE: print what grew, and exit with status 3 if that is more " \
    "than --fail-over (default: 0)"}
#define CLI_HEAP_OLDER_ROW {"older-than", 0, "SECONDS", "only blocks that are at least so old"}
#define CLI_HEAP_SINCE_ROW {"since-mark", 0, "N",                                                  \
    "only blocks born after mark N (cairn heap mark)"}
#define CLI_HEAP_MODULE_ROW {"module", 0, "NAME",                                                  \
    "only stacks with a frame in a module whose file name contains NAME; given several times, in " \
    "any of them"}
/* Of the tracker, whether it starts with a command or comes into a process. */
#define CLI_HEAP_DEPTH_ROW {"depth", 0, "N", "keep the innermost N frames of a stack (1024)"}
#define CLI_HEAP_NO_STACKS_ROW {"no-stacks", 0, NULL, "record callers instead of stacks"}
#define CLI_HEAP_SAMPLE_ROW {"sample", 0, "BYTES",                                                 \
    "record one block in so many bytes, at random; sums are estimates"}
#define CLI_HEAP_MAX_MEMORY_ROW {"max-memory", 0, "SIZE",                                          \
    "memory for what is recorded (a tenth of the machine's)"}
/* clang-format on */

/* Options that say which blocks are wanted, side by side in a table. */
enum cli_heap_wanted_row {
    CLI_HEAP_WANTED_MIN,
    CLI_HEAP_WANTED_OLDER,
    CLI_HEAP_WANTED_SINCE,
    CLI_HEAP_WANTED_MODULE,
    CLI_HEAP_WANTED_SUPPRESSIONS,
    CLI_HEAP_WANTED_NO_DEFAULTS,
    CLI_HEAP_N_WANTED
};

/* Values of options; false after having said what is wrong. */
bool cli_heap_take_wanted(struct cli_args *args, enum cli_heap_wanted_row row, const char *value,
                          struct cli_heap_wanted *wanted);
bool cli_heap_take_seconds(struct cli_args *args, const char *option, const char *value,
                           double *ret_seconds);
bool cli_heap_take_depth(struct cli_args *args, const char *value, uint32_t *ret_depth);
/* Leaves out the leaks that are in none of these modules, if there are any. */
void cli_heap_keep_modules(const struct cli_list *modules, const struct cairn_profile *profile,
                           struct cairn_heap_leak *leaks, size_t *n);

/* What lived when it was looked at, by stack, named. */
struct cli_heap_look {
    int pid; /* 0: of a file */
    struct cairn_heap *heap;
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    size_t n;
    uint64_t *lost; /* bytes of each leak that nothing points to, and what hangs on them; NULL: not
                       asked for (cli_heap_report_lost()) */
};
int cli_heap_look(struct cli_heap_wanted *wanted, const char *input, struct cli_heap_look *ret_look,
                  struct cairn_err *err);
/* The same of what is read already; takes over `heap`, also on failure. */
int cli_heap_look_at(struct cli_heap_wanted *wanted, struct cairn_heap *heap, int pid,
                     struct cli_heap_look *ret_look, struct cairn_err *err);
void cli_heap_look_done(struct cli_heap_look *look); /* all-zero is fine */
void cli_heap_sum_look(const struct cli_heap_look *look, uint64_t *ret_bytes, uint64_t *ret_blocks);

/* The stacks of a look, `n_shown` at most (0: all), and their sum: in words, or as members of an
 * open object. */
void cli_heap_add_leaks(struct cairn_buffer *out, const struct cli_heap_look *look,
                        uint64_t n_shown);
void cli_heap_put_leaks(struct cairn_json *json, const struct cli_heap_look *look,
                        uint64_t n_shown);

/* "3 s old", ", 3 s to 1 min old": behind what a leak has. */
void cli_heap_add_age(struct cairn_buffer *out, const struct cairn_heap_leak *leak);
/* Its frames, why they end early, and an empty line. */
void cli_heap_add_whole_stack(struct cairn_buffer *out, const struct cairn_profile *profile,
                              const struct cairn_heap_leak *leak);

/* What was suppressed, by pattern: on stderr, or as the member "suppressed". */
void cli_heap_say_suppressed(const struct cli_heap_wanted *wanted);
void cli_heap_put_suppressed(struct cairn_json *json, const struct cli_heap_wanted *wanted);

/* How far the numbers can be trusted, on stderr; `who` (or NULL) stands before it. */
void cli_heap_say_quality(const struct cli_heap_look *look, const char *who);

/* Two looks, which must stay as long. Those that grew come first. */
struct cli_heap_changes {
    const struct cli_heap_look *before, *after;
    struct cairn_heap_change *items;
    size_t n, n_grown;
    uint64_t grown_bytes, shrunk_bytes;
};
int cli_heap_compare(const struct cli_heap_look *before, const struct cli_heap_look *after,
                     struct cli_heap_changes *ret_changes, struct cairn_err *err);
void cli_heap_changes_done(struct cli_heap_changes *changes);
/* `n_shown` of each side at most, 0: all. */
void cli_heap_add_changes(struct cairn_buffer *out, const struct cli_heap_changes *changes,
                          uint64_t n_shown, bool wants_shrunk);
/* Members of an object that is open. */
void cli_heap_put_changes(struct cairn_json *json, const struct cli_heap_changes *changes,
                          uint64_t n_shown, bool wants_shrunk);

/* Is more live, or did more grow where `changes` is not NULL, than is allowed? Says so. */
bool cli_heap_gate(const struct cli_heap_wanted *wanted, const struct cli_heap_look *now,
                   const struct cli_heap_changes *changes);

/* Again and again, until the process ends; on stdout. */
struct cli_heap_every {
    const char *input; /* "PID" */
    double seconds;
    uint64_t n_shown; /* 0: all */
    bool json;
};
int cli_heap_look_every(struct cli_heap_wanted *wanted, const struct cli_heap_every *every,
                        struct cairn_err *err);

/* Live blocks one by one, for texts that list them so. */
struct cli_heap_blocks {
    const struct cairn_heap_block_info *items;
    size_t n;
    const struct cairn_profile *profile; /* named, */
    struct cairn_resolver *resolver;     /* by this one */
};
void cli_heap_add_tracker(struct cairn_buffer *out, struct cairn_heap *heap,
                          const struct cli_heap_blocks *blocks, int pid);
void cli_heap_add_ndk(struct cairn_buffer *out, struct cairn_heap *heap,
                      const struct cli_heap_blocks *blocks, int pid);

/* Who has most of each value: stacks, or functions; `n_shown` rows of each, 0: all. */
int cli_heap_add_tables(struct cairn_buffer *out, const struct cli_heap_look *look,
                        uint64_t n_shown, bool by_function, struct cairn_err *err);
/* The same of stacks as the member "top". */
int cli_heap_put_tables(struct cairn_json *json, const struct cli_heap_look *look, uint64_t n_shown,
                        struct cairn_err *err);

/* What a process had over time: a few lines, or all that is known as the member "timeline". */
void cli_heap_add_timeline(struct cairn_buffer *out, const struct cairn_heap *heap, size_t process);
void cli_heap_put_timeline(struct cairn_json *json, const struct cairn_heap *heap, size_t process);

/* The mappings that live, a line for each stack, at most `n_shown` (0: all); nothing where there
 * are none. */
int cli_heap_add_maps(struct cairn_buffer *out, struct cairn_heap *heap,
                      const struct cli_heap_names *names, int pid, uint64_t n_shown,
                      struct cairn_err *err);
/* The same as members of an object that is open: "mappings", "mapped_bytes", "peak_mapped_bytes",
 * and "mapped", which is empty where there are none. */
int cli_heap_put_maps(struct cairn_json *json, struct cairn_heap *heap,
                      const struct cli_heap_names *names, int pid, uint64_t n_shown,
                      struct cairn_err *err);

/* What each subcommand is. */
extern const struct cli_command cli_heap_run, cli_heap_leaks, cli_heap_lost, cli_heap_holds,
    cli_heap_diff, cli_heap_report, cli_heap_top_command, cli_heap_mark, cli_heap_list,
    cli_heap_clean, cli_heap_env, cli_heap_attach, cli_heap_detach, cli_heap_stop, cli_heap_start;

/* The peak, with its bound where that is more than 1 %: "12.3 MB (right to 0.4 MB)". */
void cli_heap_add_peak(struct cairn_buffer *out, const struct cairn_heap_totals *t);
/* "peak 12.3 MB, 4 kB in 3 blocks live at exit; ..." and the largest stacks, on stderr. */
int cli_heap_say_summary(struct cairn_heap *heap, const struct cli_heap_names *names,
                         struct cairn_err *err);

#endif /* CAIRN_CLI_HEAP_H */
