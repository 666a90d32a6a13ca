/* SPDX-License-Identifier: MIT */
/* What the commands share that take profiles: several read as one, some of their samples kept, one
 * type of values chosen, and what is said about how far they may be trusted. */
#ifndef CAIRN_CLI_PROFILES_H
#define CAIRN_CLI_PROFILES_H

#include <cairn/profile.h>

#include "base/buffer.h"
#include "cli/args.h"

/* "pprof" or "collapsed" as the value of an option; false after having said what is wrong. */
bool cli_format_arg(struct cli_args *args, const char *option, const char *text,
                    enum cairn_format *ret_format);

/* All inputs merged into one; `paths` ends with NULL, "-" is stdin and may stand there once. */
int cli_read_profiles(char *const *paths, enum cairn_format format,
                      struct cairn_profile **ret_profile, struct cairn_err *err);

/* The number of the values called `type`; where `type` is NULL, of those to show first. A profile
 * without any is CAIRN_OK and 0. CAIRN_E_ARG names `path` and lists what there is. */
int cli_find_value(const struct cairn_profile *profile, const char *path, const char *type,
                   size_t *ret_number, struct cairn_err *err);

/* Which samples to keep: those that hold all of the functions and carry all of the labels. */
struct cli_selection {
    struct cli_list functions; /* texts */
    struct cli_list labels;    /* "KEY=VALUE" */
};
bool cli_select_label(struct cli_selection *selection, struct cli_args *args, const char *text);
int cli_select(const struct cli_selection *selection, struct cairn_profile *profile,
               struct cairn_err *err);
bool cli_selects(const struct cli_selection *selection); /* does it drop anything? */
void cli_selection_done(struct cli_selection *selection);

/* 1,234,567 */
void cli_add_count(struct cairn_buffer *b, uint64_t n);

/* "99 samples over 2.0 s; 90 whole (90.9 %), 9 cut: 9 no rule; 2 of 40 frames unnamed": what the
 * profile tells, and nothing about whole stacks where it tells nothing. */
void cli_add_quality(struct cairn_buffer *b, const struct cairn_profile *profile);

/* The way to names, on stderr, where most frames have none. */
void cli_say_unnamed(const struct cairn_profile *profile, const char *path);

#endif /* CAIRN_CLI_PROFILES_H */
