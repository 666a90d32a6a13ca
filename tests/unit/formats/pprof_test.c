/* SPDX-License-Identifier: MIT */
/*
 * A small profile, encoded field by field, and what becomes of it when one rule at a time is
 * broken. The verdicts are those of go tool pprof; tests/e2e/pprof_tool.py asks it.
 */
#include "formats/pprof.h"

#include "base/alloc.h"
#include "base/zip.h"
#include "formats/protobuf.h"
#include "profile/frame_kind.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

enum text { EMPTY, CPU, NANOSECONDS, MAIN, LEAF, PATH, SAMPLES, COUNT, KEY, N_TEXTS };
static const char *const texts[N_TEXTS] = {"",        "cpu",     "nanoseconds", "main",  "leaf",
                                           "/bin/wl", "samples", "count",       "thread"};

/* What each case changes; all-zero is the sound file. */
struct recipe {
    bool no_strings, no_types, no_mapping, no_lines, no_address, unpacked, no_samples;
    const char *first_string;
    uint64_t leaf_id, leaf_function, leaf_name, mapping_id, value;
    bool two_values, two_types;
    struct {
        uint8_t bytes[8];
        size_t size;
    } few;                  /* appended to the file */
    struct cairn_span more; /* the same, where it is more */
};

static uint64_t or_else(uint64_t value, uint64_t other)
{
    return value ? value : other;
}

static void put(struct cairn_buffer *out, uint32_t field, struct cairn_buffer *message)
{
    cairn_pb_bytes(out, field, cairn_buffer_span(message));
    cairn_buffer_clear(message);
}

static void put_type(struct cairn_buffer *out, enum text type, enum text unit)
{
    struct cairn_buffer m = {0};
    cairn_pb_uint(&m, PPROF_TYPE_TYPE, type);
    cairn_pb_uint(&m, PPROF_TYPE_UNIT, unit);
    put(out, PPROF_SAMPLE_TYPE, &m);
    cairn_buffer_done(&m);
}

static void put_sample(struct cairn_buffer *out, const struct recipe *recipe)
{
    struct cairn_buffer m = {0}, packed = {0};
    uint64_t ids[] = {or_else(recipe->leaf_id, 2), 1};
    for (unsigned i = 0; i < 2; i++)
        if (recipe->unpacked)
            cairn_pb_uint(&m, PPROF_SAMPLE_LOCATION, ids[i]);
        else
            cairn_buffer_uleb(&packed, ids[i]);
    if (!recipe->unpacked)
        put(&m, PPROF_SAMPLE_LOCATION, &packed);
    cairn_buffer_uleb(&packed, or_else(recipe->value, 5));
    if (recipe->two_values)
        cairn_buffer_uleb(&packed, 6);
    if (recipe->unpacked)
        cairn_pb_uint(&m, PPROF_SAMPLE_VALUE, 5);
    else
        put(&m, PPROF_SAMPLE_VALUE, &packed);
    put(out, PPROF_SAMPLE, &m);
    cairn_buffer_done(&m);
    cairn_buffer_done(&packed);
}

static void put_location(struct cairn_buffer *out, uint64_t id, const struct recipe *recipe)
{
    struct cairn_buffer m = {0}, line = {0};
    cairn_pb_uint(&m, PPROF_LOCATION_ID, id);
    cairn_pb_uint(&m, PPROF_LOCATION_MAPPING, or_else(recipe->mapping_id, 1));
    if (!recipe->no_address)
        cairn_pb_uint(&m, PPROF_LOCATION_ADDRESS, 0x1000 + id);
    cairn_pb_uint(&line, PPROF_LINE_FUNCTION, id == 2 ? or_else(recipe->leaf_function, 2) : 1);
    cairn_pb_uint(&line, PPROF_LINE_LINE, 10 * id);
    if (!recipe->no_lines)
        put(&m, PPROF_LOCATION_LINE, &line);
    put(out, PPROF_LOCATION, &m);
    cairn_buffer_done(&m);
    cairn_buffer_done(&line);
}

static void put_tables(struct cairn_buffer *out, const struct recipe *recipe)
{
    struct cairn_buffer m = {0};
    cairn_pb_uint(&m, PPROF_MAPPING_ID, 1);
    cairn_pb_uint(&m, PPROF_MAPPING_START, 0x1000);
    cairn_pb_uint(&m, PPROF_MAPPING_LIMIT, 0x2000);
    cairn_pb_uint(&m, PPROF_MAPPING_FILE, PATH);
    if (!recipe->no_mapping)
        put(out, PPROF_MAPPING, &m);
    put_location(out, 1, recipe);
    put_location(out, 2, recipe);
    cairn_buffer_clear(&m);
    for (uint64_t id = 1; id <= 2; id++) {
        cairn_pb_uint(&m, PPROF_FUNCTION_ID, id);
        cairn_pb_uint(&m, PPROF_FUNCTION_NAME, id == 1 ? MAIN : or_else(recipe->leaf_name, LEAF));
        put(out, PPROF_FUNCTION, &m);
    }
    for (unsigned i = 0; i < N_TEXTS && !recipe->no_strings; i++)
        cairn_pb_bytes(out, PPROF_STRING,
                       cairn_span_of(i || !recipe->first_string ? texts[i] : recipe->first_string));
    cairn_buffer_done(&m);
}

static struct cairn_buffer cook(const struct recipe *recipe)
{
    struct cairn_buffer out = {0};
    if (recipe->two_types)
        put_type(&out, SAMPLES, COUNT);
    if (!recipe->no_types)
        put_type(&out, CPU, NANOSECONDS);
    if (!recipe->no_samples)
        put_sample(&out, recipe);
    put_tables(&out, recipe);
    cairn_buffer_add(&out, recipe->few.bytes, recipe->few.size);
    cairn_buffer_add(&out, recipe->more.data, recipe->more.size);
    return out;
}

/* Bytes of fields, as the file has them. */
#define MORE(...)                                                                                  \
    {                                                                                              \
        .bytes = {__VA_ARGS__}, .size = sizeof((const uint8_t[]){__VA_ARGS__})                     \
    }

static int read_recipe(const struct recipe *recipe, struct cairn_profile **ret_profile,
                       struct cairn_err *err)
{
    struct cairn_buffer bytes = cook(recipe);
    uint8_t *copy = test_copy(bytes.data, bytes.size);
    int code = test_read_profile((struct cairn_span){copy, bytes.size}, CAIRN_FORMAT_PPROF,
                                 ret_profile, err);
    free(copy);
    cairn_buffer_done(&bytes);
    return code;
}

static void sound_files_are_read(void **state)
{
    (void)state;
    static const struct {
        struct recipe recipe;
        const char *expected;
    } cases[] = {
        {{0}, "main;leaf 5\n"},
        {{.unpacked = true}, "main;leaf 5\n"},
        {{.no_mapping = true}, "main;leaf 5\n"},
        {{.mapping_id = 77}, "main;leaf 5\n"},
        {{.no_address = true}, "main;leaf 5\n"},
        {{.no_lines = true}, "wl+0x1;wl+0x2 5\n"},
        {{.no_lines = true, .no_mapping = true}, "0x1001;0x1002 5\n"},
        {{.no_lines = true, .no_address = true}, "[unknown];[unknown] 5\n"},
        {{.value = (uint64_t)-5}, "main;leaf -5\n"},
        {{.no_samples = true}, ""},
        {{.few = MORE((99 << 3 & 0x7f) | 0x80, 99 >> 4, 5)}, "main;leaf 5\n"}, /* field 99 */
        {{.few = MORE(2 << 3 | 2, 4, 3 << 3 | 2, 0, 2 << 3, 7)}, "main;leaf 5\n[no stack] 7\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_profile *p;
        struct cairn_buffer out = {0};
        struct cairn_err err;
        assert_ok(read_recipe(&cases[i].recipe, &p, &err), err);
        assert_ok(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
        assert_string_equal(cairn_buffer_text(&out), cases[i].expected);
        cairn_buffer_done(&out);
        cairn_profile_free(p);
    }
}

static void broken_rules_are_named(void **state)
{
    (void)state;
    static const struct {
        struct recipe recipe;
        const char *part;
    } cases[] = {
        {{.no_strings = true}, "no string table"},
        {{.first_string = "x"}, "must be empty"},
        {{.no_types = true}, "no sample type"},
        {{.no_types = true, .no_samples = true}, "no sample type"},
        {{.two_values = true}, "2 values, expected 1"},
        {{.two_types = true}, "1 values, expected 2"},
        {{.leaf_id = 9}, "unknown location id 9"},
        {{.leaf_function = 9}, "unknown function id 9"},
        {{.leaf_name = 99}, "text 99 is asked for, the table has 9"},
        {{.few = MORE(2 << 3 | 2, 0)}, "0 values, expected 1"},
        {{.few = MORE(3 << 3 | 2, 0)}, "a mapping has id 0"},
        {{.few = MORE(4 << 3 | 2, 0)}, "a location has id 0"},
        {{.few = MORE(5 << 3 | 2, 0)}, "a function has id 0"},
        {{.few = MORE(3 << 3 | 2, 2, 1 << 3, 1)}, "mapping id 1 is there twice"},
        {{.few = MORE(4 << 3 | 2, 2, 1 << 3, 1)}, "location id 1 is there twice"},
        {{.few = MORE(5 << 3 | 2, 2, 1 << 3, 1)}, "function id 1 is there twice"},
        {{.few = MORE(4 << 3 | 2, 4, 1 << 3, 7, 4 << 3 | 2, 0)}, "a line has no function"},
        {{.few = MORE(7 << 3, 55)}, "text 55"},
        {{.few = MORE(8 << 3, 55)}, "text 55"},
        {{.few = MORE(13 << 3, 55)}, "text 55"},
        {{.few = MORE(13 << 3 | 2, 1, 55)}, "text 55"},
        {{.few = MORE(14 << 3, 55)}, "text 55"},
        {{.few = MORE(9 << 3, 1, 9 << 3, 1)}, "a second time"},
        {{.few = MORE(2 << 3, 1)}, "wire type 0, expected 2"},
        {{.few = MORE(9 << 3 | 2, 0)}, "wire type 2, expected 0"},
        {{.few = MORE(4 << 3 | 2, 2, 1 << 3 | 2, 0)}, "wire type 2, expected 0"},
        {{.few = MORE(2 << 3 | 2, 2, 1 << 3 | 2, 1)}, "damaged"},
        {{.few = MORE(2 << 3 | 2, 3, 1 << 3 | 2, 1, 0x80)}, "damaged"},
        {{.few = MORE(2 << 3 | 3)}, "damaged"},
        {{.few = MORE(2 << 3 | 2, 9)}, "damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        assert_fails(read_recipe(&cases[i].recipe, &p, &err), CAIRN_E_FORMAT, err, cases[i].part);
        assert_null(p);
    }
}

/* The place is that of the message in the profile: here the sample, behind the type's six bytes. */
static void a_fault_is_told_with_its_byte(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    struct recipe recipe = {.leaf_id = 9};
    assert_fails(read_recipe(&recipe, &p, &err), CAIRN_E_FORMAT, err, "byte 0x6:");
}

static void limits_are_named(void **state)
{
    (void)state;
    enum { N_FRAMES = CAIRN_PROFILE_DEPTH_MAX + 1, N_LABELS = CAIRN_PROFILE_LABELS_MAX + 1 };
    struct cairn_buffer packed = {0}, m = {0}, file = {0};
    struct cairn_profile *p;
    struct cairn_err err;
    for (unsigned i = 0; i < N_FRAMES; i++)
        cairn_buffer_uleb(&packed, 1);
    put(&m, PPROF_SAMPLE_LOCATION, &packed);
    put(&file, PPROF_SAMPLE, &m);
    struct recipe recipe = {.more = cairn_buffer_span(&file)};
    assert_fails(read_recipe(&recipe, &p, &err), CAIRN_E_LIMIT, err, "more than 2097152 locations");

    cairn_buffer_clear(&file);
    for (unsigned i = 0; i < N_LABELS; i++)
        cairn_pb_bytes(&m, PPROF_SAMPLE_LABEL, (struct cairn_span){0});
    put(&file, PPROF_SAMPLE, &m);
    recipe.more = cairn_buffer_span(&file);
    assert_fails(read_recipe(&recipe, &p, &err), CAIRN_E_LIMIT, err, "more than 256 labels");

    cairn_buffer_clear(&file);
    for (unsigned i = 0; i < CAIRN_PROFILE_TYPES_MAX; i++)
        cairn_pb_bytes(&file, PPROF_SAMPLE_TYPE, (struct cairn_span){0});
    recipe.more = cairn_buffer_span(&file);
    assert_fails(read_recipe(&recipe, &p, &err), CAIRN_E_LIMIT, err, "more than 64 of field 1");

    cairn_buffer_done(&packed);
    cairn_buffer_done(&m);
    cairn_buffer_done(&file);
}

static struct cairn_profile *read_cooked(const struct recipe *recipe)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(read_recipe(recipe, &p, &err), err);
    return p;
}

static void the_last_type_is_shown_unless_the_file_says_another(void **state)
{
    (void)state;
    struct recipe recipe = {.two_types = true, .two_values = true};
    struct cairn_profile *p = read_cooked(&recipe);
    assert_int_equal(cairn_profile_default_value(p), 1);
    cairn_profile_free(p);
    static const uint8_t samples[] = {14 << 3, SAMPLES}, none[] = {14 << 3, PATH};
    recipe.more = (struct cairn_span){samples, sizeof samples};
    p = read_cooked(&recipe);
    assert_int_equal(cairn_profile_default_value(p), 0);
    cairn_profile_free(p);
    recipe.more = (struct cairn_span){none, sizeof none};
    p = read_cooked(&recipe);
    assert_int_equal(cairn_profile_default_value(p), 1);
    cairn_profile_free(p);
}

/* Writes a profile and reads it again. */
static struct cairn_profile *again(const struct cairn_profile *p)
{
    struct cairn_buffer out = {0};
    struct cairn_profile *read;
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_PPROF, test_write, &out, &err), err);
    assert_true(cairn_zip_is_gzip(cairn_buffer_span(&out)));
    assert_ok(test_read_profile(cairn_buffer_span(&out), CAIRN_FORMAT_AUTO, &read, &err), err);
    cairn_buffer_done(&out);
    return read;
}

static uint32_t add_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

/* One of everything that the model holds. */
static struct cairn_profile *make_rich(void)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    struct cairn_profile_module module = {.start = 0x400000,
                                          .end = 0x500000,
                                          .off = 0x1000,
                                          .path = add_text(p, "/bin/app"),
                                          .build_id = add_text(p, "deadbeef"),
                                          .has_functions = true,
                                          .has_inlines = true};
    struct cairn_profile_function f = {add_text(p, "app::get<int>(int)"), add_text(p, "_Zget"),
                                       add_text(p, "app.cpp"), 30};
    struct cairn_profile_function g = {.name = add_text(p, "inlined")};
    struct cairn_profile_line lines[] = {{cairn_profile_add_function(p, &g), 5},
                                         {cairn_profile_add_function(p, &f), 34}};
    struct cairn_profile_frame named = {.address = 0x400123,
                                        .module = cairn_profile_add_module(p, &module),
                                        .how = CAIRN_HOW_CFI,
                                        .folded = true};
    struct cairn_profile_frame raw = {
        .address = UINT64_MAX, .what = CAIRN_WHAT_KERNEL, .how = CAIRN_HOW_KERNEL};
    struct cairn_profile_frame plain = {.address = 0x10, .how = CAIRN_HOW_TEXT};
    uint32_t root = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &plain, NULL, 0));
    uint32_t middle =
        cairn_profile_add_stack(p, root, cairn_profile_add_frame(p, &named, lines, 2));
    uint32_t leaf = cairn_profile_add_stack(p, middle, cairn_profile_add_frame(p, &raw, NULL, 0));
    struct cairn_profile_label labels[] = {
        {.key = add_text(p, "thread"), .text = add_text(p, "main")},
        {.key = add_text(p, "bytes"), .number = -4096, .unit = add_text(p, "bytes")}};
    uint32_t set = cairn_profile_add_label_set(p, labels, 2, add_text(p, "no rule"), 77);
    cairn_profile_add_sample(p, leaf, set, (int64_t[]){3, 30});
    cairn_profile_add_sample(p, root, 0, (int64_t[]){-1, INT64_MIN});
    cairn_profile_add_comment(p, "command: app --fast");
    p->period_type = (struct cairn_profile_type){add_text(p, "cpu"), add_text(p, "nanoseconds")};
    p->period = 10101010, p->time_ns = 1700000000000000000, p->duration_ns = 5000000000;
    p->default_type = add_text(p, "cpu");
    return p;
}

static void assert_text(const struct cairn_profile *p, uint32_t number, const char *expected)
{
    assert_string_equal(cairn_strings_get(&p->strings, number), expected);
}

static void assert_rich_frames(const struct cairn_profile *p)
{
    uint32_t leaf = p->samples[0].stack, middle = p->stacks[leaf].parent;
    const struct cairn_profile_frame *raw = &p->frames[p->stacks[leaf].frame];
    const struct cairn_profile_frame *named = &p->frames[p->stacks[middle].frame];
    assert_true(raw->address == UINT64_MAX);
    assert_int_equal(raw->what, CAIRN_WHAT_KERNEL);
    assert_int_equal(named->how, CAIRN_HOW_CFI);
    assert_int_equal(named->n_lines, 2);
    assert_true(named->folded);
    const struct cairn_profile_line *lines = &p->lines[named->lines];
    assert_text(p, p->functions[lines[0].function].name, "inlined");
    assert_int_equal(lines[1].line, 34);
    const struct cairn_profile_function *f = &p->functions[lines[1].function];
    assert_text(p, f->name, "app::get<int>(int)");
    assert_text(p, f->system_name, "_Zget");
    assert_text(p, f->file, "app.cpp");
    assert_int_equal(f->start_line, 30);
    const struct cairn_profile_module *m = &p->modules[named->module];
    assert_text(p, m->path, "/bin/app");
    assert_text(p, m->build_id, "deadbeef");
    assert_int_equal(m->start, 0x400000);
    assert_int_equal(m->end, 0x500000);
    assert_int_equal(m->off, 0x1000);
    assert_true(m->has_functions && m->has_inlines && !m->has_files && !m->has_lines);
    assert_int_equal(cairn_frame_kind_of(&p->frames[p->stacks[p->stacks[middle].parent].frame]),
                     CAIRN_FRAME_UNKNOWN);
}

static void everything_comes_back(void **state)
{
    (void)state;
    struct cairn_profile *p = make_rich(), *q = again(p);
    assert_int_equal(q->n_samples, 2);
    assert_memory_equal(q->values, p->values, 4 * sizeof *p->values);
    assert_rich_frames(q);
    uint32_t set = q->samples[0].labels;
    assert_int_equal(q->label_sets[set].n, 2); /* cairn.frames is in the frames now */
    assert_text(q, cairn_profile_find_label(q, set, "thread")->text, "main");
    assert_int_equal(cairn_profile_find_label(q, set, "bytes")->number, -4096);
    assert_text(q, cairn_profile_find_label(q, set, "bytes")->unit, "bytes");
    assert_string_equal(cairn_profile_cut_of(q, 0), "no rule");
    assert_int_equal(cairn_profile_time_of(q, 0), 77);
    assert_int_equal(q->samples[1].labels, 0);
    assert_string_equal(q->public_comments[0], "command: app --fast");
    assert_string_equal(cairn_profile_note(q, CAIRN_NOTE_COMMAND, 0), "app --fast");
    assert_null(cairn_profile_note(q, CAIRN_NOTE_COMMAND, 1));
    assert_null(cairn_profile_note(q, CAIRN_NOTE_OTHER, 0));
    assert_text(q, q->period_type.unit, "nanoseconds");
    assert_int_equal(q->period, 10101010);
    assert_int_equal(q->time_ns, p->time_ns);
    assert_int_equal(q->duration_ns, p->duration_ns);
    assert_int_equal(cairn_profile_default_value(q), 1);
    cairn_profile_free(p);
    cairn_profile_free(q);
}

/* What is called as a field of ours, but cannot be one, stays a label. */
static void odd_labels_stay_labels(void **state)
{
    (void)state;
    struct cairn_profile *p = make_rich();
    struct cairn_profile_label labels[] = {
        {.key = add_text(p, "cairn.cut"), .number = 5},
        {.key = add_text(p, "cairn.time_ns"), .text = add_text(p, "noon")}};
    struct cairn_profile_label before = {.key = add_text(p, "cairn.time_ns"), .number = -7};
    p->samples[0].labels = cairn_profile_add_labels(p, labels, 2);
    p->samples[1].labels = cairn_profile_add_labels(p, &before, 1);
    struct cairn_profile *q = again(p);
    uint32_t set = q->samples[0].labels;
    assert_int_equal(q->label_sets[set].n, 2);
    assert_int_equal(cairn_profile_find_label(q, set, "cairn.cut")->number, 5);
    assert_text(q, cairn_profile_find_label(q, set, "cairn.time_ns")->text, "noon");
    assert_string_equal(cairn_profile_cut_of(q, 0), "");
    assert_int_equal(cairn_profile_time_of(q, 0), 0);
    assert_int_equal(q->samples[1].labels, 0); /* before 1970: no time */
    cairn_profile_free(p);
    cairn_profile_free(q);
}

/* A marker comes back with all it has; what counts for something is a sample, whatever it says. */
static void markers_come_back(void **state)
{
    (void)state;
    struct cairn_profile *p = make_rich();
    struct cairn_profile_label path = {.key = add_text(p, "arg.path"), .text = add_text(p, "/x")};
    const struct cairn_profile_marker marker = {
        .name = add_text(p, "openat"),
        .stack = p->samples[0].stack,
        .labels = cairn_profile_add_label_set(p, &path, 1, 0, 1700000000000000000),
        .duration_ns = 1500};
    assert_int_equal(cairn_profile_add_marker(p, &marker), 0);
    struct cairn_profile_label claim = {.key = add_text(p, "cairn.marker"),
                                        .text = add_text(p, "no")};
    p->samples[1].labels = cairn_profile_add_labels(p, &claim, 1);
    struct cairn_profile *q = again(p);
    assert_int_equal(q->n_samples, 2);
    assert_int_equal(q->n_markers, 1);
    assert_text(q, q->markers[0].name, "openat");
    assert_int_equal(q->markers[0].duration_ns, 1500);
    assert_int_equal(q->markers[0].stack, q->samples[0].stack);
    assert_int_equal(q->label_sets[q->markers[0].labels].time_ns, 1700000000000000000);
    assert_text(q, cairn_profile_find_label(q, q->markers[0].labels, "arg.path")->text, "/x");
    cairn_profile_free(p);
    cairn_profile_free(q);
}

static void equal_profiles_give_equal_bytes(void **state)
{
    (void)state;
    struct cairn_profile *p = make_rich(), *q = again(p), *r = again(q);
    struct cairn_buffer a = {0}, b = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(q, CAIRN_FORMAT_PPROF, test_write, &a, &err), err);
    assert_ok(cairn_profile_write(r, CAIRN_FORMAT_PPROF, test_write, &b, &err), err);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    cairn_buffer_done(&a);
    cairn_buffer_done(&b);
    cairn_profile_free(p);
    cairn_profile_free(q);
    cairn_profile_free(r);
}

static void collapsed_stacks_survive_pprof(void **state)
{
    (void)state;
    static const char text[] =
        "main;f_[k];g_[i] 1\nmain;f_[j] 2\nmain;f 3\n0x10;libc.so.6+0x1;;x 4\n"
        "std::vector<a, b>::push_back(int) 5\n";
    struct cairn_profile *p;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(text), CAIRN_FORMAT_AUTO, &p, &err), err);
    struct cairn_profile *q = again(p);
    assert_ok(cairn_profile_write(q, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), text);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
    cairn_profile_free(q);
}

/* What a filter dropped must not be found in the file by someone it is sent to. */
static void what_no_sample_uses_is_not_written(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_buffer out = {0}, plain = {0};
    assert_ok(
        test_read_profile(cairn_span_of("public;a 1\nsecret;b 2\n"), CAIRN_FORMAT_AUTO, &p, &err),
        err);
    struct cairn_filter filter = {.size = sizeof filter, .function = "public"};
    assert_ok(cairn_profile_filter(p, &filter, &err), err);
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_PPROF, test_write, &out, &err), err);
    assert_ok(cairn_zip_gunzip(cairn_buffer_span(&out), 4096, &plain, &err), err);
    assert_non_null(memmem(plain.data, plain.size, "public", 6));
    assert_null(memmem(plain.data, plain.size, "secret", 6));
    cairn_buffer_done(&out);
    cairn_buffer_done(&plain);
    cairn_profile_free(p);
}

/* go tool pprof would strip the template arguments of such a name. */
static void a_demangled_name_is_no_system_name(void **state)
{
    (void)state;
    static const char *const names[] = {"app::get<int>(int)", "plain_c"};
    for (unsigned i = 0; i < 2; i++) {
        struct cairn_profile *p = make_rich();
        p->functions[2].name = p->functions[2].system_name = add_text(p, names[i]);
        struct cairn_profile *q = again(p);
        for (size_t at = 1; at < q->n_functions; at++)
            if (strcmp(cairn_strings_get(&q->strings, q->functions[at].name), names[i]) == 0)
                assert_text(q, q->functions[at].system_name, i == 0 ? "" : names[i]);
        cairn_profile_free(p);
        cairn_profile_free(q);
    }
}

/* Letters of a later version say nothing; too few or too many say nothing about any frame. */
static void letters_that_do_not_fit_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *letters;
        uint8_t leaf, root;
    } cases[] = {{"kc", 'k', 'c'}, {"Xl", '-', 'l'}, {"k", '-', '-'}, {"kcf", '-', '-'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_buffer label = {0}, m = {0}, file = {0};
        cairn_pb_bytes(&file, PPROF_STRING, cairn_span_of(CAIRN_PPROF_FRAMES_LABEL));
        cairn_pb_bytes(&file, PPROF_STRING, cairn_span_of(cases[i].letters));
        cairn_pb_bytes(&m, PPROF_SAMPLE_LOCATION, cairn_span_of("\2\1"));
        cairn_pb_bytes(&m, PPROF_SAMPLE_VALUE, cairn_span_of("\5"));
        cairn_pb_uint(&label, PPROF_LABEL_KEY, N_TEXTS);
        cairn_pb_uint(&label, PPROF_LABEL_STR, N_TEXTS + 1);
        put(&m, PPROF_SAMPLE_LABEL, &label);
        put(&file, PPROF_SAMPLE, &m);
        struct recipe recipe = {.no_samples = true, .more = cairn_buffer_span(&file)};
        struct cairn_profile *p = read_cooked(&recipe);
        uint32_t leaf = p->samples[0].stack;
        assert_int_equal(cairn_frame_kind_of(&p->frames[p->stacks[leaf].frame]), cases[i].leaf);
        assert_int_equal(cairn_frame_kind_of(&p->frames[p->stacks[p->stacks[leaf].parent].frame]),
                         cases[i].root);
        assert_int_equal(p->samples[0].labels, 0);
        cairn_profile_free(p);
        cairn_buffer_done(&label);
        cairn_buffer_done(&m);
        cairn_buffer_done(&file);
    }
}

static void ids_need_not_be_small(void **state)
{
    (void)state;
    struct recipe recipe = {.leaf_id = 1ull << 40};
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_buffer m = {0}, file = {0};
    cairn_pb_uint(&m, PPROF_LOCATION_ID, 1ull << 40);
    cairn_pb_uint(&m, PPROF_LOCATION_ADDRESS, 0x77);
    put(&file, PPROF_LOCATION, &m);
    recipe.more = cairn_buffer_span(&file);
    assert_ok(read_recipe(&recipe, &p, &err), err);
    assert_int_equal(p->frames[p->stacks[p->samples[0].stack].frame].address, 0x77);
    cairn_profile_free(p);
    cairn_buffer_done(&m);
    cairn_buffer_done(&file);
}

static void every_truncation_fails_or_answers(void **state)
{
    (void)state;
    struct recipe recipe = {0};
    struct cairn_buffer whole = cook(&recipe);
    for (size_t size = 0; size < whole.size; size++) {
        uint8_t *cut = test_copy(whole.data, size);
        struct cairn_profile *p = NULL;
        struct cairn_err err = {0};
        int code = test_read_profile((struct cairn_span){cut, size}, CAIRN_FORMAT_PPROF, &p, &err);
        assert_true((code == CAIRN_OK) == (p != NULL));
        assert_int_equal(err.code, code);
        cairn_profile_free(p);
        free(cut);
    }
    cairn_buffer_done(&whole);
}

static void reading_and_writing_without_memory_fail_cleanly(void **state)
{
    (void)state;
    struct cairn_profile *rich = make_rich();
    struct cairn_buffer file = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_profile_write(rich, CAIRN_FORMAT_PPROF, test_write, &file, &err), err);
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_profile *p = NULL;
        cairn_alloc_fail_after(countdown);
        code = test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err);
        cairn_alloc_fail_after(-1);
        assert_true((code == CAIRN_OK) == (p != NULL));
        cairn_profile_free(p);
        assert_true(countdown < 10000);
    }
    assert_int_equal(code, CAIRN_OK);
    code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_buffer out = {0};
        cairn_buffer_reserve(&out, 65536);
        cairn_alloc_fail_after(countdown);
        code = cairn_profile_write(rich, CAIRN_FORMAT_PPROF, test_write, &out, &err);
        cairn_alloc_fail_after(-1);
        if (code == CAIRN_OK)
            assert_memory_equal(out.data, file.data, file.size);
        cairn_buffer_done(&out);
        assert_true(countdown < 10000);
    }
    assert_int_equal(code, CAIRN_OK);
    cairn_buffer_done(&file);
    cairn_profile_free(rich);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_files_are_read),
        cmocka_unit_test(broken_rules_are_named),
        cmocka_unit_test(a_fault_is_told_with_its_byte),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(the_last_type_is_shown_unless_the_file_says_another),
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(odd_labels_stay_labels),
        cmocka_unit_test(markers_come_back),
        cmocka_unit_test(equal_profiles_give_equal_bytes),
        cmocka_unit_test(collapsed_stacks_survive_pprof),
        cmocka_unit_test(what_no_sample_uses_is_not_written),
        cmocka_unit_test(a_demangled_name_is_no_system_name),
        cmocka_unit_test(letters_that_do_not_fit_are_left_out),
        cmocka_unit_test(ids_need_not_be_small),
        cmocka_unit_test(every_truncation_fails_or_answers),
        cmocka_unit_test(reading_and_writing_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
