/* SPDX-License-Identifier: MIT */
/*
 * Frames on a connection that began as a shell.
 *
 *     banner ... \0 "cairn far end 1\n"  kind(1) size(4, little endian) payload(size)  kind ...
 *
 * A terminal between the two ends may turn each \n into \r\n. That can be undone, for each \n has
 * then exactly one \r of the terminal before it; whether it is so is seen at the end of the magic.
 */
#include <stdio.h>
#include <string.h>

#include <cairn/remote.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/reader.h"

#define MAGIC "cairn far end "

enum { HEAD_BYTES = 5, LINE_MAX_BYTES = 512, BANNER_KEPT = 4096 };

enum state { WANT_MAGIC, WANT_LINE, WANT_FRAMES };

struct cairn_remote_reader {
    enum state state;
    bool turns_lines, has_cr; /* a \r that may be the terminal's is held back */
    size_t n_banner;
    struct cairn_buffer banner; /* its end */
    struct cairn_buffer in;     /* what is not read yet, from `pos` on */
    size_t pos;
    struct cairn_buffer absent;
    bool is_absent;
};

int cairn_remote_reader_new(int from_far, struct cairn_remote_reader **ret_reader,
                            struct cairn_err *err)
{
    struct cairn_remote_reader *reader = cairn_alloc(1, sizeof *reader);
    if (!reader)
        return cairn_fail_memory(err);
    reader->state = from_far ? WANT_MAGIC : WANT_FRAMES;
    *ret_reader = reader;
    return CAIRN_OK;
}

void cairn_remote_reader_free(struct cairn_remote_reader *reader)
{
    if (!reader)
        return;
    cairn_buffer_done(&reader->banner);
    cairn_buffer_done(&reader->in);
    cairn_buffer_done(&reader->absent);
    cairn_free(reader);
}

/* Drops what was read, so that memory follows what waits. */
static void drop_read(struct cairn_remote_reader *reader)
{
    size_t left = reader->in.size - reader->pos;
    if (!reader->pos)
        return;
    memmove(reader->in.data, reader->in.data + reader->pos, left);
    reader->in.size = left;
    reader->in.data[left] = 0;
    reader->pos = 0;
}

/* "\r\n" becomes "\n"; any other \r stays. */
static void add_turned(struct cairn_remote_reader *reader, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (reader->has_cr && bytes[i] != '\n')
            cairn_buffer_char(&reader->in, '\r');
        reader->has_cr = bytes[i] == '\r';
        if (!reader->has_cr)
            cairn_buffer_char(&reader->in, (char)bytes[i]);
    }
}

int cairn_remote_reader_add(struct cairn_remote_reader *reader, const void *bytes, size_t size,
                            struct cairn_err *err)
{
    drop_read(reader);
    if (reader->turns_lines)
        add_turned(reader, bytes, size);
    else
        cairn_buffer_add(&reader->in, bytes, size);
    return reader->in.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Undoes the terminal in the bytes that are here already, behind the magic. */
static int turn_rest(struct cairn_remote_reader *reader, struct cairn_err *err)
{
    struct cairn_buffer raw = reader->in;
    reader->in = (struct cairn_buffer){0};
    reader->turns_lines = true;
    if (raw.size > reader->pos)
        add_turned(reader, raw.data + reader->pos, raw.size - reader->pos);
    cairn_buffer_done(&raw);
    reader->pos = 0;
    return reader->in.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Keeps the last bytes of the banner, for messages. */
static int skip_banner(struct cairn_remote_reader *reader, size_t size, struct cairn_err *err)
{
    const uint8_t *from = reader->in.data + reader->pos;
    reader->pos += size;
    reader->n_banner += size;
    if (reader->n_banner > CAIRN_REMOTE_BANNER_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "%zu bytes of other text and no hello, at most %d are expected",
                          reader->n_banner, CAIRN_REMOTE_BANNER_MAX);
    if (reader->banner.size > BANNER_KEPT) {
        memmove(reader->banner.data, reader->banner.data + reader->banner.size - BANNER_KEPT / 2,
                BANNER_KEPT / 2);
        reader->banner.size = BANNER_KEPT / 2;
    }
    size_t kept = size < BANNER_KEPT ? size : BANNER_KEPT;
    if (kept)
        cairn_buffer_add(&reader->banner, from + size - kept, kept);
    return reader->banner.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Behind the NUL: 1, all of the magic; 0, it may yet become one; -1, it is none. */
static int match_magic(const uint8_t *at, size_t left, uint32_t *ret_version, size_t *ret_size,
                       bool *ret_turned)
{
    const size_t fixed = sizeof MAGIC - 1;
    size_t n = left < fixed ? left : fixed;
    uint32_t version = 0;
    if (memcmp(at, MAGIC, n) != 0)
        return -1;
    for (n = fixed; n < left && n < fixed + 6 && at[n] >= '0' && at[n] <= '9'; n++)
        version = version * 10 + (uint32_t)(at[n] - '0');
    if (n >= left)
        return 0;
    *ret_turned = at[n] == '\r';
    n += *ret_turned;
    if (n >= left)
        return 0;
    if (at[n] != '\n' || n == fixed + *ret_turned)
        return -1;
    *ret_version = version;
    *ret_size = n + 1;
    return 1;
}

/* 1: the magic was read. */
static int find_magic(struct cairn_remote_reader *reader, struct cairn_err *err)
{
    for (;;) {
        size_t left = reader->in.size - reader->pos, size = 0;
        const uint8_t *from = left ? reader->in.data + reader->pos : NULL;
        const uint8_t *nul = left ? memchr(from, 0, left) : NULL;
        size_t before = nul ? (size_t)(nul - from) : left;
        uint32_t version = 0;
        bool turned = false;
        int code = before ? skip_banner(reader, before, err) : CAIRN_OK;
        if (code < 0 || !nul)
            return code;
        int match = match_magic(nul + 1, left - before - 1, &version, &size, &turned);
        if (match == 0)
            return 0;
        if (match < 0) {
            code = skip_banner(reader, 1, err);
            if (code < 0)
                return code;
            continue;
        }
        reader->pos += 1 + size;
        reader->state = version ? WANT_FRAMES : WANT_LINE;
        if (version > CAIRN_REMOTE_VERSION)
            return cairn_fail(err, CAIRN_E_SUPPORT, "it speaks version %u of the protocol, not %d",
                              version, CAIRN_REMOTE_VERSION);
        code = turned ? turn_rest(reader, err) : CAIRN_OK;
        return code < 0 ? code : 1;
    }
}

static int read_line(struct cairn_remote_reader *reader, struct cairn_err *err)
{
    size_t left = reader->in.size - reader->pos;
    const uint8_t *from = left ? reader->in.data + reader->pos : NULL;
    const uint8_t *end = left ? memchr(from, '\n', left) : NULL;
    if (!end && left > LINE_MAX_BYTES)
        return cairn_fail(err, CAIRN_E_FORMAT, "%zu bytes without the end of a line", left);
    if (!end)
        return 0;
    cairn_buffer_clear(&reader->absent);
    cairn_buffer_add(&reader->absent, from, (size_t)(end - from));
    reader->pos += (size_t)(end - from) + 1;
    reader->is_absent = true;
    return reader->absent.failed ? cairn_fail_memory(err) : 0;
}

static int read_frame(struct cairn_remote_reader *reader, struct cairn_remote_frame *ret_frame,
                      struct cairn_err *err)
{
    size_t left = reader->in.size - reader->pos;
    if (left < HEAD_BYTES)
        return 0;
    const uint8_t *head = reader->in.data + reader->pos;
    uint32_t kind = head[0], size = (uint32_t)head[1] | (uint32_t)head[2] << 8 |
                                    (uint32_t)head[3] << 16 | (uint32_t)head[4] << 24;
    if (!kind || kind >= CAIRN_REMOTE_KINDS)
        return cairn_fail(err, CAIRN_E_FORMAT, "a frame of kind %u, expected 1 to %d", kind,
                          CAIRN_REMOTE_KINDS - 1);
    if (size > CAIRN_REMOTE_FRAME_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "a frame of %u bytes, at most %d are allowed", size,
                          CAIRN_REMOTE_FRAME_MAX);
    if (left - HEAD_BYTES < size)
        return 0;
    *ret_frame = (struct cairn_remote_frame){.size = ret_frame->size,
                                             .kind = (enum cairn_remote_kind)kind,
                                             .data = head + HEAD_BYTES,
                                             .data_size = size};
    reader->pos += HEAD_BYTES + size;
    return 1;
}

int cairn_remote_reader_next(struct cairn_remote_reader *reader,
                             struct cairn_remote_frame *ret_frame, struct cairn_err *err)
{
    int code = 1;
    if (reader->state == WANT_MAGIC)
        code = find_magic(reader, err);
    if (code <= 0)
        return code;
    return reader->state == WANT_LINE ? read_line(reader, err) : read_frame(reader, ret_frame, err);
}

const char *cairn_remote_reader_absent(const struct cairn_remote_reader *reader)
{
    return reader->is_absent ? cairn_buffer_text(&reader->absent) : NULL;
}

void cairn_remote_reader_restart(struct cairn_remote_reader *reader)
{
    reader->state = WANT_MAGIC;
    reader->is_absent = false;
    reader->turns_lines = reader->has_cr = false;
    reader->n_banner = 0;
}

const char *cairn_remote_reader_banner(struct cairn_remote_reader *reader, size_t *ret_size)
{
    *ret_size = reader->banner.size;
    return cairn_buffer_text(&reader->banner);
}

int cairn_remote_write_magic(cairn_write_fn write, void *ctx, struct cairn_err *err)
{
    char magic[64] = {0};
    int n = snprintf(magic + 1, sizeof magic - 1, MAGIC "%d\n", CAIRN_REMOTE_VERSION);
    if (write(ctx, magic, (size_t)n + 1) != 0)
        return cairn_fail(err, CAIRN_E_IO, "the connection takes no bytes");
    return CAIRN_OK;
}

int cairn_remote_write(enum cairn_remote_kind kind, const void *bytes, size_t size,
                       cairn_write_fn write, void *ctx, struct cairn_err *err)
{
    if (size > CAIRN_REMOTE_FRAME_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "a frame of %zu bytes, at most %d are allowed", size,
                          CAIRN_REMOTE_FRAME_MAX);
    const uint8_t head[HEAD_BYTES] = {(uint8_t)kind, (uint8_t)size, (uint8_t)(size >> 8),
                                      (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
    if (write(ctx, head, sizeof head) != 0 || (size && write(ctx, bytes, size) != 0))
        return cairn_fail(err, CAIRN_E_IO, "the connection takes no bytes");
    return CAIRN_OK;
}
