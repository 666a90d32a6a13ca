/* SPDX-License-Identifier: MIT */
#include "trace/usdt.h"

#include <stdio.h>

#include "support/test.h"

static struct cairn_elf_usdt_note notes[] = {
    {.vaddr = 1, .provider = "mine", .name = "end"},
    {.vaddr = 1, .provider = "mine", .name = "start"},
    {.vaddr = 2, .provider = "mine", .name = "start"},
    {.vaddr = 1, .provider = "other", .name = "gc__start"},
};
static const struct cairn_usdt_file file = {.notes = notes, .n = sizeof notes / sizeof *notes};

static void patterns_choose_probes_with_all_their_places(void **state)
{
    (void)state;
    struct cairn_usdt_probe probe;
    size_t at = 0;
    assert_true(cairn_usdt_next(&file, "*", "*start", &at, &probe));
    assert_ptr_equal(probe.notes, &notes[1]);
    assert_int_equal(probe.n, 2);
    assert_true(cairn_usdt_next(&file, "*", "*start", &at, &probe));
    assert_ptr_equal(probe.notes, &notes[3]);
    assert_false(cairn_usdt_next(&file, "*", "*start", &at, &probe));
    at = 0;
    assert_false(cairn_usdt_next(&file, "mine", "gc*", &at, &probe));
}

static void the_nearest_name_is_found(void **state)
{
    (void)state;
    assert_ptr_equal(cairn_usdt_nearest(&file, "mine", "strat"), &notes[1]);
    assert_ptr_equal(cairn_usdt_nearest(&file, "mine", ""), &notes[0]);
    assert_ptr_equal(cairn_usdt_nearest(&file, "other", "start"), &notes[1]);
    assert_ptr_equal(cairn_usdt_nearest(&file, "othr", "gc_start"), &notes[3]);
}

static struct cairn_usdt_place place_of(uint32_t n, uint8_t bytes, uint8_t is_signed, bool is_real)
{
    struct cairn_usdt_place place = {.args = {.n_args = n}};
    for (uint32_t i = 0; i < n; i++) {
        place.args.args[i] = (struct cairn_bpf_arg){
            .operand = CAIRN_TRACE_OPERAND_CONST, .bytes = bytes, .is_signed = is_signed};
        place.is_real[i] = is_real;
    }
    return place;
}

static void arguments_are_described_by_all_places(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[2], is_signed[2];
        bool is_real[2];
        enum cairn_call_kind kind;
    } rows[] = {
        {{4, 4}, {0, 0}, {false, false}, CAIRN_KIND_SIZE},
        {{8, 8}, {0, 0}, {false, false}, CAIRN_KIND_HEX},
        {{4, 8}, {0, 0}, {false, false}, CAIRN_KIND_HEX},
        {{4, 4}, {1, 1}, {false, false}, CAIRN_KIND_LONG},
        {{4, 8}, {0, 1}, {false, false}, CAIRN_KIND_LONG},
        {{4, 4}, {1, 1}, {true, true}, CAIRN_KIND_FLOAT},
        {{8, 8}, {0, 0}, {true, true}, CAIRN_KIND_DOUBLE},
        {{8, 4}, {0, 0}, {true, true}, CAIRN_KIND_HEX},
        {{8, 8}, {0, 0}, {true, false}, CAIRN_KIND_HEX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cairn_usdt_place places[] = {
            place_of(1, rows[i].bytes[0], rows[i].is_signed[0], rows[i].is_real[0]),
            place_of(2, rows[i].bytes[1], rows[i].is_signed[1], rows[i].is_real[1])};
        struct cairn_syscall call = {.n_args = -1};
        cairn_usdt_describe(places, 2, &call);
        assert_int_equal(call.n_args, 2);
        if (call.args[0].kind != rows[i].kind)
            fail_msg("row %zu: '%c', expected '%c'", i, call.args[0].kind, rows[i].kind);
        assert_string_equal(call.args[1].name, "arg1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_choose_probes_with_all_their_places),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(arguments_are_described_by_all_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
