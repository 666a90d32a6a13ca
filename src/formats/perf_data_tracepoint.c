/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_tracepoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/reader.h"

enum { ROWS_MAX = 1 << 14, NAME_BYTES = 192, KEY_BYTES = 64, TEXT_BYTES = 256 };
enum { ARRAY_WORDS = 8, WORD = 8, VERSION_BYTES = 16 };

void cairn_perf_data_tracepoints_done(struct cairn_perf_data_tracepoints *points)
{
    cairn_free(points->rows);
    cairn_free(points->fields);
    cairn_table_done(&points->by_id);
    *points = (struct cairn_perf_data_tracepoints){0};
}

static void mark_hex(struct cairn_span format, struct cairn_field_line *field)
{
    if ((field->kind == CAIRN_FIELD_SIZE || field->kind == CAIRN_FIELD_LONG) &&
        cairn_field_is_hex(format, field->name))
        field->kind = CAIRN_FIELD_HEX;
}

/* What a format says of itself, beside its fields. */
struct head {
    char name[CAIRN_FIELD_LINE_BYTES];
    uint64_t id;
    bool has_id;
};

static void read_head(const char *line, struct head *head)
{
    static const char name[] = "name: ", id[] = "ID: ";
    if (strncmp(line, name, sizeof name - 1) == 0)
        snprintf(head->name, sizeof head->name, "%s", line + sizeof name - 1);
    if (strncmp(line, id, sizeof id - 1) != 0)
        return;
    head->id = strtoull(line + sizeof id - 1, NULL, 10);
    head->has_id = true;
}

static int add_row(struct cairn_perf_data_tracepoints *points, struct cairn_profile *profile,
                   const char *system, const struct head *head, size_t first_field)
{
    char name[NAME_BYTES];
    int size = snprintf(name, sizeof name, "%s:%s", system, head->name);
    if (size < 0 || (size_t)size >= sizeof name)
        return CAIRN_OK;
    const struct cairn_perf_data_tracepoint row = {
        .name = cairn_profile_text(profile, name, (size_t)size),
        .first_field = (uint32_t)first_field,
        .n_fields = (uint32_t)(points->n_fields - first_field)};
    if (row.name == UINT32_MAX ||
        cairn_grow((void **)&points->rows, &points->cap, points->n + 1, sizeof *points->rows) < 0)
        return CAIRN_E_NOMEM;
    points->rows[points->n] = row;
    return cairn_table_set(&points->by_id, head->id, (uint32_t)points->n++);
}

static int read_format(struct cairn_perf_data_tracepoints *points, struct cairn_profile *profile,
                       const char *system, struct cairn_span format)
{
    char line[CAIRN_FIELD_LINE_BYTES];
    struct head head = {0};
    const size_t first = points->n_fields;
    for (size_t at = 0; cairn_field_next_line(format, &at, line);) {
        struct cairn_field_line field;
        read_head(line, &head);
        if (points->n_fields - first == CAIRN_PERF_DATA_TRACEPOINT_FIELDS ||
            !cairn_field_read(line, &field))
            continue;
        if (cairn_grow((void **)&points->fields, &points->cap_fields, points->n_fields + 1,
                       sizeof *points->fields) < 0)
            return CAIRN_E_NOMEM;
        mark_hex(format, &field);
        points->fields[points->n_fields++] = field;
    }
    return head.has_id && *head.name ? add_row(points, profile, system, &head, first) : CAIRN_OK;
}

/* {u64 size; bytes} */
static struct cairn_span take_sized(struct cairn_reader *r)
{
    return cairn_reader_take(r, cairn_reader_u64(r));
}

/* Magic, version, byte order, size of a word, of a page, the formats of the ring's own records. */
static bool skip_head(struct cairn_reader *r)
{
    static const char magic[] = "\x17\x08\x44tracing";
    const struct cairn_span start = cairn_reader_take(r, sizeof magic - 1);
    if (r->failed || memcmp(start.data, magic, start.size) != 0 ||
        strlen(cairn_reader_str(r)) > VERSION_BYTES)
        return false;
    cairn_reader_skip(r, 2);
    cairn_reader_skip(r, 4);
    for (int i = 0; i < 2; i++) { /* "header_page", "header_event" */
        (void)cairn_reader_str(r);
        (void)take_sized(r);
    }
    uint32_t n_ftrace = cairn_reader_u32(r);
    for (uint32_t i = 0; i < n_ftrace && cairn_reader_more(r); i++)
        (void)take_sized(r);
    return !r->failed;
}

int cairn_perf_data_tracepoints_read(struct cairn_perf_data_tracepoints *points,
                                     struct cairn_profile *profile, struct cairn_span bytes,
                                     bool swap)
{
    struct cairn_reader r = cairn_reader_of(bytes, swap);
    int code = CAIRN_OK;
    if (!skip_head(&r))
        return CAIRN_OK;
    uint32_t n_systems = cairn_reader_u32(&r);
    for (uint32_t i = 0; i < n_systems && cairn_reader_more(&r); i++) {
        const char *system = cairn_reader_str(&r);
        uint32_t n = cairn_reader_u32(&r);
        for (uint32_t k = 0; k < n && cairn_reader_more(&r) && code == CAIRN_OK; k++) {
            const struct cairn_span format = take_sized(&r);
            if (!r.failed && points->n < ROWS_MAX)
                code = read_format(points, profile, system, format);
        }
    }
    return code;
}

/* An array of words, as the arguments of a system call are; others stay away. */
static void put_words(struct cairn_span bytes, bool swap, char text[TEXT_BYTES])
{
    struct cairn_reader r = cairn_reader_of(bytes, swap);
    size_t used = 0;
    for (int i = 0; i < ARRAY_WORDS && cairn_reader_left(&r) >= WORD; i++)
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s0x%" PRIx64, i ? ", " : "",
                                 cairn_reader_u64(&r));
}

static void put_value(const struct cairn_field_line *line, struct cairn_span record, bool swap,
                      char text[TEXT_BYTES])
{
    const uint64_t value = cairn_field_number(&line->field, record, swap);
    const struct cairn_span word = cairn_field_text(&line->field, record, swap);
    switch (line->kind) {
    case CAIRN_FIELD_TEXT:
        snprintf(text, TEXT_BYTES, "%.*s", (int)(word.size < TEXT_BYTES ? word.size : TEXT_BYTES),
                 word.size ? (const char *)word.data : "");
        return;
    case CAIRN_FIELD_INT:
        snprintf(text, TEXT_BYTES, "%" PRId32, (int32_t)value);
        return;
    case CAIRN_FIELD_LONG:
        snprintf(text, TEXT_BYTES, "%" PRId64, (int64_t)value);
        return;
    case CAIRN_FIELD_SIZE:
        snprintf(text, TEXT_BYTES, "%" PRIu64, value);
        return;
    default:
        if (line->field.is_dynamic || line->field.size > WORD)
            put_words(cairn_field_bytes(&line->field, record, swap), swap, text);
        else
            snprintf(text, TEXT_BYTES, "0x%" PRIx64, value);
    }
}

uint32_t cairn_perf_data_tracepoint_put(const struct cairn_perf_data_tracepoints *points,
                                        const struct cairn_perf_data_attr *attr,
                                        struct cairn_span record, bool swap,
                                        struct cairn_label_list *list)
{
    uint32_t row;
    if (attr->type != CAIRN_PERF_DATA_TYPE_TRACEPOINT || !record.size ||
        !cairn_table_find(&points->by_id, attr->config, &row))
        return 0;
    const struct cairn_perf_data_tracepoint *point = &points->rows[row];
    for (uint32_t i = 0; i < point->n_fields; i++) {
        const struct cairn_field_line *line = &points->fields[point->first_field + i];
        char key[KEY_BYTES], text[TEXT_BYTES] = "";
        snprintf(key, sizeof key, "arg.%s", line->name);
        put_value(line, record, swap, text);
        cairn_label_list_text(list, key, text);
    }
    return point->name;
}

bool cairn_perf_data_tracepoint_number(const struct cairn_perf_data_tracepoints *points,
                                       const struct cairn_perf_data_attr *attr,
                                       struct cairn_span record, bool swap, const char *name,
                                       uint64_t *ret_value)
{
    uint32_t row;
    if (attr->type != CAIRN_PERF_DATA_TYPE_TRACEPOINT || !record.size ||
        !cairn_table_find(&points->by_id, attr->config, &row))
        return false;
    const struct cairn_field_line *lines = &points->fields[points->rows[row].first_field];
    for (uint32_t i = 0; i < points->rows[row].n_fields; i++)
        if (strcmp(lines[i].name, name) == 0) {
            *ret_value = cairn_field_number(&lines[i].field, record, swap);
            return true;
        }
    return false;
}
