/* SPDX-License-Identifier: MIT */
/* What is lost of each stack, for the report of a process that runs. */
#include "base/alloc.h"
#include "base/error.h"
#include "cli/heap_lost.h"
#include "cli/heap_lost_keys.h"

static int fill(struct cli_heap_look *look, const struct cairn_heap_lost *lost,
                struct cairn_err *err)
{
    struct cairn_heap_keys *keys = NULL;
    struct cli_lost_keys of_lost = {0};
    uint32_t *of_look = cairn_alloc(look->n + 1, sizeof *of_look);
    look->lost = cairn_alloc(look->n + 1, sizeof *look->lost);
    int code =
        of_look && look->lost ? cairn_heap_keys_new(NULL, 0, &keys, err) : cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code = cli_lost_keys_fill(keys, lost, &of_lost, err);
    if (code == CAIRN_OK)
        code = cairn_heap_keys_of(keys, look->profile, look->leaks, look->n, of_look, err);
    for (size_t i = 0; code == CAIRN_OK && i < look->n; i++)
        look->lost[i] = cli_lost_keys_bytes(&of_lost, of_look[i]);
    cairn_heap_keys_free(keys);
    cli_lost_keys_done(&of_lost);
    cairn_free(of_look);
    return code;
}

int cli_heap_report_lost(struct cli_heap_wanted *wanted, struct cli_heap_look *look,
                         struct cairn_heap_lost *ret_lost, struct cairn_err *err)
{
    const struct cairn_heap_lost_opts opts = {.size = sizeof opts};
    if (!look->pid) {
        cairn_fail(err, CAIRN_E_ARG, "--lost: a file does not say what was lost");
        cairn_hint(err, "give the PID or the name of a process that runs");
        return CAIRN_E_ARG;
    }
    int code = cli_lost_look(wanted, look->pid, &opts, ret_lost, err);
    return code < 0 ? code : fill(look, ret_lost, err);
}
