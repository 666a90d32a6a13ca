/* SPDX-License-Identifier: MIT */
/* Writer: a thread that writes one buffer while the next is filled. */
#ifndef CAIRN_CLI_WRITER_H
#define CAIRN_CLI_WRITER_H

#include <stddef.h>

struct cli_writer;

/* `put` is called in the thread, one call at a time; it returns 0 or a negative code. NULL where
 * there is only one CPU or no thread can be had: who asked then writes by himself. */
struct cli_writer *cli_writer_start(int (*put)(void *ctx, const void *bytes, size_t size),
                                    void *ctx);

/* Waits until what was given before is written, then gives `bytes`, which must stay until the next
 * call. The first failure so far, after which nothing is written any more. */
int cli_writer_give(struct cli_writer *writer, const void *bytes, size_t size);

/* Waits for the rest, ends the thread and frees. The first failure. NULL is fine. */
int cli_writer_end(struct cli_writer *writer);

#endif /* CAIRN_CLI_WRITER_H */
