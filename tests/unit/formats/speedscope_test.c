/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

static struct cairn_profile *read_text(const char *text)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(text), CAIRN_FORMAT_COLLAPSED, &p, &err), err);
    return p;
}

static struct cairn_buffer write_profile(const struct cairn_profile *p)
{
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_SPEEDSCOPE, test_write, &out, &err), err);
    return out;
}

/* The text after "shared", which does not change with the version. */
static void assert_becomes(const char *text, const char *expected)
{
    struct cairn_profile *p = read_text(text);
    struct cairn_buffer out = write_profile(p);
    const char *shared = strstr(cairn_buffer_text(&out), "\"shared\"");
    assert_non_null(shared);
    assert_string_equal(shared, expected);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

#define PROFILE "\"type\":\"sampled\",\"name\":\"all samples (samples)\",\"unit\":\"none\","

static void stacks_are_root_first_and_there_once(void **state)
{
    (void)state;
    assert_becomes(
        "main;f 1\nmain;g;f 2\nmain;f 3\n",
        "\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"f\"},{\"name\":\"g\"}]},"
        "\"profiles\":[{" PROFILE "\"startValue\":0,\"endValue\":6,"
        "\"samples\":[[0,1],[0,2,1]],\"weights\":[4,2]}],\"activeProfileIndex\":0}\n");
}

static void what_is_empty_is_a_profile_too(void **state)
{
    (void)state;
    assert_becomes("", "\"shared\":{\"frames\":[]},\"profiles\":[{" PROFILE
                       "\"startValue\":0,\"endValue\":0,\"samples\":[],\"weights\":[]}],"
                       "\"activeProfileIndex\":0}\n");
    assert_becomes(" 5\na\"<\xff 0\n",
                   "\"shared\":{\"frames\":[{\"name\":\"[unknown]\"}]},\"profiles\":[{" PROFILE
                   "\"startValue\":0,\"endValue\":5,\"samples\":[[0]],\"weights\":[5]}],"
                   "\"activeProfileIndex\":0}\n");
}

static void names_are_data(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text("a\"<\xff\\;b 1\n");
    cairn_profile_add_comment(p, "command: x \"y\"");
    struct cairn_buffer out = write_profile(p);
    assert_contains(cairn_buffer_text(&out), "\"name\":\"x \\\"y\\\"\"");
    assert_contains(cairn_buffer_text(&out), "{\"name\":\"a\\\"\\u003c\xef\xbf\xbd\\\\\"}");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void values_below_zero_are_refused(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text("a 1\nb -1\n");
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_SPEEDSCOPE, test_write, &out, &err),
                 CAIRN_E_ARG, err, "\"samples\" go below zero");
    assert_int_equal(out.size, 0);
    cairn_profile_free(p);
}

/* The same functions at other addresses are the same stack; in the order of time they are joined
 * only where they follow each other. */
static void samples_with_times_keep_their_order(void **state)
{
    (void)state;
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    uint32_t stacks[3];
    for (uint32_t i = 0; i < 3; i++) {
        const char *name = i == 2 ? "g" : "f";
        struct cairn_profile_function function = {.name = cairn_profile_text(p, name, 1)};
        struct cairn_profile_line line = {cairn_profile_add_function(p, &function), i + 1};
        struct cairn_profile_frame frame = {.address = 0x1000 + i, .how = CAIRN_HOW_TEXT};
        stacks[i] = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
    }
    static const uint32_t order[] = {2, 0, 1, 2, 0}; /* by time, written backwards */
    for (size_t i = 5; i-- > 0;) {
        uint32_t labels = cairn_profile_add_label_set(p, NULL, 0, 0, (int64_t)i + 1);
        cairn_profile_add_sample(p, stacks[order[i]], labels, &(int64_t){10});
    }
    struct cairn_buffer out = write_profile(p);
    assert_contains(cairn_buffer_text(&out), "\"unit\":\"nanoseconds\",\"startValue\":0,"
                                             "\"endValue\":50,");
    assert_contains(cairn_buffer_text(&out), "\"weights\":[10,20,10,10]");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void a_stack_as_deep_as_walks_go_is_whole(void **state)
{
    (void)state;
    enum { DEPTH = 1024 };
    struct cairn_buffer text = {0}, out;
    for (int i = 0; i < DEPTH; i++)
        cairn_buffer_str(&text, i ? ";f" : "f");
    cairn_buffer_str(&text, " 1\n");
    struct cairn_profile *p = read_text(cairn_buffer_text(&text));
    out = write_profile(p);
    const char *stack = strstr(cairn_buffer_text(&out), "[[0,");
    assert_non_null(stack);
    assert_int_equal(strcspn(stack, "]"), 2 * DEPTH + 1);
    cairn_buffer_done(&out);
    cairn_buffer_done(&text);
    cairn_profile_free(p);
}

static void lack_of_memory_is_reported_wherever_it_happens(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text("main;f 1\nmain;g;f 2\n");
    test_write_without_memory(p, CAIRN_FORMAT_SPEEDSCOPE, 10);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_root_first_and_there_once),
        cmocka_unit_test(what_is_empty_is_a_profile_too),
        cmocka_unit_test(names_are_data),
        cmocka_unit_test(values_below_zero_are_refused),
        cmocka_unit_test(samples_with_times_keep_their_order),
        cmocka_unit_test(a_stack_as_deep_as_walks_go_is_whole),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
