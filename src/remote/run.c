/* SPDX-License-Identifier: MIT */
/*
 * A command line for the far end.
 *
 *     wishes(uleb) columns(uleb) word\0 word\0 ...
 */
#include <string.h>

#include <cairn/remote.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/reader.h"

enum { COLUMNS_MAX = 10000 };

int cairn_remote_write_run(const struct cairn_remote_run *run, cairn_write_fn write, void *ctx,
                           struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    cairn_buffer_uleb(&out, run->wishes);
    cairn_buffer_uleb(&out, run->columns);
    for (size_t i = 0; i < run->n_words; i++)
        cairn_buffer_add(&out, run->words[i], strlen(run->words[i]) + 1);
    int code;
    if (out.failed)
        code = cairn_fail_memory(err);
    else if (run->n_words > CAIRN_REMOTE_WORDS_MAX)
        code = cairn_fail(err, CAIRN_E_LIMIT, "%zu words for the far end, at most %d are allowed",
                          run->n_words, CAIRN_REMOTE_WORDS_MAX);
    else
        code = cairn_remote_write(CAIRN_REMOTE_RUN, out.data, out.size, write, ctx, err);
    cairn_buffer_done(&out);
    return code;
}

static int read_words(struct cairn_reader *in, struct cairn_remote_run *run, struct cairn_err *err)
{
    size_t left = cairn_reader_left(in);
    struct cairn_span text = cairn_reader_take(in, left);
    if (!left || text.data[left - 1] != '\0')
        return cairn_fail(err, CAIRN_E_FORMAT, "a command line without the end of its last word");
    for (size_t i = 0; i < left; i++)
        run->n_words += text.data[i] == '\0';
    if (run->n_words > CAIRN_REMOTE_WORDS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "a command line of %zu words, at most %d are allowed",
                          run->n_words, CAIRN_REMOTE_WORDS_MAX);
    size_t table = (run->n_words + 1) * sizeof *run->words;
    run->words = cairn_alloc(1, table + left);
    if (!run->words)
        return cairn_fail_memory(err);
    char *at = (char *)run->words + table;
    memcpy(at, text.data, left);
    for (size_t i = 0; i < run->n_words; i++, at += strlen(at) + 1)
        run->words[i] = at;
    return CAIRN_OK;
}

int cairn_remote_read_run(const void *bytes, size_t size, struct cairn_remote_run *ret_run,
                          struct cairn_err *err)
{
    struct cairn_reader in = cairn_reader_of((struct cairn_span){bytes, size}, false);
    struct cairn_remote_run run = {.size = ret_run->size};
    uint64_t wishes = cairn_reader_uleb(&in), columns = cairn_reader_uleb(&in);
    if (in.failed || wishes > (CAIRN_REMOTE_ASK_NAMES | CAIRN_REMOTE_NAME_OUTPUT) ||
        columns > COLUMNS_MAX)
        return cairn_fail(err, CAIRN_E_FORMAT, "a command line whose head makes no sense");
    run.wishes = (unsigned)wishes;
    run.columns = (unsigned)columns;
    int code = read_words(&in, &run, err);
    if (code == CAIRN_OK)
        *ret_run = run;
    return code;
}

void cairn_remote_run_done(struct cairn_remote_run *run)
{
    cairn_free(run->words);
    run->words = NULL;
    run->n_words = 0;
}
