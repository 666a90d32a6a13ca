/* SPDX-License-Identifier: MIT */
/* Records as the kernel writes them, and what is left of them. */
#include "snapshot/sampled.h"

#include <elf.h>

#include "proc/perf_regs.h"
#include "support/test.h"

enum { WORDS_MAX = 256, STACK_WORDS = 4 };

struct record {
    uint64_t words[WORDS_MAX];
    size_t n;
};

static void put(struct record *record, uint64_t word)
{
    record->words[record->n++] = word;
}

/* Of the words from `at` on, which begin with room for the header. */
static void close_record(struct record *record, size_t at, uint32_t type)
{
    const struct perf_event_header header = {
        .type = type,
        .size = (uint16_t)((record->n - at) * sizeof(uint64_t)),
    };
    memcpy(&record->words[at], &header, sizeof header);
}

/* A record that is none, and a sample: two frames in the kernel, one of the program; registers
 * 1000, 1001, ...; STACK_WORDS of stack, of which `filled` bytes were copied. */
static struct record make(uint64_t abi, uint64_t filled)
{
    struct record record = {.n = 1};
    put(&record, 7);
    close_record(&record, 0, PERF_RECORD_THROTTLE);
    size_t at = record.n++;
    put(&record, 5);
    put(&record, (uint64_t)PERF_CONTEXT_KERNEL);
    put(&record, 0xffffffff81000010);
    put(&record, 0xffffffff81000020);
    put(&record, (uint64_t)PERF_CONTEXT_USER);
    put(&record, 0x401000);
    put(&record, abi);
    for (int i = 0; abi && i < __builtin_popcountll(cairn_perf_regs_mask); i++)
        put(&record, 1000 + (uint64_t)i);
    put(&record, STACK_WORDS * sizeof(uint64_t));
    for (uint64_t i = 0; i < STACK_WORDS; i++)
        put(&record, i);
    put(&record, filled);
    close_record(&record, at, PERF_RECORD_SAMPLE);
    return record;
}

static struct cairn_span bytes_of(const struct record *record)
{
    return (struct cairn_span){(const uint8_t *)record->words, record->n * sizeof(uint64_t)};
}

static void skip_where_nothing_is_sampled(void)
{
    if (cairn_perf_regs_mask)
        return;
    print_message("skipped: threads of this CPU are not sampled\n");
    skip();
}

static void a_sample_is_taken_apart(void **state)
{
    (void)state;
    skip_where_nothing_is_sampled();
    struct record record = make(PERF_SAMPLE_REGS_ABI_64, 24);
    struct cairn_sampled sampled;
    assert_true(cairn_sampled_read(bytes_of(&record), &sampled));
    assert_int_equal(sampled.n_kernel, 2);
    assert_int_equal(sampled.kernel[1], 0xffffffff81000020);
    assert_int_equal(sampled.stack.size, 24);
    assert_int_equal(sampled.stack.data[8], 1);
    assert_true(sampled.regs.machine == EM_X86_64 || sampled.regs.machine == EM_AARCH64);
    if (sampled.regs.machine == EM_X86_64) {
        assert_int_equal(sampled.regs.ip, 1008);
        assert_int_equal(sampled.regs.reg[7], 1007);  /* rsp */
        assert_int_equal(sampled.regs.reg[3], 1001);  /* rbx */
        assert_int_equal(sampled.regs.reg[15], 1016); /* r15 */
        assert_int_equal(sampled.regs.known, 0xffff);
    } else {
        assert_int_equal(sampled.regs.ip, 1032);
        assert_int_equal(sampled.regs.reg[31], 1031);
    }
}

static void a_32_bit_program_has_its_own_numbers(void **state)
{
    (void)state;
    skip_where_nothing_is_sampled();
    struct record record = make(PERF_SAMPLE_REGS_ABI_32, 0);
    struct cairn_sampled sampled;
    assert_true(cairn_sampled_read(bytes_of(&record), &sampled));
    assert_int_equal(sampled.stack.size, 0);
    assert_true(sampled.regs.machine == EM_386 || sampled.regs.machine == EM_ARM);
    if (sampled.regs.machine == EM_386) {
        assert_int_equal(sampled.regs.reg[4], 1007); /* esp */
        assert_int_equal(sampled.regs.known, 0xff);
    } else {
        assert_int_equal(sampled.regs.reg[13], 1031);
        assert_int_equal(sampled.regs.known, 0x7fff);
    }
}

static void a_thread_without_registers_is_no_sample(void **state)
{
    (void)state;
    struct record record = make(PERF_SAMPLE_REGS_ABI_NONE, 0);
    struct cairn_sampled sampled;
    assert_false(cairn_sampled_read(bytes_of(&record), &sampled));
    assert_false(cairn_sampled_read((struct cairn_span){0}, &sampled));
}

static void every_truncation_and_every_flipped_bit_is_survived(void **state)
{
    (void)state;
    struct record record = make(PERF_SAMPLE_REGS_ABI_64, 8);
    struct cairn_sampled sampled;
    struct cairn_span whole = bytes_of(&record);
    for (size_t size = 0; size < whole.size; size++)
        assert_false(cairn_sampled_read((struct cairn_span){whole.data, size}, &sampled));
    for (size_t i = 0; i < whole.size * 8; i++) {
        struct record flipped = record;
        ((uint8_t *)flipped.words)[i / 8] ^= (uint8_t)(1u << i % 8);
        if (cairn_sampled_read(bytes_of(&flipped), &sampled)) {
            assert_true(sampled.n_kernel <= CAIRN_SAMPLED_KERNEL_MAX);
            assert_true(sampled.stack.size <= whole.size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_taken_apart),
        cmocka_unit_test(a_32_bit_program_has_its_own_numbers),
        cmocka_unit_test(a_thread_without_registers_is_no_sample),
        cmocka_unit_test(every_truncation_and_every_flipped_bit_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
