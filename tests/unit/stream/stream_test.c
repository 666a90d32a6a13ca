/* SPDX-License-Identifier: MIT */
#include "stream/stream.h"

#include "base/alloc.h"
#include "support/test.h"

struct told {
    struct cairn_profile *profile;
    struct cairn_stream stream;
    uint32_t event;
};

static struct told begin(void)
{
    struct told told;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&told.profile, &err), err);
    assert_int_equal(cairn_stream_init(&told.stream, told.profile), CAIRN_OK);
    told.event = cairn_stream_add_event(&told.stream, "cycles", "count");
    return told;
}

static void end(struct told *told)
{
    cairn_stream_done(&told->stream);
    cairn_profile_free(told->profile);
}

static int map(struct told *told, int pid, uint64_t start, const char *path, uint64_t inode)
{
    const struct cairn_stream_mapping mapping = {
        .pid = pid, .start = start, .size = 0x1000, .inode = inode, .path = path};
    return cairn_stream_map(&told->stream, &mapping);
}

static int sample(struct told *told, int pid, const uint64_t *user, size_t n)
{
    struct cairn_stream_frame frames[2];
    assert_true(n <= 2);
    for (size_t i = 0; i < n; i++)
        frames[i] = (struct cairn_stream_frame){.va = user[i], .exact = i == 0};
    const struct cairn_stream_sample one = {.pid = pid,
                                            .tid = pid,
                                            .event = told->event,
                                            .value = 2,
                                            .user = {.frames = frames, .n = n}};
    return cairn_stream_sample(&told->stream, &one);
}

static void a_file_that_several_processes_map_is_one_module(void **state)
{
    (void)state;
    struct told told = begin();
    assert_int_equal(map(&told, 1, 0x10000, "/lib/x.so", 5), CAIRN_OK);
    assert_int_equal(map(&told, 2, 0x70000, "/lib/x.so", 5), CAIRN_OK);
    assert_int_equal(map(&told, 3, 0x90000, "/lib/x.so", 6), CAIRN_OK); /* another file by then */
    for (int pid = 1; pid <= 3; pid++) {
        static const uint64_t starts[] = {0x10010, 0x70010, 0x90010};
        assert_int_equal(sample(&told, pid, &starts[pid - 1], 1), CAIRN_OK);
    }
    assert_int_equal(cairn_stream_finish(&told.stream), CAIRN_OK);
    const struct cairn_profile *p = told.profile;
    assert_int_equal(p->n_samples, 3);
    assert_int_equal(p->samples[0].stack, p->samples[1].stack);
    assert_int_not_equal(p->samples[0].stack, p->samples[2].stack);
    assert_int_equal(p->n_modules, 3);
    end(&told);
}

/* What is left of the first mapping is where it was in its file. */
static void a_mapping_that_another_one_splits_stays_one_module(void **state)
{
    (void)state;
    struct told told = begin();
    static const uint64_t ips[] = {0x10010, 0x12010};
    const struct cairn_stream_mapping whole = {
        .pid = 1, .start = 0x10000, .size = 0x3000, .inode = 5, .path = "/lib/x.so"};
    assert_int_equal(cairn_stream_map(&told.stream, &whole), CAIRN_OK);
    assert_int_equal(sample(&told, 1, &ips[0], 1), CAIRN_OK);
    assert_int_equal(map(&told, 1, 0x11000, "/lib/y.so", 6), CAIRN_OK);
    assert_int_equal(sample(&told, 1, &ips[1], 1), CAIRN_OK);
    assert_int_equal(cairn_stream_finish(&told.stream), CAIRN_OK);
    const struct cairn_profile *p = told.profile;
    for (size_t i = 0; i < 2; i++) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[p->samples[i].stack].frame];
        assert_int_equal(frame->module, 1);
        assert_int_equal(frame->address, ips[i]);
    }
    end(&told);
}

static void two_build_ids_of_one_path_are_none(void **state)
{
    (void)state;
    static const uint8_t ids[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    for (int n = 1; n <= 2; n++) {
        struct told told = begin();
        static const uint64_t ip = 0x10010;
        assert_int_equal(map(&told, 1, 0x10000, "/lib/x.so (deleted)", 5), CAIRN_OK);
        assert_int_equal(sample(&told, 1, &ip, 1), CAIRN_OK);
        for (int i = 0; i < n; i++)
            assert_int_equal(cairn_stream_build_id(&told.stream, "/lib/x.so",
                                                   (struct cairn_span){ids[i], 4}, false),
                             CAIRN_OK);
        assert_int_equal(cairn_stream_finish(&told.stream), CAIRN_OK);
        const struct cairn_profile_module *module = &told.profile->modules[1];
        assert_string_equal(cairn_strings_get(&told.profile->strings, module->path), "/lib/x.so");
        assert_string_equal(cairn_strings_get(&told.profile->strings, module->build_id),
                            n == 1 ? "01020304" : "");
        end(&told);
    }
}

static void mappings_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    struct told told = begin();
    enum { EXTRA = 3 };
    for (uint64_t i = 0; i < CAIRN_STREAM_MAPPINGS_MAX + EXTRA; i++)
        assert_int_equal(map(&told, 1, 0x10000 + i * 0x2000, "/lib/x.so", 5), CAIRN_OK);
    assert_int_equal(told.stream.counts.n_mappings, EXTRA);
    for (int pid = 2; pid < 200; pid++) {
        const struct cairn_stream_birth birth = {
            .pid = pid, .tid = pid, .parent_pid = 1, .parent_tid = 1};
        assert_int_equal(cairn_stream_fork(&told.stream, &birth), CAIRN_OK);
    }
    assert_true(told.stream.processes.load.n_maps <= CAIRN_STREAM_ALL_MAX);
    for (int pid = 2; pid < 200; pid++)
        assert_int_equal(cairn_stream_exit(&told.stream, pid, pid), CAIRN_OK);
    assert_int_equal(told.stream.processes.load.n_maps, CAIRN_STREAM_MAPPINGS_MAX);
    end(&told);
}

/* Each one before all that are there: what a recording costs does not grow with their square. */
static void mappings_that_move_all_others_are_bounded(void **state)
{
    (void)state;
    struct told told = begin();
    for (int pid = 1; pid <= 3; pid++)
        for (uint64_t i = 0; i < CAIRN_STREAM_MAPPINGS_MAX; i++)
            assert_int_equal(map(&told, pid, ((uint64_t)1 << 40) - i * 0x2000, "/lib/x.so", 5),
                             CAIRN_OK);
    assert_true(told.stream.counts.n_mappings > 0);
    assert_true(told.stream.processes.load.n_moved <=
                3 * ((uint64_t)CAIRN_STREAM_MOVED_MAX + CAIRN_STREAM_MAPPINGS_MAX));
    assert_int_equal(map(&told, 9, 0x10000, "/lib/x.so", 5), CAIRN_OK); /* others lose nothing */
    const uint64_t n_lost = told.stream.counts.n_mappings;
    assert_int_equal(map(&told, 9, 0x8000, "/lib/x.so", 5), CAIRN_OK);
    assert_int_equal(told.stream.counts.n_mappings, n_lost);
    end(&told);
}

static void a_process_keeps_its_mappings_until_its_last_thread_exits(void **state)
{
    (void)state;
    struct told told = begin();
    const struct cairn_stream_birth births[] = {
        {.pid = 5, .tid = 5, .parent_pid = 1, .parent_tid = 1},
        {.pid = 5, .tid = 6, .parent_pid = 5, .parent_tid = 5}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(cairn_stream_fork(&told.stream, &births[i]), CAIRN_OK);
    assert_int_equal(map(&told, 5, 0x10000, "/bin/x", 5), CAIRN_OK);
    assert_int_equal(cairn_stream_exit(&told.stream, 5, 5), CAIRN_OK);
    assert_int_equal(told.stream.processes.load.n_maps, 1);
    assert_int_equal(cairn_stream_exit(&told.stream, 5, 6), CAIRN_OK);
    assert_int_equal(told.stream.processes.load.n_maps, 0);
    end(&told);
}

/* perf tells of the threads that are there, and their forks may come later all the same. */
static void a_thread_that_is_told_of_twice_counts_for_the_process_that_lives(void **state)
{
    (void)state;
    struct told told = begin();
    const struct cairn_stream_birth process = {
        .pid = 5, .tid = 5, .parent_pid = 1, .parent_tid = 1};
    const struct cairn_stream_birth thread = {.pid = 5, .tid = 6, .parent_pid = 5, .parent_tid = 5};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cairn_stream_fork(&told.stream, &process), CAIRN_OK);
        assert_int_equal(cairn_stream_fork(&told.stream, &thread), CAIRN_OK);
    }
    assert_int_equal(map(&told, 5, 0x10000, "/bin/x", 5), CAIRN_OK);
    assert_int_equal(cairn_stream_exit(&told.stream, 5, 6), CAIRN_OK);
    assert_int_equal(cairn_stream_exit(&told.stream, 5, 6), CAIRN_OK);
    assert_int_equal(told.stream.processes.load.n_maps, 1);
    assert_int_equal(cairn_stream_exit(&told.stream, 5, 5), CAIRN_OK);
    assert_int_equal(told.stream.processes.load.n_maps, 0);
    end(&told);
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    static const uint64_t ips[] = {0x10010, 0x10020};
    for (long left = 0;; left++) {
        struct told told = begin();
        cairn_alloc_fail_after(left);
        bool ok = map(&told, 1, 0x10000, "/lib/x.so", 5) == CAIRN_OK &&
                  cairn_stream_name(&told.stream, 1, 1, "x") == CAIRN_OK &&
                  sample(&told, 1, ips, 2) == CAIRN_OK &&
                  cairn_stream_finish(&told.stream) == CAIRN_OK;
        cairn_alloc_fail_after(-1);
        end(&told);
        if (ok)
            break;
        assert_true(left < 1000);
    }
}

static int64_t number_of(const struct cairn_profile *p, size_t row, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[row].labels, key);
    return label ? label->number : -1;
}

/* Three samples of one stack: two at one moment on CPU 1, one later on CPU 2. */
static struct told told_with(unsigned keeps, uint64_t to_wall_ns)
{
    const struct cairn_stream_frame frame = {.va = 0x10010};
    struct told told = begin();
    told.stream.keeps = keeps;
    told.stream.to_wall_ns = to_wall_ns;
    for (int i = 0; i < 3; i++) {
        const struct cairn_stream_sample one = {.pid = 1,
                                                .tid = 1,
                                                .event = told.event,
                                                .value = 2,
                                                .time_ns = i < 2 ? 500 : 700,
                                                .has_time = true,
                                                .cpu = i < 2 ? 1 : 2,
                                                .user = {.frames = &frame, .n = 1}};
        assert_int_equal(cairn_stream_sample(&told.stream, &one), CAIRN_OK);
    }
    assert_int_equal(cairn_stream_finish(&told.stream), CAIRN_OK);
    return told;
}

static void times_and_cpus_are_kept_where_they_are_asked_for(void **state)
{
    (void)state;
    struct told told = told_with(0, 0);
    assert_int_equal(told.profile->n_samples, 1);
    assert_int_equal(number_of(told.profile, 0, "cpu"), -1);
    assert_int_equal(cairn_profile_time_of(told.profile, 0), 0);
    end(&told);
    told = told_with(CAIRN_STREAM_CPUS, 0);
    assert_int_equal(told.profile->n_samples, 2);
    assert_int_equal(number_of(told.profile, 0, "cpu"), 1);
    assert_int_equal(number_of(told.profile, 1, "cpu"), 2);
    assert_int_equal(told.profile->values[0], 2);
    assert_int_equal(cairn_profile_time_of(told.profile, 0), 0);
    end(&told);
    told = told_with(CAIRN_STREAM_TIMES, 1000);
    assert_int_equal(told.profile->n_samples, 2);
    assert_int_equal(cairn_profile_time_of(told.profile, 0), 1500);
    assert_int_equal(cairn_profile_time_of(told.profile, 1), 1700);
    assert_int_equal(number_of(told.profile, 0, "pid"), 1);
    assert_string_equal(cairn_profile_note(told.profile, CAIRN_NOTE_CLOCK, 0), "1000 ns");
    end(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_several_processes_map_is_one_module),
        cmocka_unit_test(a_mapping_that_another_one_splits_stays_one_module),
        cmocka_unit_test(two_build_ids_of_one_path_are_none),
        cmocka_unit_test(mappings_beyond_the_limit_are_counted),
        cmocka_unit_test(mappings_that_move_all_others_are_bounded),
        cmocka_unit_test(a_process_keeps_its_mappings_until_its_last_thread_exits),
        cmocka_unit_test(a_thread_that_is_told_of_twice_counts_for_the_process_that_lives),
        cmocka_unit_test(lack_of_memory_is_reported),
        cmocka_unit_test(times_and_cpus_are_kept_where_they_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
