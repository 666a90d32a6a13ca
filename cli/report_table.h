/* SPDX-License-Identifier: MIT */
/* Functions with what they cost, as text: the top table, and trees. */
#ifndef CAIRN_CLI_REPORT_TABLE_H
#define CAIRN_CLI_REPORT_TABLE_H

#include <cairn/profile.h>

#include "cli/show.h"
#include "cli/table.h"

struct cli_report_amount {
    int64_t self, total;
};

struct cli_report_table {
    struct cli_table_row *rows; /* cli_report_table_put() */
    struct cli_report_amount *amounts;
    size_t n;
    const char *guides; /* as in struct cli_table */
    int64_t sum;        /* what 100 % is */
    struct cairn_value_type value;
    const struct cli_show *show;
};

/* Room for `n` rows. */
int cli_report_table_init(struct cli_report_table *table, size_t n, struct cairn_err *err);
void cli_report_table_done(struct cli_report_table *table); /* also where init failed */
void cli_report_table_put(struct cli_report_table *table, struct cli_table_row row, int64_t self,
                          int64_t total);

/* Names come out harmless for a terminal. */
void cli_report_table_add(struct cairn_buffer *b, const struct cli_report_table *table);

#endif /* CAIRN_CLI_REPORT_TABLE_H */
