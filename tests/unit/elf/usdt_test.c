/* SPDX-License-Identifier: MIT */
#include "elf/usdt.h"

#include <elf.h>

#include "support/elfwriter.h"
#include "support/test.h"

enum { PC = 0x1100, BASE = 0x3000, SEMAPHORE = 0x4010, MOVED = 0x500000 };

static size_t put_text(uint8_t *bytes, size_t at, const char *text)
{
    memcpy(bytes + at, text, strlen(text) + 1);
    return at + strlen(text) + 1;
}

/* One note; texts that are NULL are left out. Returns where it ends. */
static size_t put_note(const struct test_elf *w, uint8_t *bytes, size_t at, const char *owner,
                       uint64_t base, const char *const texts[3])
{
    const unsigned width = w->is64 ? 8 : 4;
    uint8_t body[256];
    size_t n = 0;
    n = test_elf_put(w, body, n, PC, width);
    n = test_elf_put(w, body, n, base, width);
    n = test_elf_put(w, body, n, SEMAPHORE, width);
    for (int i = 0; i < 3 && texts[i]; i++)
        n = put_text(body, n, texts[i]);
    at = test_elf_put(w, bytes, at, strlen(owner) + 1, 4);
    at = test_elf_put(w, bytes, at, n, 4);
    at = test_elf_put(w, bytes, at, 3, 4);
    at = put_text(bytes, at, owner);
    while (at % 4)
        bytes[at++] = 0;
    memcpy(bytes + at, body, n);
    at += n;
    while (at % 4)
        bytes[at++] = 0;
    return at;
}

/* A file with these notes, whose .stapsdt.base is at `base`; 0: it has none. */
static uint8_t *make(struct test_elf *w, const uint8_t *notes, size_t size, uint64_t base,
                     struct cairn_elf *ret_elf)
{
    struct cairn_err err;
    size_t n;
    test_elf_bytes(w, ".note.stapsdt", SHT_NOTE, 0, notes, size);
    if (base)
        test_elf_section(w, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, base, 1);
    uint8_t *bytes = test_elf_finish(w, &n);
    assert_ok(cairn_elf_open((struct cairn_span){bytes, n}, ret_elf, &err), err);
    return bytes;
}

static void notes_have_places_names_and_arguments(void **state)
{
    (void)state;
    static const char *const first[] = {"own", "start", "8@%rdi -4@$5"}, *const second[] = {
                                                                             "own", "end", NULL};
    for (int form = 0; form < 4; form++) {
        struct test_elf w = test_elf_of(form & 1, form & 2, ET_DYN, EM_X86_64);
        uint8_t notes[512];
        size_t size = put_note(&w, notes, 0, "stapsdt", BASE, first);
        size = put_note(&w, notes, size, "other", BASE, first);
        const size_t last = size;
        size = put_note(&w, notes, size, "stapsdt", BASE, second);
        struct cairn_elf elf;
        uint8_t *bytes = make(&w, notes, size, BASE, &elf);
        struct cairn_elf_usdt_notes all;
        struct cairn_elf_usdt_note note;
        struct cairn_err err;
        assert_ok(cairn_elf_usdt_open(&elf, &all, &err), err);
        assert_int_equal(cairn_elf_usdt_next(&all, &note, &err), 1);
        assert_int_equal(note.vaddr, PC);
        assert_int_equal(note.semaphore, SEMAPHORE);
        assert_string_equal(note.provider, "own");
        assert_string_equal(note.name, "start");
        assert_string_equal(note.args, "8@%rdi -4@$5");
        assert_int_equal(cairn_elf_usdt_next(&all, &note, &err), 1);
        assert_int_equal(note.off, last);
        assert_string_equal(note.name, "end");
        assert_string_equal(note.args, "");
        assert_int_equal(cairn_elf_usdt_next(&all, &note, &err), 0);
        free(bytes);
    }
}

static void prelink_moves_places_and_semaphores(void **state)
{
    (void)state;
    static const char *const texts[] = {"own", "start", ""};
    for (int form = 0; form < 3; form++) { /* moved up, moved down, no section */
        struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
        uint8_t notes[256];
        const uint64_t base = form == 0 ? BASE + MOVED : form == 1 ? BASE - 0x100 : 0;
        const size_t size = put_note(&w, notes, 0, "stapsdt", BASE, texts);
        struct cairn_elf elf;
        uint8_t *bytes = make(&w, notes, size, base, &elf);
        struct cairn_elf_usdt_notes all;
        struct cairn_elf_usdt_note note;
        struct cairn_err err;
        const uint64_t by = base ? base - BASE : 0;
        assert_ok(cairn_elf_usdt_open(&elf, &all, &err), err);
        assert_int_equal(cairn_elf_usdt_next(&all, &note, &err), 1);
        assert_int_equal(note.vaddr, PC + by);
        assert_int_equal(note.semaphore, SEMAPHORE + by);
        free(bytes);
    }
}

static void a_file_without_notes_says_so(void **state)
{
    (void)state;
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    struct cairn_elf elf;
    struct cairn_elf_usdt_notes all;
    struct cairn_err err;
    size_t n;
    uint8_t *bytes = test_elf_finish(&w, &n);
    assert_ok(cairn_elf_open((struct cairn_span){bytes, n}, &elf, &err), err);
    assert_fails(cairn_elf_usdt_open(&elf, &all, &err), CAIRN_E_MISSING, err, "no static probes");
    free(bytes);
}

static struct cairn_elf_usdt_notes notes_of(const uint8_t *bytes, size_t size)
{
    return (struct cairn_elf_usdt_notes){
        .reader = cairn_reader_of((struct cairn_span){bytes, size}, false), .width = 8};
}

static void every_truncation_of_a_note_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"own", "start", "8@%rdi"};
    struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    uint8_t notes[256];
    const size_t size = put_note(&w, notes, 0, "stapsdt", 0, texts);
    const size_t whole = size - 3; /* padding may be missing */
    for (size_t n = 1; n < size; n++) {
        uint8_t *cut = test_copy(notes, n);
        struct cairn_elf_usdt_notes all = notes_of(cut, n);
        struct cairn_elf_usdt_note note = {0};
        struct cairn_err err;
        if (n >= whole)
            assert_int_equal(cairn_elf_usdt_next(&all, &note, &err), 1);
        else
            assert_fails(cairn_elf_usdt_next(&all, &note, &err), CAIRN_E_FORMAT, err,
                         "note at 0x0 runs past the end");
        if (n < whole) {
            assert_null(note.name);
            assert_int_equal(cairn_elf_usdt_next(&all, &note, &err), 0); /* and no more */
        }
        free(cut);
    }
}

static void damaged_descriptors_are_named(void **state)
{
    (void)state;
    static char longest[CAIRN_ELF_USDT_NAME_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    const struct {
        const char *texts[3], *says;
    } rows[] = {
        {{NULL}, "ends before its addresses and texts do"},
        {{"own", NULL}, "ends before its addresses and texts do"},
        {{"", "start", ""}, "the provider is no name"},
        {{"own", "", ""}, "the probe is no name"},
        {{"own", "st\033[31mart", ""}, "the probe is no name"},
        {{"o:wn", "start", ""}, "the provider is no name"},
        {{"own", "st art", ""}, "the probe is no name"},
        {{"own", longest, ""}, "the probe is no name of at most 127 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
        uint8_t notes[512];
        const size_t size = put_note(&w, notes, 0, "stapsdt", 0, rows[i].texts);
        struct cairn_elf_usdt_notes all = notes_of(notes, size);
        struct cairn_elf_usdt_note note;
        struct cairn_err err;
        assert_fails(cairn_elf_usdt_next(&all, &note, &err), CAIRN_E_FORMAT, err, rows[i].says);
        assert_contains(err.msg, ".note.stapsdt: note at 0x0");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_have_places_names_and_arguments),
        cmocka_unit_test(prelink_moves_places_and_semaphores),
        cmocka_unit_test(a_file_without_notes_says_so),
        cmocka_unit_test(every_truncation_of_a_note_is_refused),
        cmocka_unit_test(damaged_descriptors_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
