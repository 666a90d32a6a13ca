/* SPDX-License-Identifier: MIT */
/* What all threads of a process do at an event. */
#include <string.h>

#include <cairn/snapshot.h>

#include "base/escape.h"
#include "cli/namer.h"
#include "cli/stack.h"
#include "cli/trace.h"

static int take(struct cairn_buffer *out, const struct cli_trace *asked,
                struct cairn_snapshot *snapshot, struct cairn_err *err)
{
    const struct cli_stack_view view = {.guest = CAIRN_GUEST_FOLD};
    int code = cairn_snapshot_take(snapshot, err);
    if (code == CAIRN_OK)
        code = cli_namer_name(&asked->whom.symbols, &asked->whom.symbol_dirs,
                              cairn_snapshot_pid(snapshot), cairn_snapshot_profile(snapshot), err);
    if (code == CAIRN_OK)
        cli_stack_text(out, snapshot, &view);
    return code;
}

void cli_trace_snapshot(struct cairn_buffer *out, const struct cli_trace *asked, int pid)
{
    const struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = pid};
    struct cairn_snapshot *snapshot;
    struct cairn_err err = {0};
    int code = cairn_snapshot_new(&opts, &snapshot, &err);
    if (code == CAIRN_OK) {
        code = take(out, asked, snapshot, &err);
        cairn_snapshot_free(snapshot);
    }
    if (code == CAIRN_OK)
        return;
    cairn_buffer_str(out, "  ... its threads are not shown: ");
    cairn_escape_terminal(out, err.msg, strlen(err.msg));
    cairn_buffer_char(out, '\n');
}
