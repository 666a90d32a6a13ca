/* SPDX-License-Identifier: MIT */
/* A space made by hand: one module with CFI, code without a file, a stack whose words lie as a test
 * wants them to. */
#include <elf.h>

#include <cairn/unwind.h>

#include "base/alloc.h"
#include "support/cfiwriter.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum {
    RAX = 0,
    RBX = 3,
    RBP = 6,
    RSP = 7,
    BODY = 0x1000,   /* CFA = rsp + 8; from 4 bytes on rsp + 16, rbx saved at CFA - 16 */
    MAIN = 0x1100,   /* nobody called it */
    BY_RBP = 0x1200, /* CFA = rbp + 16 */
    BY_RDX = 0x1300, /* CFA = rdx + 8 */
    BROKEN = 0x1400, /* an operation that does not exist */
    BY_RBX = 0x1500, /* CFA = rbx + 16 */
    STUB = 0x1600,   /* CFA = rsp + 8, from byte 11 of each 16 on rsp + 16, as of a PLT */
    NOTHING = 0x1800 /* no CFI */
};
static const uint64_t BIAS = 0x555500000000, STACK = 0x7ffe00001000, JIT = 0x7f0000000000;
static const uint64_t UPROBES = 0x555500002000; /* right behind the module */
enum { STACK_BYTES = 4096, JIT_BYTES = 4096 };

static struct {
    uint8_t *file;
    size_t file_size;
    uint8_t stack[STACK_BYTES];
    uint64_t endless; /* nonzero: every word of memory is this one */
    bool calls;       /* all code of the module can be read, and is call instructions */
    bool lies;        /* find() tells of a region that holds something else */
    size_t n_reads;
    uint8_t jit[16]; /* code at JIT */
    bool loads;      /* all tables are made when a walk starts */
} world;

static void put(uint64_t va, uint64_t word)
{
    memcpy(world.stack + (va - STACK), &word, sizeof word);
}

static int read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    world.n_reads++;
    if (world.endless) {
        for (size_t i = 0; i < size; i++)
            ((uint8_t *)to)[i] = (uint8_t)(world.endless >> 8 * (i % 8));
        return 0;
    }
    if (world.calls && va >= BIAS && va < BIAS + 0x2000) {
        memset(to, 0xe8, size);
        return 0;
    }
    if (va >= JIT && va - JIT <= sizeof world.jit && size <= sizeof world.jit - (va - JIT)) {
        memcpy(to, world.jit + (va - JIT), size);
        return 0;
    }
    if (va < STACK || va - STACK > STACK_BYTES || size > STACK_BYTES - (va - STACK))
        return 1;
    memcpy(to, world.stack + (va - STACK), size);
    return 0;
}

static int find(void *ctx, uint64_t va, struct cairn_unwind_region *ret)
{
    (void)ctx;
    if (world.lies) {
        *ret = (struct cairn_unwind_region){.start = va + 1, .end = va};
        return 0;
    }
    if (va >= BIAS + 0x1000 && va < BIAS + 0x2000) {
        *ret = (struct cairn_unwind_region){
            .start = BIAS + 0x1000,
            .end = BIAS + 0x2000,
            .off = 0x1000,
            .flags = CAIRN_MAP_EXEC | CAIRN_MAP_READ,
            .path = "/lib/made.so",
            .file = world.file,
            .file_size = world.file_size,
        };
        return 0;
    }
    if (va >= UPROBES && va < UPROBES + 4096) {
        *ret = (struct cairn_unwind_region){
            .start = UPROBES, .end = UPROBES + 4096, .flags = CAIRN_MAP_EXEC, .path = "[uprobes]"};
        return 0;
    }
    if (va >= JIT && va < JIT + JIT_BYTES) {
        *ret = (struct cairn_unwind_region){
            .start = JIT, .end = JIT + JIT_BYTES, .flags = CAIRN_MAP_EXEC};
        return 0;
    }
    return 1;
}

static void add_function(struct test_cfi *t, uint64_t from, const char *program, size_t size)
{
    test_cfi_fde(t, from, 0x80);
    test_cfi_put(t, program, size);
    test_cfi_end(t);
}

static int make_file(void **state)
{
    static struct test_elf w;
    static struct test_cfi t;
    static const struct test_cie cie = {.version = 1, .letters = "zR", .encoding = 0x1b};
    (void)state;
    t = test_cfi_of(false, 8);
    test_cfi_cie(&t, &cie);
    test_cfi_put(&t, "\x0c\x07\x08\x90\x01", 5);
    test_cfi_end(&t);
    add_function(&t, BODY, "\x44\x0e\x10\x83\x02", 5);
    add_function(&t, MAIN, "\x07\x10", 2);
    add_function(&t, BY_RBP, "\x0c\x06\x10\x86\x02", 5);
    add_function(&t, BY_RDX, "\x0c\x01\x08", 3);
    add_function(&t, BROKEN, "\x3f\x3f", 2);
    add_function(&t, BY_RBX, "\x0c\x03\x10", 3);
    add_function(&t, STUB, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 13);
    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1000, 0x1000, 0x1000, 0x1000);
    uint32_t text =
        test_elf_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x1000);
    uint32_t n =
        test_elf_bytes(&w, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, t.section.data, t.section.n);
    w.sections[n].vaddr = TEST_CFI_VADDR;
    test_elf_symbol(&w, "body", STB_GLOBAL, STT_FUNC, (uint16_t)text, BODY, 0x80);
    test_elf_symtab(&w, false);
    world.file = test_elf_finish(&w, &world.file_size);
    return world.file == NULL;
}

static int drop_file(void **state)
{
    (void)state;
    free(world.file);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    memset(world.stack, 0, sizeof world.stack);
    world.endless = 0;
    world.lies = world.calls = false;
    world.n_reads = 0;
    return 0;
}

static struct cairn_unwind_space *new_space(void)
{
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .read = read_memory, .find = find};
    struct cairn_unwind_space *space;
    struct cairn_err err;
    assert_ok(cairn_unwind_space_new(&accessors, &space, &err), err);
    return space;
}

static struct cairn_cursor start(struct cairn_unwind_space *space, uint64_t ip, uint64_t sp,
                                 uint64_t rbp)
{
    struct cairn_cursor_regs regs = {.machine = EM_X86_64, .ip = ip};
    struct cairn_cursor cursor;
    struct cairn_err err;
    regs.reg[RSP] = sp;
    regs.reg[RBP] = rbp;
    regs.reg[RAX] = 11;
    regs.reg[RBX] = 33;
    regs.known = 1u << RSP | 1u << RBP | 1u << RAX | 1u << RBX;
    assert_ok(cairn_cursor_init(&cursor, space, &regs, &err), err);
    if (world.loads)
        (void)cairn_unwind_space_load(space, NULL);
    return cursor;
}

static uint64_t reg(struct cairn_cursor *cursor, unsigned number)
{
    uint64_t value = 0;
    assert_int_equal(cairn_cursor_get_reg(cursor, number, &value), CAIRN_OK);
    return value;
}

/* Walks to the end; the number of frames. */
static size_t walk(struct cairn_cursor *cursor)
{
    size_t n = 1;
    while (cairn_cursor_step(cursor))
        assert_true(++n <= CAIRN_MAX_FRAMES);
    assert_int_equal(cairn_cursor_step(cursor), 0);
    return n;
}

static void all_registers_that_rules_speak_of_are_recovered(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, BIAS + BODY + 0x10, STACK, 0x77);
    struct cairn_cursor_frame frame;
    uint64_t offset, value;
    char name[16];
    put(STACK, 0xbbbb);
    put(STACK + 8, BIAS + MAIN + 5);
    cairn_cursor_frame(&cursor, &frame);
    assert_int_equal(frame.how, CAIRN_HOW_START);
    assert_true(frame.exact);
    assert_string_equal(frame.path, "/lib/made.so");
    assert_int_equal(frame.file_off, BODY + 0x10);
    assert_int_equal(cairn_cursor_proc_name(&cursor, name, sizeof name, &offset), CAIRN_OK);
    assert_string_equal(name, "body");
    assert_int_equal(offset, 0x10);
    assert_int_equal(reg(&cursor, RAX), 11);

    assert_int_equal(cairn_cursor_step(&cursor), 1);
    cairn_cursor_frame(&cursor, &frame);
    assert_int_equal(frame.ip, BIAS + MAIN + 5);
    assert_int_equal(frame.sp, STACK + 16);
    assert_int_equal(frame.how, CAIRN_HOW_CFI);
    assert_false(frame.exact);
    assert_int_equal(reg(&cursor, RBX), 0xbbbb);
    assert_int_equal(reg(&cursor, CAIRN_REG_FP), 0x77);
    assert_int_equal(reg(&cursor, CAIRN_REG_SP), STACK + 16);
    assert_int_equal(reg(&cursor, CAIRN_REG_IP), BIAS + MAIN + 5);
    assert_int_equal(cairn_cursor_get_reg(&cursor, RAX, &value), CAIRN_E_MISSING);
    assert_int_equal(cairn_cursor_get_reg(&cursor, 77, &value), CAIRN_E_ARG);
    assert_int_equal(cairn_cursor_proc_name(&cursor, name, sizeof name, &offset), CAIRN_E_MISSING);

    assert_int_equal(cairn_cursor_step(&cursor), 0);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_OUTERMOST);
    cairn_unwind_space_free(space);
}

static void a_name_is_cut_to_the_room_it_has(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, BIAS + BODY, STACK, 0);
    uint64_t offset;
    char name[3];
    assert_int_equal(cairn_cursor_proc_name(&cursor, name, sizeof name, &offset), CAIRN_OK);
    assert_string_equal(name, "bo");
    assert_int_equal(cairn_cursor_proc_name(&cursor, name, 0, &offset), CAIRN_E_ARG);
    cairn_unwind_space_free(space);
}

static void the_prologue_has_a_row_of_its_own(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, BIAS + BODY + 3, STACK, 0);
    put(STACK, BIAS + MAIN + 5);
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    assert_int_equal(reg(&cursor, CAIRN_REG_SP), STACK + 8);
    assert_int_equal(reg(&cursor, RBX), 33);
    cairn_unwind_space_free(space);
}

static void a_return_address_is_looked_up_inside_of_its_call(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, BIAS + BODY + 3, STACK, 0);
    put(STACK, BIAS + MAIN + 0x80); /* behind the end of main: it called a noreturn function */
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    assert_int_equal(walk(&cursor), 1);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_OUTERMOST);
    cairn_unwind_space_free(space);
}

/* From a frame by rbp to one by rsp that kept rbx, and so on; the last one is main's. */
enum { PAIRS = 30, PAIR_BYTES = 32 };

static void put_pairs(void)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        uint64_t at = STACK + PAIR_BYTES * i;
        put(at, 0x1000 + i); /* rbx */
        put(at + 8, BIAS + BY_RBP + 0x20);
        put(at + 16, at + PAIR_BYTES + 16); /* rbp, which points to its like */
        put(at + 24, BIAS + (i + 1 < PAIRS ? BODY + 0x20 : MAIN + 5));
    }
}

static void registers_of_frames_that_went_by_tables_are_found_when_asked_for(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_err err;
    put_pairs();
    /* by_rows: asks every frame; later: asks one of them */
    struct cairn_cursor by_rows = start(space, BIAS + BODY + 0x10, STACK, STACK + 16);
    assert_ok(cairn_unwind_space_load(space, &err), err);
    for (unsigned n = 0; n <= 2 * PAIRS; n += 7) {
        struct cairn_cursor later = start(space, BIAS + BODY + 0x10, STACK, STACK + 16);
        size_t reads = world.n_reads;
        for (unsigned i = 0; i < n && i < 2 * PAIRS; i++)
            assert_int_equal(cairn_cursor_step(&later), 1);
        assert_true(n < 7 || world.n_reads - reads <= 3 * n); /* no other words were looked at */
        assert_int_equal(reg(&later, RBX), n < 2 ? (n ? 0x1000 : 33) : 0x1000 + (n - 1) / 2);
        assert_int_equal(reg(&later, CAIRN_REG_FP), STACK + 16 + n / 2 * PAIR_BYTES);
    }
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        assert_int_equal(cairn_cursor_step(&by_rows), 1);
        assert_int_equal(reg(&by_rows, RBX), 0x1000 + i / 2);
    }
    assert_int_equal(walk(&by_rows), 1);
    assert_int_equal(cairn_cursor_end(&by_rows), CAIRN_END_OUTERMOST);
    cairn_unwind_space_free(space);
}

static void a_stack_that_changed_meanwhile_has_no_registers_of_another(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_err err;
    uint64_t value;
    put_pairs();
    (void)start(space, BIAS + BODY, STACK, 0);
    assert_ok(cairn_unwind_space_load(space, &err), err);
    struct cairn_cursor cursor = start(space, BIAS + BODY + 0x10, STACK, STACK + 16);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(cairn_cursor_step(&cursor), 1);
    put(STACK + 2 * PAIR_BYTES + 8, BIAS + MAIN + 5);
    assert_int_equal(cairn_cursor_get_reg(&cursor, RBX, &value), CAIRN_E_MISSING);
    assert_int_equal(reg(&cursor, CAIRN_REG_FP), STACK + 16 + 5 * PAIR_BYTES);
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    cairn_unwind_space_free(space);
}

static void a_row_by_another_register_is_stepped_in_full(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_err err;
    put_pairs();
    put(STACK + 3 * PAIR_BYTES + 24, BIAS + BY_RBX + 0x20); /* the caller's: CFA = rbx + 16 */
    put(STACK + 3 * PAIR_BYTES, STACK + 0x800 - 16);
    put(STACK + 0x800 - 8, BIAS + MAIN + 5);
    (void)start(space, BIAS + BODY, STACK, 0);
    assert_ok(cairn_unwind_space_load(space, &err), err);
    struct cairn_cursor cursor = start(space, BIAS + BODY + 0x10, STACK, STACK + 16);
    assert_int_equal(walk(&cursor), 10);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_OUTERMOST);
    assert_int_equal(reg(&cursor, CAIRN_REG_SP), STACK + 0x800);
    cairn_unwind_space_free(space);
}

struct lie {
    const char *what;
    uint64_t ip, sp, rbp;
    enum cairn_unwind_end end;
    size_t n_frames;
};

static void each_lie_ends_with_its_reason(void **state)
{
    (void)state;
    const struct lie lies[] = {
        {"a stack that cannot be read", BIAS + BODY, STACK + STACK_BYTES, 0, CAIRN_END_UNREADABLE,
         1},
        {"a stack at the end of the address space", BIAS + BODY, UINT64_MAX - 7, 0,
         CAIRN_END_UNREADABLE, 1},
        {"a stack pointer that is odd", BIAS + BODY, STACK + 1, 0, CAIRN_END_BAD_CFA, 1},
        {"a CFA below the frame", BIAS + BY_RBP, STACK + 256, STACK + 64, CAIRN_END_BAD_CFA, 1},
        {"a CFA that is the frame", BIAS + BY_RBP, STACK + 256, STACK + 240, CAIRN_END_BAD_CFA, 1},
        {"a wild CFA", BIAS + BY_RBP, STACK, 0x4141414141414141, CAIRN_END_UNREADABLE, 1},
        {"a register that is not known", BIAS + BY_RDX, STACK, 0, CAIRN_END_NO_REGISTER, 1},
        {"damaged CFI", BIAS + BROKEN + 2, STACK, 0, CAIRN_END_DAMAGED, 1},
        {"an address that nothing covers", BIAS + NOTHING, STACK, 0, CAIRN_END_NO_RULE, 1},
        {"code without a file", JIT + 64, STACK, 0, CAIRN_END_NO_MODULE, 1},
        {"an address that is nowhere", 0x1234, STACK, 0, CAIRN_END_NO_MODULE, 1},
        {"a return address that is 0", BIAS + BODY + 9, STACK, 0, CAIRN_END_OUTERMOST, 1},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct cairn_unwind_space *space = new_space();
        clear(NULL);
        for (uint64_t va = STACK; va < STACK + STACK_BYTES; va += 8)
            put(va, strstr(lies[i].what, "is 0") ? 0 : BIAS + MAIN + 1);
        struct cairn_cursor cursor = start(space, lies[i].ip, lies[i].sp, lies[i].rbp);
        size_t n = walk(&cursor);
        if (n != lies[i].n_frames || cairn_cursor_end(&cursor) != lies[i].end)
            fail_msg("%s: %zu frames, %s", lies[i].what, n,
                     cairn_unwind_end_text((int)cairn_cursor_end(&cursor)));
        cairn_unwind_space_free(space);
    }
}

static void a_replaced_return_address_is_named_and_ends_the_walk(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor_frame frame;
    put(STACK, UPROBES);
    put(STACK + 8, BIAS + MAIN + 1);
    struct cairn_cursor cursor = start(space, BIAS + BODY, STACK, 0);
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    cairn_cursor_frame(&cursor, &frame);
    assert_int_equal(frame.ip, UPROBES);
    assert_string_equal(frame.path, "[uprobes]");
    assert_true(frame.exact);
    assert_int_equal(cairn_cursor_step(&cursor), 0);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_UPROBE);
    cairn_unwind_space_free(space);
}

static void a_stub_is_left_by_what_its_address_says(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 16; byte++) {
        struct cairn_unwind_space *space = new_space();
        clear(NULL);
        put(STACK + 64, byte < 11 ? BIAS + MAIN + 1 : 0x4a);
        put(STACK + 72, BIAS + MAIN + 1);
        struct cairn_cursor cursor = start(space, BIAS + STUB + 32 + byte, STACK + 64, 0);
        assert_int_equal(walk(&cursor), 2);
        assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_OUTERMOST);
        cairn_unwind_space_free(space);
    }
}

static void a_stack_without_end_ends(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    world.endless = BIAS + BODY + 8;
    struct cairn_cursor cursor = start(space, BIAS + BODY + 8, STACK, 0);
    assert_int_equal(walk(&cursor), CAIRN_MAX_FRAMES);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_MAX_FRAMES);
    assert_true(world.n_reads < 8 * CAIRN_MAX_FRAMES);
    cairn_unwind_space_free(space);
}

static void signal_frames_cannot_go_in_circles_for_ever(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    /* All of memory is mov $15,%eax; syscall, over and over: every frame is a signal's, and says
     * that what it interrupted was just such code. */
    world.endless = 0x050f0000000fb8 | 0xb8ull << 56;
    struct cairn_cursor cursor = start(space, JIT + 8, STACK, 0);
    assert_true(walk(&cursor) <= CAIRN_MAX_FRAMES);
    cairn_unwind_space_free(space);
}

static void
who_is_on_the_way_back_from_a_signal_stands_behind_the_frames_last_instruction(void **state)
{
    (void)state;
    enum { OFF_SP = 160, OFF_IP = 168, CODE = 9 }; /* of the ucontext, and in bytes */
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor_frame frame;
    memcpy(world.jit, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", CODE);
    put(STACK + OFF_SP, STACK + 512);
    put(STACK + OFF_IP, BIAS + MAIN + 5);
    struct cairn_cursor cursor = start(space, JIT + CODE, STACK, 0);
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    cairn_cursor_frame(&cursor, &frame);
    assert_int_equal(frame.ip, BIAS + MAIN + 5);
    assert_int_equal(frame.sp, STACK + 512);
    assert_int_equal(frame.how, CAIRN_HOW_SIGNAL);
    assert_int_equal(cairn_cursor_step(&cursor), 0);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_OUTERMOST);

    put(STACK + OFF_IP, JIT + CODE); /* no signal comes there, and nobody returns to it */
    cursor = start(space, JIT, STACK, 0);
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    assert_int_equal(cairn_cursor_step(&cursor), 0);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_NO_MODULE);
    cairn_unwind_space_free(space);
}

static void code_without_rules_is_guessed_by_a_record_behind_a_call(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, JIT + 64, STACK, STACK + 32);
    /* Memory of code cannot be read here, so that no call is seen before the return address. */
    put(STACK + 32, STACK + 96);
    put(STACK + 40, BIAS + MAIN + 9);
    assert_int_equal(walk(&cursor), 1);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_NO_MODULE);
    cairn_unwind_space_free(space);
}

static void a_call_through_a_wild_pointer_is_followed_back(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, 0, STACK, 0x77);
    world.calls = true;
    put(STACK, BIAS + BODY + 9);
    put(STACK + 16, BIAS + MAIN + 9);
    assert_int_equal(cairn_cursor_step(&cursor), 1);
    assert_int_equal(reg(&cursor, CAIRN_REG_IP), BIAS + BODY + 9);
    assert_int_equal(reg(&cursor, CAIRN_REG_SP), STACK + 8);
    assert_int_equal(reg(&cursor, RBP), 0x77);
    assert_int_equal(walk(&cursor), 2);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_OUTERMOST);

    world.calls = false; /* behind no call: not believed */
    cursor = start(space, 0, STACK, 0x77);
    assert_int_equal(walk(&cursor), 1);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_NO_MODULE);
    cairn_unwind_space_free(space);
}

static void what_find_says_must_hold_the_address(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    world.lies = true;
    struct cairn_cursor cursor = start(space, BIAS + BODY, STACK, 0);
    assert_int_equal(walk(&cursor), 1);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_NO_MODULE);
    cairn_unwind_space_free(space);
}

static void a_refresh_ends_the_cursors(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor cursor = start(space, BIAS + BODY, STACK, 0);
    uint64_t offset;
    char name[8];
    put(STACK, BIAS + MAIN + 5);
    cairn_unwind_space_refresh(space);
    assert_int_equal(cairn_cursor_step(&cursor), 0);
    assert_int_equal(cairn_cursor_proc_name(&cursor, name, sizeof name, &offset), CAIRN_E_MISSING);
    cursor = start(space, BIAS + BODY, STACK, 0);
    assert_int_equal(walk(&cursor), 2);
    cairn_unwind_space_free(space);
}

static void a_module_of_another_machine_has_no_rules(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space();
    struct cairn_cursor_regs regs = {.machine = EM_AARCH64, .ip = BIAS + BODY};
    struct cairn_cursor cursor;
    struct cairn_err err;
    regs.known = UINT64_C(1) << 31;
    regs.reg[31] = STACK;
    assert_ok(cairn_cursor_init(&cursor, space, &regs, &err), err);
    assert_int_equal(walk(&cursor), 1);
    assert_int_equal(cairn_cursor_end(&cursor), CAIRN_END_NO_MODULE);
    cairn_unwind_space_free(space);
}

static void what_cannot_be_meant_is_refused(void **state)
{
    (void)state;
    struct cairn_unwind_space *space = new_space(), *none;
    struct cairn_cursor_regs regs = {.machine = EM_S390};
    struct cairn_cursor cursor;
    struct cairn_err err;
    size_t n;
    int tid;
    assert_fails(cairn_cursor_init(&cursor, space, &regs, &err), CAIRN_E_SUPPORT, err, "machine");
    regs.machine = EM_X86_64;
    assert_fails(cairn_cursor_init(&cursor, space, &regs, &err), CAIRN_E_ARG, err, "stack pointer");
    assert_fails(cairn_unwind_space_new(NULL, &none, &err), CAIRN_E_ARG, err, "accessors");
    assert_fails(cairn_unwind_threads(space, &tid, 1, &n, &err), CAIRN_E_SUPPORT, err, "threads");
    assert_fails(cairn_unwind_thread_regs(space, 1, &regs, &err), CAIRN_E_SUPPORT, err, "register");
    assert_int_equal(cairn_unwind_hold(space, 1, 0, &err), CAIRN_OK);
    cairn_unwind_release(space, 1);
    cairn_unwind_space_free(space);
    cairn_unwind_space_free(NULL);
}

static void a_lack_of_memory_ends_a_walk_and_no_more(void **state)
{
    (void)state;
    put(STACK, BIAS + MAIN + 5);
    for (long countdown = 0; countdown < 40; countdown++) {
        struct cairn_unwind_space *space = new_space();
        cairn_alloc_fail_after(countdown);
        struct cairn_cursor cursor = start(space, BIAS + BODY, STACK, 0);
        char name[8];
        uint64_t offset;
        walk(&cursor);
        (void)cairn_cursor_proc_name(&cursor, name, sizeof name, &offset);
        cairn_alloc_fail_after(-1);
        cairn_unwind_space_free(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_registers_that_rules_speak_of_are_recovered, clear),
        cmocka_unit_test_setup(a_name_is_cut_to_the_room_it_has, clear),
        cmocka_unit_test_setup(the_prologue_has_a_row_of_its_own, clear),
        cmocka_unit_test_setup(a_return_address_is_looked_up_inside_of_its_call, clear),
        cmocka_unit_test_setup(registers_of_frames_that_went_by_tables_are_found_when_asked_for,
                               clear),
        cmocka_unit_test_setup(a_stack_that_changed_meanwhile_has_no_registers_of_another, clear),
        cmocka_unit_test_setup(a_row_by_another_register_is_stepped_in_full, clear),
        cmocka_unit_test_setup(each_lie_ends_with_its_reason, clear),
        cmocka_unit_test_setup(a_stub_is_left_by_what_its_address_says, clear),
        cmocka_unit_test_setup(a_replaced_return_address_is_named_and_ends_the_walk, clear),
        cmocka_unit_test_setup(a_stack_without_end_ends, clear),
        cmocka_unit_test_setup(signal_frames_cannot_go_in_circles_for_ever, clear),
        cmocka_unit_test_setup(
            who_is_on_the_way_back_from_a_signal_stands_behind_the_frames_last_instruction, clear),
        cmocka_unit_test_setup(code_without_rules_is_guessed_by_a_record_behind_a_call, clear),
        cmocka_unit_test_setup(a_call_through_a_wild_pointer_is_followed_back, clear),
        cmocka_unit_test_setup(what_find_says_must_hold_the_address, clear),
        cmocka_unit_test_setup(a_refresh_ends_the_cursors, clear),
        cmocka_unit_test_setup(a_module_of_another_machine_has_no_rules, clear),
        cmocka_unit_test_setup(what_cannot_be_meant_is_refused, clear),
        cmocka_unit_test_setup(a_lack_of_memory_ends_a_walk_and_no_more, clear),
    };
    int failed = cmocka_run_group_tests_name("by rows", tests, make_file, drop_file);
    world.loads = true;
    return failed + cmocka_run_group_tests_name("by tables", tests, make_file, drop_file);
}
