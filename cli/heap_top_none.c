/* SPDX-License-Identifier: MIT */
/* Where ncurses was not there to build with. */
#include "base/error.h"
#include "cli/heap_top.h"

int cli_heap_top_show(struct cli_heap_top *top, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_SUPPORT, "this cairn was built without ncurses");
    cairn_hint(err, "cairn heap leaks --every 2 %s prints what grows", top->input);
    return CAIRN_E_SUPPORT;
}
