/* SPDX-License-Identifier: MIT */
/* Questions: addresses of one file, from the command line or from stdin, answered in their order.
 */
#ifndef CAIRN_CLI_QUESTIONS_H
#define CAIRN_CLI_QUESTIONS_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

#include "cli/answer.h"

enum { CLI_SYMBOL_DIRS_MAX = 256 };

/* What the addresses are. */
enum cli_offsets { CLI_OFFSETS_VADDR, CLI_OFFSETS_FILE, CLI_OFFSETS_REL };

struct cli_questions {
    struct cairn_symbolizer_opts symbols;
    const char *symbol_dirs[CLI_SYMBOL_DIRS_MAX];
    enum cli_offsets offsets;
    enum cli_answer_style style;
    const char *section; /* NULL: addresses do not count from one */
    bool is_ret;
    int verbosity;
};

/* `addresses` ends with NULL; none: they come from stdin. An exit status. */
int cli_questions_answer(const struct cli_questions *request, const char *file, char **addresses);

#endif /* CAIRN_CLI_QUESTIONS_H */
