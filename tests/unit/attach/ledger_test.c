/* SPDX-License-Identifier: MIT */
/* A file stands for the memory of a process; what is noted and changed there is looked at. */
#include "attach/ledger.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/divert.h"
#include "heap/late.h"
#include "support/test.h"

enum { BYTES = 1 << 16, WORD_VA = 0x2000, PAD_VA = 0x3003, NOBODY = -1 };

static const char mappings[] = "00001000-00008000 r-xp 00000000 00:01 7 /lib/a.so\n"
                               "00008000-0000c000 rw-p 00007000 00:01 7 /lib/a.so\n";
static const uint8_t word[8] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x54, 0x53, 0x90};
static const uint8_t pad[5] = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc};

static struct cairn_target_process make_target(void)
{
    struct cairn_target_process target = {.pid = NOBODY,
                                          .mem_fd = memfd_create("memory", MFD_CLOEXEC)};
    struct cairn_err err;
    assert_int_equal(ftruncate(target.mem_fd, BYTES), 0);
    assert_int_equal(cairn_maps_parse(mappings, strlen(mappings), &target.maps, &err), CAIRN_OK);
    assert_int_equal(cairn_target_write(&target, WORD_VA, word, sizeof word, &err), CAIRN_OK);
    assert_int_equal(cairn_target_write(&target, PAD_VA, pad, sizeof pad, &err), CAIRN_OK);
    return target;
}

static struct cairn_ledger make_ledger(void)
{
    struct cairn_ledger ledger = {.magic = CAIRN_LEDGER_MAGIC,
                                  .version = CAIRN_LEDGER_VERSION,
                                  .bytes = sizeof ledger,
                                  .is_complete = 1,
                                  .n_rows = 1,
                                  .base = 0x1000,
                                  .library_bytes = 0xb000,
                                  .late_va = 0x8000};
    struct cairn_ledger_row *row = &ledger.rows[0];
    *row = (struct cairn_ledger_row){.name = "free",
                                     .roles = CAIRN_LATE_DEATH,
                                     .word_va = WORD_VA,
                                     .pad_va = PAD_VA,
                                     .n_pad = sizeof pad,
                                     .island_va = 0x4000,
                                     .moved_va = 0x4010};
    memcpy(row->word_before, word, sizeof word);
    memcpy(row->word_after, word, sizeof word);
    row->word_after[0] = 0xeb;
    row->word_after[1] = 0x10;
    memcpy(row->pad_before, pad, sizeof pad);
    memcpy(row->pad_after, "\xe9\x01\x02\x03\x04", sizeof pad);
    return ledger;
}

static void must_hold(const struct cairn_target_process *target, uint64_t va, const uint8_t *wanted,
                      size_t size)
{
    uint8_t now[16];
    struct cairn_err err;
    assert_int_equal(cairn_target_read(target, va, now, size, &err), CAIRN_OK);
    assert_memory_equal(now, wanted, size);
}

static void a_function_leads_to_us_and_is_as_before(void **state)
{
    (void)state;
    struct cairn_target_process target = make_target();
    const struct cairn_ledger ledger = make_ledger();
    struct cairn_divert_counts counts;
    struct cairn_err err;
    assert_int_equal(cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_ALL, &counts, &err),
                     CAIRN_OK);
    assert_int_equal(counts.n_done, 1);
    assert_true(cairn_divert_leads_to_us(&target, &ledger.rows[0]));
    must_hold(&target, WORD_VA, ledger.rows[0].word_after, sizeof word);
    must_hold(&target, PAD_VA, ledger.rows[0].pad_after, sizeof pad);
    assert_int_equal(cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_NONE, &counts, &err),
                     CAIRN_OK);
    assert_int_equal(counts.n_done, 1);
    must_hold(&target, WORD_VA, word, sizeof word);
    must_hold(&target, PAD_VA, pad, sizeof pad);
    cairn_target_close_process(&target);
}

static void bytes_beside_ours_stay_as_they_are(void **state)
{
    (void)state;
    struct cairn_target_process target = make_target();
    const struct cairn_ledger ledger = make_ledger();
    struct cairn_divert_counts counts;
    struct cairn_err err;
    const uint8_t beside = 0x77;
    uint8_t wanted[sizeof word];
    assert_int_equal(cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_ALL, &counts, &err),
                     CAIRN_OK);
    assert_int_equal(cairn_target_write(&target, WORD_VA + 6, &beside, 1, &err), CAIRN_OK);
    assert_int_equal(cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_NONE, &counts, &err),
                     CAIRN_OK);
    memcpy(wanted, word, sizeof word);
    wanted[6] = beside;
    must_hold(&target, WORD_VA, wanted, sizeof word);
    cairn_target_close_process(&target);
}

static void what_another_tool_wrote_is_left_alone(void **state)
{
    (void)state;
    struct cairn_target_process target = make_target();
    const struct cairn_ledger ledger = make_ledger();
    struct cairn_divert_counts counts;
    struct cairn_err err;
    static const uint8_t other[2] = {0xeb, 0x60};
    assert_int_equal(cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_ALL, &counts, &err),
                     CAIRN_OK);
    assert_int_equal(cairn_target_write(&target, WORD_VA, other, sizeof other, &err), CAIRN_OK);
    assert_int_equal(cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_NONE, &counts, &err),
                     CAIRN_OK);
    assert_int_equal(counts.n_foreign, 1);
    assert_int_equal(counts.n_done, 0);
    must_hold(&target, WORD_VA, other, sizeof other);
    /* It may lead there. */
    must_hold(&target, PAD_VA, ledger.rows[0].pad_after, sizeof pad);
    cairn_target_close_process(&target);
}

static void damaged_notes_are_refused(void **state)
{
    (void)state;
    struct cairn_target_process target = make_target();
    const struct cairn_ledger sound = make_ledger();
    struct cairn_ledger ledger;
    struct cairn_err err;
    for (int i = 0; i <= 8; i++) {
        struct cairn_ledger bad = sound;
        switch (i) {
        case 1:
            bad.magic[3] ^= 1;
            break;
        case 2:
            bad.version++;
            break;
        case 3:
            bad.bytes--;
            break;
        case 4:
            bad.n_rows = CAIRN_LEDGER_ROWS + 1;
            break;
        case 5:
            bad.rows[0].island_va = 0x9000; /* no code */
            break;
        case 6:
            bad.rows[0].n_pad = 9;
            break;
        case 7:
            memset(bad.rows[0].name, 'x', sizeof bad.rows[0].name);
            break;
        case 8:
            bad.late_va = 0x100000;
            break;
        default:
            break;
        }
        assert_int_equal(cairn_target_write(&target, 0x8000, &bad, sizeof bad, &err), CAIRN_OK);
        assert_int_equal(cairn_ledger_read(&target, 0x8000, &ledger, &err),
                         i ? CAIRN_E_FORMAT : CAIRN_OK);
    }
    cairn_target_close_process(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_leads_to_us_and_is_as_before),
        cmocka_unit_test(bytes_beside_ours_stay_as_they_are),
        cmocka_unit_test(what_another_tool_wrote_is_left_alone),
        cmocka_unit_test(damaged_notes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
