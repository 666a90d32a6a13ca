/* SPDX-License-Identifier: MIT */
#include "stream/push.h"

#include "stream/mapping.h"
#include "stream/processes.h"
#include "tests/support/test.h"

struct fixture {
    struct cairn_profile *profile;
    struct cairn_stream_processes all;
    struct cairn_stream_space *space;
    struct cairn_stream_sink sink;
};

static uint32_t module_of(void *ctx, struct cairn_stream_map *map)
{
    struct fixture *f = ctx;
    return cairn_stream_module(&f->all.modules, f->profile, 0, map);
}

static void begin(struct fixture *f)
{
    struct cairn_err err = {0};
    *f = (struct fixture){0};
    assert_ok(cairn_profile_new(&f->profile, &err), err);
    f->space = cairn_stream_processes_add(&f->all, 1);
    f->sink = (struct cairn_stream_sink){f->profile, module_of, f};
    for (uint64_t i = 0; i < 2; i++) {
        const struct cairn_stream_mapping mapping = {.start = 0x1000 + i * 0x1000,
                                                     .size = 0x1000,
                                                     .inode = 1 + i,
                                                     .path = i ? "/lib/b.so" : "/bin/a"};
        assert_int_equal(cairn_stream_space_map(f->space, f->profile, &mapping, &f->all.load), 1);
    }
}

static void drop(struct fixture *f)
{
    cairn_stream_processes_done(&f->all);
    cairn_profile_free(f->profile);
}

static const struct cairn_profile_frame *frame_of(const struct fixture *f, uint32_t stack)
{
    return &f->profile->frames[f->profile->stacks[stack].frame];
}

static void frames_become_a_stack_from_the_outermost_on(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t stack = 0;
    begin(&f);
    const struct cairn_stream_frame frames[] = {
        {.va = 0x2000, .how = CAIRN_HOW_START, .exact = true},
        {.number = cairn_stream_named_frame(f.profile, "script")},
        {.va = 0x2000, .how = CAIRN_HOW_CFI, .own = true}, /* behind a's last call */
        {.va = 0x9000, .how = CAIRN_HOW_FP},
    };
    assert_true(cairn_stream_push(&f.sink, f.space, frames, 4, &stack));
    const struct cairn_profile_frame *frame = frame_of(&f, stack);
    assert_int_equal(frame->address, 0x2000);
    assert_int_equal(f.profile->modules[frame->module].start, 0x2000);
    stack = f.profile->stacks[stack].parent;
    assert_int_equal(f.profile->stacks[stack].frame, frames[1].number);
    stack = f.profile->stacks[stack].parent;
    frame = frame_of(&f, stack);
    assert_int_equal(frame->address, 0x1fff);
    assert_int_equal(f.profile->modules[frame->module].start, 0x1000);
    assert_int_equal(frame->how, CAIRN_HOW_CFI);
    assert_true(frame->own);
    stack = f.profile->stacks[stack].parent;
    assert_int_equal(frame_of(&f, stack)->module, 0);
    assert_int_equal(f.profile->stacks[stack].parent, 0);
    drop(&f);
}

static void a_full_profile_keeps_the_outer_part(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t stack = 0, outer;
    begin(&f);
    const struct cairn_stream_frame frames[] = {{.va = 0x2010, .exact = true}, {.va = 0x1010}};
    assert_true(cairn_stream_push(&f.sink, f.space, &frames[1], 1, &stack));
    outer = stack;
    stack = 0;
    f.profile->closed = CAIRN_PROFILE_NO_STACKS;
    assert_false(cairn_stream_push(&f.sink, f.space, frames, 2, &stack));
    assert_int_equal(stack, outer);
    drop(&f);
}

static void the_program_is_the_first_module(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t stack = 0;
    begin(&f);
    const struct cairn_stream_frame frame = {.va = 0x2010, .exact = true};
    assert_true(cairn_stream_add_program(&f.sink, f.space));
    assert_true(cairn_stream_push(&f.sink, f.space, &frame, 1, &stack));
    assert_int_equal(f.profile->modules[1].start, 0x1000);
    assert_int_equal(frame_of(&f, stack)->module, 2);
    drop(&f);
}

static void code_of_the_kernel_may_have_a_name(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t stack = 0;
    begin(&f);
    uint32_t module = cairn_profile_add_kernel(f.profile, 0, "");
    uint32_t name = cairn_profile_text(f.profile, "bpf_prog", 8);
    const uint64_t va = UINT64_MAX - 0xfff;
    assert_true(cairn_stream_push_kernel(f.profile, va, false, module, name, &stack));
    assert_int_equal(frame_of(&f, stack)->what, CAIRN_WHAT_KERNEL);
    assert_true(frame_of(&f, stack)->address == va - 1);
    assert_int_equal(frame_of(&f, stack)->n_lines, 1);
    assert_false(cairn_stream_push_kernel(f.profile, va, true, UINT32_MAX, 0, &stack));
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_become_a_stack_from_the_outermost_on),
        cmocka_unit_test(a_full_profile_keeps_the_outer_part),
        cmocka_unit_test(the_program_is_the_first_module),
        cmocka_unit_test(code_of_the_kernel_may_have_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
