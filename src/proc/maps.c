/* SPDX-License-Identifier: MIT */
/*
 * The text of /proc/PID/maps (proc(5)), one mapping a line:
 *
 *     55d0c2a00000-55d0c2a21000 r-xp 00002000 fe:01 1441830      /usr/bin/some program
 *     start        end          perm off      dev   inode        path, to the end of the line
 *
 * Mappings are kept sorted and apart. A copy may come from anywhere, so lines may be out of order
 * and overlap; overlay.c makes room for the later one.
 */
#include <stdlib.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/shared_memory.h"
#include "base/strings.h"
#include "proc/overlay.h"
#include "proc/process.h"

enum { MAPPINGS_MAX = 1 << 20, LINE_MAX_BYTES = 1 << 16, TEXT_MAX_BYTES = 1 << 29 };

struct cairn_maps {
    struct cairn_strings paths;
    struct cairn_map *rows;
    size_t n, cap;
};

static bool take_char(struct cairn_reader *r, char c)
{
    if (!cairn_reader_left(r) || r->bytes.data[r->pos] != (uint8_t)c)
        return false;
    r->pos++;
    return true;
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* At least one digit; false where there is none or `max` is passed. */
static bool take_number(struct cairn_reader *r, unsigned base, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t start = r->pos;
    for (; cairn_reader_left(r); r->pos++) {
        unsigned digit = (unsigned)digit_of(r->bytes.data[r->pos]);
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value) || value > max)
            return false;
    }
    *ret_value = value;
    return r->pos > start;
}

static bool take_flags(struct cairn_reader *r, uint32_t *ret_flags)
{
    static const struct {
        char set, clear;
        uint32_t flag;
    } columns[] = {{'r', '-', CAIRN_MAP_READ},
                   {'w', '-', CAIRN_MAP_WRITE},
                   {'x', '-', CAIRN_MAP_EXEC},
                   {'s', 'p', CAIRN_MAP_SHARED}};
    uint32_t flags = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (take_char(r, columns[i].set))
            flags |= columns[i].flag;
        else if (!take_char(r, columns[i].clear))
            return false;
    }
    *ret_flags = flags;
    return true;
}

/* All but the path. NULL, or what was expected where `r` stands now. */
static const char *take_fields(struct cairn_reader *r, struct cairn_map *row)
{
    uint64_t major, minor;
    if (!take_number(r, 16, UINT64_MAX, &row->start) || !take_char(r, '-') ||
        !take_number(r, 16, UINT64_MAX, &row->end) || !take_char(r, ' '))
        return "an address range such as 7f00-8000 and a blank";
    if (row->start >= row->end)
        return "a range whose end lies behind its start";
    if (!take_flags(r, &row->flags) || !take_char(r, ' '))
        return "permissions such as r-xp and a blank";
    if (!take_number(r, 16, UINT64_MAX, &row->off) || !take_char(r, ' '))
        return "a file offset and a blank";
    if (!take_number(r, 16, UINT32_MAX, &major) || !take_char(r, ':') ||
        !take_number(r, 16, UINT32_MAX, &minor) || !take_char(r, ' '))
        return "a device such as fe:01 and a blank";
    if (!take_number(r, 10, UINT64_MAX, &row->inode) ||
        (cairn_reader_left(r) && !take_char(r, ' ')))
        return "an inode number and a blank";
    row->dev_major = (uint32_t)major;
    row->dev_minor = (uint32_t)minor;
    while (take_char(r, ' '))
        ;
    return NULL;
}

/* The kernel writes a line break inside a name as \012, and nothing else differently (a backslash
 * stays one), so nothing else is changed back. */
static void unescape(struct cairn_buffer *b, struct cairn_span path)
{
    if (!path.size)
        return;
    const uint8_t *end = path.data + path.size, *at = path.data, *found;
    while ((found = memmem(at, (size_t)(end - at), "\\012", 4))) {
        cairn_buffer_add(b, at, (size_t)(found - at));
        cairn_buffer_char(b, '\n');
        at = found + 4;
    }
    cairn_buffer_add(b, at, (size_t)(end - at));
}

static int add_path(struct cairn_maps *maps, struct cairn_span path, struct cairn_map *row)
{
    static const char deleted[] = " (deleted)";
    const size_t deleted_size = sizeof deleted - 1;
    if (path.size && path.data[0] == '/') {
        row->flags |= CAIRN_MAP_FILE;
        if (path.size > deleted_size &&
            memcmp(path.data + path.size - deleted_size, deleted, deleted_size) == 0) {
            row->flags |= CAIRN_MAP_DELETED;
            path.size -= deleted_size;
        }
    }
    struct cairn_buffer text = {0};
    unescape(&text, path);
    if (!text.failed && cairn_is_shared_memory(cairn_buffer_text(&text))) {
        row->flags &= ~(uint32_t)(CAIRN_MAP_FILE | CAIRN_MAP_DELETED);
        cairn_buffer_clear(&text);
    }
    uint32_t number = cairn_strings_add(&maps->paths, cairn_buffer_text(&text), text.size);
    bool sound = !text.failed && number != UINT32_MAX;
    cairn_buffer_done(&text);
    row->path = cairn_strings_get(&maps->paths, number);
    return sound ? CAIRN_OK : CAIRN_E_NOMEM;
}

static int add_line(struct cairn_maps *maps, struct cairn_span line, size_t number,
                    struct cairn_err *err)
{
    if (line.size > LINE_MAX_BYTES)
        return cairn_fail(err, CAIRN_E_LIMIT, "line %zu: longer than %d bytes", number,
                          LINE_MAX_BYTES);
    if (maps->n == MAPPINGS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "line %zu: more than %d mappings", number,
                          MAPPINGS_MAX);
    struct cairn_reader r = cairn_reader_of(line, false);
    struct cairn_map row = {0};
    const char *expected = take_fields(&r, &row);
    if (!expected && memchr(line.data, 0, line.size))
        expected = "no NUL byte in the line";
    if (expected)
        return cairn_fail(err, CAIRN_E_FORMAT, "line %zu, column %zu: expected %s", number,
                          r.pos + 1, expected);
    struct cairn_span path = cairn_reader_take(&r, cairn_reader_left(&r));
    if (add_path(maps, path, &row) < 0 ||
        cairn_grow((void **)&maps->rows, &maps->cap, maps->n + 1, sizeof *maps->rows) < 0)
        return cairn_fail_memory(err);
    maps->rows[maps->n++] = row;
    return CAIRN_OK;
}

/* The next line without its end, LF or CRLF. */
static struct cairn_span next_line(struct cairn_reader *r)
{
    const uint8_t *start = r->bytes.data + r->pos;
    const uint8_t *end = memchr(start, '\n', cairn_reader_left(r));
    size_t size = end ? (size_t)(end - start) : cairn_reader_left(r);
    struct cairn_span line = cairn_reader_take(r, size);
    if (end)
        cairn_reader_skip(r, 1);
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

static int read_lines(struct cairn_maps *maps, struct cairn_span text, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(text, false);
    for (size_t number = 1; cairn_reader_more(&r); number++) {
        struct cairn_span line = next_line(&r);
        int result = line.size ? add_line(maps, line, number, err) : CAIRN_OK;
        if (result < 0)
            return result;
    }
    return CAIRN_OK;
}

static int set_apart(struct cairn_maps *maps, struct cairn_err *err)
{
    size_t n_overlapping;
    if (cairn_overlay(&maps->rows, &maps->n, &n_overlapping) < 0)
        return cairn_fail_memory(err);
    maps->cap = maps->n;
    if (n_overlapping)
        cairn_log(CAIRN_LOG_WARNING, "maps: later lines cover parts of %zu mapping%s, and win",
                  n_overlapping, n_overlapping == 1 ? "" : "s");
    return CAIRN_OK;
}

int cairn_maps_parse(const void *text, size_t size, struct cairn_maps **ret_maps,
                     struct cairn_err *err)
{
    struct cairn_maps *maps = cairn_alloc(1, sizeof *maps);
    if (!maps)
        return cairn_fail_memory(err);
    int result = read_lines(maps, (struct cairn_span){text, size}, err);
    if (result == CAIRN_OK)
        result = set_apart(maps, err);
    if (result < 0)
        cairn_maps_free(maps);
    else
        *ret_maps = maps;
    return result;
}

void cairn_maps_free(struct cairn_maps *maps)
{
    if (!maps)
        return;
    cairn_strings_done(&maps->paths);
    cairn_free(maps->rows);
    cairn_free(maps);
}

int cairn_maps_read_file(const char *path, struct cairn_maps **ret_maps, struct cairn_err *err)
{
    /* Read, not mapped: /proc/PID/maps itself may be named here, and has no size. */
    struct cairn_buffer text = {0};
    int result = cairn_file_slurp(path, TEXT_MAX_BYTES, &text, err);
    if (result == CAIRN_OK) {
        result = cairn_maps_parse(text.data, text.size, ret_maps, err);
        if (result < 0)
            cairn_fail_in(err, result, path);
    }
    cairn_buffer_done(&text);
    return result;
}

int cairn_maps_read_pid(int pid, struct cairn_maps **ret_maps, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    int result = cairn_process_slurp(pid, "maps", TEXT_MAX_BYTES, &text, err);
    if (result == CAIRN_OK)
        result = cairn_maps_parse(text.data, text.size, ret_maps, err);
    cairn_buffer_done(&text);
    return result;
}

size_t cairn_maps_count(const struct cairn_maps *maps)
{
    return maps->n;
}

const struct cairn_map *cairn_maps_get(const struct cairn_maps *maps, size_t index)
{
    return index < maps->n ? &maps->rows[index] : NULL;
}

const struct cairn_map *cairn_maps_find(const struct cairn_maps *maps, uint64_t va)
{
    size_t i = CAIRN_COUNT_BELOW(maps->rows, maps->n, end, va); /* the first that ends behind it */
    return i < maps->n && maps->rows[i].start <= va ? &maps->rows[i] : NULL;
}
