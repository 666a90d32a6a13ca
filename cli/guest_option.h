/* SPDX-License-Identifier: MIT */
/* --guest: which frames are shown of stacks with an interpreter's. */
#ifndef CAIRN_CLI_GUEST_OPTION_H
#define CAIRN_CLI_GUEST_OPTION_H

#include <cairn/guest.h>

#include "cli/args.h"

/* Its row in a table of options; `usual` is what is meant without it. */
/* clang-format off */
#define CLI_GUEST_ROW(usual)                                                                       \
    {"guest", 0, "VIEW",                                                                           \
        "frames of an interpreter such as Lua: fold (its own native frames are left out), all, "   \
        "only (none but its frames), off (none of them); default: " usual}
/* clang-format on */

/* The option's value; false after having said what is wrong. */
bool cli_guest_take(struct cli_args *args, const char *value, enum cairn_guest_view *ret_view);

#endif /* CAIRN_CLI_GUEST_OPTION_H */
