/* SPDX-License-Identifier: MIT */
/* The tables that all threads share, and the libraries. */
#include <stdio.h>

#include "base/alloc.h"
#include "formats/firefox.h"

enum { GUID_BYTES = 16, GUID_FIELDS = 3, ID_BYTES = 2 * GUID_BYTES + 2 };

static int64_t or_null(uint32_t number)
{
    return number == CAIRN_VIEWER_NONE ? CAIRN_FIREFOX_NULL : (int64_t)number;
}

void cairn_firefox_column(struct cairn_firefox *f, const struct cairn_firefox_column *column,
                          size_t n_rows)
{
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, column->name, '[');
    for (size_t row = 0; row < n_rows; row++) {
        int64_t value = column->cell ? column->cell(f, row) : CAIRN_FIREFOX_NULL;
        if (!column->cell && column->is_false)
            cairn_json_bool(j, NULL, false);
        else if (!column->cell || (column->may_be_null && value == CAIRN_FIREFOX_NULL))
            cairn_json_str(j, NULL, NULL);
        else
            cairn_json_fixed(j, NULL, value, column->places);
        cairn_json_stream_pass(&f->stream);
    }
    cairn_json_close(j, ']');
}

void cairn_firefox_table(struct cairn_firefox *f, const char *name,
                         const struct cairn_firefox_column *columns, size_t n_columns,
                         size_t n_rows)
{
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, name, '{');
    for (size_t i = 0; i < n_columns; i++)
        cairn_firefox_column(f, &columns[i], n_rows);
    cairn_json_u64(j, "length", n_rows);
    cairn_json_close(j, '}');
}

#define PUT_TABLE(f, name, columns, n_rows)                                                        \
    cairn_firefox_table(f, name, columns, sizeof(columns) / sizeof *(columns), n_rows)

static const char *text_of(const struct cairn_firefox *f, uint32_t string)
{
    return cairn_strings_get(&f->p->strings, string);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes of a build ID, at most `n`; false for what is no hex: other tools write names there. */
static bool read_build_id(const char *hex, uint8_t *ret_bytes, size_t n)
{
    size_t size = strlen(hex);
    memset(ret_bytes, 0, n);
    for (size_t i = 0; i < size; i++)
        if (digit_of(hex[i]) < 0)
            return false;
    for (size_t i = 0; i < n && 2 * i + 1 < size; i++)
        ret_bytes[i] = (uint8_t)(digit_of(hex[2 * i]) << 4 | digit_of(hex[2 * i + 1]));
    return size >= 2;
}

/* Breakpad's ID: the build ID as a GUID, whose first three fields are numbers, and the age 0. */
static void make_breakpad_id(const char *build_id, char ret_id[ID_BYTES])
{
    static const uint8_t order[GUID_BYTES] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t bytes[GUID_BYTES];
    if (!read_build_id(build_id, bytes, sizeof bytes))
        memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; i < GUID_BYTES; i++)
        snprintf(ret_id + 2 * i, 3, "%02X", bytes[order[i]]);
    ret_id[ID_BYTES - 2] = '0';
    ret_id[ID_BYTES - 1] = '\0';
}

void cairn_firefox_put_libs(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, "libs", '[');
    for (size_t i = 0; i < f->viewer.n_libs; i++) {
        const char *path = text_of(f, f->viewer.libs[i].path);
        const char *build_id = text_of(f, f->viewer.libs[i].build_id);
        char breakpad_id[ID_BYTES];
        uint8_t byte;
        make_breakpad_id(build_id, breakpad_id);
        cairn_json_open(j, NULL, '{');
        cairn_json_str(j, "arch", "");
        cairn_json_str(j, "name", base_name(path));
        cairn_json_str(j, "path", path);
        cairn_json_str(j, "debugName", base_name(path));
        cairn_json_str(j, "debugPath", path);
        cairn_json_str(j, "breakpadId", breakpad_id);
        cairn_json_str(j, "codeId", read_build_id(build_id, &byte, 1) ? build_id : NULL);
        cairn_json_close(j, '}');
        cairn_json_stream_pass(&f->stream);
    }
    cairn_json_close(j, ']');
}

static int64_t stack_frame(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.stacks[row].frame;
}

static int64_t stack_prefix_offset(const struct cairn_firefox *f, size_t row)
{
    uint32_t parent = f->viewer.stacks[row].parent;
    return parent == CAIRN_VIEWER_NONE ? 0 : (int64_t)row - parent;
}

static int64_t frame_address(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.frames[row].rel;
}

static int64_t frame_depth(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.frames[row].depth;
}

static int64_t frame_category(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.frames[row].category;
}

static int64_t frame_function(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.frames[row].function;
}

static int64_t frame_symbol(const struct cairn_firefox *f, size_t row)
{
    return or_null(f->viewer.frames[row].symbol);
}

static int64_t frame_line(const struct cairn_firefox *f, size_t row)
{
    uint32_t line = f->viewer.frames[row].line;
    return line ? (int64_t)line : CAIRN_FIREFOX_NULL;
}

static int64_t zero(const struct cairn_firefox *f, size_t row)
{
    (void)f;
    (void)row;
    return 0;
}

static int64_t one(const struct cairn_firefox *f, size_t row)
{
    (void)f;
    (void)row;
    return 1;
}

static int64_t function_name(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.functions[row].name;
}

static int64_t function_resource(const struct cairn_firefox *f, size_t row)
{
    return or_null(f->viewer.functions[row].lib); /* -1 here, for the column is no nullable one */
}

static int64_t function_source(const struct cairn_firefox *f, size_t row)
{
    return (int64_t)f->source_of[f->viewer.functions[row].file] - 1;
}

static int64_t function_line(const struct cairn_firefox *f, size_t row)
{
    uint32_t line = f->viewer.functions[row].line;
    return line ? (int64_t)line : CAIRN_FIREFOX_NULL;
}

/* A text that cairn_firefox_prepare() added. */
static int64_t lib_name(const struct cairn_firefox *f, size_t row)
{
    return f->lib_names[row];
}

static int64_t itself(const struct cairn_firefox *f, size_t row)
{
    (void)f;
    return (int64_t)row;
}

static int64_t symbol_lib(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.functions[f->viewer.symbols[row].function].lib;
}

static int64_t symbol_address(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.symbols[row].rel;
}

static int64_t symbol_name(const struct cairn_firefox *f, size_t row)
{
    return f->viewer.functions[f->viewer.symbols[row].function].name;
}

static int64_t source_name(const struct cairn_firefox *f, size_t row)
{
    return f->sources[row];
}

static const struct cairn_firefox_column stack_columns[] = {
    {.name = "frame", .cell = stack_frame},
    {.name = "prefixOffset", .cell = stack_prefix_offset},
};

static const struct cairn_firefox_column frame_columns[] = {
    {.name = "address", .cell = frame_address},
    {.name = "inlineDepth", .cell = frame_depth},
    {.name = "category", .cell = frame_category},
    {.name = "subcategory", .cell = zero},
    {.name = "func", .cell = frame_function},
    {.name = "nativeSymbol", .cell = frame_symbol, .may_be_null = true},
    {.name = "innerWindowID", .cell = zero},
    {.name = "line", .cell = frame_line, .may_be_null = true},
    {.name = "column"},
    {.name = "originalLocation"},
};

static const struct cairn_firefox_column function_columns[] = {
    {.name = "name", .cell = function_name},
    {.name = "isJS", .is_false = true},
    {.name = "relevantForJS", .is_false = true},
    {.name = "resource", .cell = function_resource},
    {.name = "source", .cell = function_source, .may_be_null = true},
    {.name = "lineNumber", .cell = function_line, .may_be_null = true},
    {.name = "columnNumber"},
    {.name = "originalLocation"},
};

/* A resource is a library, by the same number. */
static const struct cairn_firefox_column resource_columns[] = {
    {.name = "name", .cell = lib_name},
    {.name = "host"},
    {.name = "type", .cell = one},
    {.name = "lib", .cell = itself},
};

static const struct cairn_firefox_column symbol_columns[] = {
    {.name = "libIndex", .cell = symbol_lib},
    {.name = "address", .cell = symbol_address},
    {.name = "name", .cell = symbol_name},
    {.name = "functionSize"},
};

static const struct cairn_firefox_column source_columns[] = {
    {.name = "id"},
    {.name = "filename", .cell = source_name},
    {.name = "startLine", .cell = one},
    {.name = "startColumn", .cell = one},
    {.name = "sourceMapURL"},
    {.name = "content"},
};

static const struct cairn_firefox_column location_columns[] = {
    {.name = "source"}, {.name = "line"}, {.name = "column"}};

static void put_texts(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, "stringArray", '[');
    for (uint32_t i = 0; i < (f->viewer.texts.n ? f->viewer.texts.n : 1); i++) {
        cairn_json_str(j, NULL, cairn_strings_get(&f->viewer.texts, i));
        cairn_json_stream_pass(&f->stream);
    }
    cairn_json_close(j, ']');
}

void cairn_firefox_put_shared(struct cairn_firefox *f)
{
    const struct cairn_viewer *v = &f->viewer;
    cairn_json_open(&f->stream.json, "shared", '{');
    put_texts(f);
    PUT_TABLE(f, "stackTable", stack_columns, v->n_stacks);
    PUT_TABLE(f, "frameTable", frame_columns, v->n_frames);
    PUT_TABLE(f, "funcTable", function_columns, v->n_functions);
    PUT_TABLE(f, "resourceTable", resource_columns, v->n_libs);
    PUT_TABLE(f, "nativeSymbols", symbol_columns, v->n_symbols);
    PUT_TABLE(f, "sources", source_columns, f->n_sources);
    PUT_TABLE(f, "sourceLocationTable", location_columns, 0);
    cairn_json_close(&f->stream.json, '}');
}

static bool add_lib_names(struct cairn_firefox *f)
{
    f->lib_names = cairn_alloc(f->viewer.n_libs + 1, sizeof *f->lib_names);
    for (size_t i = 0; f->lib_names && i < f->viewer.n_libs; i++) {
        f->lib_names[i] =
            cairn_strings_add_str(&f->viewer.texts, base_name(text_of(f, f->viewer.libs[i].path)));
        if (f->lib_names[i] == UINT32_MAX)
            return false;
    }
    return f->lib_names != NULL;
}

bool cairn_firefox_prepare(struct cairn_firefox *f)
{
    if (!add_lib_names(f))
        return false;
    f->source_of = cairn_alloc(f->viewer.texts.n + 1, sizeof *f->source_of);
    f->sources = cairn_alloc(f->viewer.texts.n + 1, sizeof *f->sources);
    if (!f->source_of || !f->sources)
        return false;
    for (size_t i = 0; i < f->viewer.n_functions; i++) {
        uint32_t file = f->viewer.functions[i].file;
        if (!file || f->source_of[file])
            continue;
        f->sources[f->n_sources++] = file;
        f->source_of[file] = (uint32_t)f->n_sources;
    }
    return true;
}
