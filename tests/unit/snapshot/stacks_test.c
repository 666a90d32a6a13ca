/* SPDX-License-Identifier: MIT */
#include "snapshot/stacks.h"

#include "tests/support/test.h"

enum { PAGE = 0x1000 };

struct fixture {
    struct cairn_stacks stacks;
    struct cairn_unwind_space *space;
    const char *second; /* path of what lies in the page behind the first one */
};

static int read_nothing(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx, (void)va, (void)to, (void)size;
    return -1;
}

/* Two pages of code, apart from each other by their files alone. */
static int find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    const struct fixture *f = ctx;
    if (va < PAGE || va >= 3 * PAGE)
        return -1;
    *ret_region = (struct cairn_unwind_region){
        .start = va / PAGE * PAGE,
        .end = va / PAGE * PAGE + PAGE,
        .flags = CAIRN_MAP_EXEC,
        .path = va < 2 * PAGE ? "/bin/a" : f->second,
    };
    return 0;
}

static void begin(struct fixture *f)
{
    struct cairn_err err = {0};
    *f = (struct fixture){.second = "/lib/b.so"};
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .ctx = f, .read = read_nothing, .find = find};
    assert_ok(cairn_unwind_space_new(&accessors, &f->space, &err), err);
    assert_ok(cairn_stacks_init(&f->stacks, &err), err);
}

static void end(struct fixture *f)
{
    cairn_stacks_done(&f->stacks);
    cairn_unwind_space_free(f->space);
}

/* The path of the module in which the frame is looked up. */
static const char *path_of(struct fixture *f, uint64_t ip, bool is_exact)
{
    const struct cairn_cursor_frame frame = {.ip = ip, .how = CAIRN_HOW_CFI, .exact = is_exact};
    assert_int_equal(cairn_stacks_add_user(&f->stacks, f->space, &frame), CAIRN_OK);
    const struct cairn_profile *p = f->stacks.profile;
    uint32_t number = f->stacks.rows[f->stacks.n_rows - 1].number;
    return cairn_strings_get(&p->strings, p->modules[p->frames[number].module].path);
}

static void a_call_that_ends_a_mapping_belongs_to_it(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_string_equal(path_of(&f, 2 * PAGE, false), "/bin/a");
    assert_string_equal(path_of(&f, 2 * PAGE, true), "/lib/b.so");
    assert_string_equal(path_of(&f, 3 * PAGE, false), "/lib/b.so");
    end(&f);
}

static void code_without_a_path_has_no_module(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.second = NULL;
    assert_string_equal(path_of(&f, 2 * PAGE + 8, true), "");
    assert_string_equal(path_of(&f, 9 * PAGE, true), "");
    end(&f);
}

static void other_files_are_seen_after_a_change(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_string_equal(path_of(&f, 2 * PAGE + 8, true), "/lib/b.so");
    f.second = "/lib/c.so";
    assert_string_equal(path_of(&f, 2 * PAGE + 8, true), "/lib/b.so");
    cairn_unwind_space_refresh(f.space);
    cairn_stacks_forget_modules(&f.stacks);
    assert_string_equal(path_of(&f, 2 * PAGE + 8, true), "/lib/c.so");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_ends_a_mapping_belongs_to_it),
        cmocka_unit_test(code_without_a_path_has_no_module),
        cmocka_unit_test(other_files_are_seen_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
