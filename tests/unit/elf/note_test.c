/* SPDX-License-Identifier: MIT */
#include "elf/note.h"

#include <elf.h>

#include "support/elfwriter.h"
#include "support/test.h"

static struct cairn_elf open_image(uint8_t *bytes, size_t size)
{
    struct cairn_elf elf;
    struct cairn_err err;
    assert_ok(cairn_elf_open((struct cairn_span){bytes, size}, &elf, &err), err);
    return elf;
}

static void finds_the_id_in_segments_and_in_sections(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        struct test_elf w = test_elf_of(form & 1, form & 2, ET_DYN, EM_X86_64);
        test_elf_bytes(&w, ".note.other", SHT_NOTE, SHF_ALLOC, "", 0);
        test_elf_build_id(&w, "\xab\xcd\xef\x01\x02", 5, form & 4);
        size_t size;
        uint8_t *bytes = test_elf_finish(&w, &size);
        struct cairn_elf elf = open_image(bytes, size);
        struct cairn_span id;
        struct cairn_err err;
        assert_ok(cairn_elf_build_id(&elf, &id, &err), err);
        assert_int_equal(id.size, 5);
        assert_memory_equal(id.data, "\xab\xcd\xef\x01\x02", 5);
        free(bytes);
    }
}

/* clang-format off */
static const uint8_t notes[] = {
    5, 0, 0, 0,  1, 0, 0, 0,  3, 0, 0, 0,  'o', 't', 'h', 'r', 0, 0, 0, 0,  7, 0, 0, 0,
    4, 0, 0, 0,  4, 0, 0, 0,  1, 0, 0, 0,  'G', 'N', 'U', 0,  1, 2, 3, 4,      /* ABI tag */
    4, 0, 0, 0,  3, 0, 0, 0,  3, 0, 0, 0,  'G', 'N', 'U', 0,  0xab, 0xcd, 0xef, 0,
};
/* clang-format on */

static int find(const uint8_t *bytes, size_t size, struct cairn_span *id, struct cairn_err *err)
{
    return cairn_elf_find_build_id((struct cairn_span){bytes, size}, 4, false, id, err);
}

static void passes_over_the_notes_of_others(void **state)
{
    (void)state;
    struct cairn_span id;
    struct cairn_err err;
    assert_ok(find(notes, sizeof notes, &id, &err), err);
    assert_int_equal(id.size, 3);
    assert_memory_equal(id.data, "\xab\xcd\xef", 3);
    assert_fails(find(notes, 44, &id, &err), CAIRN_E_MISSING, err, "no build ID");
}

static void every_truncation_of_notes_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof notes - 1; size++) {
        uint8_t *cut = test_copy(notes, size);
        struct cairn_span id = {0};
        struct cairn_err err;
        bool whole = size == 0 || (size >= 21 && size <= 24) || size == 44;
        assert_int_equal(find(cut, size, &id, &err), whole ? CAIRN_E_MISSING : CAIRN_E_FORMAT);
        assert_null(id.data);
        free(cut);
    }
}

static void wild_sizes_and_alignments_are_refused(void **state)
{
    (void)state;
    uint8_t wild[sizeof notes];
    struct cairn_span id;
    struct cairn_err err;
    memcpy(wild, notes, sizeof notes);
    memset(wild, 0xff, 8);
    assert_fails(find(wild, sizeof wild, &id, &err), CAIRN_E_FORMAT, err,
                 "note at 0x0 runs past the end of the notes (0x40 bytes)");
    memcpy(wild, notes, sizeof notes);
    wild[48] = 0; /* an empty build ID */
    assert_fails(find(wild, sizeof wild, &id, &err), CAIRN_E_FORMAT, err, "has 0 bytes");
    struct cairn_span all = {notes, sizeof notes};
    assert_fails(cairn_elf_find_build_id(all, 16, false, &id, &err), CAIRN_E_FORMAT, err,
                 "aligned to 16");
    assert_ok(cairn_elf_find_build_id(all, 0, false, &id, &err), err);
}

static void a_damaged_note_does_not_hide_the_id_of_another(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_bytes(&w, ".note.broken", SHT_NOTE, SHF_ALLOC, "\xff\xff\xff\xff", 4);
    test_elf_build_id(&w, "\x11\x22", 2, false);
    size_t size;
    uint8_t *bytes = test_elf_finish(&w, &size);
    struct cairn_elf elf = open_image(bytes, size);
    struct cairn_span id;
    struct cairn_err err;
    assert_ok(cairn_elf_build_id(&elf, &id, &err), err);
    assert_memory_equal(id.data, "\x11\x22", 2);
    free(bytes);

    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_bytes(&w, ".note.broken", SHT_NOTE, SHF_ALLOC, "\xff\xff\xff\xff", 4);
    bytes = test_elf_finish(&w, &size);
    elf = open_image(bytes, size);
    assert_fails(cairn_elf_build_id(&elf, &id, &err), CAIRN_E_FORMAT, err, "note at 0x0");
    free(bytes);
}

static void reads_the_debug_link_in_both_byte_orders(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        for (const char *name = "prog.debug"; *name; name++) { /* every padding */
            struct test_elf w = test_elf_of(true, big, ET_DYN, EM_X86_64);
            test_elf_debuglink(&w, name, 0x12345678);
            size_t size;
            uint8_t *bytes = test_elf_finish(&w, &size);
            struct cairn_elf elf = open_image(bytes, size);
            const char *link;
            uint32_t crc;
            assert_true(cairn_elf_debuglink(&elf, &link, &crc));
            assert_string_equal(link, name);
            assert_int_equal(crc, 0x12345678);
            free(bytes);
        }
    }
}

static void a_damaged_debug_link_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {{"", 0}, {"abcdefgh", 8}, {"\0\0\0\0\1\2\3\4", 8}, {"ab\0\0\1\2\3", 7}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
        test_elf_bytes(&w, ".gnu_debuglink", SHT_PROGBITS, 0, bad[i].bytes, bad[i].size);
        size_t size;
        uint8_t *bytes = test_elf_finish(&w, &size);
        struct cairn_elf elf = open_image(bytes, size);
        const char *link = "untouched";
        uint32_t crc = 7;
        assert_false(cairn_elf_debuglink(&elf, &link, &crc));
        assert_string_equal(link, "untouched");
        assert_int_equal(crc, 7);
        free(bytes);
    }
}

static void the_crc_is_the_one_of_the_standard(void **state)
{
    (void)state;
    assert_int_equal(cairn_elf_debuglink_crc(0, cairn_span_of("123456789")), 0xcbf43926);
    assert_int_equal(cairn_elf_debuglink_crc(0, (struct cairn_span){0}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_id_in_segments_and_in_sections),
        cmocka_unit_test(passes_over_the_notes_of_others),
        cmocka_unit_test(every_truncation_of_notes_is_refused),
        cmocka_unit_test(wild_sizes_and_alignments_are_refused),
        cmocka_unit_test(a_damaged_note_does_not_hide_the_id_of_another),
        cmocka_unit_test(reads_the_debug_link_in_both_byte_orders),
        cmocka_unit_test(a_damaged_debug_link_is_none),
        cmocka_unit_test(the_crc_is_the_one_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
