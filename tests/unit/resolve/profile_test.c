/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include "fixture.h"

static uint32_t text_number(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static uint32_t add_module(struct cairn_profile *p, const char *path, uint64_t start, uint64_t off)
{
    return cairn_profile_add_module(p, &(struct cairn_profile_module){
                                           .start = start,
                                           .end = start ? start + 0x1000 : 0,
                                           .off = off,
                                           .path = text_number(p, path),
                                       });
}

static uint32_t add_frame(struct cairn_profile *p, uint32_t module, uint64_t address)
{
    return cairn_profile_add_frame(
        p,
        &(struct cairn_profile_frame){.address = address, .module = module, .how = CAIRN_HOW_TEXT},
        NULL, 0);
}

/* The name of a frame's outermost line; NULL where it has none. */
static const char *name_of(const struct cairn_profile *p, uint32_t frame)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    if (!f->n_lines)
        return NULL;
    uint32_t function = p->lines[f->lines + f->n_lines - 1].function;
    return cairn_strings_get(&p->strings, p->functions[function].name);
}

static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&p, &err), err);
    return p;
}

static struct cairn_resolve_summary resolve(struct cairn_profile *p,
                                            const struct cairn_resolve_opts *opts)
{
    struct cairn_resolver *resolver = fixture_resolver(opts);
    struct cairn_err err;
    assert_ok(cairn_resolve_profile(resolver, p, &err), err);
    struct cairn_resolve_summary summary = fixture_summary(resolver);
    cairn_resolver_free(resolver);
    return summary;
}

static void addresses_of_a_profile_are_not_adjusted(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t lld = add_module(p, "/opt/lld.so", 0x7f0000001000, 0);
    uint32_t first = add_frame(p, lld, 0x7f0000001c1f), second = add_frame(p, lld, 0x7f0000001c20);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolve_summary s = resolve(p, &opts);
    assert_string_equal(name_of(p, first), "first");
    assert_string_equal(name_of(p, second), "second");
    assert_int_equal(p->frames[first].address, 0x7f0000001c1f);
    assert_int_equal(s.n_frames, 2);
    assert_int_equal(s.n_named, 2);
    assert_true(p->modules[lld].has_functions);
    assert_false(p->modules[lld].has_lines); /* the program has no line tables */
    cairn_profile_free(p);
}

static void named_frames_and_frames_without_address_stay(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t lld = add_module(p, "/opt/lld.so", 0x7f0000001000, 0);
    struct cairn_profile_function function = {.name = text_number(p, "mine")};
    struct cairn_profile_line line = {cairn_profile_add_function(p, &function), 3};
    uint32_t named = cairn_profile_add_frame(
        p,
        &(struct cairn_profile_frame){
            .address = 0x7f0000001c10, .module = lld, .how = CAIRN_HOW_TEXT},
        &line, 1);
    uint32_t bare = add_frame(p, CAIRN_PROFILE_NO_MODULE, 0);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolve_summary s = resolve(p, &opts);
    assert_string_equal(name_of(p, named), "mine");
    assert_null(name_of(p, bare));
    assert_int_equal(s.n_unique, 0);
    cairn_profile_free(p);
}

static void modules_of_two_processes_may_lie_at_one_place(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t lld = add_module(p, "/opt/lld.so", 0x7f0000001000, 0);
    uint32_t two = add_module(p, "/opt/two.so", 0x7f0000001000, 0x1000);
    uint32_t a = add_frame(p, lld, 0x7f0000001c20), b = add_frame(p, two, 0x7f0000001100);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    resolve(p, &opts);
    assert_string_equal(name_of(p, a), "second");
    assert_string_equal(name_of(p, b), "low");
    cairn_profile_free(p);
}

static void one_mapping_may_stand_for_all_of_a_module(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t low = add_module(p, "/opt/two.so", 0x7f0000001000, 0x1000);
    add_module(p, "/opt/two.so", 0x7f0000005000, 0x3000);
    uint32_t frame = add_frame(p, low, 0x7f0000005100);
    uint32_t outside = add_frame(p, low, 0x7f0000009100);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolve_summary s = resolve(p, &opts);
    assert_string_equal(name_of(p, frame), "high");
    assert_null(name_of(p, outside));
    assert_int_equal(s.frames_by_cause[CAIRN_CAUSE_NO_MAPPING], 1);
    cairn_profile_free(p);
}

static void a_mapping_without_range_counts_from_the_load_base(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t two = add_module(p, "/opt/two.so", 0, 0);
    uint32_t frame = add_frame(p, two, 0x5100);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    resolve(p, &opts);
    assert_string_equal(name_of(p, frame), "high");
    cairn_profile_free(p);
}

static void frames_without_module_are_looked_for_in_the_maps(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    uint32_t frame = add_frame(p, CAIRN_PROFILE_NO_MODULE, 0x401004);
    struct cairn_resolve_opts opts =
        fixture_opts("401000-402000 r-xp 00001000 08:01 8 /opt/fixed\n");
    resolve(p, &opts);
    assert_string_equal(name_of(p, frame), "start");
    cairn_profile_free(p);
}

static void generated_code_is_not_blamed_on_missing_maps(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    (void)add_module(p, "/opt/fixed", 0x401000, 0x1000);
    (void)add_frame(p, CAIRN_PROFILE_NO_MODULE, 0x7f0012345678);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    resolve(p, &opts);
    assert_contains(fixture_said, "1 address in no module");
    cairn_profile_free(p);
}

static void a_build_id_of_the_profile_is_asked_for(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_profile_module module = {.start = 0x1000,
                                          .end = 0x2000,
                                          .path = text_number(p, "/opt/lld.so"),
                                          .build_id = text_number(p, "00112233")};
    uint32_t other = cairn_profile_add_module(p, &module);
    module.build_id = text_number(p, "aabbccdd");
    uint32_t same = cairn_profile_add_module(p, &module);
    uint32_t a = add_frame(p, other, 0x1c20), b = add_frame(p, same, 0x1c21);
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolve_summary s = resolve(p, &opts);
    assert_null(name_of(p, a));
    assert_string_equal(name_of(p, b), "second");
    assert_int_equal(s.frames_by_cause[CAIRN_CAUSE_MISMATCH], 1);
    assert_int_equal(s.n_modules_unverified, 0);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(addresses_of_a_profile_are_not_adjusted, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(named_frames_and_frames_without_address_stay, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(modules_of_two_processes_may_lie_at_one_place,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(one_mapping_may_stand_for_all_of_a_module, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_mapping_without_range_counts_from_the_load_base,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(frames_without_module_are_looked_for_in_the_maps,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(generated_code_is_not_blamed_on_missing_maps, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_build_id_of_the_profile_is_asked_for, fixture_enter,
                                        fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
