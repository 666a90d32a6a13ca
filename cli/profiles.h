/* SPDX-License-Identifier: MIT */
/* What the commands share that take profiles: their options, several read as one, some of their
 * samples kept, one type of values chosen, and what is said about how far they may be trusted. */
#ifndef CAIRN_CLI_PROFILES_H
#define CAIRN_CLI_PROFILES_H

#include <cairn/profile.h>

#include "base/buffer.h"
#include "cli/args.h"
#include "cli/guest_option.h"
#include "cli/numbers.h"
#include "cli/select_options.h"

/* "pprof" or "collapsed" as the value of an option; false after having said what is wrong. */
bool cli_format_arg(struct cli_args *args, const char *option, const char *text,
                    enum cairn_format *ret_format);

/* How profiles are read: all-zero is the usual way. */
struct cli_reading {
    enum cairn_format format; /* CAIRN_FORMAT_AUTO: what they look like */
    bool keeps_raw; /* frames without names stay so, but those of heap files, whose form has none */
    bool keeps_times;                /* of recordings whose samples are usually summed */
    bool keeps_births;               /* of blocks of heap files: their times and processes */
    const struct cli_select *select; /* filters of each input; NULL: none */
    const char *value;               /* what they count; NULL: what is shown first */
};

/* One input, named, with the samples that the filters leave. */
int cli_read_input(const char *path, const struct cli_reading *reading,
                   struct cairn_profile **ret_profile, struct cairn_err *err);

/* Names the frames by the files of this machine that are of the same build, where most have no name
 * yet. What is not found stays without a name. */
int cli_name_profile(struct cairn_profile *profile, bool heap_alone, struct cairn_err *err);

/* All inputs merged into one and named; `paths` ends with NULL, "-" is stdin and may stand there
 * once. */
int cli_read_profiles(char *const *paths, const struct cli_reading *reading,
                      struct cairn_profile **ret_profile, struct cairn_err *err);

/* The number of the values called `type`; where `type` is NULL, of those to show first. A profile
 * without any is CAIRN_OK and 0. CAIRN_E_ARG names `path` and lists what there is. */
int cli_find_value(const struct cairn_profile *profile, const char *path, const char *type,
                   size_t *ret_number, struct cairn_err *err);

/* What a command line wants of the profiles that it names. All but `reading` and what stands before
 * it is filled from options: those of CLI_WANTED_ROWS(). */
struct cli_wanted {
    struct cli_args *args;
    const struct cli_option *rows; /* the first of them */
    char *const *inputs;           /* ends with NULL */
    struct cli_reading reading;
    const char *value;         /* a type; NULL: the one to show first */
    struct cli_list functions; /* keep samples that hold all of these texts ... */
    struct cli_list labels;    /* ... and carry all of these: "KEY=VALUE" */
    enum cairn_guest_view guest;
    struct cli_select select;
    struct cli_steps *steps; /* what the filters did in the last reading; NULL: nobody asks */
};

enum cli_wanted_row {
    CLI_WANTED_FORMAT,
    CLI_WANTED_VALUE,
    CLI_WANTED_FUNCTION,
    CLI_WANTED_LABEL,
    CLI_WANTED_GUEST,
    CLI_WANTED_SELECT,
    CLI_N_WANTED = CLI_WANTED_SELECT + CLI_N_SELECT
};

/* Their rows in a table of options, from number `first` on. */
/* clang-format off */
#define CLI_LABEL_ROW                                                                              \
    {"label", 0, "KEY=VALUE",                                                                      \
        "only samples with this label, such as thread=main or lua.vmstate=compiled; given "        \
        "several times, all must be there"}
#define CLI_WANTED_ROWS(first, value_help, usual_guest)                                            \
    [(first) + CLI_WANTED_FORMAT] = {"from", 0, "FORMAT",                                          \
        "what the profiles are, such as pprof or perf-data (default: what they look like)"},       \
    [(first) + CLI_WANTED_VALUE] = {"value", 0, "TYPE", value_help},                               \
    [(first) + CLI_WANTED_FUNCTION] = {"function", 0, "TEXT",                                      \
        "only samples with a function on their stack whose name contains TEXT; given several "     \
        "times, all must be there"},                                                               \
    [(first) + CLI_WANTED_LABEL] = CLI_LABEL_ROW,                                                  \
    [(first) + CLI_WANTED_GUEST] = CLI_GUEST_ROW(usual_guest),                                     \
    CLI_SELECT_ROWS((first) + CLI_WANTED_SELECT)
/* clang-format on */

/* One of these options; false after having said what is wrong. */
bool cli_wanted_take(struct cli_wanted *wanted, enum cli_wanted_row row, const char *value);

/* The inputs as one profile with the wanted samples alone. `ret_value` is the number of the wanted
 * values, `ret_n_read` (or NULL) how many samples there were before any was dropped. */
int cli_wanted_read(const struct cli_wanted *wanted, struct cairn_profile **ret_profile,
                    size_t *ret_value, uint64_t *ret_n_read, struct cairn_err *err);

/* --label, in commands that do not have all of these options: checks KEY=VALUE and adds it, false
 * after having said what is wrong; then leaves the samples alone that have all of them. */
bool cli_labels_take(struct cli_args *args, const char *text, struct cli_list *labels);
int cli_labels_keep(const struct cli_list *labels, struct cairn_profile *profile,
                    struct cairn_err *err);

void cli_wanted_done(struct cli_wanted *wanted);

/* "90 whole (90.9 %), 9 cut: 9 no rule", where stats->n_judged is not 0; with those that have a gap
 * between the two. */
void cli_add_whole(struct cairn_buffer *b, const struct cairn_profile *profile,
                   const struct cairn_profile_stats *stats);

/* "99 samples over 2.0 s; 90 whole (90.9 %), 9 cut: 9 no rule; 2 of 40 frames unnamed": what the
 * profile tells, and nothing about whole stacks where it tells nothing. */
void cli_add_quality(struct cairn_buffer *b, const struct cairn_profile *profile);

/* The way to names, on stderr, where most frames have none. */
void cli_say_unnamed(const struct cairn_profile *profile, const char *path);

#endif /* CAIRN_CLI_PROFILES_H */
