/* SPDX-License-Identifier: MIT */
/*
 * Reading pprof. Fields stand in any order and refer to each other by id, so the bytes are gone
 * through once for each of these:
 *
 *     string table ─► types ─► functions, modules ─► locations ─► samples
 *
 * What go tool pprof refuses is refused here too: a first text that is not "", samples with too few
 * or too many values, ids that are 0, twice there or nowhere, texts beyond the table.
 */
#include "base/alloc.h"
#include "formats/format.h"
#include "formats/pprof_read.h"
#include "formats/pprof_write.h"

enum {
    COMMENTS_MAX = 65536,  /* of the profile */
    STRINGS_MAX = 1 << 28, /* of the table */
    ENTRIES_MAX = 1 << 24, /* mappings, functions, locations: of each kind */
    TYPES_MAX = CAIRN_PROFILE_TYPES_MAX,
    SAMPLES_MAX = CAIRN_PROFILE_NUMBERS_MAX,
    N_COUNTED = PPROF_COMMENT + 1,
};

static const struct cairn_pprof_shape profile_shape = {
    "a profile", 0x7ffe,
    CAIRN_PPROF_BIT(PPROF_SAMPLE_TYPE) | CAIRN_PPROF_BIT(PPROF_SAMPLE) |
        CAIRN_PPROF_BIT(PPROF_MAPPING) | CAIRN_PPROF_BIT(PPROF_LOCATION) |
        CAIRN_PPROF_BIT(PPROF_FUNCTION) | CAIRN_PPROF_BIT(PPROF_STRING) |
        CAIRN_PPROF_BIT(PPROF_PERIOD_TYPE),
    CAIRN_PPROF_BIT(PPROF_COMMENT)};
static const struct cairn_pprof_shape type_shape = {"a value type", 0x6, 0, 0};

static void done(struct cairn_pprof_reading *r)
{
    cairn_free(r->strings);
    cairn_free(r->texts);
    cairn_table_done(&r->functions);
    cairn_table_done(&r->modules);
    cairn_table_done(&r->locations);
    cairn_free(r->found);
    cairn_free(r->lines);
    cairn_table_done(&r->frames);
    cairn_free(r->ids);
}

static int each_of_profile(struct cairn_pprof_reading *r, cairn_pprof_field_fn fn, void *ctx)
{
    return cairn_pprof_each_field(r, r->bytes, &profile_shape, fn, ctx);
}

static int scan_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field, void *ctx)
{
    size_t *n_of = ctx;
    static const size_t max[] = {
        [PPROF_SAMPLE] = SAMPLES_MAX,    [PPROF_MAPPING] = ENTRIES_MAX,
        [PPROF_LOCATION] = ENTRIES_MAX,  [PPROF_FUNCTION] = ENTRIES_MAX,
        [PPROF_STRING] = STRINGS_MAX,    [PPROF_COMMENT] = COMMENTS_MAX,
        [PPROF_SAMPLE_TYPE] = TYPES_MAX,
    };
    if (field->number < N_COUNTED && max[field->number] &&
        ++n_of[field->number] > max[field->number])
        return CAIRN_PPROF_FAIL(r, CAIRN_E_LIMIT, "more than %zu of field %u", max[field->number],
                                field->number);
    if (field->number != PPROF_STRING)
        return CAIRN_OK;
    if (cairn_grow((void **)&r->strings, &r->cap_strings, r->n_strings + 1, sizeof *r->strings) < 0)
        return cairn_fail_memory(r->err);
    r->strings[r->n_strings++] = field->bytes;
    return CAIRN_OK;
}

static int scan(struct cairn_pprof_reading *r)
{
    size_t n_of[N_COUNTED] = {0}; /* fields, by number */
    int result = each_of_profile(r, scan_field, n_of);
    if (result < 0)
        return result;
    if (r->n_strings == 0)
        return cairn_fail(r->err, CAIRN_E_FORMAT, "pprof: there is no string table");
    if (r->strings[0].size)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "text 0 has %zu bytes, it must be empty",
                                r->strings[0].size);
    r->texts = cairn_alloc(r->n_strings, sizeof *r->texts);
    if (!r->texts)
        return cairn_fail_memory(r->err);
    memset(r->texts, 0xff, r->n_strings * sizeof *r->texts);
    return CAIRN_OK;
}

static int type_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct cairn_profile_type *type = ctx;
    if (field->number == PPROF_TYPE_TYPE)
        return cairn_pprof_text(r, field->value, &type->type);
    if (field->number == PPROF_TYPE_UNIT)
        return cairn_pprof_text(r, field->value, &type->unit);
    return CAIRN_OK;
}

static int add_comment(struct cairn_pprof_reading *r, uint64_t index, void *ctx)
{
    (void)ctx;
    uint32_t number;
    int result = cairn_pprof_text(r, index, &number);
    if (result < 0)
        return result;
    if (cairn_profile_add_comment(r->p, cairn_strings_get(&r->p->strings, number)) < 0)
        return cairn_fail_memory(r->err);
    return CAIRN_OK;
}

static int add_type(struct cairn_pprof_reading *r, const struct cairn_pb_field *field)
{
    struct cairn_profile *p = r->p;
    struct cairn_profile_type type = {0};
    int result = cairn_pprof_each_field(r, field->bytes, &type_shape, type_field, &type);
    if (result < 0)
        return result;
    if (cairn_profile_add_type(p, cairn_strings_get(&p->strings, type.type),
                               cairn_strings_get(&p->strings, type.unit)) == UINT32_MAX)
        return cairn_fail_memory(r->err);
    return CAIRN_OK;
}

static int head_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field, void *ctx)
{
    bool *io_has_time = ctx;
    struct cairn_profile *p = r->p;
    uint32_t ignored;
    switch (field->number) {
    case PPROF_SAMPLE_TYPE:
        return add_type(r, field);
    case PPROF_PERIOD_TYPE:
        return cairn_pprof_each_field(r, field->bytes, &type_shape, type_field, &p->period_type);
    case PPROF_PERIOD:
        p->period = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_TIME_NS:
        if (*io_has_time)
            return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "a second time: two profiles in one file");
        *io_has_time = field->value != 0;
        p->time_ns = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_DURATION_NS:
        p->duration_ns = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_COMMENT:
        return cairn_pprof_each_number(r, field, "a comment", add_comment, NULL);
    case PPROF_DEFAULT_TYPE:
        return cairn_pprof_text(r, field->value, &p->default_type);
    case PPROF_DROP_FRAMES:
    case PPROF_KEEP_FRAMES: /* for those who name frames; not for us, but must be sound */
        return cairn_pprof_text(r, field->value, &ignored);
    default:
        return CAIRN_OK;
    }
}

/* Where a file names none of its types, go tool pprof shows the last one. */
static void choose_default_type(struct cairn_profile *p)
{
    for (size_t i = 0; i < p->n_types; i++)
        if (p->types[i].type == p->default_type)
            return;
    p->default_type = p->types[p->n_types - 1].type;
}

static int build(struct cairn_pprof_reading *r)
{
    bool has_time = false;
    int result = scan(r);
    if (result == CAIRN_OK)
        result = each_of_profile(r, head_field, &has_time);
    if (result == CAIRN_OK && r->p->n_types == 0)
        result = cairn_fail(r->err, CAIRN_E_FORMAT, "pprof: there is no sample type");
    if (result == CAIRN_OK)
        result = each_of_profile(r, cairn_pprof_add_table, NULL);
    if (result == CAIRN_OK)
        result = each_of_profile(r, cairn_pprof_add_location, NULL);
    if (result == CAIRN_OK)
        result = each_of_profile(r, cairn_pprof_add_sample, NULL);
    if (result == CAIRN_OK)
        choose_default_type(r->p);
    return result;
}

static int read_pprof(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct cairn_span bytes;
    int result = cairn_source_slurp(source, CAIRN_FORMAT_BYTES_MAX, &bytes, err);
    if (result < 0)
        return result;
    struct cairn_pprof_reading *r = cairn_alloc(1, sizeof *r);
    if (!r)
        return cairn_fail_memory(err);
    *r = (struct cairn_pprof_reading){.p = p, .bytes = bytes, .err = err};
    result = build(r);
    done(r);
    cairn_free(r);
    return result;
}

/* The first field is one of a profile, and fields follow; and every message of a profile holds
 * small numbers, which are bytes that no text has. */
static bool sniff(struct cairn_span head)
{
    enum { FIELDS = 16, BYTES = 64, TAB = 9 };
    bool binary = false;
    for (size_t i = 0; i < head.size && i < BYTES; i++)
        binary |= head.data[i] < TAB;
    if (!binary || !(CAIRN_PPROF_BIT(head.data[0] >> 3 & 31) & profile_shape.known))
        return false;
    struct cairn_reader reader = cairn_reader_of(head, false);
    struct cairn_pb_field field;
    unsigned n = 0;
    while (n < FIELDS && cairn_pb_next(&reader, &field)) {
        if (!cairn_pprof_fits(&field, &profile_shape))
            return false;
        n++;
    }
    return n > 0 || (head.data[0] & 7) == CAIRN_PB_BYTES; /* the head may end inside the first */
}

static const char *const endings[] = {".pb.gz", ".pprof", ".pb", NULL};

const struct cairn_format_row cairn_format_pprof = {
    .format = CAIRN_FORMAT_PPROF,
    .name = "pprof",
    .endings = endings,
    .sniff = sniff,
    .read = read_pprof,
    .write = cairn_pprof_write,
};
