/* SPDX-License-Identifier: MIT */
#include "formats/otlp.h"

#include "formats/protobuf.h"
#include "support/no_memory.h"
#include "support/test.h"

static const int64_t start_ns = 1700000000000000000;

static uint32_t add_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

/* Two samples of one stack and one thread, at different times. */
static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    const struct cairn_profile_module module = {.start = 0x1000,
                                                .end = 0x2000,
                                                .path = add_text(p, "/bin/a"),
                                                .build_id = add_text(p, "0102")};
    const struct cairn_profile_function function = {.name = add_text(p, "main")};
    const struct cairn_profile_line line = {cairn_profile_add_function(p, &function), 7};
    const struct cairn_profile_frame frame = {.address = 0x1010,
                                              .module = cairn_profile_add_module(p, &module)};
    const uint32_t stack =
        cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
    struct cairn_profile_label tid = {.key = add_text(p, "tid"), .number = 0};
    p->time_ns = start_ns;
    for (int i = 0; i < 2; i++)
        cairn_profile_add_sample(p, stack, cairn_profile_add_label_set(p, &tid, 1, 0, start_ns + i),
                                 (int64_t[]){1, 100 + i});
    return p;
}

static struct cairn_span field_of(struct cairn_span message, uint32_t number, size_t index)
{
    struct cairn_reader r = cairn_reader_of(message, false);
    struct cairn_pb_field field;
    while (cairn_pb_next(&r, &field))
        if (field.number == number && index-- == 0)
            return field.bytes;
    fail_msg("there is no field %u", number);
    return (struct cairn_span){0};
}

static struct cairn_span sample_of(const struct cairn_buffer *out, size_t profile, size_t sample)
{
    struct cairn_span at = field_of(cairn_buffer_span(out), OTLP_RESOURCE_PROFILES, 0);
    at = field_of(field_of(at, OTLP_SCOPE_PROFILES, 0), OTLP_PROFILE, profile);
    return field_of(at, OTLP_PROFILE_SAMPLE, sample);
}

static void samples_that_differ_in_time_alone_are_one_with_many_values(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_OTLP, test_write, &out, &err), err);
    const struct cairn_span sample = sample_of(&out, 1, 0);
    const struct cairn_span values = field_of(sample, OTLP_SAMPLE_VALUES, 0);
    assert_int_equal(values.size, 2);
    assert_int_equal(values.data[0], 100);
    assert_int_equal(values.data[1], 101);
    const struct cairn_span times = field_of(sample, OTLP_SAMPLE_TIMES, 0);
    struct cairn_reader r = cairn_reader_of(times, false);
    assert_int_equal(cairn_reader_u64(&r), start_ns);
    assert_int_equal(cairn_reader_u64(&r), start_ns + 1);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void times_of_an_unknown_clock_stay_behind_and_values_are_summed(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_buffer out = {0};
    p->time_ns = 0;
    assert_int_equal(cairn_profile_write(p, CAIRN_FORMAT_OTLP, test_write, &out, NULL), CAIRN_OK);
    const struct cairn_span sample = sample_of(&out, 1, 0);
    struct cairn_reader r = cairn_reader_of(field_of(sample, OTLP_SAMPLE_VALUES, 0), false);
    assert_int_equal(cairn_reader_uleb(&r), 201);
    assert_false(cairn_reader_more(&r));
    struct cairn_reader fields = cairn_reader_of(sample, false);
    struct cairn_pb_field field;
    while (cairn_pb_next(&fields, &field))
        assert_int_not_equal(field.number, OTLP_SAMPLE_TIMES);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

/* It has no sign there: it would be one of 584 years. */
static void a_duration_below_zero_is_none(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_buffer out = {0};
    struct cairn_pb_field field;
    p->duration_ns = -1;
    assert_int_equal(cairn_profile_write(p, CAIRN_FORMAT_OTLP, test_write, &out, NULL), CAIRN_OK);
    struct cairn_span at = field_of(cairn_buffer_span(&out), OTLP_RESOURCE_PROFILES, 0);
    at = field_of(field_of(at, OTLP_SCOPE_PROFILES, 0), OTLP_PROFILE, 0);
    for (struct cairn_reader r = cairn_reader_of(at, false); cairn_pb_next(&r, &field);)
        assert_int_not_equal(field.number, OTLP_PROFILE_DURATION_NS);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    test_write_without_memory(p, CAIRN_FORMAT_OTLP, 20);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_differ_in_time_alone_are_one_with_many_values),
        cmocka_unit_test(times_of_an_unknown_clock_stay_behind_and_values_are_summed),
        cmocka_unit_test(a_duration_below_zero_is_none),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
