/* SPDX-License-Identifier: MIT */
/* Amounts: values of a profile as a person reads them, all of a table in one unit. */
#ifndef CAIRN_CLI_AMOUNTS_H
#define CAIRN_CLI_AMOUNTS_H

#include <cairn/profile.h>

#include "base/buffer.h"

enum { CLI_AMOUNT_SIZE = 48 }; /* of a cell */

struct cli_scale {
    const char *unit;
    double divisor; /* 0: shown as it is */
};

/* The largest unit that `sum` is at least ten of. */
struct cli_scale cli_scale_of(struct cairn_value_type value, int64_t sum);

void cli_print_amount(char *cell, int64_t value, const struct cli_scale *scale);
void cli_print_percent(char *cell, int64_t value, int64_t sum); /* "-" where the sum is 0 */

double cli_percent(int64_t part, int64_t sum); /* 0 where the sum is 0 */

/* "cpu in ms"; "samples" */
void cli_add_value_title(struct cairn_buffer *b, struct cairn_value_type value,
                         const struct cli_scale *scale);

#endif /* CAIRN_CLI_AMOUNTS_H */
