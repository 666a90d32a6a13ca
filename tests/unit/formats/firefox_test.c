/* SPDX-License-Identifier: MIT */
/* What tests/e2e/convert_firefox.py cannot make a real program do. */
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

static uint32_t add_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    return p;
}

/* Frees the profile; the text is the caller's. */
static struct cairn_buffer written(struct cairn_profile *p)
{
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_FIREFOX, test_write, &out, &err), err);
    cairn_profile_free(p);
    return out;
}

static void assert_holds(const struct cairn_buffer *out, const char *part)
{
    assert_contains(cairn_buffer_text(out), part);
}

static uint32_t add_module(struct cairn_profile *p, const char *path, const char *build_id,
                           uint64_t start, uint64_t off)
{
    return cairn_profile_add_module(
        p, &(struct cairn_profile_module){.start = start,
                                          .end = start + 0x100000,
                                          .off = off,
                                          .path = add_text(p, path),
                                          .build_id = add_text(p, build_id)});
}

static uint32_t add_function(struct cairn_profile *p, const char *name, const char *file,
                             uint32_t line)
{
    return cairn_profile_add_function(p, &(struct cairn_profile_function){.name = add_text(p, name),
                                                                          .file = add_text(p, file),
                                                                          .start_line = line});
}

static uint32_t add_thread(struct cairn_profile *p, int64_t tid, int64_t time_ns)
{
    struct cairn_profile_label labels[] = {
        {.key = add_text(p, "pid"), .number = 7},
        {.key = add_text(p, "tid"), .number = tid},
        {.key = add_text(p, "process"), .text = add_text(p, "app")},
    };
    return cairn_profile_add_label_set(p, labels, 3, 0, time_ns);
}

static uint32_t add_cut(struct cairn_profile *p, const char *reason)
{
    return cairn_profile_add_label_set(p, NULL, 0, add_text(p, reason), 0);
}

/* work() with get() and find() inlined, at 0x401000 of a library whose mapping begins at offset
 * 0x1000 of its file. */
static uint32_t add_inlined(struct cairn_profile *p)
{
    uint32_t module = add_module(p, "/lib/libapp.so", "00112233445566778899aabbccddeeff01234567",
                                 0x400000, 0x1000);
    struct cairn_profile_line lines[] = {{add_function(p, "get", "get.h", 0), 5},
                                         {add_function(p, "find", "find.h", 0), 0},
                                         {add_function(p, "work", "work.c", 30), 34}};
    struct cairn_profile_frame frame = {
        .address = 0x401000, .module = module, .how = CAIRN_HOW_CFI};
    return cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, lines, 3));
}

static void an_inlined_call_is_a_frame_of_the_same_address(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t stack = add_inlined(p);
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){2, 20});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"stackTable\":{\"frame\":[0,1,2],\"prefixOffset\":[0,1,1],\"length\":3}");
    assert_holds(&out, "\"address\":[8192,8192,8192],\"inlineDepth\":[0,1,2],\"category\":[1,2,2]");
    assert_holds(&out, "\"nativeSymbol\":[0,0,0]");
    assert_holds(&out, "\"line\":[34,null,5]");
    assert_holds(&out, "\"lineNumber\":[30,null,null]");
    assert_holds(&out, "\"nativeSymbols\":{\"libIndex\":[0],\"address\":[8192]");
    assert_holds(&out, "\"name\":\"libapp.so\",\"path\":\"/lib/libapp.so\"");
    assert_holds(&out, "\"breakpadId\":\"33221100554477668899AABBCCDDEEFF0\","
                       "\"codeId\":\"00112233445566778899aabbccddeeff01234567\"");
    assert_holds(&out, "\"weight\":[2],\"weightType\":\"samples\"");
    cairn_buffer_done(&out);
}

static void samples_of_a_thread_are_in_the_order_of_time(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t stack = add_inlined(p);
    const int64_t start_ns = 1700000000000000000;
    cairn_profile_add_sample(p, stack, add_thread(p, 8, start_ns + 5000000), (int64_t[]){1, 9000});
    cairn_profile_add_sample(p, stack, add_thread(p, 7, start_ns + 1500), (int64_t[]){1, 8000});
    cairn_profile_add_sample(p, stack, add_thread(p, 8, start_ns), (int64_t[]){1, 7000});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"startTime\":1700000000000,");
    assert_holds(&out, "\"times\",\"format\":\"string\",\"value\":\"as recorded\"");
    /* The main thread first, though its first sample is later. */
    const char *threads = strstr(cairn_buffer_text(&out), "\"threads\":[");
    assert_non_null(threads);
    assert_true(strstr(threads, "\"tid\":7") < strstr(threads, "\"tid\":8"));
    assert_contains(threads, "\"tid\":7,\"processType\":\"default\",\"processName\":\"app\","
                             "\"pid\":\"7\",\"isMainThread\":true");
    assert_contains(threads, "\"tid\":8,\"processType\":\"default\",\"processName\":\"app\","
                             "\"pid\":\"7\",\"isMainThread\":false");
    assert_holds(&out, "\"stack\":[2,2],\"timeDeltas\":[0,5],\"weight\":null,"
                       "\"weightType\":\"samples\",\"threadCPUDelta\":[7,9],\"length\":2");
    assert_holds(&out, "\"timeDeltas\":[0.001]");
    cairn_buffer_done(&out);
}

static void times_of_some_samples_are_not_taken_for_all(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t stack = add_inlined(p);
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 1700000000000000000), (int64_t[]){1, 1});
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 0), (int64_t[]){1, 1});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"timeDeltas\":[0,1]");
    assert_holds(&out, "made up, 1 ms a sample: only some samples");
    cairn_buffer_done(&out);
}

static void add_marker(struct cairn_profile *p, int64_t time_ns, int64_t duration_ns)
{
    const struct cairn_profile_marker marker = {.name = add_text(p, "open"),
                                                .stack = add_inlined(p),
                                                .labels = add_thread(p, 7, time_ns),
                                                .duration_ns = duration_ns};
    assert_int_not_equal(cairn_profile_add_marker(p, &marker), UINT32_MAX);
}

static void a_marker_that_never_ends_has_an_end(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    add_marker(p, 1, 0);
    add_marker(p, 1000, INT64_MAX);
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"startTime\":[0,0.000999],\"endTime\":[null,9223372036854.775807]");
    cairn_buffer_done(&out);
}

static void a_profile_without_samples_has_one_empty_thread(void **state)
{
    (void)state;
    struct cairn_buffer out = written(new_profile());
    assert_holds(&out, "\"stringArray\":[\"\"]");
    assert_holds(&out, "\"libs\":[]");
    assert_holds(&out, "\"threads\":[{\"name\":\"all samples\"");
    assert_holds(&out, "\"samples\":{\"stack\":[],\"timeDeltas\":[],\"weight\":null,"
                       "\"weightType\":\"samples\",\"length\":0}");
    assert_holds(&out, "\"initialVisibleThreads\":[0],\"initialSelectedThreads\":[0]");
    cairn_buffer_done(&out);
}

static void what_has_no_name_or_no_frame_is_called_something(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_profile_line line = {add_function(p, "", "", 0), 0};
    struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    uint32_t empty = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
    frame.address = 0x1234;
    uint32_t raw = cairn_profile_add_stack(p, empty, cairn_profile_add_frame(p, &frame, NULL, 0));
    cairn_profile_add_sample(p, raw, 0, (int64_t[]){1, 1});
    cairn_profile_add_sample(p, 0, 0, (int64_t[]){1, 1});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"stringArray\":[\"\",\"[unknown]\",\"0x1234\",\"[no stack]\"]");
    assert_holds(&out, "\"address\":[-1,-1,-1]");
    assert_holds(&out, "\"resource\":[-1,-1,-1]");
    assert_holds(&out, "\"symbolicationNotSupported\":true");
    cairn_buffer_done(&out);
}

static void a_cut_stack_has_its_reason_at_the_root(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t stack = add_inlined(p);
    uint32_t cut_set = add_cut(p, "no rule");
    cairn_profile_add_sample(p, stack, cut_set, (int64_t[]){1, 1});
    cairn_profile_add_sample(p, stack, add_cut(p, CAIRN_PROFILE_GAP), (int64_t[]){1, 1});
    cairn_profile_add_sample(p, 0, cut_set, (int64_t[]){1, 1});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"stack cut: no rule\"");
    assert_null(strstr(cairn_buffer_text(&out), "cut: gap"));
    assert_holds(&out, "\"prefixOffset\":[0,1,1,1,0,1,1]");
    assert_holds(&out, "\"stack\":[3,6,0]");
    cairn_buffer_done(&out);
}

static void names_are_data(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_profile_line line = {add_function(p, "a\"\\\n</script>\xff\x01", "\xc3\x28", 0),
                                      0};
    struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    uint32_t stack = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){1, 1});
    cairn_profile_add_comment(p, "no key here");
    cairn_profile_add_comment(p, "note: \"quoted\"");
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"a\\\"\\\\\\n\\u003c/script\\u003e\xef\xbf\xbd\\u0001\"");
    assert_holds(&out, "\"\xef\xbf\xbd(\"");
    assert_holds(&out, "{\"label\":\"comment\",\"format\":\"string\",\"value\":\"no key here\"}");
    assert_holds(&out, "{\"label\":\"note\",\"format\":\"string\",\"value\":\"\\\"quoted\\\"\"}");
    cairn_buffer_done(&out);
}

static void values_that_say_the_same_are_written_once(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t stack = add_inlined(p);
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 0), (int64_t[]){3, 30});
    cairn_profile_add_sample(p, stack, add_thread(p, 8, 0), (int64_t[]){5, 50});
    struct cairn_buffer out = written(p);
    assert_null(strstr(cairn_buffer_text(&out), "(cpu)"));
    cairn_buffer_done(&out);
    p = new_profile();
    stack = add_inlined(p);
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 0), (int64_t[]){3, 1500000});
    cairn_profile_add_sample(p, stack, add_thread(p, 8, 0), (int64_t[]){5, 0});
    out = written(p);
    assert_holds(&out, "\"name\":\"app (cpu)\",\"tid\":\"7 cpu\"");
    assert_holds(&out, "\"weight\":[1.5],\"weightType\":\"tracing-ms\"");
    assert_null(strstr(cairn_buffer_text(&out), "8 cpu"));
    assert_holds(&out, "\"initialVisibleThreads\":[0,1]");
    cairn_buffer_done(&out);
}

static void kernel_addresses_count_from_its_text(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t kernel = cairn_profile_add_kernel(p, 0xffffffff81000000, "aabb");
    struct cairn_profile_frame frame = {.address = 0xffffffff81000123,
                                        .module = kernel,
                                        .what = CAIRN_WHAT_KERNEL,
                                        .how = CAIRN_HOW_KERNEL};
    uint32_t stack = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, NULL, 0));
    frame.address = 0xffffffff80000000; /* below: no offset */
    stack = cairn_profile_add_stack(p, stack, cairn_profile_add_frame(p, &frame, NULL, 0));
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){1, 1});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"address\":[291,-1]");
    assert_holds(&out, "\"category\":[3,3]");
    cairn_buffer_done(&out);
}

/* Frames beyond the depth that a column of bytes holds, and a stack as deep as walks go. */
static void deep_stacks_and_deep_inlining_are_whole(void **state)
{
    (void)state;
    enum { DEPTH = 1024, LINES = 300 };
    struct cairn_profile *p = new_profile();
    struct cairn_profile_line lines[LINES];
    for (size_t i = 0; i < LINES; i++)
        lines[i] = (struct cairn_profile_line){add_function(p, "same", "a.c", 1), (uint32_t)i + 1};
    uint32_t stack = 0;
    for (uint32_t i = 0; i < DEPTH; i++) {
        struct cairn_profile_frame frame = {.address = 16 + i, .how = CAIRN_HOW_TEXT};
        uint32_t number = cairn_profile_add_frame(p, &frame, lines, i + 1 == DEPTH ? LINES : 1);
        stack = cairn_profile_add_stack(p, stack, number);
    }
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){1, 1});
    struct cairn_buffer out = written(p);
    assert_holds(&out, "\"stack\":[1322]");
    assert_holds(&out, ",254,255,255,");
    const char *depths = strstr(cairn_buffer_text(&out), "\"inlineDepth\"");
    assert_non_null(depths);
    const char *wide = strstr(depths, ",256");
    assert_true(!wide || wide > strchr(depths, ']'));
    cairn_buffer_done(&out);
}

static int refuse(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    (void)bytes;
    return size != 0;
}

static void an_output_that_refuses_ends_the_writing(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_err err;
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_FIREFOX, refuse, NULL, &err), CAIRN_E_IO, err,
                 "could not be written");
    cairn_profile_free(p);
}

static void lack_of_memory_is_reported_wherever_it_happens(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    cairn_profile_add_sample(p, add_inlined(p), add_thread(p, 7, 1700000000000000000),
                             (int64_t[]){1, 3});
    cairn_profile_add_sample(p, add_inlined(p), add_cut(p, "no rule"), (int64_t[]){1, 1});
    add_marker(p, 1700000000000000000, 5);
    test_write_without_memory(p, CAIRN_FORMAT_FIREFOX, 20);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inlined_call_is_a_frame_of_the_same_address),
        cmocka_unit_test(samples_of_a_thread_are_in_the_order_of_time),
        cmocka_unit_test(times_of_some_samples_are_not_taken_for_all),
        cmocka_unit_test(a_marker_that_never_ends_has_an_end),
        cmocka_unit_test(a_profile_without_samples_has_one_empty_thread),
        cmocka_unit_test(what_has_no_name_or_no_frame_is_called_something),
        cmocka_unit_test(a_cut_stack_has_its_reason_at_the_root),
        cmocka_unit_test(names_are_data),
        cmocka_unit_test(values_that_say_the_same_are_written_once),
        cmocka_unit_test(kernel_addresses_count_from_its_text),
        cmocka_unit_test(deep_stacks_and_deep_inlining_are_whole),
        cmocka_unit_test(an_output_that_refuses_ends_the_writing),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
