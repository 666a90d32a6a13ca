/* SPDX-License-Identifier: MIT */
/* Functions with their costs as text: the top table, and trees, whose lines have guides before the
 * names. */
#ifndef CAIRN_CLI_REPORT_TABLE_H
#define CAIRN_CLI_REPORT_TABLE_H

#include <cairn/profile.h>

#include "base/buffer.h"

struct cli_report_row {
    const char *function, *module;
    int64_t self, total;
    size_t guide; /* where it begins in `guides` */
};

struct cli_report_table {
    const struct cli_report_row *rows; /* to show, in their order */
    size_t n;
    const char *guides; /* each ends with NUL; they are ours, and shown as they are */
    int64_t sum;        /* what 100 % is */
    struct cairn_value_type value;
    unsigned width; /* columns that names are cut to fit in; 0: nothing is cut */
    bool colour;
};

/* Names come out harmless for a terminal. */
void cli_report_table_add(struct cairn_buffer *b, const struct cli_report_table *table);

#endif /* CAIRN_CLI_REPORT_TABLE_H */
