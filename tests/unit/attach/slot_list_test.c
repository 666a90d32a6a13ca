/* SPDX-License-Identifier: MIT */
/* A file stands for the memory of a process in which an attach left a list of slots. */
#include "attach/slot_list.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

enum {
    NOBODY = -1,
    LIST_VA = 0x10000,
    PAGE = 4096,
    BYTES = 1 << 22,
    WRITABLE_VA = 0x8008,
    READ_ONLY_VA = 0x9000,
    CODE_VA = 0x1000,
    BEFORE = 0x1234,
    AFTER = 0x5678
};

static const char mappings[] = "00001000-00008000 r-xp 00000000 00:01 7 /lib/a.so\n"
                               "00008000-00009000 rw-p 00007000 00:01 7 /lib/a.so\n"
                               "00009000-0000a000 r--p 00008000 00:01 7 /lib/a.so\n"
                               "00010000-00211000 rw-p 00000000 00:01 9 /memfd:cairn-slots\n";

struct stored {
    char magic[16];
    uint32_t version, n;
};

static void write_at(const struct cairn_attach_job *job, uint64_t va, const void *bytes,
                     size_t size)
{
    assert_int_equal(pwrite(job->target.mem_fd, bytes, size, (off_t)va), size);
}

static struct cairn_attach_job make_job(const struct cairn_late_slot *slots, uint32_t n)
{
    const struct stored header = {.magic = "cairn-slots", .version = 1, .n = n};
    struct cairn_attach_job job = {
        .target = {.pid = NOBODY, .mem_fd = memfd_create("memory", MFD_CLOEXEC)}};
    struct cairn_err err;
    assert_int_equal(ftruncate(job.target.mem_fd, BYTES), 0);
    assert_int_equal(cairn_maps_parse(mappings, strlen(mappings), &job.target.maps, &err),
                     CAIRN_OK);
    write_at(&job, LIST_VA, &header, sizeof header);
    if (n)
        write_at(&job, LIST_VA + PAGE, slots, n * sizeof *slots);
    return job;
}

static void done(struct cairn_attach_job *job)
{
    cairn_target_close_process(&job->target);
}

static const struct cairn_late_slot three[] = {
    {.va = READ_ONLY_VA, .before = BEFORE, .after = AFTER, .is_active = 1, .is_wanted = 1},
    {.va = WRITABLE_VA, .before = BEFORE, .after = AFTER, .is_active = 1, .is_wanted = 1},
    {.va = CODE_VA, .before = BEFORE, .after = AFTER, .is_active = 1},
};

static void slots_are_found_by_their_address(void **state)
{
    struct cairn_attach_job job = make_job(three, 3);
    struct cairn_slot_list list = {0};
    struct cairn_err err;
    (void)state;
    assert_int_equal(cairn_slot_list_read(&job, &list, &err), CAIRN_OK);
    assert_int_equal(list.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(cairn_slot_list_find(&list, three[i].va), &list.slots[i]);
    assert_null(cairn_slot_list_find(&list, WRITABLE_VA + 8));
    assert_false(list.slots[0].is_wanted);
    assert_true(list.slots[0].is_active && list.slots[0].is_read_only);
    assert_true(list.slots[1].is_active && !list.slots[1].is_read_only);
    assert_false(list.slots[2].is_active); /* no slot is in code */
    assert_non_null(cairn_slot_list_add(&list, WRITABLE_VA + 8));
    assert_int_equal(list.n, 4);
    cairn_slot_list_done(&list);
    done(&job);
}

static void those_that_lead_to_us_are_counted(void **state)
{
    const uint64_t after = AFTER;
    struct cairn_attach_job job = make_job(three, 3);
    struct cairn_slot_counts counts;
    struct cairn_err err;
    (void)state;
    write_at(&job, WRITABLE_VA, &after, sizeof after);
    write_at(&job, CODE_VA, &after, sizeof after);
    assert_int_equal(cairn_slot_list_count(&job, &counts, &err), CAIRN_OK);
    assert_int_equal(counts.n_wanted, 2);
    assert_int_equal(counts.n_leading, 1);
    done(&job);
}

static void a_damaged_list_is_refused(void **state)
{
    const struct stored damaged[] = {
        {.magic = "cairn-slots", .version = 2, .n = 1},
        {.magic = "cairn-slots", .version = 1, .n = CAIRN_SLOT_LIST_MAX + 1},
        {.magic = "cairn-ledger", .version = 1, .n = 1},
    };
    struct cairn_attach_job job = make_job(NULL, 0);
    struct cairn_slot_list list = {0};
    struct cairn_slot_counts counts;
    struct cairn_err err;
    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_at(&job, LIST_VA, &damaged[i], sizeof damaged[i]);
        assert_int_equal(cairn_slot_list_read(&job, &list, &err), CAIRN_E_FORMAT);
        assert_non_null(strstr(err.msg, "the list of slots at 0x10000 is damaged"));
        assert_int_equal(cairn_slot_list_count(&job, &counts, &err), CAIRN_E_FORMAT);
    }
    cairn_slot_list_done(&list);
    done(&job);
}

/* A cairn was killed before it wrote any of it. */
static void an_empty_list_is_none(void **state)
{
    const struct stored empty = {.n = 0};
    struct cairn_attach_job job = make_job(NULL, 0);
    struct cairn_slot_list list = {0};
    struct cairn_err err;
    (void)state;
    write_at(&job, LIST_VA, &empty, sizeof empty);
    assert_int_equal(cairn_slot_list_read(&job, &list, &err), CAIRN_OK);
    assert_int_equal(list.n, 0);
    assert_int_equal(list.va, LIST_VA);
    cairn_slot_list_done(&list);
    done(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_found_by_their_address),
        cmocka_unit_test(those_that_lead_to_us_are_counted),
        cmocka_unit_test(a_damaged_list_is_refused),
        cmocka_unit_test(an_empty_list_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
