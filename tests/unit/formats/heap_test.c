/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/format.h"
#include "formats/heap_profile.h"
#include "support/heapwriter.h"
#include "support/memory_io.h"
#include "support/test.h"

enum { KIND = CAIRN_HEAP_KIND_MALLOC };

static struct cairn_profile *read_as(struct cairn_span bytes)
{
    struct cairn_profile *profile;
    struct cairn_err err;
    assert_ok(test_read_profile(bytes, CAIRN_FORMAT_AUTO, &profile, &err), err);
    return profile;
}

static void assert_collapsed(const struct cairn_profile *profile, const char *expected)
{
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(profile, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

static int64_t sum_of(const struct cairn_profile *p, enum cairn_heap_value value)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[i * p->n_types + value];
    return sum;
}

static void stacks_grow_out_of_each_other(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    test_heap_module(&h, 0x400000, 0x500000, 0x1000, "/bin/app");
    uint32_t one = test_heap_stack(&h, 0, 0, (uint64_t[]){0x400101, 0x400201, 0x400301}, 3);
    uint32_t two = test_heap_stack(&h, one, 2, (uint64_t[]){0x400401}, 1);
    uint32_t three = test_heap_stack(&h, two, 3, (uint64_t[]){0x400501}, 1);
    uint32_t four = test_heap_stack(&h, one, 1, NULL, 0);
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, one, 10, KIND, 0));
    test_heap_block(&h, 0x100020, cairn_heap_entry(0x100020, two, 20, KIND, 0));
    test_heap_block(&h, 0x100040, cairn_heap_entry(0x100040, three, 30, KIND, 0));
    test_heap_block(&h, 0x7ffff0000000, cairn_heap_entry(0x7ffff0000000, four, 40, KIND, 0));
    struct cairn_profile *p = read_as(test_heap_span(&h));
    assert_collapsed(p, "app+0x1100;app+0x1200;app+0x1300 10\n"
                        "app+0x1100;app+0x1200;app+0x1400 20\n"
                        "app+0x1100;app+0x1200;app+0x1400;app+0x1500 30\n"
                        "app+0x1100 40\n");
    assert_int_equal(sum_of(p, CAIRN_HEAP_INUSE_OBJECTS), 4);
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void what_is_handed_in_and_what_is_not_count_once(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    struct cairn_heap_stack *counts = test_heap_counts(&h, stack);
    counts->n_allocs = 10;
    counts->alloc_bytes = 1000;
    counts->n_frees = 4;
    counts->free_bytes = 400;
    counts->n_temporary = 3;
    counts->peak = 6;
    counts->peak_blocks = 8;
    counts->peak_bytes = 800;
    test_heap_delta(&h, stack, 7, cairn_heap_counted(2, 50), cairn_heap_counted(1, 25));
    test_heap_delta(&h, stack, 6, cairn_heap_counted(1, 7), 0);
    test_heap_header(&h)->peak = 7;
    struct cairn_profile *p = read_as(test_heap_span(&h));
    assert_int_equal(sum_of(p, CAIRN_HEAP_ALLOC_OBJECTS), 13);
    assert_int_equal(sum_of(p, CAIRN_HEAP_ALLOC_SPACE), 1057);
    assert_int_equal(sum_of(p, CAIRN_HEAP_TEMPORARY_OBJECTS), 3);
    /* Nothing that was handed in changed since the mark was passed: what lives is what lived then,
     * and a delta of before. */
    assert_int_equal(sum_of(p, CAIRN_HEAP_PEAK_OBJECTS), 7);
    assert_int_equal(sum_of(p, CAIRN_HEAP_PEAK_SPACE), 607);
    cairn_profile_free(p);
    test_heap_counts(&h, stack)->peak = 7;
    p = read_as(test_heap_span(&h));
    assert_int_equal(sum_of(p, CAIRN_HEAP_PEAK_SPACE), 807);
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void mappings_are_values_but_for_the_allocator_s(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_map(&h, &(struct cairn_heap_map){.from = 0x10000, .to = 0x13000, .stack = stack});
    test_heap_map(
        &h, &(struct cairn_heap_map){.from = 0x20000, .to = 0x21000, .kind = CAIRN_HEAP_MAP_BREAK});
    test_heap_map(
        &h, &(struct cairn_heap_map){
                .from = 0x30000, .to = 0x38000, .stack = stack, .kind = CAIRN_HEAP_MAP_ALLOCATOR});
    for (int asked = 0; asked < 2; asked++) {
        test_heap_header(&h)->flags = asked ? CAIRN_HEAP_MAPPINGS : 0;
        struct cairn_profile *p = read_as(test_heap_span(&h));
        assert_int_equal(sum_of(p, CAIRN_HEAP_MAPPED_OBJECTS), asked ? 2 : 0);
        assert_int_equal(sum_of(p, CAIRN_HEAP_MAPPED_SPACE), asked ? 0x4000 : 0);
        assert_int_equal(sum_of(p, CAIRN_HEAP_INUSE_SPACE), 0);
        cairn_profile_free(p);
    }
    test_heap_done(&h);
}

static void an_address_is_its_module_s_of_that_time(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    test_heap_module(&h, 0x400000, 0x500000, 0, "/lib/old.so");
    uint32_t before = test_heap_stack(&h, 0, 0, (uint64_t[]){0x400101}, 1);
    test_heap_module(&h, 0x3f0000, 0x410000, 0, "/lib/new.so");
    uint32_t after = test_heap_stack(&h, 0, 0, (uint64_t[]){0x400101}, 1);
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, before, 1, KIND, 0));
    test_heap_block(&h, 0x100020, cairn_heap_entry(0x100020, after, 2, KIND, 0));
    struct cairn_profile *p = read_as(test_heap_span(&h));
    assert_collapsed(p, "old.so+0x100 1\nnew.so+0x10100 2\n");
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void a_size_may_lie_aside(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 16);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_block(&h, 0x100000,
                    cairn_heap_entry(0x100000, stack, CAIRN_HEAP_SIZE_ASIDE, KIND, 0));
    test_heap_large(&h, 0x200000, 5);
    test_heap_large(&h, 0x100000, UINT64_C(1) << 33);
    struct cairn_profile *p = read_as(test_heap_span(&h));
    assert_int_equal(sum_of(p, CAIRN_HEAP_INUSE_SPACE), INT64_C(1) << 33);
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void a_cut_stack_says_why(void **state)
{
    (void)state;
    struct test_heap h;
    struct cairn_cut_row cuts[4];
    test_heap_begin(&h, 16);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    uint32_t deep = test_heap_stack(&h, 0, 0, (uint64_t[]){0x2001}, 1);
    test_heap_log(&h, stack)->end = 3; /* no rule */
    test_heap_log(&h, deep)->n_cut = 12;
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, stack, 1, KIND, 0));
    test_heap_block(&h, 0x100010, cairn_heap_entry(0x100010, deep, 1, KIND, 0));
    test_heap_block(&h, 0x100020, cairn_heap_entry(0x100020, 0, 1, KIND, 0));
    struct cairn_profile *p = read_as(test_heap_span(&h));
    assert_int_equal(cairn_profile_cuts(p, cuts, 4), 3);
    assert_string_equal(cuts[0].reason, "depth limit");
    assert_string_equal(cuts[2].reason, "no unwind rule");
    assert_string_equal(cuts[1].reason, "no stack was taken");
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void states_of_several_processes_are_one_profile(void **state)
{
    (void)state;
    struct test_heap h;
    struct cairn_buffer both = {0};
    test_heap_begin(&h, 16);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, stack, 5, KIND, 0));
    cairn_buffer_add(&both, h.bytes.data, h.bytes.size);
    cairn_buffer_add(&both, h.bytes.data, h.bytes.size);
    struct cairn_profile *p = read_as(cairn_buffer_span(&both));
    assert_int_equal(sum_of(p, CAIRN_HEAP_INUSE_SPACE), 10);
    cairn_profile_free(p);
    cairn_buffer_done(&both);
    test_heap_done(&h);
}

static struct cairn_profile *read_births(struct cairn_span bytes, unsigned more)
{
    struct test_input from = {.left = bytes};
    const struct cairn_format_input input = {
        .read = test_read, .ctx = &from, .keeps = CAIRN_FORMAT_BIRTHS | more};
    struct cairn_profile *profile;
    struct cairn_err err;
    assert_ok(cairn_format_read(&input, CAIRN_FORMAT_HEAP, &profile, &err), err);
    return profile;
}

static void assert_sample(const struct cairn_profile *p, size_t i, int64_t time_ns, int64_t bytes,
                          int64_t peak)
{
    assert_int_equal(cairn_profile_time_of(p, i), time_ns);
    assert_int_equal(p->values[i * p->n_types + CAIRN_HEAP_INUSE_SPACE], bytes);
    assert_int_equal(p->values[i * p->n_types + CAIRN_HEAP_PEAK_SPACE], peak);
}

static void a_birth_is_a_sample_at_its_epoch(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_counts(&h, stack)->n_allocs = 9;
    test_heap_counts(&h, stack)->peak = 1;
    test_heap_counts(&h, stack)->peak_bytes = 70;
    test_heap_header(&h)->peak = 1;
    test_heap_header(&h)->begin_ns = 1000000;
    test_heap_header(&h)->epoch = 1;
    test_heap_epoch(&h, 0, 5000, 0, 0);
    test_heap_epoch(&h, 1, 8000, 0, 0);
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, stack, 10, KIND, 1));
    test_heap_block(&h, 0x100020, cairn_heap_entry(0x100020, stack, 20, KIND, 0));
    test_heap_block(&h, 0x100040, cairn_heap_entry(0x100040, stack, 30, KIND, 1));
    struct cairn_profile *p = read_births(test_heap_span(&h), 0);
    assert_int_equal(p->n_samples, 3);
    assert_sample(p, 0, 1000000, 20, 0);
    assert_sample(p, 1, 1003000, 40, 0);
    assert_sample(p, 2, 0, 0, 70);
    assert_int_equal(sum_of(p, CAIRN_HEAP_INUSE_OBJECTS), 3);
    cairn_profile_free(p);
    p = read_births(test_heap_span(&h), CAIRN_FORMAT_PROCESSES);
    assert_sample(p, 1, 1003000, 40, 0);
    cairn_profile_free(p);
    p = read_as(test_heap_span(&h));
    assert_int_equal(p->n_samples, 1);
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void times_beyond_what_there_is_are_unknown(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_header(&h)->begin_ns = INT64_MAX;
    test_heap_header(&h)->epoch = 1;
    test_heap_epoch(&h, 0, 5000, 0, 0);
    test_heap_epoch(&h, 1, UINT64_MAX, 0, 0);
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, stack, 10, KIND, 1));
    test_heap_block(&h, 0x100020, cairn_heap_entry(0x100020, stack, 20, KIND, 7));
    struct cairn_profile *p = read_births(test_heap_span(&h), 0);
    assert_int_equal(p->n_samples, 2);
    assert_sample(p, 0, 0, 10, 0);
    assert_sample(p, 1, 0, 20, 0);
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void sizes_beyond_what_a_sum_holds_leave_no_rest(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 32);
    uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_header(&h)->epoch = 2;
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t va = 0x100000 + 0x100000 * (uint64_t)i;
        test_heap_block(&h, va, cairn_heap_entry(va, stack, CAIRN_HEAP_SIZE_ASIDE, KIND, i));
        test_heap_large(&h, va, UINT64_MAX);
    }
    struct cairn_profile *p = read_births(test_heap_span(&h), 0);
    assert_int_equal(p->n_samples, 3);
    for (size_t i = 0; i < 3; i++)
        assert_sample(p, i, 0, INT64_MAX, 0);
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void the_command_is_a_note_and_a_cut_stays_with_its_process(void **state)
{
    (void)state;
    struct test_heap h;
    struct cairn_cut_row cut;
    test_heap_begin(&h, 32);
    memcpy(test_heap_header(&h)->command, "/bin/app -x", sizeof "/bin/app -x");
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, 0, 10, KIND, 0));
    struct cairn_profile *p = read_births(test_heap_span(&h), CAIRN_FORMAT_PROCESSES);
    assert_string_equal(cairn_profile_note(p, CAIRN_NOTE_COMMAND, 0), "/bin/app -x");
    assert_int_equal(cairn_profile_cuts(p, &cut, 1), 1);
    assert_string_equal(cut.reason, "no stack was taken");
    cairn_profile_free(p);
    test_heap_done(&h);
}

static void assert_refused(struct cairn_span bytes, const char *part)
{
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(bytes, CAIRN_FORMAT_HEAP, &profile, &err), CAIRN_E_FORMAT, err,
                 part);
    assert_null(profile);
}

static void what_is_no_state_is_refused(void **state)
{
    (void)state;
    struct test_heap h;
    test_heap_begin(&h, 16);
    struct cairn_span all = test_heap_span(&h);
    assert_refused((struct cairn_span){all.data, 9}, "no heap state");
    assert_refused((struct cairn_span){all.data, 65535}, "cut off");
    test_heap_header(&h)->version = 9;
    assert_refused(all, "version 9");
    test_heap_header(&h)->version = CAIRN_HEAP_VERSION << 8;
    assert_refused(all, "byte order");
    test_heap_header(&h)->version = CAIRN_HEAP_VERSION;
    test_heap_header(&h)->word = 3;
    assert_refused(all, "damaged");
    test_heap_done(&h);
}

/* Each stack lies about another thing; none of them may be followed, or be lost without a word. */
static void what_makes_no_sense_is_counted(void **state)
{
    (void)state;
    struct test_heap h;
    struct cairn_heap_view view;
    struct cairn_heap_record record;
    struct cairn_err err;
    size_t size;
    test_heap_begin(&h, 16);
    uint32_t loop = test_heap_stack(&h, 1, 1, (uint64_t[]){0x1001}, 1);
    uint32_t later = test_heap_stack(&h, 9, 1, (uint64_t[]){0x1001}, 1);
    uint32_t shallow = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    uint32_t deeper = test_heap_stack(&h, shallow, 2, (uint64_t[]){0x1001}, 1);
    uint32_t far = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    uint32_t long_one = test_heap_stack(&h, 0, 0, (uint64_t[]){0x1001}, 1);
    test_heap_log(&h, long_one)->n = 60000;
    test_heap_counts(&h, far)->log = UINT64_MAX;
    test_heap_block(&h, 0x100000, cairn_heap_entry(0x100000, 12345, 1, KIND, 0));
    test_heap_block(&h, 0x100010,
                    cairn_heap_entry(0x100010, shallow, CAIRN_HEAP_SIZE_ASIDE, KIND, 0));
    test_heap_add_chunk(&h, 77, 0);
    test_heap_add_chunk(&h, CAIRN_HEAP_EPOCHS, UINT64_MAX);
    test_heap_header(&h)->n_chunks += 2;
    assert_ok(cairn_heap_view_open(test_heap_span(&h), &view, &size, &err), err);
    assert_int_equal(view.n_damaged, 4); /* two chunks that are not there, two of no kind */
    assert_false(cairn_heap_view_record(&view, loop, &record));
    assert_false(cairn_heap_view_record(&view, later, &record));
    assert_true(cairn_heap_view_record(&view, deeper, &record));
    assert_false(cairn_heap_view_record(&view, far, &record));
    assert_false(cairn_heap_view_record(&view, long_one, &record));
    assert_false(cairn_heap_view_record(&view, 0, &record));
    assert_false(cairn_heap_view_record(&view, UINT32_MAX, &record));
    cairn_heap_view_close(&view);
    struct cairn_profile *p = read_as(test_heap_span(&h));
    assert_int_equal(sum_of(p, CAIRN_HEAP_INUSE_OBJECTS), 2);
    cairn_profile_free(p);
    test_heap_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_grow_out_of_each_other),
        cmocka_unit_test(what_is_handed_in_and_what_is_not_count_once),
        cmocka_unit_test(mappings_are_values_but_for_the_allocator_s),
        cmocka_unit_test(an_address_is_its_module_s_of_that_time),
        cmocka_unit_test(a_size_may_lie_aside),
        cmocka_unit_test(a_cut_stack_says_why),
        cmocka_unit_test(states_of_several_processes_are_one_profile),
        cmocka_unit_test(a_birth_is_a_sample_at_its_epoch),
        cmocka_unit_test(times_beyond_what_there_is_are_unknown),
        cmocka_unit_test(sizes_beyond_what_a_sum_holds_leave_no_rest),
        cmocka_unit_test(the_command_is_a_note_and_a_cut_stays_with_its_process),
        cmocka_unit_test(what_is_no_state_is_refused),
        cmocka_unit_test(what_makes_no_sense_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
