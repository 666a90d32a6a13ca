/* SPDX-License-Identifier: MIT */
#include "stream/mapping.h"
#include "stream/processes.h"
#include "tests/support/test.h"

enum { PID = 4242 };

struct fixture {
    struct cairn_profile *profile;
    struct cairn_stream_processes all;
    struct cairn_stream_space *space;
};

static struct fixture make(void)
{
    struct fixture f = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_profile_new(&f.profile, &err), err);
    f.space = cairn_stream_processes_add(&f.all, PID);
    assert_non_null(f.space);
    return f;
}

static void drop(struct fixture *f)
{
    cairn_stream_processes_done(&f->all);
    cairn_profile_free(f->profile);
}

static void map(struct fixture *f, uint64_t start, uint64_t size, uint64_t off, const char *path)
{
    const struct cairn_stream_mapping mapping = {
        .start = start, .size = size, .off = off, .dev = 1, .inode = 2, .path = path};
    assert_int_equal(cairn_stream_space_map(f->space, f->profile, &mapping, &f->all.load), 1);
}

static const char *path_at(struct fixture *f, uint64_t va)
{
    const struct cairn_stream_map *found = cairn_stream_space_find(f->space, va);
    return found ? cairn_strings_get(&f->profile->strings, found->path) : NULL;
}

static void a_mapping_is_found_from_its_first_to_its_last_byte(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x5000, 0x1000, 0, "/b");
    map(&f, 0x1000, 0x1000, 0, "/a");
    assert_null(path_at(&f, 0xfff));
    assert_string_equal(path_at(&f, 0x1000), "/a");
    assert_string_equal(path_at(&f, 0x1fff), "/a");
    assert_null(path_at(&f, 0x2000));
    assert_string_equal(path_at(&f, 0x5800), "/b");
    drop(&f);
}

static void a_new_mapping_cuts_a_hole_into_an_old_one(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x1000, 0x4000, 0x10000, "/a");
    map(&f, 0x2000, 0x1000, 0, "/b");
    assert_int_equal(f.space->n, 3);
    assert_string_equal(path_at(&f, 0x1fff), "/a");
    assert_string_equal(path_at(&f, 0x2000), "/b");
    assert_string_equal(path_at(&f, 0x3000), "/a");
    assert_int_equal(cairn_stream_space_find(f.space, 0x3000)->off, 0x12000);
    assert_int_equal(cairn_stream_space_find(f.space, 0x1000)->off, 0x10000);
    drop(&f);
}

static void a_new_mapping_swallows_and_trims_its_neighbours(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x1000, 0x1000, 0, "/a");
    map(&f, 0x2000, 0x1000, 0, "/b");
    map(&f, 0x3000, 0x1000, 0x5000, "/c");
    map(&f, 0x1800, 0x2000, 0, "/new");
    assert_int_equal(f.space->n, 3);
    assert_string_equal(path_at(&f, 0x17ff), "/a");
    assert_string_equal(path_at(&f, 0x2800), "/new");
    assert_string_equal(path_at(&f, 0x3800), "/c");
    assert_int_equal(cairn_stream_space_find(f.space, 0x3800)->off, 0x5800);
    map(&f, 0, UINT64_MAX, 0, "/all");
    assert_int_equal(f.space->n, 1);
    drop(&f);
}

static void impossible_ranges_are_left_out(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x1000, 0, 0, "/empty");
    map(&f, UINT64_MAX - 10, 100, 0, "/around");
    assert_int_equal(f.space->n, 0);
    drop(&f);
}

static void every_damaged_order_keeps_the_mappings_sorted_and_apart(void **state)
{
    (void)state;
    struct fixture f = make();
    uint64_t random = 42;
    for (unsigned round = 0; round < 3000; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        map(&f, (random >> 33) % 4096, (random >> 50) % 512, random >> 60, "/x");
    }
    for (size_t i = 0; i < f.space->n; i++) {
        assert_true(f.space->maps[i].start < f.space->maps[i].end);
        assert_true(i == 0 || f.space->maps[i - 1].end <= f.space->maps[i].start);
    }
    drop(&f);
}

static void what_the_kernel_appends_is_no_part_of_a_path(void **state)
{
    (void)state;
    struct fixture f = make();
    map(&f, 0x1000, 0x1000, 0, "/bin/x (deleted)");
    map(&f, 0x2000, 0x1000, 0, "//anon");
    map(&f, 0x3000, 0x1000, 0, "[vdso]");
    assert_string_equal(path_at(&f, 0x1000), "/bin/x");
    assert_true(cairn_stream_space_find(f.space, 0x1000)->is_deleted);
    assert_string_equal(path_at(&f, 0x2000), "");
    assert_string_equal(path_at(&f, 0x3000), "[vdso]");
    assert_false(cairn_stream_space_find(f.space, 0x3000)->is_deleted);
    drop(&f);
}

static void a_build_id_of_zeros_is_none(void **state)
{
    (void)state;
    static const uint8_t ids[2][3] = {{0, 0, 0}, {0, 1, 0xab}};
    struct fixture f = make();
    for (int i = 0; i < 2; i++) {
        uint32_t text =
            cairn_stream_build_id_text(f.profile, (struct cairn_span){ids[i], sizeof ids[i]});
        assert_string_equal(cairn_strings_get(&f.profile->strings, text), i ? "0001ab" : "");
    }
    drop(&f);
}

static void no_two_states_have_one_version(void **state)
{
    (void)state;
    struct fixture f = make();
    struct cairn_stream_space *child = cairn_stream_processes_add(&f.all, PID + 1);
    uint64_t last = child->version;
    assert_true(last > f.space->version);
    map(&f, 0x1000, 0x1000, 0, "/a");
    assert_true(f.space->version > last);
    last = f.space->version;
    assert_int_equal(cairn_stream_space_copy(child, f.space, &f.all.load), 1);
    assert_true(child->version > last);
    assert_int_equal(child->n, 1);
    assert_int_equal(f.all.load.n_maps, 2);
    last = child->version;
    cairn_stream_space_clear(child, &f.all.load);
    assert_true(child->version > last);
    assert_int_equal(f.all.load.n_maps, 1);
    drop(&f);
}

/* A file may hold any number of them. */
static void a_million_execs_take_no_time(void **state)
{
    (void)state;
    enum { MAPS = 100000, EXECS = 1000000 };
    struct fixture f = make();
    for (uint64_t i = 0; i < MAPS; i++)
        map(&f, 0x10000 + 0x2000 * i, 0x1000, 0, "/old");
    for (int i = 0; i < EXECS; i++)
        cairn_stream_space_leave(f.space);
    map(&f, 0x10800, 0x100, 0, "/new");
    struct cairn_stream_space *child = cairn_stream_processes_add(&f.all, PID + 1);
    assert_int_equal(cairn_stream_space_copy(child, f.space, &f.all.load), 1);
    assert_string_equal(path_at(&f, 0x10000), "/old"); /* until then */
    cairn_stream_space_drop_old(f.space, &f.all.load);
    cairn_stream_space_drop_old(child, &f.all.load);
    assert_null(path_at(&f, 0x10000));
    assert_string_equal(path_at(&f, 0x10800), "/new");
    assert_int_equal(f.space->n, 1);
    assert_int_equal(child->n, 1);
    assert_int_equal(f.all.load.n_maps, 2);
    drop(&f);
}

static void what_is_removed_leaves_its_place_to_the_last(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    struct fixture f = make();
    for (int pid = 1; pid <= MANY; pid++)
        assert_non_null(cairn_stream_processes_add(&f.all, pid));
    for (int pid = 1; pid <= MANY; pid += 2)
        cairn_stream_processes_remove(&f.all, pid);
    cairn_stream_processes_remove(&f.all, 1); /* twice is fine */
    assert_int_equal(f.all.n, 1 + MANY / 2);
    for (int pid = 1; pid <= MANY; pid++) {
        const struct cairn_stream_space *found = cairn_stream_processes_find(&f.all, pid);
        assert_int_equal(found != NULL, pid % 2 == 0);
        assert_true(!found || found->pid == pid);
    }
    assert_ptr_equal(cairn_stream_processes_find(&f.all, PID), f.space);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_is_found_from_its_first_to_its_last_byte),
        cmocka_unit_test(a_new_mapping_cuts_a_hole_into_an_old_one),
        cmocka_unit_test(a_new_mapping_swallows_and_trims_its_neighbours),
        cmocka_unit_test(impossible_ranges_are_left_out),
        cmocka_unit_test(every_damaged_order_keeps_the_mappings_sorted_and_apart),
        cmocka_unit_test(what_the_kernel_appends_is_no_part_of_a_path),
        cmocka_unit_test(a_build_id_of_zeros_is_none),
        cmocka_unit_test(no_two_states_have_one_version),
        cmocka_unit_test(a_million_execs_take_no_time),
        cmocka_unit_test(what_is_removed_leaves_its_place_to_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
