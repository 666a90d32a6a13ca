/* SPDX-License-Identifier: MIT */
/* Numbers as people read them. */
#ifndef CAIRN_CLI_NUMBERS_H
#define CAIRN_CLI_NUMBERS_H

#include "base/buffer.h"

/* 1,234,567 */
void cli_add_count(struct cairn_buffer *b, uint64_t n);

/* "512 B", "1.5 kB", "26.9 MB", as file managers count. */
void cli_add_size(struct cairn_buffer *b, uint64_t bytes);

/* "0.3 s", "12 s", "5 min", "3.2 h", "12 d" */
void cli_add_duration(struct cairn_buffer *b, uint64_t ns);

/* "1 block", "1,204 blocks" */
void cli_add_counted(struct cairn_buffer *b, uint64_t n, const char *what);

#endif /* CAIRN_CLI_NUMBERS_H */
