/* SPDX-License-Identifier: MIT */
/* Numbers and places as people read them. */
#ifndef CAIRN_CLI_NUMBERS_H
#define CAIRN_CLI_NUMBERS_H

#include <cairn/profile.h>

#include "base/buffer.h"

/* 1,234,567 */
void cli_add_count(struct cairn_buffer *b, uint64_t n);

/* "512 B", "1.5 kB", "26.9 MB", as file managers count. */
void cli_add_size(struct cairn_buffer *b, uint64_t bytes);

/* "0.3 s", "12 s", "5 min", "3.2 h", "12 d" */
void cli_add_duration(struct cairn_buffer *b, uint64_t ns);

/* "1 block", "1,204 blocks" */
void cli_add_counted(struct cairn_buffer *b, uint64_t n, const char *what);

/* The last part of a path, escaped for a terminal. */
void cli_add_base(struct cairn_buffer *b, const char *path);

/* Where a frame without a name is: "libfoo.so+0x12", counted in the file as it was mapped; without
 * a module the address. */
void cli_add_unnamed(struct cairn_buffer *b, const struct cairn_frame_info *frame);

#endif /* CAIRN_CLI_NUMBERS_H */
