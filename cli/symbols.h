/* SPDX-License-Identifier: MIT */
/* cairn symbols: its parts. Each is a file symbols_NAME.c, a name below and a row in cmd_symbols.c.
 */
#ifndef CAIRN_CLI_SYMBOLS_H
#define CAIRN_CLI_SYMBOLS_H

#include <cairn/symbols.h>

#include "base/json.h"
#include "cli/args.h"

extern const struct cli_command cli_symbols_add, cli_symbols_list, cli_symbols_gc, cli_symbols_pack;

/* The store that all commands use: as cairn_symbol_store_folder() says; none with CAIRN_SYMBOLS
 * empty. */
int cli_symbols_use(struct cairn_err *err);

/* The folder of `--dir`, or the default in `own`. NULL after having said what is wrong. */
enum { CLI_SYMBOLS_FOLDER = 4096 };
const char *cli_symbols_folder(const char *dir, char own[CLI_SYMBOLS_FOLDER]);

#endif /* CAIRN_CLI_SYMBOLS_H */
