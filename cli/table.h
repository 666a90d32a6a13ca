/* SPDX-License-Identifier: MIT */
/* Tables of functions as text: numbers, the name, which may have a guide before
 * it, and the module. */
#ifndef CAIRN_CLI_TABLE_H
#define CAIRN_CLI_TABLE_H

#include <stdint.h>

#include "base/buffer.h"
#include "cli/amounts.h"

enum { CLI_TABLE_NUMBERS = 4 };

#define CLI_BOLD  "\033[1m"
#define CLI_DIM   "\033[2m"
#define CLI_HOT   "\033[1;31m"
#define CLI_PLAIN "\033[m"

struct cli_table_row {
    const char *function, *module;
    size_t guide; /* where it begins in `guides` */
};

struct cli_table {
    const struct cli_table_row *rows; /* to show, in their order */
    size_t n;
    const char *guides; /* each ends with NUL; they are ours, and shown as they
                           are. NULL: none */
    const char *headings[CLI_TABLE_NUMBERS];
    void *ctx;
    void (*print)(void *ctx, size_t row, char cells[CLI_TABLE_NUMBERS][CLI_AMOUNT_SIZE]);
    bool (*is_hot)(void *ctx, size_t row); /* NULL: none is */
    unsigned width; /* columns that names are cut to fit in; 0: nothing is cut */
    bool colour;
};

/* Names come out harmless for a terminal. */
void cli_table_add(struct cairn_buffer *b, const struct cli_table *table);

#endif /* CAIRN_CLI_TABLE_H */
