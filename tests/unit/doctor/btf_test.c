/* SPDX-License-Identifier: MIT */
#include "doctor/btf.h"

#include <fcntl.h>

#include "base/file.h"
#include "support/test.h"

/* A header, a struct of two members, an integer, two functions; their names behind them. */
static size_t make(uint8_t *bytes)
{
    static const char texts[] = "\0task\0bpf_iter_tas\0bpf_iter_task";
    const uint32_t types[] = {
        1,  4u << 24 | 2, 16, 1,  2, 0, 1, 2, 64, /* struct, two members of 12 bytes */
        1,  1u << 24,     4,  32,                 /* integer, 4 bytes more */
        6,  12u << 24,    0,                      /* bpf_iter_tas */
        19, 12u << 24,    0,                      /* bpf_iter_task */
    };
    const uint32_t head[] = {24, 0, sizeof types, sizeof types, sizeof texts};
    const uint16_t magic[] = {0xeb9f, 1};
    memcpy(bytes, magic, 4);
    memcpy(bytes + 4, head, sizeof head);
    memcpy(bytes + 24, types, sizeof types);
    memcpy(bytes + 24 + sizeof types, texts, sizeof texts);
    return 24 + sizeof types + sizeof texts;
}

static void a_function_is_found_by_its_whole_name(void **state)
{
    (void)state;
    uint8_t bytes[256];
    size_t size = make(bytes);
    uint32_t number = 0;
    assert_true(
        cairn_btf_find_function((struct cairn_span){bytes, size}, "bpf_iter_task", &number));
    assert_int_equal(number, 4);
    assert_true(cairn_btf_find_function((struct cairn_span){bytes, size}, "bpf_iter_tas", &number));
    assert_int_equal(number, 3);
    assert_false(cairn_btf_find_function((struct cairn_span){bytes, size}, "bpf_iter", &number));
    assert_false(cairn_btf_find_function((struct cairn_span){bytes, size}, "task", &number));
}

static void what_is_cut_or_changed_fails_cleanly(void **state)
{
    (void)state;
    uint8_t bytes[256];
    size_t size = make(bytes);
    uint32_t number;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = test_copy(bytes, cut);
        assert_false(
            cairn_btf_find_function((struct cairn_span){copy, cut}, "bpf_iter_task", &number));
        free(copy);
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        uint8_t *copy = test_copy(bytes, size);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (cairn_btf_find_function((struct cairn_span){copy, size}, "bpf_iter_task", &number))
            assert_in_range(number, 1, 64);
        free(copy);
    }
}

static void the_running_kernel_is_read(void **state)
{
    (void)state;
    struct cairn_buffer btf = {0};
    uint32_t number = 0;
    if (cairn_file_slurp("/sys/kernel/btf/vmlinux", 256 << 20, &btf, NULL) < 0) {
        print_message("skipped: this kernel has no /sys/kernel/btf/vmlinux\n");
        skip();
    }
    assert_true(cairn_btf_find_function(cairn_buffer_span(&btf), "schedule", &number));
    assert_false(cairn_btf_find_function(cairn_buffer_span(&btf), "cairn_no_such", &number));
    cairn_buffer_done(&btf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_found_by_its_whole_name),
        cmocka_unit_test(what_is_cut_or_changed_fails_cleanly),
        cmocka_unit_test(the_running_kernel_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
