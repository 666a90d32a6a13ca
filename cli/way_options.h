/* SPDX-License-Identifier: MIT */
/* The options that say in which way modules are read, the same for every command that names. */
#ifndef CAIRN_CLI_WAY_OPTIONS_H
#define CAIRN_CLI_WAY_OPTIONS_H

#include <cairn/symbolizer.h>

#include "cli/args.h"

enum cli_way_row {
    CLI_WAY_NO_CACHE,
    CLI_WAY_INDEX,
    CLI_WAY_THREADS,
    CLI_WAY_DEBUGINFOD,
    CLI_WAY_FETCH_LIMIT,
    CLI_N_WAYS
};

/* Their rows in a table of options, from number `first` on. */
/* clang-format off */
#define CLI_WAY_ROWS(first)                                                                        \
    [(first) + CLI_WAY_NO_CACHE] = {"no-cache", 0, NULL,                                           \
        "neither use nor keep what earlier runs found out about modules (cairn cache)"},           \
    [(first) + CLI_WAY_INDEX] = {"index", 0, "WHEN",                                               \
        "read the debug information of a module whole: auto (default), where many addresses are "  \
        "asked, never or always"},                                                                 \
    [(first) + CLI_WAY_THREADS] = {"threads", 0, "N",                                              \
        "that read a module whole; default: one for each CPU"},                                    \
    [(first) + CLI_WAY_DEBUGINFOD] = {"debuginfod", 0, "URL",                                      \
        "ask debuginfod servers for debug files and binaries that are not here: those of "         \
        "DEBUGINFOD_URLS, or this one", true},                                                     \
    [(first) + CLI_WAY_FETCH_LIMIT] = {"fetch-limit", 0, "SIZE",                                   \
        "what --debuginfod may fetch in this run; default: 2G"}
/* clang-format on */

/* What holds without options: the cache is used, at most as large as CAIRN_CACHE_SIZE says. */
void cli_way_init(struct cairn_symbolizer_opts *opts);

/* One of these options; false after having said what is wrong. */
bool cli_way_take(struct cli_args *args, enum cli_way_row row, const char *value,
                  struct cairn_symbolizer_opts *opts);

#endif /* CAIRN_CLI_WAY_OPTIONS_H */
