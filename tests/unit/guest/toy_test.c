/* SPDX-License-Identifier: MIT */
/*
 * A toy interpreter, added as docs/guide/guests.md says. Its machine has a word "toys" and a number
 * of frames, then for each, innermost first, the number of a function and a line:
 *
 *     state ─► 'toys' n   function line   function line   ...
 *
 * Its loop holds the state in rbx. Each frame of the loop runs all frames of its state.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "guest/image.h"
#include "guest/weave.h"
#include "support/elfwriter.h"
#include "support/test.h"

enum { RBX = 3, LOOP = 0x1000, LOOP_END = 0x1100, BIAS = 0x400000, FRAMES_MAX = 64 };
enum { STATE = 0x9000, MAGIC = 0x73796f74 };

static bool toy_look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file)
{
    struct cairn_span text;
    if (!cairn_guest_find_text(elf, "toy interpreter 1.", &text))
        return false;
    strcpy(ret_file->version, "Toy 1");
    ret_file->loop = LOOP;
    ret_file->loop_end = LOOP_END;
    ret_file->state_reg = RBX;
    return true;
}

/* Of one state; the size is the target's word. */
static int read_state(const struct cairn_guest_thread *thread, struct cairn_guest_result *result,
                      uint32_t native, uint64_t va)
{
    const struct cairn_memory *memory = &thread->memory;
    uint32_t head[2], frame[2];
    struct cairn_guest_state *state =
        cairn_guest_add_state(result, thread->natives[native].module, va);
    if (!state)
        return CAIRN_E_NOMEM;
    const uint32_t number = (uint32_t)result->n_states - 1;
    if (!memory->read(memory->ctx, va, head, sizeof head) || head[0] != MAGIC) {
        state->doubt = "no state is there";
        return CAIRN_OK;
    }
    if (head[1] > FRAMES_MAX)
        state->doubt = "it has more frames than there can be";
    for (uint32_t i = 0; i < head[1] && i < FRAMES_MAX; i++) {
        if (!memory->read(memory->ctx, va + 8 + 8ull * i, frame, sizeof frame)) {
            result->states[number].doubt = "its frames end in unreadable memory";
            return CAIRN_OK;
        }
        struct cairn_guest_frame *one =
            cairn_guest_add_frame(result, number, CAIRN_GUEST_FUNCTION, native);
        if (!one)
            return CAIRN_E_NOMEM;
        one->id = frame[0];
        one->line = frame[1];
    }
    return CAIRN_OK;
}

static int toy_read(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    int code = CAIRN_OK;
    for (uint32_t i = 0; i < thread->n_natives && code == CAIRN_OK; i++) {
        const struct cairn_guest_native *native = &thread->natives[i];
        if (native->module == CAIRN_GUEST_NONE || native->regs == CAIRN_GUEST_NONE ||
            !cairn_guest_wants_regs(&thread->modules[native->module], native->ip))
            continue;
        cairn_guest_mark_own(result, i);
        code = read_state(thread, result, i, thread->regs[native->regs].value[RBX]);
    }
    return code;
}

static const struct cairn_guest toy = {
    .language = CAIRN_LANGUAGE_NONE, .name = "Toy", .look = toy_look, .read = toy_read};

static uint32_t words[2 + 2 * FRAMES_MAX];

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    size_t end = *(size_t *)ctx;
    if (va < STATE || va - STATE > end || size > end - (va - STATE))
        return false;
    memcpy(to, (uint8_t *)words + (va - STATE), size);
    return true;
}

/* A helper of the host, called by the loop, called by main. */
static void read_stack(size_t n_bytes, struct cairn_guest_result *result)
{
    const struct cairn_guest_file file = {
        .guest = &toy, .loop = LOOP, .loop_end = LOOP_END, .state_reg = RBX};
    const struct cairn_guest_module module = {.file = &file, .bias = BIAS};
    struct cairn_guest_regs regs = {.ip = BIAS + LOOP + 8, .known = 1 << RBX};
    regs.value[RBX] = STATE;
    const struct cairn_guest_native natives[] = {
        {.ip = 0x100, .module = CAIRN_GUEST_NONE, .regs = CAIRN_GUEST_NONE},
        {.ip = BIAS + LOOP + 8, .module = 0, .regs = 0},
        {.ip = 0x200, .module = CAIRN_GUEST_NONE, .regs = CAIRN_GUEST_NONE}};
    const struct cairn_guest_thread thread = {.memory = {read_memory, &n_bytes},
                                              .machine = EM_X86_64,
                                              .modules = &module,
                                              .n_modules = 1,
                                              .natives = natives,
                                              .n_natives = 3,
                                              .regs = &regs,
                                              .n_regs = 1};
    assert_int_equal(cairn_guest_read(&thread, result), CAIRN_OK);
}

static void its_frames_stand_where_its_loop_ran(void **state)
{
    (void)state;
    static const uint32_t two[] = {MAGIC, 2, 7, 70, 8, 80};
    static const struct cairn_guest_item wanted[] = {
        {false, 0}, {true, 0}, {true, 1}, {false, 1}, {false, 2}};
    struct cairn_guest_result result = {0};
    struct cairn_guest_weave weave = {0};
    struct cairn_guest_item item;
    memcpy(words, two, sizeof two);
    read_stack(sizeof two, &result);
    assert_int_equal(result.n_states, 1);
    assert_null(result.states[0].doubt);
    assert_int_equal(result.n_frames, 2);
    assert_int_equal(result.frames[0].id, 7);
    assert_int_equal(result.frames[1].line, 80);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(cairn_guest_weave_next(&weave, 3, &result, &item));
        assert_int_equal(item.is_guest, wanted[i].is_guest);
        assert_int_equal(item.index, wanted[i].index);
    }
    assert_false(cairn_guest_weave_next(&weave, 3, &result, &item));
    assert_int_equal(result.own[1], 1);
    assert_int_equal(result.own[2], 0);
    cairn_guest_result_done(&result);
}

static void damaged_states_are_in_doubt(void **state)
{
    (void)state;
    static const struct {
        uint32_t head[2];
        size_t n_bytes, n_frames;
        const char *doubt;
    } rows[] = {
        {{0, 2}, 24, 0, "no state is there"},
        {{MAGIC, 2}, 4, 0, "no state is there"},
        {{MAGIC, 3}, 16, 1, "its frames end in unreadable memory"},
        {{MAGIC, UINT32_MAX}, sizeof words, FRAMES_MAX, "it has more frames than there can be"}};
    struct cairn_guest_result result = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(words, 1, sizeof words);
        memcpy(words, rows[i].head, sizeof rows[i].head);
        read_stack(rows[i].n_bytes, &result);
        assert_int_equal(result.n_states, 1);
        assert_string_equal(result.states[0].doubt, rows[i].doubt);
        assert_int_equal(result.n_frames, rows[i].n_frames);
    }
    cairn_guest_result_done(&result);
}

/* By what the file holds, not by its name. */
static void it_is_known_by_its_text(void **state)
{
    (void)state;
    static const char with[] = "\0toy interpreter 1.2\n", without[] = "\0toy train 1.2\n";
    for (int has = 0; has < 2; has++) {
        struct test_elf w = test_elf_of(true, false, ET_DYN, EM_X86_64);
        struct cairn_guest_file file = {0};
        struct cairn_elf elf;
        struct cairn_err err;
        size_t size;
        test_elf_load(&w, PF_R, 0, 0, 0x1000, 0x1000);
        test_elf_bytes(&w, ".rodata", SHT_PROGBITS, SHF_ALLOC, has ? with : without,
                       has ? sizeof with : sizeof without);
        uint8_t *bytes = test_elf_finish(&w, &size);
        assert_ok(cairn_elf_open((struct cairn_span){bytes, size}, &elf, &err), err);
        assert_int_equal(toy.look(&elf, &file), has);
        assert_int_equal(cairn_guest_has_loop(&file), has);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_frames_stand_where_its_loop_ran),
        cmocka_unit_test(damaged_states_are_in_doubt),
        cmocka_unit_test(it_is_known_by_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
