/* SPDX-License-Identifier: MIT */
/* Result: what a recorded profile is written as; the name of the output says it. */
#ifndef CAIRN_CLI_RESULT_H
#define CAIRN_CLI_RESULT_H

#include <cairn/profile.h>

#include "cli/args.h"
#include "cli/term.h"

enum cli_result {
    CLI_RESULT_RAW,
    CLI_RESULT_NAMED, /* pprof as well, with names */
    CLI_RESULT_COLLAPSED,
    CLI_RESULT_HTML,
    CLI_RESULT_SVG,
    CLI_RESULT_VIEWER /* a format for viewers of other projects, by the name of the output */
};

bool cli_result_name_ends(const char *name, const char *ending);

/* By the name's ending; NULL and "-" are raw. False after having said what is wrong. */
bool cli_result_of_name(struct cli_args *args, const char *name, enum cli_result *ret_result);

/* From now on a profile on stdout is CLI_RESULT_NAMED: whoever reads it has none of our files. */
void cli_result_name_stdout(void);

/* Whatever is not raw has been named before. `guest` says which frames of stacks with an
 * interpreter's are left in the profile; a raw one and a page keep all. `subtitle` is for
 * pictures. */
int cli_result_write(enum cli_result result, enum cairn_guest_view guest,
                     struct cairn_profile *profile, const char *subtitle, struct cli_output *output,
                     struct cairn_err *err);

/* Commits the output, or keeps what is of use where `code` or the writing failed. */
int cli_result_end(struct cli_output *output, int code, struct cairn_err *err);

#endif /* CAIRN_CLI_RESULT_H */
