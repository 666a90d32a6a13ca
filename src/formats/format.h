/* SPDX-License-Identifier: MIT */
/*
 * What a format is to the rest of the house: a name, how its bytes begin, a reader that fills a
 * profile and a writer that drains one.
 *
 * A new format needs: a value in enum cairn_format (include/cairn/profile.h), a file here with its
 * reader and writer, a row in formats.c, a fuzz target with a corpus for the reader, golden files,
 * and a page in docs/formats that says what is accepted and by which source. A format that is only
 * written, for viewers of other projects, is also named in cli/write_profile.c, and
 * tests/support/profile_fuzz.h writes it.
 */
#ifndef CAIRN_FORMATS_FORMAT_H
#define CAIRN_FORMATS_FORMAT_H

#include <cairn/profile.h>

#include "base/buffer.h"
#include "profile/profile.h"
#include "stream/stream.h"

/* What a reader that needs the whole file holds at most: 4 GiB, or a quarter of what pointers of 32
 * bits reach. */
#define CAIRN_FORMAT_BYTES_MAX ((size_t)(SIZE_MAX > UINT32_MAX ? 4ull << 30 : 1ull << 30))

/* Bytes of the input from `off` on: how many came, fewer than `size` at its end alone; negative for
 * failure. */
typedef long (*cairn_read_at_fn)(void *ctx, uint64_t off, void *buf, size_t size);

enum {
    CAIRN_FORMAT_PROCESSES = 4, /* keep "pid" and "process" of heap files */
    CAIRN_FORMAT_BIRTHS = 8     /* and when the blocks that live were born */
};

/* What a profile is read from. */
struct cairn_format_input {
    cairn_read_fn read;
    cairn_read_at_fn read_at; /* NULL: it can be read from front to back alone */
    void *ctx;
    const struct cairn_format_input *more; /* files beside it, as a folder of perf has; read_at */
    size_t n_more;
    struct cairn_stream_walker walker; /* of copies of stacks; all-zero: they are not walked */
    unsigned keeps; /* as in struct cairn_import_opts: of enum cairn_stream_keep, and
                       those above */
};

/* As cairn_profile_read(). */
int cairn_format_read(const struct cairn_format_input *input, enum cairn_format format,
                      struct cairn_profile **ret_profile, struct cairn_err *err);

/* Input in pieces, with what was read ahead to recognise it. */
struct cairn_source {
    struct cairn_format_input input; /* read_at is NULL where the bytes are unzipped */
    struct cairn_buffer ahead;       /* bytes read and not yet consumed: [pos, ahead.size) */
    size_t pos;
    bool is_long; /* a read got all that it asked for */
    bool at_end;
};

/* Reads until at least `size` bytes lie ahead or the input ends. */
int cairn_source_fill(struct cairn_source *source, size_t size, struct cairn_err *err);

/* All that is left, into ahead[pos..]; more than `limit` bytes is CAIRN_E_LIMIT. */
int cairn_source_slurp(struct cairn_source *source, size_t limit, struct cairn_span *ret_bytes,
                       struct cairn_err *err);

/* The next line, without its break, borrowed until more is read; the last one may lack a break.
 * `number`, from 1, is for errors. 1, or 0 at the end; CAIRN_E_LIMIT: longer than 64 MiB. */
int cairn_source_line(struct cairn_source *source, struct cairn_span *ret_line, uint64_t number,
                      struct cairn_err *err);

struct cairn_format_row {
    enum cairn_format format;
    const char *name;
    const char *const *endings;            /* of file names, NULL-terminated, the longest first */
    const char *start;                     /* of file names, where there is no ending; NULL: none */
    bool in_log;                           /* lines of other programs may be among its own */
    bool (*sniff)(struct cairn_span head); /* NULL, as `read`: cairn does not read it */
    /* Fills an empty profile. */
    int (*read)(struct cairn_source *source, struct cairn_profile *profile, struct cairn_err *err);
    /* NULL: none but its own program writes it. */
    int (*write)(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                 struct cairn_err *err);
};

extern const struct cairn_format_row cairn_format_pprof, cairn_format_collapsed, cairn_format_heap,
    cairn_format_perf_script, cairn_format_perf_data, cairn_format_firefox, cairn_format_speedscope,
    cairn_format_chrome, cairn_format_callgrind, cairn_format_sanitizer, cairn_format_valgrind,
    cairn_format_tombstone, cairn_format_debugger, cairn_format_go, cairn_format_rust,
    cairn_format_backtrace, cairn_format_java, cairn_format_bpf, cairn_format_ftrace,
    cairn_format_otlp;

#endif /* CAIRN_FORMATS_FORMAT_H */
