/* SPDX-License-Identifier: MIT */
/* cairn symbols: its parts, a row each, and the store that every command uses. */
#include <stdlib.h>

#include "cli/symbols.h"
#include "cli/term.h"

static const struct cli_command *const parts[] = {&cli_symbols_add, &cli_symbols_list,
                                                  &cli_symbols_gc, &cli_symbols_pack, NULL};

int cli_symbols_use(struct cairn_err *err)
{
    char folder[CLI_SYMBOLS_FOLDER];
    const char *own = getenv("CAIRN_SYMBOLS");
    struct cairn_err ignored;
    if ((own && !*own) || cairn_symbol_store_folder(folder, sizeof folder, &ignored) < 0)
        return CAIRN_OK; /* no home, no store */
    return cairn_symbol_store_use(folder, err);
}

const char *cli_symbols_folder(const char *dir, char own[CLI_SYMBOLS_FOLDER])
{
    struct cairn_err err;
    if (dir)
        return dir;
    if (cairn_symbol_store_folder(own, CLI_SYMBOLS_FOLDER, &err) == CAIRN_OK)
        return own;
    cli_report(&err);
    return NULL;
}

const struct cli_command cli_cmd_symbols = {
    .name = "symbols",
    .summary = "keep symbols by build ID for all commands, or pack those of a profile",
    .parts = parts,
};
