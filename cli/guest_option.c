/* SPDX-License-Identifier: MIT */
#include "cli/guest_option.h"

bool cli_guest_take(struct cli_args *args, const char *value, enum cairn_guest_view *ret_view)
{
    static const char *const words[] = {"fold", "all", "only", "off", NULL};
    int index;
    if (!cli_args_word(args, "guest", value, words, &index))
        return false;
    *ret_view = (enum cairn_guest_view)index;
    return true;
}
