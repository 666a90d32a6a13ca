/* SPDX-License-Identifier: MIT */
#include "watch/heap.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/threads.h"
#include "rt/program.h"
#include "support/heapwriter.h"
#include "support/memory_io.h"
#include "support/test.h"
#include "watch/missed.h"

enum { KIND = CAIRN_HEAP_KIND_MALLOC, PATH = 256, FOLDER = 200 };
static const uint64_t SECOND = 1000000000;

static struct {
    struct test_heap h;
    uint32_t one, two;
    char folder[FOLDER], path[PATH];
} t;

/* Two stacks, three epochs, a mark at the second; blocks of each. */
static int set_up(void **state)
{
    (void)state;
    test_heap_begin(&t.h, 32);
    test_heap_module(&t.h, 0x400000, 0x500000, 0, "/bin/nothing-there");
    t.one = test_heap_stack(&t.h, 0, 0, (uint64_t[]){0x400101, 0x400201}, 2);
    t.two = test_heap_stack(&t.h, t.one, 1, (uint64_t[]){0x400301}, 1);
    test_heap_epoch(&t.h, 0, 10 * SECOND, 0, 0);
    test_heap_epoch(&t.h, 1, 20 * SECOND, 100, 1);
    test_heap_epoch(&t.h, 2, 30 * SECOND, 300, 0);
    test_heap_block(&t.h, 0x100000, cairn_heap_entry(0x100000, t.one, 100, KIND, 0));
    test_heap_block(&t.h, 0x100020, cairn_heap_entry(0x100020, t.two, 50, KIND, 1));
    test_heap_block(&t.h, 0x100050, cairn_heap_entry(0x100050, t.two, 150, KIND, 2));
    test_heap_counts(&t.h, t.one)->n_allocs = 4;
    test_heap_counts(&t.h, t.one)->alloc_bytes = 400;
    test_heap_counts(&t.h, t.two)->n_allocs = 2;
    test_heap_counts(&t.h, t.two)->alloc_bytes = 200;
    snprintf(t.folder, sizeof t.folder, "%s/cairn-watch.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.path, sizeof t.path, "%s/42-7.heap", t.folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(t.path);
    rmdir(t.folder);
    test_heap_done(&t.h);
    return 0;
}

static void put_file(const char *path, struct cairn_span bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
}

static struct cairn_heap *read_it(void)
{
    struct cairn_heap *heap;
    struct cairn_err err;
    put_file(t.path, test_heap_span(&t.h));
    assert_ok(cairn_heap_read_folder(t.folder, &heap, &err), err);
    return heap;
}

/* The bytes of each leak that a filter keeps, "200 100 ". */
static void assert_leaks(const struct cairn_heap_filter *filter, const char *expected)
{
    struct cairn_heap *heap = read_it();
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    struct cairn_err err;
    char text[PATH] = "";
    size_t n;
    assert_ok(cairn_heap_leaks(heap, filter, &profile, &leaks, &n, &err), err);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%llu/%llu ",
                 (unsigned long long)leaks[i].bytes, (unsigned long long)leaks[i].n_blocks);
    assert_string_equal(text, expected);
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    cairn_heap_free(heap);
}

static void filters_keep_what_they_say(void **state)
{
    (void)state;
    struct cairn_heap_filter filter = {.size = sizeof filter};
    assert_leaks(NULL, "200/2 100/1 ");
    assert_leaks(&filter, "200/2 100/1 ");
    filter.since_mark = 1;
    assert_leaks(&filter, "200/2 ");
    filter = (struct cairn_heap_filter){.size = sizeof filter, .before_mark = 1};
    assert_leaks(&filter, "100/1 ");
    filter = (struct cairn_heap_filter){.size = sizeof filter, .min_bytes = 101};
    assert_leaks(&filter, "200/2 ");
    /* Of the second epoch a block may be no older than its end is. */
    filter = (struct cairn_heap_filter){.size = sizeof filter, .older_than_ns = 10 * SECOND};
    assert_leaks(&filter, "100/1 ");
    filter.older_than_ns = 1;
    assert_leaks(&filter, "100/1 ");
    filter.older_than_ns = 11 * SECOND;
    assert_leaks(&filter, "");
}

static void put_map(uint64_t from, uint64_t to, uint32_t stack, uint32_t kind)
{
    const struct cairn_heap_map map = {from, to, stack, 1, kind, 0};
    test_heap_map(&t.h, &map);
}

static void mappings_are_summed_by_stack_and_kind(void **state)
{
    (void)state;
    struct cairn_heap_totals totals = {.size = sizeof totals};
    struct cairn_profile *profile;
    struct cairn_heap_leak *rows;
    struct cairn_err err;
    size_t n;
    put_map(0x10000, 0x14000, t.one, CAIRN_HEAP_MAP_MEMORY);
    put_map(0x20000, 0x21000, t.one, CAIRN_HEAP_MAP_MEMORY);
    put_map(0, 0x21000, t.one, CAIRN_HEAP_MAP_MEMORY); /* no more */
    put_map(0x30000, 0x31000, t.two, CAIRN_HEAP_MAP_FILE);
    put_map(0x40000, 0x42000, t.two, CAIRN_HEAP_MAP_ALLOCATOR);
    put_map(0x51000, 0x50000, t.two, CAIRN_HEAP_MAP_FILE); /* damaged, these three */
    put_map(0x51000, 0x52000, 77, CAIRN_HEAP_MAP_FILE);
    put_map(0x51000, 0x52000, t.two, 77);
    for (int asked = 0; asked < 2; asked++) {
        test_heap_header(&t.h)->flags = asked ? CAIRN_HEAP_MAPPINGS : 0;
        test_heap_header(&t.h)->live_maps = 3;
        struct cairn_heap *heap = read_it();
        assert_ok(cairn_heap_mapped(heap, &profile, &rows, &n, &err), err);
        assert_int_equal(n, asked ? 3 : 0);
        if (asked) {
            assert_int_equal(rows[0].bytes, 0x5000);
            assert_int_equal(rows[0].n_blocks, 2);
            assert_string_equal(rows[0].kind, "mmap");
            assert_int_equal(rows[0].oldest_ns, 10 * SECOND);
            assert_string_equal(rows[1].kind, "the allocator's own");
            assert_string_equal(rows[2].kind, "mmap of a file");
        }
        cairn_heap_totals(heap, &totals);
        assert_int_equal(totals.n_mapped, 3);
        assert_int_equal(totals.n_damaged, asked ? 3 : 0);
        cairn_heap_leaks_free(rows);
        cairn_profile_free(profile);
        cairn_heap_free(heap);
    }
}

static void sums_of_a_sample_are_estimates_with_an_error(void **state)
{
    (void)state;
    struct cairn_heap_totals totals = {.size = sizeof totals};
    test_heap_header(&t.h)->sample_bytes = 10000;
    struct cairn_heap *heap = read_it();
    cairn_heap_totals(heap, &totals);
    assert_int_equal(totals.sample_bytes, 10000);
    /* Blocks of 50, 100 and 150 bytes stand for some 10,000 each. */
    assert_in_range(totals.live_bytes, 30000, 30300);
    assert_in_range(totals.n_live, 363, 369);
    assert_in_range(totals.live_error, 17320, 17410);
    cairn_heap_free(heap);
}

static void an_unknown_mark_is_said(void **state)
{
    (void)state;
    struct cairn_heap *heap = read_it();
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    const struct cairn_heap_filter filter = {.size = sizeof filter, .since_mark = 5};
    assert_fails(cairn_heap_profile(heap, &filter, &profile, &err), CAIRN_E_ARG, err, "no mark 5");
    assert_null(profile);
    cairn_heap_free(heap);
}

static void a_command_is_one_line(void **state)
{
    (void)state;
    struct cairn_heap_process process = {.size = sizeof process};
    memcpy(test_heap_header(&t.h)->command,
           "./server\0--port\0"
           "80",
           19);
    struct cairn_heap *heap = read_it();
    assert_true(cairn_heap_process(heap, 0, &process));
    assert_string_equal(process.command, "./server --port 80");
    cairn_heap_free(heap);
    memset(test_heap_header(&t.h)->command, 'x', sizeof test_heap_header(&t.h)->command);
    heap = read_it();
    assert_true(cairn_heap_process(heap, 0, &process));
    assert_int_equal(strlen(process.command), sizeof test_heap_header(&t.h)->command - 1);
    cairn_heap_free(heap);
}

static void stacks_without_live_blocks_are_listed_where_asked_for(void **state)
{
    (void)state;
    const struct cairn_heap_filter filter = {.size = sizeof filter, .all_stacks = 1};
    uint32_t gone = test_heap_stack(&t.h, 0, 0, (uint64_t[]){0x400901}, 1);
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    struct cairn_err err;
    size_t n;
    test_heap_counts(&t.h, gone)->n_allocs = 9;
    test_heap_counts(&t.h, gone)->n_frees = 9;
    test_heap_counts(&t.h, gone)->n_temporary = 5;
    assert_leaks(NULL, "200/2 100/1 ");
    assert_leaks(&filter, "200/2 100/1 0/0 ");
    struct cairn_heap *heap = read_it();
    assert_ok(cairn_heap_leaks(heap, &filter, &profile, &leaks, &n, &err), err);
    assert_int_equal(leaks[2].n_allocs, 9);
    assert_int_equal(leaks[2].n_temporary, 5);
    assert_int_equal(leaks[1].alloc_bytes, 400);
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    cairn_heap_free(heap);
}

static void totals_are_of_all_states(void **state)
{
    (void)state;
    struct cairn_heap *heap = read_it();
    struct cairn_heap_totals totals = {.size = sizeof totals};
    cairn_heap_totals(heap, &totals);
    assert_int_equal(totals.n_processes, 1);
    assert_int_equal(totals.n_allocs, 6);
    assert_int_equal(totals.alloc_bytes, 600);
    assert_int_equal(totals.n_live, 3);
    assert_int_equal(totals.live_bytes, 300);
    assert_int_equal(totals.n_frees, 3);
    assert_int_equal(totals.free_bytes, 300);
    assert_int_equal(totals.duration_ns, 20 * SECOND);
    assert_int_equal(totals.n_damaged, 0);
    cairn_heap_free(heap);
}

static void what_is_saved_is_read_again(void **state)
{
    (void)state;
    struct cairn_heap *heap = read_it(), *again;
    struct cairn_heap_totals first = {.size = sizeof first}, second = {.size = sizeof second};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_heap_save(heap, test_write, &out, &err), err);
    assert_true(out.size < CAIRN_HEAP_CHUNK);
    put_file(t.path, cairn_buffer_span(&out));
    assert_ok(cairn_heap_read_file(t.path, &again, &err), err);
    cairn_heap_totals(heap, &first);
    cairn_heap_totals(again, &second);
    assert_memory_equal(&first, &second, sizeof first);
    cairn_buffer_done(&out);
    cairn_heap_free(heap);
    cairn_heap_free(again);
}

static void blocks_come_one_by_one(void **state)
{
    (void)state;
    struct cairn_heap *heap = read_it();
    struct cairn_profile *profile;
    struct cairn_heap_block_info *blocks;
    struct cairn_err err;
    size_t n;
    assert_ok(cairn_heap_blocks(heap, NULL, &profile, &blocks, &n, &err), err);
    assert_int_equal(n, 3);
    assert_int_equal(blocks[0].va, 0x100000);
    assert_int_equal(blocks[0].age_ns, 20 * SECOND);
    assert_int_equal(blocks[2].size, 150);
    uint32_t frames[4];
    assert_int_equal(cairn_profile_stack(profile, blocks[2].stack, frames, 4), 2);
    struct cairn_frame_info frame = {.size = sizeof frame};
    assert_ok(cairn_profile_frame(profile, frames[0], &frame), err);
    assert_int_equal(frame.address, 0x400300);
    assert_int_equal(cairn_heap_rel(heap, NULL, &frame), 0x300);
    cairn_heap_blocks_free(blocks);
    cairn_profile_free(profile);
    cairn_heap_free(heap);
}

static void damage_is_counted_once(void **state)
{
    (void)state;
    test_heap_log(&t.h, t.two)->base = 77;
    test_heap_block(&t.h, 0x100060, cairn_heap_entry(0x100060, 999, 1, KIND, 0));
    struct cairn_heap *heap = read_it();
    struct cairn_heap_totals totals = {.size = sizeof totals};
    struct cairn_profile *profile;
    struct cairn_err err;
    for (int i = 0; i < 3; i++) {
        assert_ok(cairn_heap_profile(heap, NULL, &profile, &err), err);
        cairn_profile_free(profile);
    }
    cairn_heap_totals(heap, &totals);
    assert_int_equal(totals.n_damaged, 2);
    cairn_heap_free(heap);
}

static void what_a_process_changed_meanwhile_is_no_damage(void **state)
{
    (void)state;
    test_heap_block(&t.h, 0x100060, cairn_heap_entry(0x100060, 999, 1, KIND, 0));
    struct cairn_thread_stat stat;
    assert_int_equal(cairn_thread_stat(getpid(), getpid(), &stat, NULL), CAIRN_OK);
    test_heap_header(&t.h)->pid = (uint32_t)getpid();
    test_heap_header(&t.h)->start_ticks = stat.start_ticks;
    struct cairn_heap *heap = read_it();
    struct cairn_heap_totals totals = {.size = sizeof totals};
    cairn_heap_totals(heap, &totals);
    assert_int_equal(totals.n_damaged, 0);
    assert_int_equal(totals.n_changed, 1);
    assert_int_equal(totals.n_running, 1);
    cairn_heap_free(heap);
}

static void what_is_no_state_is_said(void **state)
{
    (void)state;
    struct cairn_heap *heap = NULL;
    struct cairn_err err;
    assert_fails(cairn_heap_read_folder(t.folder, &heap, &err), CAIRN_E_MISSING, err, "no state");
    put_file(t.path, (struct cairn_span){(const uint8_t *)"hello", 5});
    assert_fails(cairn_heap_read_file(t.path, &heap, &err), CAIRN_E_FORMAT, err, t.path);
    assert_fails(cairn_heap_read_file(t.folder, &heap, &err), CAIRN_E_FORMAT, err, "regular");
    assert_fails(cairn_heap_read_file("/nothing/there", &heap, &err), CAIRN_E_MISSING, err,
                 "/nothing/there");
    assert_fails(cairn_heap_read_pid(getpid(), &heap, &err), CAIRN_E_MISSING, err, "not tracked");
    assert_null(heap);
}

static void a_session_makes_a_private_folder_and_removes_it(void **state)
{
    (void)state;
    struct cairn_heap_session *session;
    struct stat st;
    struct cairn_err err;
    char folder[PATH];
    put_file(t.path, (struct cairn_span){(const uint8_t *)"x", 1});
    const struct cairn_heap_opts opts = {.size = sizeof opts, .library = t.path, .depth = 7};
    assert_ok(cairn_heap_session_new(&opts, &session, &err), err);
    snprintf(folder, sizeof folder, "%s", cairn_heap_session_folder(session));
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_contains(cairn_heap_session_env(session, 0), "LD_PRELOAD=");
    assert_contains(cairn_heap_session_env(session, 2), "CAIRN_HEAP_DEPTH=7");
    assert_contains(cairn_heap_session_env(session, 3), "CAIRN_HEAP_FOLLOW=2");
    assert_null(cairn_heap_session_env(session, 4));
    cairn_heap_session_free(session);
    assert_int_not_equal(stat(folder, &st), 0);
}

/* By whom a file is read may have another file there. */
static void links_to_untracked_programs_are_resolved_when_they_were_recorded(void **state)
{
    (void)state;
    char link[PATH], target[PATH];
    struct cairn_heap_missed found = {.size = sizeof found};
    snprintf(link, sizeof link, "%s/alias", t.folder);
    snprintf(target, sizeof target, "%s/program", t.folder);
    put_file(target, (struct cairn_span){(const uint8_t *)"x", 1});
    assert_int_equal(symlink(target, link), 0);
    struct cairn_heap_untracked *rows = test_heap_header(&t.h)->untracked;
    assert_true(strlen(target) < sizeof rows->path - 1 && strlen(link) < sizeof rows->path - 1);
    for (int i = 0; i < 2; i++) {
        rows[i].kind = CAIRN_PROGRAM_STATIC;
        rows[i].n = 2;
        snprintf(rows[i].path, sizeof rows[i].path, "%.119s", i ? target : link);
    }
    struct cairn_heap *heap = read_it();
    assert_true(cairn_heap_untracked(heap, 0, &found));
    assert_string_equal(found.path, link);
    assert_true(cairn_heap_untracked(heap, 1, &found));
    cairn_heap_free(heap);
    heap = read_it();
    cairn_heap_resolve_untracked(heap);
    assert_true(cairn_heap_untracked(heap, 0, &found));
    assert_string_equal(found.path, target);
    assert_int_equal(found.n, 4);
    assert_false(cairn_heap_untracked(heap, 1, &found));
    cairn_heap_free(heap);
    unlink(link);
    unlink(target);
}

static void add_before(void)
{
    uint32_t before = test_heap_stack(&t.h, 0, 0, NULL, 0);
    test_heap_log(&t.h, before)->flags = CAIRN_HEAP_LOG_BEFORE;
    test_heap_counts(&t.h, before)->n_allocs = 1;
    test_heap_counts(&t.h, before)->alloc_bytes = 24;
    test_heap_block(&t.h, 0x100080, cairn_heap_entry(0x100080, before, 24, KIND, 0));
    test_heap_header(&t.h)->flags |= CAIRN_HEAP_LATE;
    test_heap_header(&t.h)->older = before;
    test_heap_header(&t.h)->older_unread_bytes = 64;
}

static const char *name_of_only_frame(const struct cairn_profile *p, uint32_t stack)
{
    const struct cairn_profile_frame *frame = &p->frames[p->stacks[stack].frame];
    assert_int_equal(p->stacks[stack].parent, 0);
    return cairn_strings_get(&p->strings, p->functions[p->lines[frame->lines].function].name);
}

static void blocks_from_before_the_tracker_have_a_stack_of_their_own(void **state)
{
    (void)state;
    add_before();
    struct cairn_heap *heap = read_it();
    struct cairn_heap_totals totals = {.size = sizeof totals};
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    struct cairn_err err;
    char text[PATH];
    size_t n;
    cairn_heap_totals(heap, &totals);
    assert_int_equal(totals.n_late_known, 1);
    assert_int_equal(totals.n_older, 1);
    assert_int_equal(totals.older_bytes, 24);
    assert_int_equal(totals.older_unread_bytes, 64);
    assert_ok(cairn_heap_leaks(heap, NULL, &profile, &leaks, &n, &err), err);
    assert_int_equal(n, 3);
    assert_int_equal(leaks[2].bytes, 24);
    assert_null(leaks[2].cut);
    assert_string_equal(name_of_only_frame(profile, leaks[2].stack), "[before attach]");
    cairn_heap_quality_text(heap, profile, text, sizeof text);
    assert_contains(text, "since the tracker came; 1 blocks of 24 bytes from before the tracker, "
                          "64 bytes of the heap NOT READ");
    cairn_heap_leaks_free(leaks);
    cairn_profile_free(profile);
    cairn_heap_free(heap);
}

static void what_is_older_is_not_known_where_nobody_looked(void **state)
{
    (void)state;
    add_before();
    test_heap_header(&t.h)->older = 0;
    struct cairn_heap *heap = read_it();
    struct cairn_profile *profile;
    struct cairn_err err;
    char text[PATH];
    assert_ok(cairn_heap_profile(heap, NULL, &profile, &err), err);
    cairn_heap_quality_text(heap, profile, text, sizeof text);
    assert_contains(text, "older ones are NOT KNOWN");
    cairn_profile_free(profile);
    cairn_heap_free(heap);
}

static void an_older_callers_program_is_filled_as_far_as_it_goes(void **state)
{
    (void)state;
    const struct cairn_heap_missed found = {.path = "/bin/p", .reason = "r", .n = 5};
    struct cairn_heap_missed older = {.size = offsetof(struct cairn_heap_missed, n), .n = 77};
    cairn_heap_missed_copy(&older, &found);
    assert_string_equal(older.path, "/bin/p");
    assert_string_equal(older.reason, "r");
    assert_int_equal(older.n, 77);
    assert_int_equal(older.size, offsetof(struct cairn_heap_missed, n));
    struct cairn_heap_missed ours = {.size = sizeof ours};
    cairn_heap_missed_copy(&ours, &found);
    assert_int_equal(ours.n, 5);
    assert_int_equal(ours.size, sizeof ours);
    struct cairn_heap_missed newer = {.size = sizeof newer + 8};
    cairn_heap_missed_copy(&newer, &found);
    assert_int_equal(newer.n, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            links_to_untracked_programs_are_resolved_when_they_were_recorded, set_up, tear_down),
        cmocka_unit_test(an_older_callers_program_is_filled_as_far_as_it_goes),
        cmocka_unit_test_setup_teardown(filters_keep_what_they_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_from_before_the_tracker_have_a_stack_of_their_own,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_older_is_not_known_where_nobody_looked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(mappings_are_summed_by_stack_and_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_of_a_sample_are_estimates_with_an_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_mark_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_command_is_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stacks_without_live_blocks_are_listed_where_asked_for,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(totals_are_of_all_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_saved_is_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_come_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_counted_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_process_changed_meanwhile_is_no_damage, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_state_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_session_makes_a_private_folder_and_removes_it, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
