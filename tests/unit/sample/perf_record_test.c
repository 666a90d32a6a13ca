/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "base/buffer.h"
#include "proc/perf_regs.h"
#include "sample/perf_ring.h"
#include "tests/support/test.h"

static void add_u16(struct cairn_buffer *b, uint16_t value)
{
    cairn_buffer_add(b, &value, sizeof value);
}

static void add_u32(struct cairn_buffer *b, uint32_t value)
{
    cairn_buffer_add(b, &value, sizeof value);
}

static void add_u64(struct cairn_buffer *b, uint64_t value)
{
    cairn_buffer_add(b, &value, sizeof value);
}

/* A header in front of `body`, which is then empty again. */
static void add_record(struct cairn_buffer *out, uint32_t type, uint16_t misc,
                       struct cairn_buffer *body)
{
    add_u32(out, type);
    add_u16(out, misc);
    add_u16(out, (uint16_t)(8 + body->size));
    cairn_buffer_add(out, body->data, body->size);
    cairn_buffer_clear(body);
}

static void add_trailer(struct cairn_buffer *body, uint64_t time_ns)
{
    add_u32(body, 42);
    add_u32(body, 43);
    add_u64(body, time_ns);
    add_u64(body, 7);
}

static int n_regs(void)
{
    return __builtin_popcountll(cairn_perf_regs_mask);
}

static void add_sample(struct cairn_buffer *out, uint64_t time_ns, const uint64_t *chain, size_t n)
{
    struct cairn_buffer body = {0};
    add_u64(&body, 7);
    add_u64(&body, 0x401000);
    add_u32(&body, 42);
    add_u32(&body, 43);
    add_u64(&body, time_ns);
    add_u64(&body, 12345);
    add_u64(&body, n);
    for (size_t i = 0; i < n; i++)
        add_u64(&body, chain[i]);
    add_u64(&body, n_regs() ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
    for (int i = 0; i < n_regs(); i++)
        add_u64(&body, 1000 + (uint64_t)i);
    add_u64(&body, 16); /* asked for, there, valid */
    add_u64(&body, 0x401100);
    add_u64(&body, 0);
    add_u64(&body, 8);
    add_record(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body);
    cairn_buffer_done(&body);
}

static void add_mapping(struct cairn_buffer *out, uint64_t time_ns, bool with_build_id)
{
    struct cairn_buffer body = {0};
    add_u32(&body, 42);
    add_u32(&body, 42);
    add_u64(&body, 0x400000);
    add_u64(&body, 0x2000);
    add_u64(&body, 0x1000);
    if (with_build_id) {
        add_u32(&body, 20); /* the size, then three bytes that mean nothing */
        cairn_buffer_add(&body, "0123456789abcdefghij", 20);
    } else {
        add_u32(&body, 8);
        add_u32(&body, 1);
        add_u64(&body, 99);
        add_u64(&body, 0);
    }
    add_u32(&body, PROT_READ | PROT_EXEC);
    add_u32(&body, MAP_PRIVATE);
    cairn_buffer_add(&body, "/bin/spin\0\0\0\0\0\0", 16);
    add_trailer(&body, time_ns);
    add_record(out, PERF_RECORD_MMAP2, with_build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0, &body);
    cairn_buffer_done(&body);
}

static struct cairn_perf_record parse(const struct cairn_buffer *bytes)
{
    struct cairn_perf_record record;
    assert_true(cairn_perf_record_parse(cairn_buffer_span(bytes), false, &record));
    return record;
}

static void a_sample_tells_who_when_and_where(void **state)
{
    (void)state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff81000010,
                              (uint64_t)PERF_CONTEXT_USER,   0x401000,           0x401100};
    struct cairn_buffer bytes = {0};
    add_sample(&bytes, 99, chain, 6);
    struct cairn_perf_record record = parse(&bytes);
    assert_int_equal(record.pid, 42);
    assert_int_equal(record.tid, 43);
    assert_int_equal(record.time_ns, 99);
    assert_int_equal(record.id, 7);
    assert_int_equal(record.ip, 0x401000);
    assert_int_equal(record.period, 12345);
    if (n_regs())
        assert_true(record.regs.ip > 1000 && record.regs.ip < 1000 + (uint64_t)n_regs());
    assert_int_equal(record.stack.size, 8);
    static struct cairn_perf_chain split;
    cairn_perf_chain_split(record.chain, &split);
    assert_int_equal(split.n_kernel, 2);
    assert_int_equal(split.kernel[1], 0xffffffff81000010);
    assert_int_equal(split.n_user, 2);
    assert_int_equal(split.user[0], 0x401000);
    cairn_buffer_done(&bytes);
}

static void a_tracepoint_brings_its_record(void **state)
{
    (void)state;
    struct cairn_perf_record record;
    for (uint32_t size = 10; size <= 14; size += 2) { /* with its own 4 bytes: 12 is a multiple */
        struct cairn_buffer body = {0}, bytes = {0};
        for (int i = 0; i < 6; i++)
            add_u64(&body, i == 2 ? (uint64_t)43 << 32 | 42 : 1);
        add_u64(&body, 0); /* no chain */
        add_u32(&body, size);
        cairn_buffer_add(&body, "0123456789abcd", size);
        add_record(&bytes, PERF_RECORD_SAMPLE, 0, &body);
        const bool ok = cairn_perf_record_parse(cairn_buffer_span(&bytes), true, &record);
        assert_int_equal(ok, size == 12);
        if (ok)
            assert_memory_equal(record.raw.data, "0123456789ab", 12);
        cairn_buffer_done(&body);
        cairn_buffer_done(&bytes);
    }
}

static void addresses_without_a_context_are_nobodys(void **state)
{
    (void)state;
    const uint64_t chain[] = {0x1000, (uint64_t)PERF_CONTEXT_GUEST_USER, 0x2000};
    static struct cairn_perf_chain split;
    cairn_perf_chain_split((struct cairn_span){(const uint8_t *)chain, sizeof chain}, &split);
    assert_int_equal(split.n_kernel + split.n_user, 0);
}

static void a_mapping_has_a_build_id_or_a_device(void **state)
{
    (void)state;
    struct cairn_buffer bytes = {0};
    add_mapping(&bytes, 5, true);
    struct cairn_perf_record record = parse(&bytes);
    assert_int_equal(record.start, 0x400000);
    assert_int_equal(record.size, 0x2000);
    assert_int_equal(record.off, 0x1000);
    assert_int_equal(record.build_id.size, 20);
    assert_memory_equal(record.build_id.data, "0123456789abcdefghij", 20);
    assert_string_equal(record.text, "/bin/spin");
    cairn_buffer_clear(&bytes);
    add_mapping(&bytes, 5, false);
    record = parse(&bytes);
    assert_int_equal(record.build_id.size, 0);
    assert_int_equal(record.inode, 99);
    assert_int_equal(record.time_ns, 5);
    cairn_buffer_done(&bytes);
}

static void a_build_id_longer_than_its_field_is_refused(void **state)
{
    (void)state;
    struct cairn_buffer bytes = {0};
    struct cairn_perf_record record;
    add_mapping(&bytes, 5, true);
    bytes.data[8 + 32] = 21;
    assert_false(cairn_perf_record_parse(cairn_buffer_span(&bytes), false, &record));
    cairn_buffer_done(&bytes);
}

static void a_chain_longer_than_its_record_is_refused(void **state)
{
    (void)state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x1000};
    const uint64_t sizes[] = {5, CAIRN_PERF_CHAIN_MAX + 1, UINT64_MAX, UINT64_MAX / 8 + 2};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct cairn_buffer bytes = {0};
        struct cairn_perf_record record;
        add_sample(&bytes, 1, chain, 2);
        memcpy(bytes.data + 8 + 40, &sizes[i], sizeof sizes[i]);
        assert_false(cairn_perf_record_parse(cairn_buffer_span(&bytes), false, &record));
        cairn_buffer_done(&bytes);
    }
}

static void a_stack_larger_than_its_record_is_refused(void **state)
{
    (void)state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x1000};
    const uint64_t huge[] = {17, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        struct cairn_buffer bytes = {0};
        struct cairn_perf_record record;
        add_sample(&bytes, 1, chain, 2);
        memcpy(bytes.data + bytes.size - 8, &huge[i], sizeof huge[i]); /* more valid than there */
        assert_false(cairn_perf_record_parse(cairn_buffer_span(&bytes), false, &record));
        memcpy(bytes.data + bytes.size - 32, &huge[i], sizeof huge[i]);
        assert_false(cairn_perf_record_parse(cairn_buffer_span(&bytes), false, &record));
        cairn_buffer_done(&bytes);
    }
}

static void a_fork_speaks_of_the_child_not_of_the_writer(void **state)
{
    (void)state;
    struct cairn_buffer bytes = {0}, body = {0};
    struct cairn_perf_record record;
    add_u32(&body, 50);
    add_u32(&body, 42);
    add_u32(&body, 51);
    add_u32(&body, 43);
    add_u64(&body, 1234);
    add_trailer(&body, 1235);
    add_record(&bytes, PERF_RECORD_FORK, 0, &body);
    record = parse(&bytes);
    assert_int_equal(record.pid, 50);
    assert_int_equal(record.parent_pid, 42);
    assert_int_equal(record.tid, 51);
    assert_int_equal(record.parent_tid, 43);
    assert_int_equal(record.time_ns, 1234);
    cairn_buffer_done(&bytes);
    cairn_buffer_done(&body);
}

static void what_was_lost_is_counted(void **state)
{
    (void)state;
    struct cairn_buffer bytes = {0}, body = {0};
    add_u64(&body, 7);
    add_u64(&body, 12);
    add_trailer(&body, 1);
    add_record(&bytes, PERF_RECORD_LOST, 0, &body);
    assert_int_equal(parse(&bytes).n_lost, 12);
    cairn_buffer_clear(&bytes);
    add_u64(&body, 13);
    add_trailer(&body, 1);
    add_record(&bytes, PERF_RECORD_LOST_SAMPLES, 0, &body);
    assert_int_equal(parse(&bytes).n_lost, 13);
    cairn_buffer_done(&bytes);
    cairn_buffer_done(&body);
}

static void a_record_type_of_a_later_kernel_is_passed_over(void **state)
{
    (void)state;
    struct cairn_buffer bytes = {0}, body = {0};
    add_u64(&body, 1);
    add_trailer(&body, 77);
    add_record(&bytes, 200, 0, &body);
    assert_int_equal(parse(&bytes).time_ns, 77);
    cairn_buffer_done(&bytes);
    cairn_buffer_done(&body);
}

static void every_truncation_fails_or_stays_inside(void **state)
{
    (void)state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
    struct cairn_buffer bytes = {0};
    struct cairn_perf_record record;
    for (unsigned kind = 0; kind < 3; kind++) {
        cairn_buffer_clear(&bytes);
        if (kind == 0)
            add_sample(&bytes, 1, chain, 2);
        else
            add_mapping(&bytes, 1, kind == 1);
        for (size_t size = 0; size < bytes.size; size++) {
            uint8_t *copy = test_copy(bytes.data, size);
            bool ok = cairn_perf_record_parse((struct cairn_span){copy, size}, false, &record);
            /* Without stack, or registers too, a sample is still one. */
            if (ok && kind == 0)
                assert_true(size == bytes.size - 32 ||
                            size == bytes.size - 40 - 8 * (size_t)n_regs());
            free(copy);
        }
    }
    cairn_buffer_done(&bytes);
}

static void a_record_of_impossible_size_ends_the_ring(void **state)
{
    (void)state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
    struct cairn_buffer bytes = {0};
    struct cairn_span record;
    add_sample(&bytes, 1, chain, 2);
    size_t first = bytes.size, pos = 0;
    add_sample(&bytes, 2, chain, 2);
    for (uint16_t size = 0; size < 8; size++) {
        memcpy(bytes.data + first + 6, &size, sizeof size);
        pos = 0;
        assert_int_equal(cairn_perf_record_next(cairn_buffer_span(&bytes), &pos, &record), 1);
        assert_int_equal(cairn_perf_record_next(cairn_buffer_span(&bytes), &pos, &record), -1);
    }
    memset(bytes.data + first + 6, 0xff, 2); /* longer than what is there */
    pos = first;
    assert_int_equal(cairn_perf_record_next(cairn_buffer_span(&bytes), &pos, &record), -1);
    pos = bytes.size;
    assert_int_equal(cairn_perf_record_next(cairn_buffer_span(&bytes), &pos, &record), 0);
    cairn_buffer_done(&bytes);
}

struct times {
    uint64_t ns[32];
    size_t n;
    int answer;
};

static int note_time(void *ctx, const struct cairn_perf_record *record)
{
    struct times *times = ctx;
    times->ns[times->n++] = record->time_ns;
    return times->answer;
}

static void the_queue_hands_out_by_time_and_keeps_what_is_younger(void **state)
{
    (void)state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
    struct cairn_buffer one = {0}, other = {0};
    struct cairn_perf_queue queue = {0};
    struct times times = {0};
    add_sample(&one, 10, chain, 2);
    add_sample(&one, 40, chain, 2);
    add_mapping(&other, 20, true);
    add_sample(&other, 30, chain, 1);
    cairn_perf_queue_add(&queue, cairn_buffer_span(&one));
    cairn_perf_queue_add(&queue, cairn_buffer_span(&other));
    assert_int_equal(cairn_perf_queue_flush(&queue, 25, note_time, &times), 0);
    assert_int_equal(times.n, 2);
    assert_int_equal(times.ns[1], 20);
    assert_int_equal(cairn_perf_queue_flush(&queue, UINT64_MAX, note_time, &times), 0);
    assert_int_equal(times.n, 4);
    assert_int_equal(times.ns[2], 30);
    assert_int_equal(times.ns[3], 40);
    assert_int_equal(queue.n, 0);
    assert_int_equal(queue.n_bad, 0);
    cairn_perf_queue_done(&queue);
    cairn_buffer_done(&one);
    cairn_buffer_done(&other);
}

static void the_queue_moves_what_waits_no_more_often_than_it_must(void **state)
{
    enum { LATE = 20 };
    (void)state;
    const uint64_t expected[] = {10, 5, 20, 25, 30, 40};
    struct cairn_buffer first = {0}, later = {0};
    struct cairn_perf_queue queue = {0};
    struct times times = {0};
    add_mapping(&first, 40, true);
    add_mapping(&first, 10, true);
    add_mapping(&first, 30, true);
    add_mapping(&first, 20, true);
    for (uint64_t i = 0; i < LATE; i++)
        add_mapping(&first, 100 + i, true);
    cairn_perf_queue_add(&queue, cairn_buffer_span(&first));
    assert_int_equal(cairn_perf_queue_flush(&queue, 10, note_time, &times), 0);
    assert_int_equal(queue.n, LATE + 4); /* all lie where they lay */
    assert_int_equal(queue.n_taken, 1);
    assert_int_equal(queue.bytes.size, first.size);
    add_mapping(&later, 25, true);
    add_mapping(&later, 5, true); /* late: it is the next */
    cairn_perf_queue_add(&queue, cairn_buffer_span(&later));
    assert_int_equal(cairn_perf_queue_flush(&queue, 20, note_time, &times), 0);
    assert_int_equal(times.n, 3);
    assert_int_equal(queue.n, LATE + 3); /* an eighth as many are gone as wait */
    assert_int_equal(queue.n_taken, 0);
    assert_int_equal(cairn_perf_queue_flush(&queue, UINT64_MAX, note_time, &times), 0);
    assert_int_equal(times.n, LATE + 6);
    assert_memory_equal(times.ns, expected, sizeof expected);
    assert_int_equal(queue.n + queue.n_bad, 0);
    cairn_perf_queue_done(&queue);
    cairn_buffer_done(&first);
    cairn_buffer_done(&later);
}

static void the_queue_counts_what_makes_no_sense(void **state)
{
    (void)state;
    struct cairn_buffer bytes = {0}, body = {0};
    struct cairn_perf_queue queue = {0};
    add_record(&bytes, PERF_RECORD_SAMPLE, 0, &body); /* empty: no sample */
    add_mapping(&bytes, 1, true);
    cairn_buffer_add(&bytes, "\1\0\0", 3); /* a piece of a header */
    cairn_perf_queue_add(&queue, cairn_buffer_span(&bytes));
    assert_int_equal(queue.n, 1);
    assert_int_equal(queue.n_bad, 2);
    struct times times = {.answer = CAIRN_E_NOMEM};
    assert_int_equal(cairn_perf_queue_flush(&queue, UINT64_MAX, note_time, &times), CAIRN_E_NOMEM);
    cairn_perf_queue_done(&queue);
    cairn_buffer_done(&bytes);
    cairn_buffer_done(&body);
}

static void a_ring_is_read_across_its_end(void **state)
{
    (void)state;
    const size_t page = 4096;
    struct perf_event_mmap_page *control = aligned_alloc(page, 2 * page);
    assert_non_null(control);
    memset(control, 0, 2 * page);
    uint8_t *data = (uint8_t *)control + page;
    struct cairn_perf_ring ring = {control, page};
    struct cairn_buffer bytes = {0};
    memcpy(data + page - 3, "abc", 3);
    memcpy(data, "defgh", 5);
    control->data_tail = 5 * page - 3;
    control->data_head = 5 * page + 5;
    cairn_perf_ring_drain(&ring, &bytes);
    assert_string_equal(cairn_buffer_text(&bytes), "abcdefgh");
    assert_int_equal(control->data_tail, control->data_head);
    control->data_head += 2 * page; /* more than there is room for: not to be trusted */
    cairn_buffer_clear(&bytes);
    cairn_perf_ring_drain(&ring, &bytes);
    assert_int_equal(bytes.size, 0);
    assert_int_equal(control->data_tail, control->data_head);
    cairn_buffer_done(&bytes);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_tells_who_when_and_where),
        cmocka_unit_test(a_tracepoint_brings_its_record),
        cmocka_unit_test(addresses_without_a_context_are_nobodys),
        cmocka_unit_test(a_mapping_has_a_build_id_or_a_device),
        cmocka_unit_test(a_build_id_longer_than_its_field_is_refused),
        cmocka_unit_test(a_chain_longer_than_its_record_is_refused),
        cmocka_unit_test(a_stack_larger_than_its_record_is_refused),
        cmocka_unit_test(a_fork_speaks_of_the_child_not_of_the_writer),
        cmocka_unit_test(what_was_lost_is_counted),
        cmocka_unit_test(a_record_type_of_a_later_kernel_is_passed_over),
        cmocka_unit_test(every_truncation_fails_or_stays_inside),
        cmocka_unit_test(a_record_of_impossible_size_ends_the_ring),
        cmocka_unit_test(the_queue_hands_out_by_time_and_keeps_what_is_younger),
        cmocka_unit_test(the_queue_moves_what_waits_no_more_often_than_it_must),
        cmocka_unit_test(the_queue_counts_what_makes_no_sense),
        cmocka_unit_test(a_ring_is_read_across_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
