/* SPDX-License-Identifier: MIT */
/* Functions, mappings and locations of a pprof file become those of the profile. */
#include "base/alloc.h"
#include "formats/pprof_read.h"

enum { LINES_MAX = 4096 /* of one location */ };

static const struct cairn_pprof_shape function_shape = {"a function", 0x3e, 0, 0};
static const struct cairn_pprof_shape mapping_shape = {"a mapping", 0x7fe, 0, 0};
static const struct cairn_pprof_shape line_shape = {"a line", 0x6, 0, 0};
static const struct cairn_pprof_shape location_shape = {"a location", 0x3e,
                                                        CAIRN_PPROF_BIT(PPROF_LOCATION_LINE), 0};

/* Notes that the file's id is this number of ours. */
static int enter_id(struct cairn_pprof_reading *r, struct cairn_table *ids, const char *what,
                    uint64_t id, uint32_t number)
{
    uint32_t old;
    if (id == 0)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "%s has id 0", what);
    if (cairn_table_find(ids, id, &old))
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "%s id %llu is there twice", what,
                                (unsigned long long)id);
    if (number == UINT32_MAX || cairn_table_set(ids, id, number) < 0)
        return cairn_fail_memory(r->err);
    return CAIRN_OK;
}

struct function_parts {
    uint64_t id;
    struct cairn_profile_function function;
};

static int function_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                          void *ctx)
{
    struct function_parts *parts = ctx;
    switch (field->number) {
    case PPROF_FUNCTION_ID:
        parts->id = field->value;
        return CAIRN_OK;
    case PPROF_FUNCTION_NAME:
        return cairn_pprof_text(r, field->value, &parts->function.name);
    case PPROF_FUNCTION_SYSTEM_NAME:
        return cairn_pprof_text(r, field->value, &parts->function.system_name);
    case PPROF_FUNCTION_FILE:
        return cairn_pprof_text(r, field->value, &parts->function.file);
    case PPROF_FUNCTION_START_LINE:
        parts->function.start_line = field->value > UINT32_MAX ? 0 : (uint32_t)field->value;
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}

static int add_function(struct cairn_pprof_reading *r, const struct cairn_pb_field *field)
{
    struct function_parts parts = {0};
    int result = cairn_pprof_each_field(r, field->bytes, &function_shape, function_field, &parts);
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

static int mapping_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                         void *ctx)
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
        return cairn_pprof_text(r, field->value, &m->path);
    case PPROF_MAPPING_BUILD_ID:
        return cairn_pprof_text(r, field->value, &m->build_id);
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

static int add_mapping(struct cairn_pprof_reading *r, const struct cairn_pb_field *field)
{
    struct mapping_parts parts = {0};
    int result = cairn_pprof_each_field(r, field->bytes, &mapping_shape, mapping_field, &parts);
    if (result < 0)
        return result;
    return enter_id(r, &r->modules, "a mapping", parts.id,
                    cairn_profile_add_module(r->p, &parts.module));
}

int cairn_pprof_add_table(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                          void *ctx)
{
    (void)ctx;
    if (field->number == PPROF_FUNCTION)
        return add_function(r, field);
    return field->number == PPROF_MAPPING ? add_mapping(r, field) : CAIRN_OK;
}

static int line_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field, void *ctx)
{
    struct cairn_profile_line *line = ctx;
    if (field->number == PPROF_LINE_LINE) {
        line->line = field->value > UINT32_MAX ? 0 : (uint32_t)field->value;
        return CAIRN_OK;
    }
    if (field->number == PPROF_LINE_FUNCTION &&
        !cairn_table_find(&r->functions, field->value, &line->function))
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "a line has unknown function id %llu",
                                (unsigned long long)field->value);
    return CAIRN_OK;
}

struct location_parts {
    uint64_t id;
    struct cairn_pprof_found found;
};

static int add_line(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                    struct cairn_pprof_found *found)
{
    struct cairn_profile_line line = {0};
    int result = cairn_pprof_each_field(r, field->bytes, &line_shape, line_field, &line);
    if (result < 0)
        return result;
    if (line.function == 0)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_FORMAT, "a line has no function");
    if (found->n_lines == LINES_MAX)
        return CAIRN_PPROF_FAIL(r, CAIRN_E_LIMIT, "a location has more than %d lines", LINES_MAX);
    if (cairn_grow((void **)&r->lines, &r->cap_lines, r->n_lines + 1, sizeof *r->lines) < 0)
        return cairn_fail_memory(r->err);
    r->lines[r->n_lines++] = line;
    found->n_lines++;
    return CAIRN_OK;
}

static int location_field(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                          void *ctx)
{
    struct location_parts *parts = ctx;
    switch (field->number) {
    case PPROF_LOCATION_ID:
        parts->id = field->value;
        break;
    case PPROF_LOCATION_MAPPING:
        /* A mapping that is nowhere is none: go tool pprof takes it so. */
        if (!cairn_table_find(&r->modules, field->value, &parts->found.frame.module))
            parts->found.frame.module = CAIRN_PROFILE_NO_MODULE;
        break;
    case PPROF_LOCATION_ADDRESS:
        parts->found.frame.address = field->value;
        break;
    case PPROF_LOCATION_LINE:
        return add_line(r, field, &parts->found);
    case PPROF_LOCATION_FOLDED:
        parts->found.frame.folded = field->value;
        break;
    }
    return CAIRN_OK;
}

int cairn_pprof_add_location(struct cairn_pprof_reading *r, const struct cairn_pb_field *field,
                             void *ctx)
{
    (void)ctx;
    if (field->number != PPROF_LOCATION)
        return CAIRN_OK;
    struct location_parts parts = {.found.first_line = (uint32_t)r->n_lines};
    int result = cairn_pprof_each_field(r, field->bytes, &location_shape, location_field, &parts);
    if (result < 0)
        return result;
    if (r->n_found >= UINT32_MAX >> 8 ||
        cairn_grow((void **)&r->found, &r->cap_found, r->n_found + 1, sizeof *r->found) < 0)
        return cairn_fail_memory(r->err);
    r->found[r->n_found] = parts.found;
    return enter_id(r, &r->locations, "a location", parts.id, (uint32_t)r->n_found++);
}
