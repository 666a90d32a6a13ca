/* SPDX-License-Identifier: MIT */
/* An input: a file, or stdin, that is read once from front to back. */
#ifndef CAIRN_CLI_SOURCE_H
#define CAIRN_CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cairn/error.h>
#include <cairn/import.h>

enum { CLI_SOURCE_HEAD_BYTES = 4096 };

struct cli_source {
    int fd;                              /* -1: not open */
    const char *name;                    /* for messages */
    struct stat st;                      /* as it was when it was opened */
    bool is_folder;                      /* its file "data" is open */
    bool replaced;                       /* its name is going to lead to another file */
    uint8_t head[CLI_SOURCE_HEAD_BYTES]; /* read to see what it is, given out first */
    size_t head_size, head_used;
    uint64_t read_bytes;
    int os_errno; /* why reading failed; 0: it did not */
};

/* "-" is stdin. With `replaced`, waits for other runs of ours that replace the same file. */
int cli_source_open(const char *path, bool replaced, struct cli_source *ret_source,
                    struct cairn_err *err);
void cli_source_close(struct cli_source *source); /* lets the next run have it */

/* A cairn_read_fn that shows progress. */
long cli_source_read(void *source, void *buf, size_t size);

/* Reads all of it as a profile; `opts->read_at` is set here. */
int cli_source_import(struct cli_source *source, const struct cairn_import_opts *opts,
                      struct cairn_profile **ret_profile, struct cairn_err *err);

/* The first bytes, at least `wanted` where there are as many; they are still to be read. */
size_t cli_source_peek(struct cli_source *source, size_t wanted, const uint8_t **ret_bytes);

/* CAIRN_E_IO where somebody wrote to the file, or put another one in its place, meanwhile. */
int cli_source_check(const struct cli_source *source, struct cairn_err *err);

#endif /* CAIRN_CLI_SOURCE_H */
