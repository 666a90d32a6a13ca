/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame_hdr in front of an .eh_frame that no length of 0 ends:
 *
 *     0x1000  version, encodings, pointer to .eh_frame, count, { function, entry }...
 *     0x2000  entry of 16 bytes | entry of 24 bytes | bytes of other sections
 */
#include "dwarf/cfi_hdr.h"

#include "dwarf/cfi_constants.h"
#include "support/test.h"

enum { HDR = 0x1000, EH_FRAME = 0x2000, FIRST = 16, SECOND = 24, BYTES = 100 };

struct sample {
    uint8_t hdr[64], eh_frame[BYTES];
    struct cairn_cfi cfi;
};

static size_t put(uint8_t *bytes, size_t at, uint32_t value)
{
    memcpy(bytes + at, &value, sizeof value);
    return at + sizeof value;
}

static void fill(struct sample *s)
{
    *s = (struct sample){.hdr = {1, CAIRN_DW_EH_PE_PCREL | CAIRN_DW_EH_PE_SDATA4,
                                 CAIRN_DW_EH_PE_UDATA4,
                                 CAIRN_DW_EH_PE_DATAREL | CAIRN_DW_EH_PE_SDATA4}};
    size_t n = put(s->hdr, 4, EH_FRAME - HDR - 4);
    n = put(s->hdr, n, 2);
    n = put(s->hdr, n, 0x5000);
    n = put(s->hdr, n, EH_FRAME - HDR + FIRST);
    n = put(s->hdr, n, 0x6000);
    n = put(s->hdr, n, EH_FRAME - HDR);
    put(s->eh_frame, 0, FIRST - 4);
    put(s->eh_frame, FIRST, SECOND - 4);
    memset(s->eh_frame + FIRST + SECOND, 7, BYTES - FIRST - SECOND);
    s->cfi = (struct cairn_cfi){.hdr = {s->hdr, n},
                                .hdr_vaddr = HDR,
                                .bytes = {s->eh_frame, BYTES},
                                .vaddr = EH_FRAME,
                                .address_size = 8};
}

static size_t size_after_cut(struct sample *s)
{
    cairn_cfi_hdr_cut(&s->cfi);
    return s->cfi.bytes.size;
}

static void the_header_says_where_the_section_begins(void **state)
{
    (void)state;
    struct sample s;
    uint64_t vaddr = 7;
    fill(&s);
    assert_true(cairn_cfi_hdr_section(&s.cfi, &vaddr));
    assert_int_equal(vaddr, EH_FRAME);
    for (size_t size = 0; size < 8; size++) {
        s.cfi.hdr.size = size;
        assert_false(cairn_cfi_hdr_section(&s.cfi, &vaddr));
    }
    fill(&s);
    s.hdr[0] = 2;
    assert_false(cairn_cfi_hdr_section(&s.cfi, &vaddr));
}

static void the_section_ends_behind_the_last_entry_of_the_table(void **state)
{
    (void)state;
    struct sample s;
    fill(&s);
    assert_int_equal(size_after_cut(&s), FIRST + SECOND);

    fill(&s); /* a length of 8 bytes */
    put(s.eh_frame, FIRST, UINT32_MAX);
    put(s.eh_frame, FIRST + 4, 20);
    put(s.eh_frame, FIRST + 8, 0);
    assert_int_equal(size_after_cut(&s), FIRST + 12 + 20);
}

static void nothing_is_cut_by_a_wrong_table(void **state)
{
    (void)state;
    struct sample s;
    fill(&s);
    put(s.hdr, 8, 3); /* more rows than there are bytes */
    assert_int_equal(size_after_cut(&s), BYTES);
    fill(&s);
    put(s.hdr, 8, 0);
    assert_int_equal(size_after_cut(&s), BYTES);
    fill(&s);
    s.hdr[3] = CAIRN_DW_EH_PE_SDATA4; /* another kind of table */
    assert_int_equal(size_after_cut(&s), BYTES);
    fill(&s);
    put(s.eh_frame, FIRST, BYTES); /* the entry is longer than the segment */
    assert_int_equal(size_after_cut(&s), BYTES);
    fill(&s);
    put(s.hdr, 16, BYTES + EH_FRAME - HDR); /* the entry lies behind the segment */
    assert_int_equal(size_after_cut(&s), BYTES);
    fill(&s);
    s.cfi.vaddr = 2 * EH_FRAME; /* all entries lie before the section */
    assert_int_equal(size_after_cut(&s), BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_says_where_the_section_begins),
        cmocka_unit_test(the_section_ends_behind_the_last_entry_of_the_table),
        cmocka_unit_test(nothing_is_cut_by_a_wrong_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
