/* SPDX-License-Identifier: MIT */
/*
 * Reading pprof. Texts may stand behind what refers to them, so the bytes are gone through twice:
 *
 *     scan    string table; where each mapping, function, location and sample begins
 *     build   types ─► functions ─► modules ─► locations ─► samples, by the ids of the file
 *
 * What go tool pprof refuses is refused here too: a first text that is not "", samples with too few
 * or too many values, ids that are 0, twice there or nowhere, texts beyond the table.
 */
#include "formats/pprof.h"

#include "base/alloc.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/pprof_write.h"
#include "formats/protobuf.h"

static const size_t FILE_BYTES_MAX = (size_t)4 << 30;
enum {
    LINES_MAX = 4096,      /* of one location */
    COMMENTS_MAX = 65536,  /* of the profile */
    STRINGS_MAX = 1 << 28, /* of the table */
    ENTRIES_MAX = 1 << 24, /* mappings, functions, locations: of each kind */
    FRAMES_MAX = CAIRN_PROFILE_DEPTH_MAX,
    LABELS_MAX = CAIRN_PROFILE_LABELS_MAX,
    TYPES_MAX = CAIRN_PROFILE_TYPES_MAX,
    SAMPLES_MAX = CAIRN_PROFILE_NUMBERS_MAX,
    N_COUNTED = PPROF_COMMENT + 1,
};

/* What a location of the file is until a sample says how it was found. */
struct location {
    struct cairn_profile_frame frame;
    uint32_t first_line, n_lines; /* in `lines` */
};

struct reading {
    struct cairn_profile *p;
    struct cairn_span bytes;
    struct cairn_err *err;
    size_t at;                  /* where the message of the profile begins that is being read */
    struct cairn_span *strings; /* the file's table */
    size_t n_strings, cap_strings;
    size_t n_of[N_COUNTED]; /* fields of the profile, by number */
    bool has_time;
    uint32_t *texts; /* numbers in the profile; UINT32_MAX: not asked for yet */
    struct cairn_table functions, modules, locations; /* by id of the file */
    struct location *found;
    size_t n_found, cap_found;
    struct cairn_profile_line *lines;
    size_t n_lines, cap_lines;
    struct cairn_table frames; /* location index << 8 | kind -> frame */
    uint64_t *ids;             /* of one sample, leaf first */
    size_t cap_ids;
    struct cairn_profile_label labels[LABELS_MAX];
};

static void done(struct reading *r)
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

/* Every failure names the message of the profile that it is in, by its place in the unzipped file.
 */
#define FAIL_AT(r, code, format, ...)                                                              \
    cairn_fail((r)->err, (code), "pprof: byte 0x%zx: " format, (r)->at, ##__VA_ARGS__)

static int damaged(struct reading *r, const char *what, size_t pos)
{
    return FAIL_AT(r, CAIRN_E_FORMAT, "%s is damaged or cut off at byte 0x%zx", what, pos);
}

/* Offset in the (unzipped) file of a span that was taken out of it. */
static size_t pos_of(const struct reading *r, struct cairn_span bytes)
{
    return bytes.data ? (size_t)(bytes.data - r->bytes.data) : 0;
}

/* The profile's number of text `index` of the file; negative code on failure. */
static int text(struct reading *r, uint64_t index, uint32_t *ret_number)
{
    if (index >= r->n_strings)
        return FAIL_AT(r, CAIRN_E_FORMAT, "text %llu is asked for, the table has %zu",
                       (unsigned long long)index, r->n_strings);
    if (r->texts[index] == UINT32_MAX) {
        struct cairn_span bytes = r->strings[index];
        r->texts[index] = cairn_profile_text(r->p, (const char *)bytes.data, bytes.size);
        if (r->texts[index] == UINT32_MAX)
            return cairn_fail_memory(r->err);
    }
    *ret_number = r->texts[index];
    return CAIRN_OK;
}

/* What is done with each field of one message; a negative code ends it. */
typedef int (*field_fn)(struct reading *r, const struct cairn_pb_field *field, void *ctx);

/* What the fields of one message must be: numbers, but for those in the masks. */
struct shape {
    const char *what;
    uint32_t known, bytes, numbers; /* bit n: field n; `numbers` may be packed into bytes */
};

#define BIT(field) (1u << (field))

/* Fields of later versions may be anything. */
static bool fits(const struct cairn_pb_field *field, const struct shape *shape)
{
    enum { MASK_BITS = 32 };
    uint32_t bit = field->number < MASK_BITS ? BIT(field->number) : 0;
    if (!(shape->known & bit))
        return true;
    if (field->wire == CAIRN_PB_BYTES)
        return (shape->bytes | shape->numbers) & bit;
    return field->wire == CAIRN_PB_VARINT && !(shape->bytes & bit);
}

static int check_wire(struct reading *r, const struct cairn_pb_field *field,
                      const struct shape *shape)
{
    if (fits(field, shape))
        return CAIRN_OK;
    return FAIL_AT(r, CAIRN_E_FORMAT, "field %u of %s has wire type %d, expected %d", field->number,
                   shape->what, field->wire,
                   field->wire == CAIRN_PB_BYTES ? CAIRN_PB_VARINT : CAIRN_PB_BYTES);
}

static int each_field(struct reading *r, struct cairn_span message, const struct shape *shape,
                      field_fn fn, void *ctx)
{
    bool is_profile = message.data == r->bytes.data && message.size == r->bytes.size;
    struct cairn_reader reader = cairn_reader_of(message, false);
    struct cairn_pb_field field;
    while (cairn_pb_next(&reader, &field)) {
        if (is_profile)
            r->at = field.pos;
        int result = check_wire(r, &field, shape);
        if (result == CAIRN_OK)
            result = fn(r, &field, ctx);
        if (result < 0)
            return result;
    }
    return reader.failed ? damaged(r, shape->what, pos_of(r, message) + reader.pos) : CAIRN_OK;
}

static const struct shape profile_shape = {
    "a profile", 0x7ffe,
    BIT(PPROF_SAMPLE_TYPE) | BIT(PPROF_SAMPLE) | BIT(PPROF_MAPPING) | BIT(PPROF_LOCATION) |
        BIT(PPROF_FUNCTION) | BIT(PPROF_STRING) | BIT(PPROF_PERIOD_TYPE),
    BIT(PPROF_COMMENT)};
static const struct shape type_shape = {"a value type", 0x6, 0, 0};
static const struct shape function_shape = {"a function", 0x3e, 0, 0};
static const struct shape mapping_shape = {"a mapping", 0x7fe, 0, 0};
static const struct shape line_shape = {"a line", 0x6, 0, 0};
static const struct shape location_shape = {"a location", 0x3e, BIT(PPROF_LOCATION_LINE), 0};
static const struct shape label_shape = {"a label", 0x1e, 0, 0};
static const struct shape sample_shape = {"a sample", 0xe, BIT(PPROF_SAMPLE_LABEL),
                                          BIT(PPROF_SAMPLE_LOCATION) | BIT(PPROF_SAMPLE_VALUE)};

static int scan_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    (void)ctx;
    static const size_t max[] = {
        [PPROF_SAMPLE] = SAMPLES_MAX,    [PPROF_MAPPING] = ENTRIES_MAX,
        [PPROF_LOCATION] = ENTRIES_MAX,  [PPROF_FUNCTION] = ENTRIES_MAX,
        [PPROF_STRING] = STRINGS_MAX,    [PPROF_COMMENT] = COMMENTS_MAX,
        [PPROF_SAMPLE_TYPE] = TYPES_MAX,
    };
    if (field->number < N_COUNTED && max[field->number] &&
        ++r->n_of[field->number] > max[field->number])
        return FAIL_AT(r, CAIRN_E_LIMIT, "more than %zu of field %u", max[field->number],
                       field->number);
    if (field->number != PPROF_STRING)
        return CAIRN_OK;
    if (cairn_grow((void **)&r->strings, &r->cap_strings, r->n_strings + 1, sizeof *r->strings) < 0)
        return cairn_fail_memory(r->err);
    r->strings[r->n_strings++] = field->bytes;
    return CAIRN_OK;
}

static int scan(struct reading *r)
{
    int result = each_field(r, r->bytes, &profile_shape, scan_field, NULL);
    if (result < 0)
        return result;
    if (r->n_strings == 0)
        return cairn_fail(r->err, CAIRN_E_FORMAT, "pprof: there is no string table");
    if (r->strings[0].size)
        return FAIL_AT(r, CAIRN_E_FORMAT, "text 0 has %zu bytes, it must be empty",
                       r->strings[0].size);
    r->texts = cairn_alloc(r->n_strings, sizeof *r->texts);
    if (!r->texts)
        return cairn_fail_memory(r->err);
    memset(r->texts, 0xff, r->n_strings * sizeof *r->texts);
    return CAIRN_OK;
}

static int type_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct cairn_profile_type *type = ctx;
    if (field->number == PPROF_TYPE_TYPE)
        return text(r, field->value, &type->type);
    if (field->number == PPROF_TYPE_UNIT)
        return text(r, field->value, &type->unit);
    return CAIRN_OK;
}

static int comments_field(struct reading *r, const struct cairn_pb_field *field)
{
    struct cairn_reader packed;
    bool started = false, failed = false;
    uint64_t index;
    while (cairn_pb_number(field, &packed, &started, &failed, &index)) {
        uint32_t number;
        int result = text(r, index, &number);
        if (result == CAIRN_OK &&
            cairn_profile_add_comment(r->p, cairn_strings_get(&r->p->strings, number)) < 0)
            result = cairn_fail_memory(r->err);
        if (result < 0)
            return result;
    }
    return failed ? damaged(r, "a comment", pos_of(r, field->bytes)) : CAIRN_OK;
}

static int add_type(struct reading *r, const struct cairn_pb_field *field)
{
    struct cairn_profile *p = r->p;
    struct cairn_profile_type type = {0};
    int result = each_field(r, field->bytes, &type_shape, type_field, &type);
    if (result < 0)
        return result;
    if (cairn_profile_add_type(p, cairn_strings_get(&p->strings, type.type),
                               cairn_strings_get(&p->strings, type.unit)) == UINT32_MAX)
        return cairn_fail_memory(r->err);
    return CAIRN_OK;
}

static int head_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    (void)ctx;
    struct cairn_profile *p = r->p;
    uint32_t ignored;
    switch (field->number) {
    case PPROF_SAMPLE_TYPE:
        return add_type(r, field);
    case PPROF_PERIOD_TYPE:
        return each_field(r, field->bytes, &type_shape, type_field, &p->period_type);
    case PPROF_PERIOD:
        p->period = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_TIME_NS:
        if (r->has_time)
            return FAIL_AT(r, CAIRN_E_FORMAT, "a second time: two profiles in one file");
        r->has_time = field->value != 0;
        p->time_ns = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_DURATION_NS:
        p->duration_ns = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_COMMENT:
        return comments_field(r, field);
    case PPROF_DEFAULT_TYPE:
        return text(r, field->value, &p->default_type);
    case PPROF_DROP_FRAMES:
    case PPROF_KEEP_FRAMES: /* for those who name frames; not for us, but must be sound */
        return text(r, field->value, &ignored);
    default:
        return CAIRN_OK;
    }
}

/* Notes that the file's id is this number of ours. */
static int enter_id(struct reading *r, struct cairn_table *ids, const char *what, uint64_t id,
                    uint32_t number)
{
    uint32_t old;
    if (id == 0)
        return FAIL_AT(r, CAIRN_E_FORMAT, "%s has id 0", what);
    if (cairn_table_find(ids, id, &old))
        return FAIL_AT(r, CAIRN_E_FORMAT, "%s id %llu is there twice", what,
                       (unsigned long long)id);
    if (number == UINT32_MAX || cairn_table_set(ids, id, number) < 0)
        return cairn_fail_memory(r->err);
    return CAIRN_OK;
}

struct function_parts {
    uint64_t id;
    struct cairn_profile_function function;
};

static int function_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct function_parts *parts = ctx;
    switch (field->number) {
    case PPROF_FUNCTION_ID:
        parts->id = field->value;
        return CAIRN_OK;
    case PPROF_FUNCTION_NAME:
        return text(r, field->value, &parts->function.name);
    case PPROF_FUNCTION_SYSTEM_NAME:
        return text(r, field->value, &parts->function.system_name);
    case PPROF_FUNCTION_FILE:
        return text(r, field->value, &parts->function.file);
    case PPROF_FUNCTION_START_LINE:
        parts->function.start_line = field->value > UINT32_MAX ? 0 : (uint32_t)field->value;
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}

static int add_function(struct reading *r, const struct cairn_pb_field *field)
{
    struct function_parts parts = {0};
    int result = each_field(r, field->bytes, &function_shape, function_field, &parts);
    if (result < 0)
        return result;
    if (!parts.function.name)
        parts.function.name = parts.function.system_name;
    return enter_id(r, &r->functions, "a function", parts.id,
                    cairn_profile_add_function(r->p, &parts.function));
}

struct mapping_parts {
    uint64_t id;
    struct cairn_profile_module module;
};

static int mapping_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct mapping_parts *parts = ctx;
    struct cairn_profile_module *m = &parts->module;
    switch (field->number) {
    case PPROF_MAPPING_ID:
        parts->id = field->value;
        break;
    case PPROF_MAPPING_START:
        m->start = field->value;
        break;
    case PPROF_MAPPING_LIMIT:
        m->end = field->value;
        break;
    case PPROF_MAPPING_OFFSET:
        m->off = field->value;
        break;
    case PPROF_MAPPING_FILE:
        return text(r, field->value, &m->path);
    case PPROF_MAPPING_BUILD_ID:
        return text(r, field->value, &m->build_id);
    case PPROF_MAPPING_HAS_FUNCTIONS:
        m->has_functions = field->value;
        break;
    case PPROF_MAPPING_HAS_FILES:
        m->has_files = field->value;
        break;
    case PPROF_MAPPING_HAS_LINES:
        m->has_lines = field->value;
        break;
    case PPROF_MAPPING_HAS_INLINES:
        m->has_inlines = field->value;
        break;
    }
    return CAIRN_OK;
}

static int add_mapping(struct reading *r, const struct cairn_pb_field *field)
{
    struct mapping_parts parts = {0};
    int result = each_field(r, field->bytes, &mapping_shape, mapping_field, &parts);
    if (result < 0)
        return result;
    return enter_id(r, &r->modules, "a mapping", parts.id,
                    cairn_profile_add_module(r->p, &parts.module));
}

static int table_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    (void)ctx;
    if (field->number == PPROF_FUNCTION)
        return add_function(r, field);
    return field->number == PPROF_MAPPING ? add_mapping(r, field) : CAIRN_OK;
}

static int line_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct cairn_profile_line *line = ctx;
    if (field->number == PPROF_LINE_LINE) {
        line->line = field->value > UINT32_MAX ? 0 : (uint32_t)field->value;
        return CAIRN_OK;
    }
    if (field->number == PPROF_LINE_FUNCTION &&
        !cairn_table_find(&r->functions, field->value, &line->function))
        return FAIL_AT(r, CAIRN_E_FORMAT, "a line has unknown function id %llu",
                       (unsigned long long)field->value);
    return CAIRN_OK;
}

struct location_parts {
    uint64_t id;
    struct location location;
};

static int add_line(struct reading *r, const struct cairn_pb_field *field,
                    struct location *location)
{
    struct cairn_profile_line line = {0};
    int result = each_field(r, field->bytes, &line_shape, line_field, &line);
    if (result < 0)
        return result;
    if (line.function == 0)
        return FAIL_AT(r, CAIRN_E_FORMAT, "a line has no function");
    if (location->n_lines == LINES_MAX)
        return FAIL_AT(r, CAIRN_E_LIMIT, "a location has more than %d lines", LINES_MAX);
    if (cairn_grow((void **)&r->lines, &r->cap_lines, r->n_lines + 1, sizeof *r->lines) < 0)
        return cairn_fail_memory(r->err);
    r->lines[r->n_lines++] = line;
    location->n_lines++;
    return CAIRN_OK;
}

static int location_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct location_parts *parts = ctx;
    switch (field->number) {
    case PPROF_LOCATION_ID:
        parts->id = field->value;
        break;
    case PPROF_LOCATION_MAPPING:
        /* A mapping that is nowhere is none: go tool pprof takes it so. */
        if (!cairn_table_find(&r->modules, field->value, &parts->location.frame.module))
            parts->location.frame.module = CAIRN_PROFILE_NO_MODULE;
        break;
    case PPROF_LOCATION_ADDRESS:
        parts->location.frame.address = field->value;
        break;
    case PPROF_LOCATION_LINE:
        return add_line(r, field, &parts->location);
    case PPROF_LOCATION_FOLDED:
        parts->location.frame.folded = field->value;
        break;
    }
    return CAIRN_OK;
}

static int add_location(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    (void)ctx;
    if (field->number != PPROF_LOCATION)
        return CAIRN_OK;
    struct location_parts parts = {.location.first_line = (uint32_t)r->n_lines};
    int result = each_field(r, field->bytes, &location_shape, location_field, &parts);
    if (result < 0)
        return result;
    if (r->n_found >= UINT32_MAX >> 8 ||
        cairn_grow((void **)&r->found, &r->cap_found, r->n_found + 1, sizeof *r->found) < 0)
        return cairn_fail_memory(r->err);
    r->found[r->n_found] = parts.location;
    return enter_id(r, &r->locations, "a location", parts.id, (uint32_t)r->n_found++);
}

/* The frame of a location that was found in this way. */
static int frame_of(struct reading *r, uint32_t location, uint8_t kind, uint32_t *ret_frame)
{
    uint64_t key = (uint64_t)location << 8 | kind;
    if (cairn_table_find(&r->frames, key, ret_frame))
        return CAIRN_OK;
    const struct location *found = &r->found[location];
    struct cairn_profile_frame frame = found->frame;
    frame.kind = kind;
    uint32_t number = cairn_profile_add_frame(
        r->p, &frame, found->n_lines ? r->lines + found->first_line : NULL, found->n_lines);
    if (number == UINT32_MAX || cairn_table_set(&r->frames, key, number) < 0)
        return cairn_fail_memory(r->err);
    *ret_frame = number;
    return CAIRN_OK;
}

struct sample_parts {
    size_t n_ids, n_values;
    uint32_t n_labels;
    struct cairn_span letters; /* of cairn.frames; empty: none */
    int64_t values[TYPES_MAX];
};

static int label_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct cairn_profile_label *label = ctx;
    switch (field->number) {
    case PPROF_LABEL_KEY:
        return text(r, field->value, &label->key);
    case PPROF_LABEL_STR:
        return text(r, field->value, &label->text);
    case PPROF_LABEL_NUM:
        label->number = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_LABEL_UNIT:
        return text(r, field->value, &label->unit);
    default:
        return CAIRN_OK;
    }
}

static int add_label(struct reading *r, const struct cairn_pb_field *field,
                     struct sample_parts *parts)
{
    struct cairn_profile_label label = {0};
    int result = each_field(r, field->bytes, &label_shape, label_field, &label);
    if (result < 0)
        return result;
    const struct cairn_strings *strings = &r->p->strings;
    if (strcmp(cairn_strings_get(strings, label.key), CAIRN_PPROF_FRAMES_LABEL) == 0) {
        parts->letters = cairn_span_of(cairn_strings_get(strings, label.text));
        return CAIRN_OK;
    }
    if (parts->n_labels == LABELS_MAX)
        return FAIL_AT(r, CAIRN_E_LIMIT, "a sample has more than %d labels", LABELS_MAX);
    r->labels[parts->n_labels++] = label;
    return CAIRN_OK;
}

static int add_id(struct reading *r, struct sample_parts *parts, uint64_t id)
{
    if (parts->n_ids == FRAMES_MAX)
        return FAIL_AT(r, CAIRN_E_LIMIT, "a sample has more than %d locations", FRAMES_MAX);
    if (cairn_grow((void **)&r->ids, &r->cap_ids, parts->n_ids + 1, sizeof *r->ids) < 0)
        return cairn_fail_memory(r->err);
    r->ids[parts->n_ids++] = id;
    return CAIRN_OK;
}

static int sample_field(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct sample_parts *parts = ctx;
    if (field->number == PPROF_SAMPLE_LABEL)
        return add_label(r, field, parts);
    if (field->number != PPROF_SAMPLE_LOCATION && field->number != PPROF_SAMPLE_VALUE)
        return CAIRN_OK;
    struct cairn_reader packed;
    bool started = false, failed = false;
    uint64_t number;
    while (cairn_pb_number(field, &packed, &started, &failed, &number)) {
        if (field->number == PPROF_SAMPLE_VALUE) {
            if (parts->n_values < TYPES_MAX)
                parts->values[parts->n_values] = (int64_t)number;
            parts->n_values++;
            continue;
        }
        int result = add_id(r, parts, number);
        if (result < 0)
            return result;
    }
    return failed ? damaged(r, "a sample", pos_of(r, field->bytes)) : CAIRN_OK;
}

static uint8_t kind_of_letter(struct cairn_span letters, size_t index, size_t n_ids)
{
    /* Letters that do not fit the stack say nothing about it. */
    if (letters.size != n_ids || !strchr("kcfgjli", letters.data[index]))
        return CAIRN_FRAME_UNKNOWN;
    return letters.data[index];
}

static int stack_of(struct reading *r, const struct sample_parts *parts, uint32_t *ret_stack)
{
    uint32_t at = 0;
    for (size_t i = parts->n_ids; i-- > 0;) {
        uint32_t location, frame;
        if (!cairn_table_find(&r->locations, r->ids[i], &location))
            return FAIL_AT(r, CAIRN_E_FORMAT, "a sample has unknown location id %llu",
                           (unsigned long long)r->ids[i]);
        int result = frame_of(r, location, kind_of_letter(parts->letters, i, parts->n_ids), &frame);
        if (result < 0)
            return result;
        at = cairn_profile_add_stack(r->p, at, frame);
        if (at == UINT32_MAX)
            return cairn_fail_memory(r->err);
    }
    *ret_stack = at;
    return CAIRN_OK;
}

static int add_sample(struct reading *r, const struct cairn_pb_field *field, void *ctx)
{
    (void)ctx;
    if (field->number != PPROF_SAMPLE)
        return CAIRN_OK;
    struct sample_parts parts = {0};
    int result = each_field(r, field->bytes, &sample_shape, sample_field, &parts);
    if (result < 0)
        return result;
    if (parts.n_values != r->p->n_types)
        return cairn_fail(r->err, CAIRN_E_FORMAT,
                          "pprof: byte 0x%zx: a sample has %zu values, expected %zu", r->at,
                          parts.n_values, r->p->n_types);
    uint32_t stack = 0;
    result = stack_of(r, &parts, &stack);
    if (result < 0)
        return result;
    uint32_t labels = cairn_profile_add_labels(r->p, r->labels, parts.n_labels);
    if (labels == UINT32_MAX ||
        cairn_profile_add_sample(r->p, stack, labels, parts.values) == UINT32_MAX)
        return cairn_fail_memory(r->err);
    return CAIRN_OK;
}

/* Where a file names none of its types, go tool pprof shows the last one. */
static void choose_default_type(struct cairn_profile *p)
{
    for (size_t i = 0; i < p->n_types; i++)
        if (p->types[i].type == p->default_type)
            return;
    p->default_type = p->types[p->n_types - 1].type;
}

static int build(struct reading *r)
{
    int result = scan(r);
    if (result == CAIRN_OK)
        result = each_field(r, r->bytes, &profile_shape, head_field, NULL);
    if (result == CAIRN_OK && r->p->n_types == 0)
        result = cairn_fail(r->err, CAIRN_E_FORMAT, "pprof: there is no sample type");
    if (result == CAIRN_OK)
        result = each_field(r, r->bytes, &profile_shape, table_field, NULL);
    if (result == CAIRN_OK)
        result = each_field(r, r->bytes, &profile_shape, add_location, NULL);
    if (result == CAIRN_OK)
        result = each_field(r, r->bytes, &profile_shape, add_sample, NULL);
    if (result == CAIRN_OK)
        choose_default_type(r->p);
    return result;
}

static int read_pprof(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct cairn_span bytes;
    int result = cairn_source_slurp(source, FILE_BYTES_MAX, &bytes, err);
    if (result < 0)
        return result;
    struct reading *r = cairn_alloc(1, sizeof *r);
    if (!r)
        return cairn_fail_memory(err);
    *r = (struct reading){.p = p, .bytes = bytes, .err = err};
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
    if (!binary || !(BIT(head.data[0] >> 3 & 31) & profile_shape.known))
        return false;
    struct cairn_reader reader = cairn_reader_of(head, false);
    struct cairn_pb_field field;
    unsigned n = 0;
    while (n < FIELDS && cairn_pb_next(&reader, &field)) {
        if (!fits(&field, &profile_shape))
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
