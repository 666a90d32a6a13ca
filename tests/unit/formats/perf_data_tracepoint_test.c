/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_tracepoint.h"

#include "support/memory_io.h"
#include "support/perf_data_writer.h"
#include "support/test.h"

enum { RAW = 1 << 10, TRACEPOINT = 2, TRACING_DATA = 1, ID = 0 /* config of the first event */ };

static const char format[] = "name: probe_me\nID: 0\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
                             "\tfield:int delta;\toffset:16;\tsize:4;\tsigned:1;\n"
                             "\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;\n"
                             "\tfield:unsigned long args[2];\toffset:24;\tsize:16;\tsigned:0;\n\n"
                             "print fmt: \"%s\", REC->comm\n";

static void put_sized(const struct perf_writer *w, struct cairn_buffer *b, const char *text)
{
    perf_put(w, b, strlen(text), 8);
    cairn_buffer_str(b, text);
}

static struct cairn_buffer tracing_data(const struct perf_writer *w)
{
    struct cairn_buffer b = {0};
    cairn_buffer_add(&b, "\x17\x08\x44tracing0.6", 14);
    cairn_buffer_char(&b, (char)w->big);
    cairn_buffer_char(&b, 8);
    perf_put(w, &b, 4096, 4);
    cairn_buffer_add(&b, "header_page", 12);
    put_sized(w, &b, "page");
    cairn_buffer_add(&b, "header_event", 13);
    put_sized(w, &b, "event");
    perf_put(w, &b, 1, 4);
    put_sized(w, &b, "name: function\nID: 1\n");
    perf_put(w, &b, 1, 4);
    cairn_buffer_add(&b, "group", 6);
    perf_put(w, &b, 1, 4);
    put_sized(w, &b, format);
    return b;
}

static void put_record(struct perf_writer *w)
{
    static const char text[] = "a text";
    const uint64_t chain[] = {PERF_MARK_USER, 0x401010};
    perf_begin(w, 9, 2);
    perf_u64(w, 0x401010);
    perf_u32(w, 7);
    perf_u32(w, 8);
    perf_u64(w, 5000);
    perf_u64(w, 100);
    perf_u64(w, 1);
    perf_u64(w, 2);
    perf_u64(w, chain[0]);
    perf_u64(w, chain[1]);
    perf_u32(w, 52); /* with its size a multiple of 8 */
    perf_u64(w, 0);
    cairn_buffer_add(&w->data, "worker\0", 8);
    perf_u32(w, (uint32_t)-3);
    perf_u32(w, 40 | (uint32_t)sizeof text << 16);
    perf_u64(w, 0x11);
    perf_u64(w, 0x7f0000001234);
    cairn_buffer_add(&w->data, text, sizeof text);
    while ((w->data.size - w->record) % 8)
        cairn_buffer_char(&w->data, 0);
    perf_end(w);
}

static struct cairn_buffer make_file(bool big)
{
    struct perf_writer w = {.big = big, .type = TRACEPOINT, .sample_type = PERF_USUAL | RAW};
    struct cairn_buffer tracing = tracing_data(&w);
    perf_comm(&w, 8, "prog", false, 0);
    put_record(&w);
    perf_feature(&w, TRACING_DATA, cairn_buffer_span(&tracing));
    cairn_buffer_done(&tracing);
    struct cairn_buffer file = perf_file(&w);
    perf_done(&w);
    return file;
}

static const char *detail(const struct cairn_profile *p, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->markers[0].labels, key);
    return label ? cairn_strings_get(&p->strings, label->text) : "";
}

static void a_sample_of_a_tracepoint_is_an_event_with_fields_too(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct cairn_buffer file = make_file(big);
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
        assert_int_equal(p->n_samples, 1);
        assert_int_equal(p->n_markers, 1);
        assert_string_equal(cairn_strings_get(&p->strings, p->markers[0].name), "group:probe_me");
        assert_int_equal(p->markers[0].stack, p->samples[0].stack);
        assert_int_equal(p->label_sets[p->markers[0].labels].time_ns, 5000);
        assert_string_equal(detail(p, "arg.comm"), "worker");
        assert_string_equal(detail(p, "arg.delta"), "-3");
        assert_string_equal(detail(p, "arg.name"), "a text");
        assert_string_equal(detail(p, "arg.args"), "0x11, 0x7f0000001234");
        assert_string_equal(detail(p, "thread"), "prog");
        cairn_profile_free(p);
        cairn_buffer_done(&file);
    }
}

/* Of a pipe that was stored as records of a file. */
static void formats_longer_than_a_window_are_kept(void **state)
{
    (void)state;
    enum { RECORD = 66, BYTES = 3 << 20 };
    struct perf_writer w = {.type = TRACEPOINT, .sample_type = PERF_USUAL | RAW};
    struct cairn_buffer tracing = tracing_data(&w);
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    perf_comm(&w, 8, "prog", false, 0);
    perf_begin(&w, RECORD, 0);
    perf_u32(&w, BYTES);
    perf_u32(&w, 0);
    perf_end(&w);
    cairn_buffer_add(&w.data, tracing.data, tracing.size);
    for (size_t i = tracing.size; i < BYTES; i++)
        cairn_buffer_char(&w.data, 0);
    put_record(&w);
    struct cairn_buffer file = perf_file(&w);
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->n_markers, 1);
    cairn_profile_free(p);
    cairn_buffer_done(&file);
    cairn_buffer_done(&tracing);
    perf_done(&w);
}

/* simpleperf has them inside of the record, whose size has 32 bits in later versions. */
static void formats_may_be_inside_of_their_record(void **state)
{
    (void)state;
    static const uint32_t types[] = {66, 32777};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct perf_writer w = {.type = TRACEPOINT, .sample_type = PERF_USUAL | RAW};
        struct cairn_buffer tracing = tracing_data(&w);
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        perf_begin(&w, types[i], 0);
        perf_u32(&w, tracing.size);
        cairn_buffer_add(&w.data, tracing.data, tracing.size);
        for (size_t n = 0; n < (i ? 70000 : 60); n++)
            cairn_buffer_char(&w.data, 0);
        const size_t size = w.data.size - w.record;
        perf_set_size(&w, size);
        w.data.data[w.record + 4] = (uint8_t)(i ? size >> 16 : 0);
        perf_comm(&w, 8, "prog", false, 0);
        put_record(&w);
        struct cairn_buffer file = perf_file(&w);
        assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
        assert_int_equal(p->n_samples, 1);
        assert_int_equal(p->n_markers, 1);
        assert_string_equal(detail(p, "arg.comm"), "worker");
        assert_string_equal(detail(p, "thread"), "prog");
        cairn_profile_free(p);
        cairn_buffer_done(&file);
        cairn_buffer_done(&tracing);
        perf_done(&w);
    }
}

/* What a damaged format leaves unknown is no event; the sample is there. */
static void a_format_that_ends_early_is_left_out(void **state)
{
    (void)state;
    struct perf_writer w = {0};
    struct cairn_buffer tracing = tracing_data(&w);
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    for (size_t size = 0; size < tracing.size; size++) {
        struct cairn_perf_data_tracepoints points = {0};
        const struct cairn_span cut = {tracing.data, size};
        assert_int_equal(cairn_perf_data_tracepoints_read(&points, p, cut, false), CAIRN_OK);
        assert_int_equal(points.n, 0);
        cairn_perf_data_tracepoints_done(&points);
    }
    cairn_profile_free(p);
    cairn_buffer_done(&tracing);
}

/* Names of text fields lead out of the record: they are empty then. */
static void a_field_behind_the_record_is_empty(void **state)
{
    (void)state;
    struct perf_writer w = {0};
    struct cairn_buffer tracing = tracing_data(&w);
    struct cairn_perf_data_tracepoints points = {0};
    const struct cairn_perf_data_attr attr = {.type = TRACEPOINT, .config = ID};
    const uint8_t record[24] = {[8] = 'a', [20] = 200, [22] = 9};
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    struct cairn_label_list list = {.profile = p};
    assert_int_equal(
        cairn_perf_data_tracepoints_read(&points, p, cairn_buffer_span(&tracing), false), CAIRN_OK);
    assert_int_not_equal(cairn_perf_data_tracepoint_put(&points, &attr,
                                                        (struct cairn_span){record, sizeof record},
                                                        false, &list),
                         0);
    assert_int_equal(list.n, 2); /* "a" and the number */
    cairn_perf_data_tracepoints_done(&points);
    cairn_buffer_done(&tracing);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_of_a_tracepoint_is_an_event_with_fields_too),
        cmocka_unit_test(formats_longer_than_a_window_are_kept),
        cmocka_unit_test(formats_may_be_inside_of_their_record),
        cmocka_unit_test(a_format_that_ends_early_is_left_out),
        cmocka_unit_test(a_field_behind_the_record_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
