/* SPDX-License-Identifier: MIT */
/* The top table as text. */
#ifndef CAIRN_CLI_REPORT_TABLE_H
#define CAIRN_CLI_REPORT_TABLE_H

#include <cairn/profile.h>

#include "base/buffer.h"

struct cli_report_table {
    const struct cairn_top_row *rows; /* to show, in their order */
    size_t n;
    int64_t sum; /* what 100 % is */
    struct cairn_value_type value;
    unsigned width; /* columns that names are cut to fit in; 0: nothing is cut */
    bool colour;
};

/* Names come out harmless for a terminal. */
void cli_report_table_add(struct cairn_buffer *b, const struct cli_report_table *table);

#endif /* CAIRN_CLI_REPORT_TABLE_H */
