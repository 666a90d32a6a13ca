/* SPDX-License-Identifier: MIT */
/* cairn heap: its parts, a row each. */
#include "cli/heap.h"

static const struct cli_command *const parts[] = {
    &cli_heap_run,   &cli_heap_attach, &cli_heap_detach,      &cli_heap_stop,
    &cli_heap_start, &cli_heap_leaks,  &cli_heap_lost,        &cli_heap_holds,
    &cli_heap_diff,  &cli_heap_report, &cli_heap_top_command, &cli_heap_mark,
    &cli_heap_list,  &cli_heap_clean,  &cli_heap_env,         NULL};

const struct cli_command cli_cmd_heap = {
    .name = "heap",
    .summary = "record each live heap block with its stack, and show what leaks",
    .parts = parts,
};
