/* SPDX-License-Identifier: MIT */
/*
 * Core files made by hand: one thread, a stack, and a module of which the core has the first page
 * alone, as the kernel writes it. Its file is on disk, or another build of it is.
 */
#include "target/core.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "support/cfiwriter.h"
#include "support/elfwriter.h"
#include "support/test.h"
#include "target/core_notes.h"

enum { BODY = 0x9000, MAIN = 0x9100, MODULE_BYTES = 0xa000, STACK_BYTES = 128 };
static const uint64_t BASE = 0x7f0000000000, STACK = 0x7ffe00001000;
static char path[64];
/* What the notes say of a signal; 0: there is no NT_SIGINFO. */
static struct {
    uint16_t cursig;
    int number, code, pid;
    int second; /* the number in a second NT_SIGINFO */
} told_signal;
static bool tells_files = true; /* else where the program's headers are, and its path */

static void add_function(struct test_cfi *t, uint64_t from, const char *program, size_t size)
{
    test_cfi_fde(t, from, 0x80);
    test_cfi_put(t, program, size);
    test_cfi_end(t);
}

/* The module, its bytes at their vaddrs; the caller frees it. */
static uint8_t *make_module(const char *build_id, size_t *ret_size)
{
    static struct test_elf w;
    static struct test_cfi t;
    static const struct test_cie cie = {.version = 1, .letters = "zR", .encoding = 0x1b};
    t = test_cfi_of(false, 8);
    test_cfi_cie(&t, &cie);
    test_cfi_put(&t, "\x0c\x07\x08\x90\x01", 5);
    test_cfi_end(&t);
    add_function(&t, BODY, "\x44\x0e\x10", 3);
    add_function(&t, MAIN, "\x07\x10", 2);
    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0, 0, MODULE_BYTES, MODULE_BYTES);
    test_elf_build_id(&w, build_id, 4, true);
    uint32_t n =
        test_elf_bytes(&w, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, t.section.data, t.section.n);
    w.sections[n].vaddr = TEST_CFI_VADDR;
    uint32_t text =
        test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, BODY, 0x1000);
    test_elf_symbol(&w, "body", STB_GLOBAL, STT_FUNC, (uint16_t)text, BODY, 0x80);
    test_elf_symtab(&w, false);
    uint8_t *module = test_elf_finish(&w, ret_size);
    for (size_t i = 0; i < w.n_segments; i++) { /* its vaddrs are its offsets, the note's too */
        Elf64_Phdr *segment = (Elf64_Phdr *)(void *)(module + sizeof(Elf64_Ehdr)) + i;
        if (segment->p_type == PT_NOTE)
            segment->p_vaddr = segment->p_offset;
    }
    return module;
}

static size_t put_note(uint8_t *notes, size_t at, uint32_t type, const void *body, uint32_t size)
{
    const uint32_t head[3] = {5, size, type};
    memcpy(notes + at, head, sizeof head);
    memcpy(notes + at + sizeof head, "CORE\0\0\0", 8);
    memcpy(notes + at + sizeof head + 8, body, size);
    return at + sizeof head + 8 + (size + 3) / 4 * 4;
}

static size_t put_siginfo(uint8_t *notes, size_t at, int number)
{
    uint8_t info[128] = {0};
    const int head[3] = {number, 0, told_signal.code};
    memcpy(info, head, sizeof head);
    memcpy(info + 16, &told_signal.pid, sizeof told_signal.pid);
    return number ? put_note(notes, at, NT_SIGINFO, info, sizeof info) : at;
}

static size_t put_notes(uint8_t *notes, bool with_thread)
{
    uint8_t status[336] = {0}, files[256] = {0};
    const uint32_t tid = 77;
    const uint64_t ip = BASE + BODY + 8;
    const uint64_t row[5] = {1, 4096, BASE, BASE + MODULE_BYTES, 0};
    memcpy(status + 12, &told_signal.cursig, 2);
    memcpy(status + 32, &tid, 4);
    memcpy(status + 112 + 8 * 16, &ip, 8);
    memcpy(status + 112 + 8 * 19, &STACK, 8);
    memcpy(files, row, sizeof row);
    snprintf((char *)files + sizeof row, sizeof files - sizeof row, "%s", path);
    size_t n = with_thread ? put_note(notes, 0, NT_PRSTATUS, status, sizeof status) : 0;
    n = put_siginfo(notes, n, told_signal.number);
    n = put_siginfo(notes, n, told_signal.second);
    const uint64_t auxv[] = {AT_PHDR, BASE + sizeof(Elf64_Ehdr), AT_EXECFN, STACK + 16, AT_NULL, 0};
    if (!tells_files)
        return put_note(notes, n, NT_AUXV, auxv, sizeof auxv);
    return put_note(notes, n, NT_FILE, files, (uint32_t)(sizeof row + strlen(path) + 1));
}

/* A core file; its module's first page is `page`, NULL: not in it. The caller frees it. */
static uint8_t *make_core(const uint8_t *page, bool with_thread, size_t *ret_size)
{
    static struct test_elf w;
    uint8_t notes[2048] = {0}, stack[STACK_BYTES] = {0};
    const uint64_t ret = BASE + MAIN + 5;
    memcpy(stack + 8, &ret, 8);
    memcpy(stack + 16, path, sizeof path);
    w = test_elf_of(true, false, ET_CORE, EM_X86_64);
    w.segments[w.n_segments++] =
        (struct test_elf_segment){.type = PT_NOTE,
                                  .of_section = test_elf_bytes(&w, "notes", SHT_PROGBITS, 0, notes,
                                                               put_notes(notes, with_thread))};
    uint32_t in_core = page ? test_elf_bytes(&w, "page", SHT_PROGBITS, 0, page, 4096) : 0;
    const struct test_elf_segment code = {.type = PT_LOAD, .flags = PF_R | PF_X, .vaddr = BASE};
    w.segments[w.n_segments] = code;
    w.segments[w.n_segments].mem_size = 4096;
    w.segments[w.n_segments++].of_section = in_core;
    w.segments[w.n_segments] = code;
    w.segments[w.n_segments].vaddr += 4096;
    w.segments[w.n_segments++].mem_size = MODULE_BYTES - 4096;
    w.segments[w.n_segments++] = (struct test_elf_segment){
        .type = PT_LOAD,
        .flags = PF_R | PF_W,
        .vaddr = STACK,
        .mem_size = STACK_BYTES,
        .of_section = test_elf_bytes(&w, "stack", SHT_PROGBITS, 0, stack, sizeof stack)};
    return test_elf_finish(&w, ret_size);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wbe");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Frames of the core's thread; its first name, or "". */
static size_t walk(struct cairn_span core, char ret_name[16], enum cairn_unwind_end *ret_end)
{
    struct cairn_unwind_space *space;
    struct cairn_cursor_regs regs;
    struct cairn_cursor cursor;
    struct cairn_err err;
    uint64_t offset;
    size_t n = 1;
    ret_name[0] = '\0';
    assert_ok(cairn_target_open_core(core, NULL, &space, &err), err);
    assert_ok(cairn_unwind_thread_regs(space, 77, &regs, &err), err);
    assert_ok(cairn_cursor_init(&cursor, space, &regs, &err), err);
    (void)cairn_cursor_proc_name(&cursor, ret_name, 16, &offset);
    while (cairn_cursor_step(&cursor))
        n++;
    *ret_end = cairn_cursor_end(&cursor);
    cairn_unwind_space_free(space);
    return n;
}

/* What a core with the first page of build `in_core` gives, where build `on_disk` is. */
static size_t walk_builds(const char *in_core, const char *on_disk, char ret_name[16],
                          enum cairn_unwind_end *ret_end)
{
    size_t size, n_core;
    uint8_t *module = make_module(on_disk, &size);
    write_file(module, size);
    free(module);
    module = in_core ? make_module(in_core, &size) : NULL;
    uint8_t page[4096] = {0};
    if (module)
        memcpy(page, module, size < sizeof page ? size : sizeof page);
    uint8_t *core = make_core(module ? page : NULL, true, &n_core);
    size_t n = walk((struct cairn_span){core, n_core}, ret_name, ret_end);
    free(core);
    free(module);
    unlink(path);
    return n;
}

static void a_file_of_the_same_build_is_taken(void **state)
{
    (void)state;
    enum cairn_unwind_end end;
    char name[16];
    assert_int_equal(walk_builds("AAAA", "AAAA", name, &end), 2);
    assert_string_equal(name, "body");
    assert_int_equal(end, CAIRN_END_OUTERMOST);
}

static void a_file_of_another_build_is_not(void **state)
{
    (void)state;
    enum cairn_unwind_end end;
    char name[16];
    assert_int_equal(walk_builds("AAAA", "BBBB", name, &end), 1);
    assert_string_equal(name, "");
    assert_int_equal(end, CAIRN_END_NO_RULE);
}

static void a_file_is_taken_where_the_core_tells_no_build(void **state)
{
    (void)state;
    enum cairn_unwind_end end;
    char name[16];
    assert_int_equal(walk_builds(NULL, "BBBB", name, &end), 2);
    assert_string_equal(name, "body");
}

static void without_its_note_files_are_found_by_the_programs_headers(void **state)
{
    (void)state;
    enum cairn_unwind_end end;
    char name[16];
    tells_files = false;
    assert_int_equal(walk_builds("AAAA", "AAAA", name, &end), 2);
    assert_string_equal(name, "body");
    assert_int_equal(end, CAIRN_END_OUTERMOST);
    assert_int_equal(walk_builds("AAAA", "BBBB", name, &end), 1); /* of another build */
    assert_int_equal(walk_builds(NULL, "AAAA", name, &end), 2);   /* by the file's headers */
    assert_string_equal(name, "body");
    tells_files = true;
}

static void threads_and_their_registers_are_listed(void **state)
{
    (void)state;
    size_t size, n = 0;
    int tids[2] = {0};
    uint8_t *core = make_core(NULL, true, &size);
    struct cairn_unwind_space *space;
    struct cairn_cursor_regs regs;
    struct cairn_err err;
    assert_ok(cairn_target_open_core((struct cairn_span){core, size}, NULL, &space, &err), err);
    assert_ok(cairn_unwind_threads(space, tids, 2, &n, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(tids[0], 77);
    assert_ok(cairn_unwind_thread_regs(space, 77, &regs, &err), err);
    assert_int_equal(regs.machine, EM_X86_64);
    assert_int_equal(regs.ip, BASE + BODY + 8);
    assert_int_equal(regs.reg[7], STACK);
    assert_fails(cairn_unwind_thread_regs(space, 78, &regs, &err), CAIRN_E_MISSING, err, "78");
    cairn_unwind_space_free(space);
    free(core);
}

static struct cairn_core_facts facts_of(uint16_t cursig, int number, int code, int pid, int second)
{
    size_t size;
    struct cairn_unwind_space *space;
    struct cairn_err err;
    told_signal.cursig = cursig;
    told_signal.number = number;
    told_signal.code = code;
    told_signal.pid = pid;
    told_signal.second = second;
    uint8_t *core = make_core(NULL, true, &size);
    assert_ok(cairn_target_open_core((struct cairn_span){core, size}, NULL, &space, &err), err);
    const struct cairn_core_facts facts = *cairn_target_core_facts(space);
    cairn_unwind_space_free(space);
    free(core);
    memset(&told_signal, 0, sizeof told_signal);
    return facts;
}

/* gcore(1) writes the SIGSTOP by which it stopped each thread, and 0 as pr_cursig. */
static void a_signal_that_stopped_a_thread_ended_no_process(void **state)
{
    (void)state;
    struct cairn_core_facts facts = facts_of(0, SIGSTOP, SI_USER, 123, SIGSTOP);
    assert_int_equal(facts.signal, 0);
    assert_false(facts.has_code);
    assert_int_equal(facts.sender, 0);
    facts = facts_of(SIGABRT, SIGSTOP, SI_USER, 123, 0);
    assert_int_equal(facts.signal, SIGABRT);
    assert_false(facts.has_code);
    facts = facts_of(SIGABRT, SIGABRT, SI_TKILL, 123, SIGSTOP);
    assert_int_equal(facts.signal, SIGABRT);
    assert_true(facts.has_code);
    assert_int_equal(facts.sender, 123);
    facts = facts_of(SIGSEGV, SIGSEGV, 1, 0x1234, SIGSEGV);
    assert_true(facts.has_address);
    assert_int_equal(facts.address, 0x1234);
}

static void a_timer_that_ended_a_process_has_no_pid(void **state)
{
    (void)state;
    static const int without[] = {SI_TIMER, SI_SIGIO, SI_ASYNCIO};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        const struct cairn_core_facts facts = facts_of(SIGALRM, SIGALRM, without[i], 7, 0);
        assert_true(facts.has_code);
        assert_int_equal(facts.code, without[i]);
        assert_int_equal(facts.sender, 0);
    }
    assert_int_equal(facts_of(SIGTERM, SIGTERM, SI_USER, 7, 0).sender, 7);
    assert_int_equal(facts_of(SIGTERM, SIGTERM, SI_QUEUE, 7, 0).sender, 7);
    assert_int_equal(facts_of(SIGTERM, SIGTERM, SI_MESGQ, 7, 0).sender, 7);
}

static void what_is_no_core_file_is_refused(void **state)
{
    (void)state;
    size_t size;
    struct cairn_unwind_space *space;
    struct cairn_err err;
    uint8_t *module = make_module("AAAA", &size);
    assert_fails(cairn_target_open_core((struct cairn_span){module, size}, NULL, &space, &err),
                 CAIRN_E_FORMAT, err, "type 3");
    free(module);
    uint8_t *core = make_core(NULL, false, &size);
    assert_fails(cairn_target_open_core((struct cairn_span){core, size}, NULL, &space, &err),
                 CAIRN_E_FORMAT, err, "without threads");
    free(core);
    core = make_core(NULL, true, &size);
    Elf64_Ehdr header;
    Elf64_Phdr notes;
    memcpy(&header, core, sizeof header);
    memcpy(&notes, core + header.e_phoff, sizeof notes);
    assert_fails(cairn_target_open_core((struct cairn_span){core, (size_t)notes.p_offset}, NULL,
                                        &space, &err),
                 CAIRN_E_FORMAT, err, "whose threads are missing");
    assert_non_null(strstr(err.hint, "cut short"));
    free(core);
    assert_fails(cairn_unwind_space_open_core("/nonexistent", NULL, &space, &err), CAIRN_E_MISSING,
                 err, "/nonexistent");
    const struct cairn_unwind_opts opts = {.size = 1};
    assert_fails(cairn_unwind_space_open_core("/bin/sh", &opts, &space, &err), CAIRN_E_ARG, err,
                 "options");
}

static void every_truncation_fails_or_gives_what_is_left(void **state)
{
    (void)state;
    size_t size;
    uint8_t *core = make_core(NULL, true, &size);
    for (size_t n = 0; n < size; n++) {
        uint8_t *copy = test_copy(core, n);
        struct cairn_unwind_space *space;
        struct cairn_cursor_regs regs;
        struct cairn_cursor cursor;
        if (cairn_target_open_core((struct cairn_span){copy, n}, NULL, &space, NULL) == CAIRN_OK) {
            if (cairn_unwind_thread_regs(space, 77, &regs, NULL) == CAIRN_OK &&
                cairn_cursor_init(&cursor, space, &regs, NULL) == CAIRN_OK)
                while (cairn_cursor_step(&cursor))
                    ;
            cairn_unwind_space_free(space);
        }
        free(copy);
    }
    free(core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_the_same_build_is_taken),
        cmocka_unit_test(a_file_of_another_build_is_not),
        cmocka_unit_test(a_file_is_taken_where_the_core_tells_no_build),
        cmocka_unit_test(without_its_note_files_are_found_by_the_programs_headers),
        cmocka_unit_test(threads_and_their_registers_are_listed),
        cmocka_unit_test(a_signal_that_stopped_a_thread_ended_no_process),
        cmocka_unit_test(a_timer_that_ended_a_process_has_no_pid),
        cmocka_unit_test(what_is_no_core_file_is_refused),
        cmocka_unit_test(every_truncation_fails_or_gives_what_is_left),
    };
    snprintf(path, sizeof path, "/tmp/cairn-core-test-%d.so", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
