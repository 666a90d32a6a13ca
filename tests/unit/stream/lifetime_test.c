/* SPDX-License-Identifier: MIT */
#include "stream/lifetime.h"

#include "stream/mapping.h"
#include "stream/name.h"
#include "tests/support/test.h"

enum { PID = 4242, CHILD = 5000, MAX = 4 };

/* As a sampler keeps it. */
struct item {
    struct cairn_stream_space space;
    int secret;
};

static bool is_there; /* does a process have the number of the one that exited? */
static int n_ended;

static void reset(struct cairn_stream_space *item)
{
    ((struct item *)item)->secret = 0;
}

static void inherit(struct cairn_stream_space *item, const struct cairn_stream_space *parent)
{
    ((struct item *)item)->secret = ((const struct item *)parent)->secret;
}

static void end_item(struct cairn_stream_space *item)
{
    (void)item;
    n_ended++;
}

static bool is_over(const struct cairn_stream_space *item)
{
    (void)item;
    return !is_there;
}

static const struct cairn_stream_source live = {.item_bytes = sizeof(struct item),
                                                .n_max = MAX,
                                                .item_reset = reset,
                                                .item_inherit = inherit,
                                                .item_end = end_item,
                                                .item_is_over = is_over};

struct fixture {
    struct cairn_profile *profile;
    struct cairn_stream_processes all;
};

/* `source` NULL: a recording. PID has one mapping and is called "parent". */
static struct fixture begin(const struct cairn_stream_source *source)
{
    struct cairn_err err = {0};
    struct fixture f = {.all.source = source};
    const struct cairn_stream_mapping mapping = {
        .start = 0x1000, .size = 0x1000, .dev = 1, .inode = 2, .path = "/bin/program"};
    assert_ok(cairn_profile_new(&f.profile, &err), err);
    struct cairn_stream_space *space = cairn_stream_processes_get(&f.all, PID);
    assert_non_null(space);
    assert_int_equal(cairn_stream_space_map(space, f.profile, &mapping, &f.all.load), 1);
    assert_int_equal(cairn_stream_set_name(&f.all.names, f.profile, PID, "parent"), CAIRN_OK);
    is_there = false;
    n_ended = 0;
    return f;
}

static void end(struct fixture *f)
{
    cairn_stream_processes_done(&f->all);
    cairn_profile_free(f->profile);
}

static int fork_as(struct fixture *f, int pid, int tid, int parent)
{
    const struct cairn_stream_birth birth = {
        .pid = pid, .tid = tid, .parent_pid = parent, .parent_tid = parent};
    return cairn_stream_processes_fork(&f->all, &birth);
}

static const char *name_of(const struct fixture *f, int tid)
{
    uint32_t text;
    return cairn_table_find(&f->all.names, (uint32_t)tid, &text)
               ? cairn_strings_get(&f->profile->strings, text)
               : "";
}

static const struct cairn_stream_map *code_of(const struct fixture *f, int pid)
{
    const struct cairn_stream_space *space = cairn_stream_processes_find(&f->all, pid);
    return space ? cairn_stream_space_find(space, 0x1010) : NULL;
}

static void a_fork_copies_mappings_and_the_name_whatever_the_source(void **state)
{
    (void)state;
    const struct cairn_stream_source *const sources[] = {NULL, &live};
    for (int i = 0; i < 2; i++) {
        struct fixture f = begin(sources[i]);
        if (sources[i])
            ((struct item *)cairn_stream_processes_find(&f.all, PID))->secret = 7;
        assert_int_equal(fork_as(&f, CHILD, CHILD, PID), 1);
        assert_non_null(code_of(&f, CHILD));
        assert_string_equal(name_of(&f, CHILD), "parent");
        if (sources[i])
            assert_int_equal(((struct item *)cairn_stream_processes_find(&f.all, CHILD))->secret,
                             7);
        assert_int_equal(fork_as(&f, PID, PID + 1, PID), 1); /* a thread has no mappings */
        assert_null(cairn_stream_processes_find(&f.all, PID + 1));
        assert_string_equal(name_of(&f, PID + 1), "parent");
        end(&f);
    }
}

static void a_bare_fork_copies_nothing(void **state)
{
    (void)state;
    struct fixture f = begin(NULL);
    const struct cairn_stream_birth birth = {
        .pid = CHILD, .tid = CHILD, .parent_pid = PID, .parent_tid = PID, .is_bare = true};
    assert_int_equal(cairn_stream_processes_fork(&f.all, &birth), 1);
    assert_non_null(cairn_stream_processes_find(&f.all, CHILD));
    assert_null(code_of(&f, CHILD));
    end(&f);
}

static void execve_ends_the_old_program(void **state)
{
    (void)state;
    struct fixture f = begin(&live);
    ((struct item *)cairn_stream_processes_find(&f.all, PID))->secret = 7;
    assert_int_equal(cairn_stream_processes_exec(&f.all, PID), CAIRN_OK);
    assert_null(code_of(&f, PID));
    assert_int_equal(((struct item *)cairn_stream_processes_find(&f.all, PID))->secret, 0);
    end(&f);
    f = begin(NULL); /* a stack inside of the call is still the old program's */
    assert_int_equal(cairn_stream_processes_exec(&f.all, PID), CAIRN_OK);
    assert_non_null(code_of(&f, PID));
    cairn_stream_space_drop_old(cairn_stream_processes_find(&f.all, PID), &f.all.load);
    assert_null(code_of(&f, PID));
    end(&f);
}

/* The kernel ends the others, the first one too, and gives its number to the caller. */
static void the_thread_that_called_execve_is_the_last_one(void **state)
{
    (void)state;
    struct fixture f = begin(NULL);
    assert_int_equal(fork_as(&f, PID, PID + 1, PID), 1);
    assert_int_equal(cairn_stream_processes_exit(&f.all, PID, PID), CAIRN_OK);
    assert_int_equal(cairn_stream_processes_exec(&f.all, PID), CAIRN_OK);
    assert_non_null(code_of(&f, PID));
    assert_int_equal(cairn_stream_processes_exit(&f.all, PID, PID), CAIRN_OK);
    assert_null(code_of(&f, PID));
    assert_int_equal(f.all.load.n_maps, 0);
    end(&f);
}

static void a_live_process_is_kept_a_turn_and_as_long_as_its_number(void **state)
{
    (void)state;
    struct fixture f = begin(&live);
    is_there = true;
    assert_int_equal(cairn_stream_processes_exit(&f.all, PID, PID), CAIRN_OK);
    assert_int_equal(n_ended, 1);
    for (int i = 0; i < 2; i++)
        cairn_stream_processes_turn(&f.all);
    assert_non_null(code_of(&f, PID)); /* a zombie, or another process */
    is_there = false;
    assert_int_equal(cairn_stream_processes_exit(&f.all, PID, PID), CAIRN_OK);
    cairn_stream_processes_turn(&f.all);
    assert_non_null(code_of(&f, PID));
    cairn_stream_processes_turn(&f.all);
    assert_null(cairn_stream_processes_find(&f.all, PID));
    assert_string_equal(name_of(&f, PID), "");
    end(&f);
}

static void what_exited_gives_way_at_the_limit_and_what_lives_does_not(void **state)
{
    (void)state;
    struct fixture f = begin(&live);
    for (int pid = CHILD; pid < CHILD + MAX - 1; pid++)
        assert_non_null(cairn_stream_processes_get(&f.all, pid));
    assert_null(cairn_stream_processes_get(&f.all, CHILD + MAX));
    assert_int_equal(fork_as(&f, CHILD + MAX, CHILD + MAX, PID), CAIRN_E_NOMEM);
    assert_int_equal(cairn_stream_processes_exit(&f.all, CHILD, CHILD), CAIRN_OK);
    assert_int_equal(fork_as(&f, CHILD + MAX, CHILD + MAX, PID), 1);
    assert_null(cairn_stream_processes_find(&f.all, CHILD));
    assert_non_null(code_of(&f, CHILD + MAX));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_copies_mappings_and_the_name_whatever_the_source),
        cmocka_unit_test(a_bare_fork_copies_nothing),
        cmocka_unit_test(execve_ends_the_old_program),
        cmocka_unit_test(the_thread_that_called_execve_is_the_last_one),
        cmocka_unit_test(a_live_process_is_kept_a_turn_and_as_long_as_its_number),
        cmocka_unit_test(what_exited_gives_way_at_the_limit_and_what_lives_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
