/* SPDX-License-Identifier: MIT */
/* Samples of a pprof file: values, labels, and stacks made of locations. */
#include "base/alloc.h"
#include "formats/pprof_read.h"
#include "profile/frame_kind.h"

enum {
    FRAMES_MAX = CAIRN_PROFILE_DEPTH_MAX,
    LABELS_MAX = CAIRN_PROFILE_LABELS_MAX,
    TYPES_MAX = CAIRN_PROFILE_TYPES_MAX,
};

static const struct cairn_pprof_shape sample_shape = {
    "a sample", 0xe, CAIRN_PPROF_BIT(PPROF_SAMPLE_LABEL),
    CAIRN_PPROF_BIT(PPROF_SAMPLE_LOCATION) | CAIRN_PPROF_BIT(PPROF_SAMPLE_VALUE)};
static const struct cairn_pprof_shape label_shape = {"a label", 0x1e, 0, 0};

struct sample_parts {
    size_t n_ids, n_values;
    uint32_t n_labels;
    uint32_t cut, marker; /* strings; 0: none */
    int64_t time_ns, duration_ns;
    struct cairn_span letters; /* of cairn.frames; empty: none */
    int64_t values[TYPES_MAX];
};

static int label_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct cairn_profile_label *label = ctx;
    switch (field->number) {
    case PPROF_LABEL_KEY:
        return cairn_pprof_text(r, field->value, &label->key);
    case PPROF_LABEL_STR:
        return cairn_pprof_text(r, field->value, &label->text);
    case PPROF_LABEL_NUM:
        label->number = (int64_t)field->value;
        return CAIRN_OK;
    case PPROF_LABEL_UNIT:
        return cairn_pprof_text(r, field->value, &label->unit);
    default:
        return CAIRN_OK;
    }
}

/* Those that the model has a place for. */
static bool is_field(struct cairn_pprof_reading *r, const struct cairn_profile_label *label,
                     struct sample_parts *parts)
{
    const struct cairn_strings *strings = &r->p->strings;
    const char *key = cairn_strings_get(strings, label->key);
    if (strcmp(key, CAIRN_PPROF_FRAMES_LABEL) == 0)
        parts->letters = cairn_span_of(cairn_strings_get(strings, label->text));
    else if (label->text && strcmp(key, CAIRN_PROFILE_CUT_LABEL) == 0)
        parts->cut = label->text;
    else if (!label->text && strcmp(key, CAIRN_PROFILE_TIME_LABEL) == 0)
        parts->time_ns = label->number;
    else if (label->text && strcmp(key, CAIRN_PPROF_MARKER_LABEL) == 0)
        parts->marker = label->text;
    else if (!label->text && strcmp(key, CAIRN_PPROF_DURATION_LABEL) == 0)
        parts->duration_ns = label->number;
    else
        return false;
    return true;
}

static int add_label(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                     struct sample_parts *parts)
{
    struct cairn_profile_label label = {0};
    int result = cairn_pprof_each_field(r, field->bytes, &label_shape, label_field, &label);
    if (result < 0)
        return result;
    if (is_field(r, &label, parts))
        return CAIRN_OK;
    if (parts->n_labels == LABELS_MAX)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_LIMIT, "a sample has more than %d labels", LABELS_MAX);
    r->labels[parts->n_labels++] = label;
    return CAIRN_OK;
}

static int add_id(struct cairn_pprof_reading *r, uint64_t id, void *ctx)
{
    struct sample_parts *parts = ctx;
    if (parts->n_ids == FRAMES_MAX)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_LIMIT, "a sample has more than %d locations",
                                FRAMES_MAX);
    if (cairn_grow((void **)&r->ids, &r->cap_ids, parts->n_ids + 1, sizeof *r->ids) < 0)
        return cairn_fail_memory(r->err);
    r->ids[parts->n_ids++] = id;
    return CAIRN_OK;
}

static int add_value(struct cairn_pprof_reading *r, uint64_t value, void *ctx)
{
    (void)r;
    struct sample_parts *parts = ctx;
    if (parts->n_values < TYPES_MAX)
        parts->values[parts->n_values] = (int64_t)value;
    parts->n_values++;
    return CAIRN_OK;
}

static int sample_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                        void *ctx)
{
    switch (field->number) {
    case PPROF_SAMPLE_LOCATION:
        return cairn_pprof_each_number(r, field, "a sample", add_id, ctx);
    case PPROF_SAMPLE_VALUE:
        return cairn_pprof_each_number(r, field, "a sample", add_value, ctx);
    case PPROF_SAMPLE_LABEL:
        return add_label(r, field, ctx);
    default:
        return CAIRN_OK;
    }
}

/* The frame of a location that was found in this way. */
static int frame_of(struct cairn_pprof_reading *r, uint32_t location, uint8_t kind,
                    uint32_t *ret_frame)
{
    uint64_t key = (uint64_t)location << 8 | kind;
    if (cairn_table_find(&r->frames, key, ret_frame))
        return CAIRN_OK;
    const struct cairn_pprof_found *found = &r->found[location];
    struct cairn_profile_frame frame = found->frame;
    if (!cairn_frame_set_kind(&frame, kind)) /* of a later version */
        (void)cairn_frame_set_kind(&frame, CAIRN_FRAME_UNKNOWN);
    uint32_t number = cairn_profile_add_frame(
        r->p, &frame, found->n_lines ? r->lines + found->first_line : NULL, found->n_lines);
    if (number == UINT32_MAX || cairn_table_set(&r->frames, key, number) < 0)
        return cairn_fail_memory(r->err);
    *ret_frame = number;
    return CAIRN_OK;
}

static uint8_t kind_of_letter(struct cairn_span letters, size_t index, size_t n_ids)
{
    /* Letters that do not fit the stack say nothing about it. */
    return letters.size == n_ids ? letters.data[index] : CAIRN_FRAME_UNKNOWN;
}

static int stack_of(struct cairn_pprof_reading *r, const struct sample_parts *parts,
                    uint32_t *ret_stack)
{
    uint32_t at = 0;
    for (size_t i = parts->n_ids; i-- > 0;) {
        uint32_t location, frame;
        if (!cairn_table_find(&r->locations, r->ids[i], &location))
            return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "a sample has unknown location id %llu",
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

/* What counts for something is a sample, whatever its labels say. */
static bool is_marker(const struct sample_parts *parts)
{
    bool is_one = parts->marker && parts->duration_ns >= 0;
    for (size_t i = 0; i < parts->n_values && is_one; i++)
        is_one = parts->values[i] == 0;
    return is_one;
}

int cairn_pprof_add_sample(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                           void *ctx)
{
    (void)ctx;
    if (field->number != PPROF_SAMPLE)
        return CAIRN_OK;
    struct sample_parts parts = {0};
    int result = cairn_pprof_each_field(r, field->bytes, &sample_shape, sample_field, &parts);
    if (result < 0)
        return result;
    if (parts.n_values != r->p->n_types)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "a sample has %zu values, expected %zu",
                                parts.n_values, r->p->n_types);
    uint32_t stack = 0;
    result = stack_of(r, &parts, &stack);
    if (result < 0)
        return result;
    uint32_t labels =
        cairn_profile_add_label_set(r->p, r->labels, parts.n_labels, parts.cut, parts.time_ns);
    uint32_t number = UINT32_MAX;
    if (labels != UINT32_MAX && is_marker(&parts))
        number = cairn_profile_add_marker(
            r->p, &(struct cairn_profile_marker){parts.marker, stack, labels, parts.duration_ns});
    else if (labels != UINT32_MAX)
        number = cairn_profile_add_sample(r->p, stack, labels, parts.values);
    return number == UINT32_MAX ? cairn_fail_memory(r->err) : CAIRN_OK;
}
