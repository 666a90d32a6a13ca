/* SPDX-License-Identifier: MIT */
#include "sample/collect.h"

#include <unistd.h>

#include "base/alloc.h"
#include "bpf/walk.h"
#include "tests/support/test.h"

/* No such process: everything is known from what is told here. */
enum { PID = 0x3ffffff0, PERIOD_NS = 1000000 };

static const uint64_t chain[] = {0x1010, 0x1020, 0x1030};
static const uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020};

static int fill(struct cairn_collect *collect)
{
    const struct cairn_stream_mapping news = {
        .start = 0x1000, .size = 0x1000, .dev = 1, .inode = 2, .path = "/bin/program"};
    struct cairn_sampled caught = {
        .pid = PID, .tid = PID + 1, .user = {.chain = chain, .n_chain = 3}, .value = PERIOD_NS};
    struct cairn_space *space;
    int code = cairn_collect_init(collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, NULL);
    if (code < 0)
        return code;
    if (!(space = cairn_spaces_get(&collect->spaces, PID)) ||
        cairn_space_add(&collect->spaces, space, &news) < 0 ||
        cairn_collect_name(collect, PID + 1, "worker") < 0 ||
        cairn_collect_add(collect, &caught) < 0 || cairn_collect_add(collect, &caught) < 0)
        return CAIRN_E_NOMEM;
    caught.kernel = kernel;
    caught.n_kernel = 2;
    return cairn_collect_add(collect, &caught);
}

static const char *label_text(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? cairn_strings_get(&p->strings, label->text) : NULL;
}

static const struct cairn_profile_frame *frame_of(const struct cairn_profile *p, uint32_t stack)
{
    return &p->frames[p->stacks[stack].frame];
}

static void equal_samples_are_summed(void **state)
{
    (void)state;
    struct cairn_collect collect;
    assert_int_equal(fill(&collect), CAIRN_OK);
    const struct cairn_profile *p = collect.profile;
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->values[0], 2);
    assert_int_equal(p->values[1], 2 * PERIOD_NS);
    assert_int_equal(p->values[2], 1);
    assert_int_equal(collect.n_samples, 3);
    assert_int_equal(collect.n_threads, 1);
    cairn_collect_done(&collect);
}

static void the_leaf_is_exact_and_callers_point_into_their_calls(void **state)
{
    (void)state;
    struct cairn_collect collect;
    assert_int_equal(fill(&collect), CAIRN_OK);
    const struct cairn_profile *p = collect.profile;
    uint32_t stack = p->samples[0].stack;
    assert_int_equal(frame_of(p, stack)->address, 0x1010);
    stack = p->stacks[stack].parent;
    assert_int_equal(frame_of(p, stack)->address, 0x1020 - 1);
    stack = p->stacks[stack].parent;
    assert_int_equal(frame_of(p, stack)->address, 0x1030 - 1);
    assert_int_equal(p->stacks[stack].parent, 0);
    assert_string_equal(cairn_strings_get(&p->strings, p->modules[frame_of(p, stack)->module].path),
                        "/bin/program");
    cairn_collect_done(&collect);
}

static void kernel_frames_lie_below_the_user_side_in_a_module_of_their_own(void **state)
{
    (void)state;
    struct cairn_collect collect;
    assert_int_equal(fill(&collect), CAIRN_OK);
    const struct cairn_profile *p = collect.profile;
    const struct cairn_profile_frame *leaf = frame_of(p, p->samples[1].stack);
    assert_int_equal(leaf->address, kernel[0]);
    assert_int_equal(leaf->what, CAIRN_WHAT_KERNEL);
    assert_string_equal(cairn_strings_get(&p->strings, p->modules[leaf->module].path),
                        "[kernel.kallsyms]");
    uint32_t above = p->stacks[p->samples[1].stack].parent;
    assert_int_equal(frame_of(p, above)->address, kernel[1] - 1);
    assert_int_equal(frame_of(p, p->stacks[above].parent)->address, 0x1010);
    cairn_collect_done(&collect);
}

static void a_sample_tells_its_thread_and_why_it_is_cut(void **state)
{
    (void)state;
    struct cairn_collect collect;
    assert_int_equal(fill(&collect), CAIRN_OK);
    const struct cairn_profile *p = collect.profile;
    assert_string_equal(label_text(p, 0, "thread"), "worker");
    assert_string_equal(cairn_profile_cut_of(p, 0), "no frame pointer in program");
    assert_int_equal(cairn_profile_find_label(p, p->samples[0].labels, "pid")->number, PID);
    assert_int_equal(cairn_profile_find_label(p, p->samples[0].labels, "tid")->number, PID + 1);
    assert_int_equal(collect.n_cut, 3);
    assert_int_equal(collect.n_whole, 0);
    cairn_collect_done(&collect);
}

/* A walk of a copy needs a process that has some of its share left; whoever asked for copies of
 * all stacks gets them walked in any case. */
static void a_process_that_spent_its_share_is_cut_with_that_reason(void **state)
{
    (void)state;
    struct cairn_collect collect;
    const struct cairn_copy copy = {.goes_on = true};
    const struct cairn_sampled caught = {
        .pid = PID,
        .tid = PID + 1,
        .user = {.walked = chain, .n_walked = 3, .walked_end = CAIRN_END_NO_RULE},
        .copy = &copy,
        .now_ns = 1000};
    struct cairn_collected collected;
    assert_int_equal(fill(&collect), CAIRN_OK);
    const struct cairn_strings *texts = &collect.profile->strings;
    struct cairn_space *space = cairn_spaces_get(&collect.spaces, PID);
    assert_int_equal(cairn_collect_stack(&collect, &caught, &collected), CAIRN_OK);
    assert_string_equal(cairn_strings_get(texts, collected.cut), "no unwind rule in program");
    cairn_share_spend(&space->share, 1000000000);
    assert_int_equal(cairn_collect_stack(&collect, &caught, &collected), CAIRN_OK);
    assert_string_equal(cairn_strings_get(texts, collected.cut),
                        "copy not walked, to keep the recorder below a fifth of a CPU");
    collect.stack_bytes = 4096;
    assert_int_equal(cairn_collect_stack(&collect, &caught, &collected), CAIRN_OK);
    assert_string_equal(cairn_strings_get(texts, collected.cut), "no unwind rule in program");
    cairn_collect_done(&collect);
}

static void samples_with_times_stay_apart_and_tell_them(void **state)
{
    (void)state;
    struct cairn_collect collect;
    struct cairn_collected collected;
    const struct cairn_sampled caught = {
        .pid = PID, .tid = PID, .user = {.chain = chain, .n_chain = 3}};
    struct cairn_collect_more one = {.n = 1, .value = PERIOD_NS, .time_ns = 50};
    assert_int_equal(
        cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, NULL), CAIRN_OK);
    collect.has_times = true;
    collect.to_real_ns = 1000;
    assert_int_equal(cairn_collect_stack(&collect, &caught, &collected), CAIRN_OK);
    assert_int_equal(collect.n_samples, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cairn_collect_sample(&collect, &collected, &one), CAIRN_OK);
        one.time_ns++;
    }
    const struct cairn_profile *p = collect.profile;
    assert_int_equal(p->n_samples, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cairn_profile_time_of(p, i), 1050 + i);
        assert_int_equal(p->samples[i].stack, collected.stack);
        assert_string_equal(cairn_profile_cut_of(p, i),
                            cairn_strings_get(&p->strings, collected.cut));
    }
    cairn_collect_done(&collect);
}

static void a_sample_tells_its_process_and_cgroup(void **state)
{
    (void)state;
    struct cairn_collect collect = {0};
    struct cairn_err err = {0};
    const struct cairn_stream_birth born = {
        .pid = PID + 2, .tid = PID + 2, .parent_pid = PID, .parent_tid = PID};
    struct cairn_sampled caught = {
        .pid = PID, .tid = PID + 1, .user = {.chain = chain, .n_chain = 3}};
    assert_ok(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, &err), err);
    struct cairn_space *space = cairn_spaces_get(&collect.spaces, PID);
    space->cgroup = cairn_profile_text(collect.profile, "/a/b", 4);
    assert_int_equal(cairn_collect_name(&collect, PID, "server"), CAIRN_OK);
    assert_int_equal(cairn_collect_name(&collect, PID + 1, "worker"), CAIRN_OK);
    assert_int_equal(cairn_collect_add(&collect, &caught), CAIRN_OK);
    assert_int_equal(cairn_collect_fork(&collect, &born), CAIRN_OK);
    caught.pid = caught.tid = PID + 2;
    assert_int_equal(cairn_collect_add(&collect, &caught), CAIRN_OK);
    const struct cairn_profile *p = collect.profile;
    assert_string_equal(label_text(p, 0, "process"), "server");
    assert_string_equal(label_text(p, 0, "thread"), "worker");
    assert_string_equal(label_text(p, 0, "cgroup"), "/a/b");
    assert_string_equal(label_text(p, 1, "process"), "server"); /* until it says otherwise */
    assert_string_equal(label_text(p, 1, "cgroup"), "/a/b");
    assert_int_equal(collect.n_processes, 2);
    cairn_collect_done(&collect);
}

/* By a process that has the file at `base`; its caller is elsewhere in the same file. */
static void catch_at(struct cairn_collect *collect, int pid, uint64_t base, const char *path)
{
    const uint64_t inode = path[0] == '/' && path[1] != '/' ? 2 : 0;
    const struct cairn_stream_mapping news = {
        .start = base, .size = 0x1000, .off = 0x2000, .dev = 1, .inode = inode, .path = path};
    const uint64_t addresses[] = {base + 0x10, base + 0x20};
    const struct cairn_sampled caught = {
        .pid = pid, .tid = pid, .user = {.chain = addresses, .n_chain = 2}};
    struct cairn_space *space = cairn_spaces_get(&collect->spaces, pid);
    assert_non_null(space);
    assert_int_equal(cairn_space_add(&collect->spaces, space, &news), CAIRN_OK);
    assert_int_equal(cairn_collect_add(collect, &caught), CAIRN_OK);
}

static void processes_that_map_the_same_file_share_its_frames_and_stacks(void **state)
{
    (void)state;
    struct cairn_collect collect = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, &err), err);
    const struct cairn_profile *p = collect.profile;
    catch_at(&collect, PID, 0x1000, "/bin/program");
    size_t n_frames = p->n_frames, n_stacks = p->n_stacks;
    catch_at(&collect, PID + 1, 0x7000, "/bin/program");
    assert_int_equal(p->n_modules, 2);
    assert_int_equal(p->n_frames, n_frames);
    assert_int_equal(p->n_stacks, n_stacks);
    assert_int_equal(p->samples[1].stack, p->samples[0].stack);
    assert_int_equal(frame_of(p, p->samples[1].stack)->address, 0x1010);
    assert_int_equal(cairn_profile_find_label(p, p->samples[1].labels, "pid")->number, PID + 1);
    catch_at(&collect, PID + 2, 0x9000, "/bin/other"); /* another name of the same file */
    catch_at(&collect, PID + 3, 0xb000, "/memfd:jit (deleted)");
    catch_at(&collect, PID + 4, 0xd000, "/memfd:jit (deleted)"); /* may hold anything */
    assert_int_equal(p->n_modules, 5);
    assert_int_equal(frame_of(p, p->samples[4].stack)->address, 0xd010);
    cairn_collect_done(&collect);
}

enum { BOUND = 256 << 10, ROUNDS = 20000 };

/* One that was never there, below two frames that always are. */
static int catch_new(struct cairn_collect *collect, int pid, uint64_t number)
{
    const uint64_t addresses[] = {0x100000 + 16 * number, 0x1020, 0x1030};
    const struct cairn_sampled caught = {
        .pid = pid, .tid = pid, .user = {.chain = addresses, .n_chain = 3}, .value = PERIOD_NS};
    return cairn_collect_add(collect, &caught);
}

static void beyond_the_bound_new_stacks_are_cut_to_what_is_known(void **state)
{
    (void)state;
    struct cairn_collect collect;
    assert_int_equal(fill(&collect), CAIRN_OK);
    struct cairn_profile *p = collect.profile;
    uint32_t first = p->samples[0].stack, outer;
    collect.memory_max = BOUND;
    ((struct cairn_space *)collect.spaces.all.items[0])->is_partial =
        true; /* code may lie anywhere */
    for (uint64_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(catch_new(&collect, PID, i), CAIRN_OK);
        assert_in_range(cairn_profile_bytes(p), 1, BOUND);
    }
    assert_int_equal(p->closed, CAIRN_PROFILE_NO_STACKS);
    assert_int_equal(collect.n_samples, 3 + ROUNDS);
    assert_int_equal(collect.n_unkept, 0);
    outer = p->samples[collect.last].stack;
    assert_int_equal(outer, p->stacks[first].parent);
    assert_string_equal(cairn_profile_cut_of(p, collect.last), "no memory for more stacks");
    assert_true(p->values[2 * collect.last] > ROUNDS / 2);
    cairn_collect_done(&collect);
}

static void beyond_all_of_the_bound_new_samples_are_counted_alone(void **state)
{
    (void)state;
    struct cairn_collect collect;
    struct cairn_collected collected;
    const struct cairn_collect_more one = {.n = 1, .value = PERIOD_NS};
    assert_int_equal(fill(&collect), CAIRN_OK);
    struct cairn_profile *p = collect.profile;
    collect.memory_max = BOUND;
    for (int i = 1; i < ROUNDS; i++) {
        collected = (struct cairn_collected){.stack = p->samples[0].stack, .pid = i, .tid = i};
        assert_int_equal(cairn_collect_sample(&collect, &collected, &one), CAIRN_OK);
        assert_in_range(cairn_profile_bytes(p), 1, BOUND);
    }
    assert_int_equal(p->closed, CAIRN_PROFILE_NO_SAMPLES);
    assert_int_equal(collect.last, CAIRN_COLLECT_UNKEPT);
    assert_int_equal(collect.n_samples + collect.n_unkept, 3 + ROUNDS - 1);
    assert_in_range(collect.n_unkept, 1, ROUNDS - 1);
    uint64_t n_unkept = collect.n_unkept, n_samples = collect.n_samples;
    cairn_collect_again(&collect, collect.last, 0, 5, 5);
    assert_int_equal(collect.n_unkept, n_unkept + 5);
    collected = (struct cairn_collected){.stack = p->samples[0].stack, .pid = 1, .tid = 1};
    assert_int_equal(cairn_collect_sample(&collect, &collected, &one), CAIRN_OK); /* is known */
    assert_int_equal(collect.n_samples, n_samples + 1);
    cairn_collect_done(&collect);
}

/* As a JIT compiler has it: again and again at the same place, or at another. */
static void executable_memory_of_no_file_is_a_module_by_its_place(void **state)
{
    (void)state;
    struct cairn_collect collect = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, &err), err);
    const struct cairn_profile *p = collect.profile;
    for (int i = 0; i < 3; i++)
        catch_at(&collect, PID + i, 0x1000, "//anon");
    assert_int_equal(p->n_modules, 2);
    catch_at(&collect, PID, 0x7000, "");
    assert_int_equal(p->n_modules, 3);
    const struct cairn_profile_frame *frame = frame_of(p, p->samples[3].stack);
    assert_int_equal(frame->address, 0x7010);
    assert_string_equal(cairn_strings_get(&p->strings, p->modules[frame->module].path), "[anon]");
    cairn_collect_done(&collect);
}

/* Number 2 in the first pid namespace is the kernel's. */
static void a_kernel_thread_has_a_whole_stack_without_a_user_side(void **state)
{
    (void)state;
    struct cairn_collect collect = {0};
    struct cairn_err err = {0};
    struct cairn_thread_stat stat;
    struct cairn_sampled caught = {.pid = 2, .tid = 2, .kernel = kernel, .n_kernel = 2};
    if (cairn_thread_stat(2, 2, &stat, NULL) < 0 || !(stat.flags & 0x00200000)) {
        print_message("no kernel thread is seen here: not tried\n");
        skip();
    }
    assert_ok(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, &err), err);
    assert_int_equal(cairn_collect_add(&collect, &caught), CAIRN_OK);
    assert_int_equal(collect.n_whole, 1);
    caught.pid = caught.tid = getpid(); /* has one, which was not caught */
    assert_int_equal(cairn_collect_add(&collect, &caught), CAIRN_OK);
    assert_int_equal(collect.n_cut, 1);
    assert_string_equal(cairn_profile_cut_of(collect.profile, 1), "no user stack");
    cairn_collect_done(&collect);
}

static void the_program_is_the_first_module(void **state)
{
    (void)state;
    struct cairn_collect collect;
    struct cairn_err err = {0};
    const struct cairn_stream_mapping program = {
        .start = 0x1000, .size = 0x1000, .inode = 2, .path = "/bin/program"};
    const struct cairn_stream_mapping library = {
        .start = 0x5000, .size = 0x1000, .inode = 3, .path = "/lib/library"};
    static const uint64_t there[] = {0x5010};
    const struct cairn_sampled caught = {
        .pid = PID, .tid = PID, .user = {.chain = there, .n_chain = 1}};
    assert_ok(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, &err), err);
    struct cairn_space *space = cairn_spaces_get(&collect.spaces, PID);
    cairn_space_add(&collect.spaces, space, &program);
    cairn_space_add(&collect.spaces, space, &library);
    assert_int_equal(cairn_collect_add(&collect, &caught), CAIRN_OK);
    assert_string_equal(
        cairn_strings_get(&collect.profile->strings, collect.profile->modules[1].path),
        "/bin/program");
    cairn_collect_done(&collect);
}

static void every_lack_of_memory_is_told(void **state)
{
    (void)state;
    bool done = false;
    for (long n = 0; !done && n < 10000; n++) {
        struct cairn_collect collect = {0};
        cairn_alloc_fail_after(n);
        int code = fill(&collect);
        cairn_alloc_fail_after(-1);
        done = code == CAIRN_OK && collect.n_samples == 3;
        assert_true(code == CAIRN_OK || code == CAIRN_E_NOMEM);
        cairn_collect_done(&collect);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_samples_are_summed),
        cmocka_unit_test(the_leaf_is_exact_and_callers_point_into_their_calls),
        cmocka_unit_test(kernel_frames_lie_below_the_user_side_in_a_module_of_their_own),
        cmocka_unit_test(a_sample_tells_its_thread_and_why_it_is_cut),
        cmocka_unit_test(a_process_that_spent_its_share_is_cut_with_that_reason),
        cmocka_unit_test(samples_with_times_stay_apart_and_tell_them),
        cmocka_unit_test(a_sample_tells_its_process_and_cgroup),
        cmocka_unit_test(processes_that_map_the_same_file_share_its_frames_and_stacks),
        cmocka_unit_test(beyond_the_bound_new_stacks_are_cut_to_what_is_known),
        cmocka_unit_test(beyond_all_of_the_bound_new_samples_are_counted_alone),
        cmocka_unit_test(executable_memory_of_no_file_is_a_module_by_its_place),
        cmocka_unit_test(a_kernel_thread_has_a_whole_stack_without_a_user_side),
        cmocka_unit_test(the_program_is_the_first_module),
        cmocka_unit_test(every_lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
