/* SPDX-License-Identifier: MIT */
#include "formats/perf_data.h"

#include "support/memory_io.h"
#include "support/perf_data_writer.h"
#include "support/test.h"

static struct cairn_profile *read_file(struct perf_writer *w)
{
    struct cairn_buffer file = perf_file(w);
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    cairn_buffer_done(&file);
    perf_done(w);
    return p;
}

static const char *text_of(const struct cairn_profile *p, uint32_t text)
{
    return cairn_strings_get(&p->strings, text);
}

/* The frame that is `up` frames above the leaf. */
static const struct cairn_profile_frame *frame_of(const struct cairn_profile *p, size_t sample,
                                                  size_t up)
{
    uint32_t stack = p->samples[sample].stack;
    while (up--)
        stack = p->stacks[stack].parent;
    assert_true(stack != 0);
    return &p->frames[p->stacks[stack].frame];
}

static const char *path_of(const struct cairn_profile *p, size_t sample, size_t up)
{
    return text_of(p, p->modules[frame_of(p, sample, up)->module].path);
}

static uint64_t off_of(const struct cairn_profile *p, size_t sample, size_t up)
{
    const struct cairn_profile_frame *frame = frame_of(p, sample, up);
    const struct cairn_profile_module *module = &p->modules[frame->module];
    return frame->address - module->start + module->off;
}

static const char *label_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? text_of(p, label->text) : "";
}

static bool has_comment(const struct cairn_profile *p, const char *comment)
{
    bool found = false;
    for (size_t i = 0; i < p->n_notes; i++)
        found |= strcmp(p->public_comments[i], comment) == 0;
    return found;
}

static const uint64_t chain[] = {PERF_MARK_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
                                 PERF_MARK_USER,   0x401010,           0x402020};

static void add_program(struct perf_writer *w)
{
    perf_mmap(w, UINT32_MAX, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
              "[kernel.kallsyms]_text", 0);
    perf_comm(w, 7, "prog", false, 0);
    perf_mmap(w, 7, 0x400000, 0x10000, 0x1000, "/bin/prog", 0);
}

static void a_sample_has_its_thread_its_values_and_both_sides_of_its_stack(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct perf_writer w = {.big = big, .n_events = 2};
        add_program(&w);
        perf_sample(&w, 7, 1000, 0, 250, chain, 6);
        perf_sample(&w, 7, 3000, 0, 350, chain, 6);
        perf_sample(&w, 7, 2000, 1, 5, chain + 3, 3);
        struct cairn_profile *p = read_file(&w);
        assert_int_equal(p->n_types, 3);
        assert_string_equal(p->public_types[1].type, "cpu-clock");
        assert_string_equal(p->public_types[1].unit, "nanoseconds");
        assert_string_equal(p->public_types[2].type, "task-clock");
        assert_int_equal(cairn_profile_default_value(p), 1);
        assert_int_equal(p->n_samples, 2);
        const int64_t values[] = {2, 600, 0, 1, 0, 5};
        assert_memory_equal(p->values, values, sizeof values);
        assert_int_equal(p->duration_ns, 2000);
        assert_string_equal(label_of(p, 0, "thread"), "prog");
        assert_int_equal(cairn_profile_find_label(p, p->samples[0].labels, "pid")->number, 7);
        assert_int_equal(frame_of(p, 0, 0)->address, 0xffffffff81000010);
        assert_int_equal(frame_of(p, 0, 0)->what, CAIRN_WHAT_KERNEL);
        assert_int_equal(frame_of(p, 0, 1)->address, 0xffffffff8100001f); /* a return address */
        assert_int_equal(frame_of(p, 0, 2)->address, 0x401010); /* where the kernel was entered */
        assert_int_equal(frame_of(p, 0, 3)->address, 0x40201f);
        assert_string_equal(path_of(p, 0, 1), "[kernel.kallsyms]");
        assert_int_equal(p->modules[frame_of(p, 0, 0)->module].off, 0xffffffff81000000);
        assert_string_equal(path_of(p, 0, 2), "/bin/prog");
        assert_int_equal(off_of(p, 0, 2), 0x2010);
        cairn_profile_free(p);
    }
}

static void mappings_are_those_of_the_moment(void **state)
{
    (void)state;
    static const uint64_t ip[] = {PERF_MARK_USER, 0x401010},
                          in_call[] = {PERF_MARK_KERNEL, 0xffffffff81000010, PERF_MARK_USER,
                                       0x401010};
    struct perf_writer w = {0};
    add_program(&w);
    perf_fork(&w, 7, 8, 7, 10);
    perf_sample(&w, 8, 20, 0, 1, ip, 2); /* of the parent's mapping */
    perf_mmap(&w, 8, 0x401000, 0x1000, 0, "/lib/over.so", 30);
    perf_sample(&w, 8, 40, 0, 2, ip, 2); /* of the one laid over it */
    perf_comm(&w, 8, "other", true, 50);
    perf_mmap(&w, 8, 0x500000, 0x10000, 0, "/bin/other", 55);
    perf_sample(&w, 8, 60, 0, 3, in_call, 4); /* inside of execve(2) */
    perf_sample(&w, 8, 66, 0, 4, ip, 2);      /* of none: another program began */
    perf_mmap(&w, 8, 0x400000, 0x10000, 0, "/bin/other", 70);
    perf_sample(&w, 8, 80, 0, 5, ip, 2);
    perf_fork(&w, 4, 8, 7, 90);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(p->n_samples, 5);
    assert_string_equal(path_of(p, 0, 0), "/bin/prog");
    assert_string_equal(label_of(p, 0, "thread"), "prog");
    assert_string_equal(path_of(p, 1, 0), "/lib/over.so");
    assert_string_equal(path_of(p, 2, 1), "/lib/over.so");
    assert_string_equal(label_of(p, 2, "thread"), "other");
    assert_string_equal(path_of(p, 3, 0), "");
    assert_string_equal(path_of(p, 4, 0), "/bin/other");
    cairn_profile_free(p);
}

static void what_a_mapping_covers_gives_way(void **state)
{
    (void)state;
    static const uint64_t ips[] = {PERF_MARK_USER, 0x400010, 0x401011, 0x402011};
    struct perf_writer w = {0};
    perf_mmap(&w, 7, 0x400000, 0x3000, 0x5000, "/bin/prog", 0);
    perf_mmap(&w, 7, 0x401000, 0x1000, 0, "/lib/over.so", 0);
    perf_sample(&w, 7, 1, 0, 1, ips, 4);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(off_of(p, 0, 0), 0x5010);
    assert_string_equal(path_of(p, 0, 1), "/lib/over.so");
    assert_int_equal(off_of(p, 0, 1), 0x10);
    assert_string_equal(path_of(p, 0, 2), "/bin/prog");
    assert_int_equal(off_of(p, 0, 2), 0x7010);
    cairn_profile_free(p);
}

/* One ring buffer lies behind the other. */
static void records_of_several_rings_come_in_the_order_of_time(void **state)
{
    (void)state;
    static const uint64_t ip[] = {PERF_MARK_USER, 0x401010};
    struct perf_writer w = {0};
    perf_sample(&w, 7, 200, 0, 1, ip, 2);
    perf_mmap(&w, 7, 0x400000, 0x10000, 0, "/bin/late", 300);
    perf_round(&w);
    perf_mmap(&w, 7, 0x400000, 0x10000, 0, "/bin/early", 100);
    perf_round(&w);
    perf_sample(&w, 7, 400, 0, 1, ip, 2);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(p->n_samples, 2);
    assert_string_equal(path_of(p, 0, 0), "/bin/early");
    assert_string_equal(path_of(p, 1, 0), "/bin/late");
    cairn_profile_free(p);
}

static int take_time(void *ctx, struct cairn_span record, uint64_t off, struct cairn_err *err)
{
    struct cairn_buffer *out = ctx;
    (void)off;
    (void)err;
    cairn_buffer_add(out, record.data, record.size);
    return CAIRN_OK;
}

static void what_waits_is_bounded(void **state)
{
    (void)state;
    struct cairn_perf_data_order order = {.bytes_max = 1};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    static const char letters[] = "dbca";
    for (size_t i = 0; letters[i]; i++) {
        const struct cairn_span record = {(const uint8_t *)&letters[i], 1};
        assert_int_equal(cairn_perf_data_order_add(&order, (uint64_t)letters[i], record, i),
                         CAIRN_OK);
    }
    assert_true(cairn_perf_data_order_is_full(&order));
    assert_ok(cairn_perf_data_order_relieve(&order, take_time, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), "abc");
    const struct cairn_span late = {(const uint8_t *)"b", 1};
    assert_int_equal(cairn_perf_data_order_add(&order, 'b', late, 9), CAIRN_OK);
    assert_int_equal(order.n_late, 1);
    assert_ok(cairn_perf_data_order_end(&order, take_time, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), "abcbd");
    cairn_buffer_done(&out);
    cairn_perf_data_order_done(&order);
}

/* All fields that a sample can have, with a call chain behind which most of them lie. */
static void every_field_is_read_or_passed_over(void **state)
{
    (void)state;
    struct perf_writer w = {.sample_type = (UINT64_C(1) << CAIRN_PERF_DATA_N_FIELDS) - 1,
                            .read_format = 31,
                            .branch_type = 1 << 17 | 1 << 19,
                            .regs_user = 1 << 8 | 1 << 7,
                            .regs_intr = 1};
    perf_begin(&w, 9, 2);
    const uint64_t before[] = {100, 0x401010, (uint64_t)9 << 32 | 7, 50, 0, 100, 100, 1, 77};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        perf_u64(&w, before[i]);
    const uint64_t values[] = {2, 1, 1, /* the group, and its times */ 5, 6, 7, 8, 9, 10};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        perf_u64(&w, values[i]);
    perf_u64(&w, 2);
    perf_u64(&w, PERF_MARK_USER);
    perf_u64(&w, 0x401010);
    perf_u32(&w, 4); /* raw data */
    perf_u32(&w, 0);
    const uint64_t after[] = {1,
                              0,
                              1,
                              2,
                              3,
                              4,
                              /* a branch, and its counter */ 2,
                              0x7000,
                              0x401010,
                              /* registers */ 8,
                              0x1234,
                              8,
                              /* the stack */ 0,
                              0,
                              0,
                              /* weight, source, transaction */ 2,
                              1,
                              /* registers */ 0,
                              0,
                              0,
                              0,
                              /* addresses, cgroup, page sizes */ 0 /* auxiliary data */};
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        perf_u64(&w, after[i]);
    perf_end(&w);
    const struct cairn_span body = {w.data.data + 8, w.data.size - 8};
    struct cairn_perf_data_attr attr = {.sample_type = w.sample_type,
                                        .read_format = w.read_format,
                                        .branch_type = w.branch_type,
                                        .regs_user = w.regs_user,
                                        .regs_intr = w.regs_intr};
    struct cairn_perf_data_sample sample;
    uint64_t ip;
    assert_true(cairn_perf_data_sample_parse(body, false, &attr, &sample));
    assert_int_equal(sample.pid, 7);
    assert_int_equal(sample.tid, 9);
    assert_int_equal(sample.time, 50);
    assert_int_equal(sample.period, 77);
    assert_int_equal(sample.chain.size, 16);
    assert_true(cairn_perf_data_reg(&sample.regs, 8, false, &ip));
    assert_int_equal(ip, 0x401010);
    assert_false(cairn_perf_data_reg(&sample.regs, 9, false, &ip));
    assert_int_equal(sample.stack.size, 8);
    for (size_t size = 0; size < body.size; size++)
        assert_false(cairn_perf_data_sample_parse((struct cairn_span){body.data, size}, false,
                                                  &attr, &sample));
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->values[1], 77);
    cairn_profile_free(p);
}

/* A sample of {a,b}:S, whose counters stand at `a` and `b`. */
static void group_sample(struct perf_writer *w, uint64_t time, uint64_t a, uint64_t b, uint64_t id)
{
    const uint64_t words[] = {0x401010, (uint64_t)7 << 32 | 7, time, 100, 9999, 2, a, 100, b, id,
                              0};
    perf_begin(w, 9, 2);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        perf_u64(w, words[i]);
    perf_end(w);
}

static void a_sample_of_a_group_counts_for_its_members(void **state)
{
    (void)state;
    struct perf_writer w = {.sample_type = PERF_USUAL | 16, .read_format = 4 | 8, .n_events = 2};
    group_sample(&w, 1000, 50, 7, 101);
    group_sample(&w, 2000, 80, 7, 101);
    group_sample(&w, 3000, 90, 9, 101);
    group_sample(&w, 4000, 60, 11, 101); /* out of order */
    group_sample(&w, 5000, 91, 99, 555); /* of no event */
    struct cairn_profile *p = read_file(&w);
    const int64_t values[] = {5, 91, 11};
    assert_int_equal(p->n_types, 3);
    assert_string_equal(p->public_types[2].type, "task-clock");
    assert_int_equal(p->n_samples, 1);
    assert_memory_equal(p->values, values, sizeof values);
    cairn_profile_free(p);
}

/* Counters that children inherit count for each thread apart. */
static void inherited_counters_are_of_a_thread(void **state)
{
    (void)state;
    struct perf_writer w = {.sample_type = PERF_USUAL | 16,
                            .read_format = 4,
                            .flags = UINT64_C(1) << 18 | UINT64_C(1) << 1};
    for (uint64_t tid = 7; tid < 9; tid++) {
        const uint64_t words[] = {0x401010, tid << 32 | 7, tid, 100, 9999, 40, 100, 0};
        perf_begin(&w, 9, 2);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            perf_u64(&w, words[i]);
        perf_end(&w);
    }
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->values[1] + p->values[3], 80);
    cairn_profile_free(p);
}

static void attributes_may_be_of_any_year(void **state)
{
    (void)state;
    static const size_t sizes[] = {64, 72, 96, 112, 128, 136, 144, 400};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct perf_writer w = {.attr_size = sizes[i]};
        add_program(&w);
        perf_sample(&w, 7, 1, 0, 3, chain, 6);
        struct cairn_profile *p = read_file(&w);
        assert_int_equal(p->n_samples, 1);
        assert_int_equal(p->values[1], 3);
        cairn_profile_free(p);
    }
}

static void build_ids_beside_the_mappings_are_theirs(void **state)
{
    (void)state;
    struct perf_writer w = {0}, id = {0};
    add_program(&w);
    perf_sample(&w, 7, 1, 0, 3, chain, 6);
    static const struct {
        const char *path;
        uint16_t misc;
    } rows[] = {{"/bin/prog", 2}, {"[kernel.kallsyms]", 1}};
    for (size_t i = 0; i < 2; i++) {
        perf_begin(&id, 67, rows[i].misc);
        perf_u32(&id, UINT32_MAX);
        for (int byte = 0; byte < 24; byte++)
            cairn_buffer_char(&id.data, (char)(byte < 20 ? 0xa0 + i : 0));
        perf_text(&id, rows[i].path);
        perf_end(&id);
    }
    perf_feature(&w, 2, cairn_buffer_span(&id.data));
    struct cairn_profile *p = read_file(&w);
    assert_string_equal(text_of(p, p->modules[frame_of(p, 0, 3)->module].build_id),
                        "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0");
    assert_string_equal(text_of(p, p->modules[frame_of(p, 0, 0)->module].build_id),
                        "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
    perf_done(&id);
    cairn_profile_free(p);
}

/* perf record --buildid-mmap: the kernel's image has no protection. */
static void mappings_may_have_build_ids(void **state)
{
    (void)state;
    static const struct {
        uint16_t misc;
        uint64_t start, protection;
        const char *path;
    } rows[] = {{1, 0xffffffff81000000, 0, "[kernel.kallsyms]_text"},
                {2, 0x400000, 5, "/bin/prog"}};
    struct perf_writer w = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        perf_begin(&w, 10, (uint16_t)(rows[i].misc | 1 << 14));
        perf_u64(&w, 7 * UINT64_C(0x100000001));
        perf_u64(&w, rows[i].start);
        perf_u64(&w, 0x10000);
        perf_u64(&w, i ? 0 : rows[i].start);
        perf_put(&w, &w.data, 2, 1);
        perf_put(&w, &w.data, 0, 3);
        for (int byte = 0; byte < 20; byte++)
            cairn_buffer_char(&w.data, (char)(0x11 * (i + 1)));
        perf_u32(&w, rows[i].protection);
        perf_u32(&w, 0);
        perf_text(&w, rows[i].path);
        perf_end_at(&w, 7, 0);
    }
    perf_sample(&w, 7, 1, 0, 3, chain, 6);
    struct cairn_profile *p = read_file(&w);
    for (size_t up = 0; up < 3; up += 2)
        assert_string_equal(text_of(p, p->modules[frame_of(p, 0, up)->module].build_id),
                            up ? "2222" : "1111");
    assert_string_equal(path_of(p, 0, 0), "[kernel.kallsyms]");
    cairn_profile_free(p);
}

/* The bit says that there is one, and there is a device: 254:0. */
static void the_number_of_a_device_is_no_build_id(void **state)
{
    (void)state;
    struct perf_writer w = {0};
    perf_begin(&w, 10, 2 | 1 << 14);
    perf_u64(&w, 7 * UINT64_C(0x100000001));
    perf_u64(&w, 0x400000);
    perf_u64(&w, 0x10000);
    perf_u64(&w, 0);
    perf_u32(&w, 254);
    perf_u32(&w, 0);
    perf_u64(&w, 0x51423);
    perf_u64(&w, 0x2b);
    perf_u32(&w, 5);
    perf_u32(&w, 0);
    perf_text(&w, "/bin/prog");
    perf_end_at(&w, 7, 0);
    perf_sample(&w, 7, 1, 0, 3, chain, 6);
    struct cairn_profile *p = read_file(&w);
    const struct cairn_profile_module *module = &p->modules[frame_of(p, 0, 2)->module];
    assert_string_equal(text_of(p, module->path), "/bin/prog");
    assert_string_equal(text_of(p, module->build_id), "");
    cairn_profile_free(p);
}

static void what_is_damaged_loses_itself_alone(void **state)
{
    (void)state;
    struct perf_writer w = {.n_events = 2};
    add_program(&w);
    perf_sample(&w, 7, 1, 0, 1, chain, 6);
    perf_sample(&w, 7, 2, 0, 1, chain, 6); /* whose chain is longer than the record */
    w.data.data[w.record + 8 + 40] = 200;
    perf_sample(&w, 7, 3, 9, 1, chain, 6); /* of an event that is not there */
    perf_begin(&w, 90, 0);                 /* of a type that is not known */
    perf_end(&w);
    perf_begin(&w, 3, 0); /* too short */
    perf_end_at(&w, 7, 4);
    perf_sample(&w, 7, 5, 0, 1, chain, 6);
    perf_begin(&w, 9, 0); /* of no size: nothing is found behind it */
    perf_u64(&w, 0);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(p->values[0], 2);
    assert_true(has_comment(p, "left out: 2 damaged records"));
    assert_true(has_comment(p, "left out: 1 records of unknown types"));
    assert_true(has_comment(p, "left out: 1 samples of unknown events"));
    assert_true(has_comment(p, "left out: 16 bytes of data that are no records"));
    cairn_profile_free(p);
}

static void every_truncation_is_read_or_refused(void **state)
{
    (void)state;
    struct perf_writer w = {.n_events = 2};
    add_program(&w);
    perf_sample(&w, 7, 1, 0, 1, chain, 6);
    perf_feature(&w, 3, cairn_span_of("\x04\0\0\0host"));
    struct cairn_buffer file = perf_file(&w);
    for (size_t size = 0; size < file.size; size++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        int code =
            test_read_profile((struct cairn_span){file.data, size}, CAIRN_FORMAT_AUTO, &p, &err);
        assert_int_equal(code == CAIRN_OK, p != NULL);
        assert_true(code == CAIRN_OK || (code == CAIRN_E_FORMAT && err.msg[0]));
        cairn_profile_free(p);
    }
    cairn_buffer_done(&file);
    perf_done(&w);
}

static void wrong_headers_say_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte;
        const char *says;
    } rows[] = {{8, 9, "the header says 9 bytes"},
                {16, 3, "an attribute has 3 bytes, expected 80 to 4096"},
                {30, 1, "the attributes at 0x100"},
                {32, 0, "there is no event"},
                {112 + 128 + 2, 1, "the numbers of an event at 0x10068"}};
    struct perf_writer w = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_buffer file = perf_file(&w);
        struct cairn_profile *p;
        struct cairn_err err;
        file.data[rows[i].at] = rows[i].byte;
        assert_fails(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err),
                     CAIRN_E_FORMAT, err, rows[i].says);
        cairn_buffer_done(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_has_its_thread_its_values_and_both_sides_of_its_stack),
        cmocka_unit_test(mappings_are_those_of_the_moment),
        cmocka_unit_test(what_a_mapping_covers_gives_way),
        cmocka_unit_test(records_of_several_rings_come_in_the_order_of_time),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(every_field_is_read_or_passed_over),
        cmocka_unit_test(a_sample_of_a_group_counts_for_its_members),
        cmocka_unit_test(inherited_counters_are_of_a_thread),
        cmocka_unit_test(attributes_may_be_of_any_year),
        cmocka_unit_test(build_ids_beside_the_mappings_are_theirs),
        cmocka_unit_test(mappings_may_have_build_ids),
        cmocka_unit_test(the_number_of_a_device_is_no_build_id),
        cmocka_unit_test(what_is_damaged_loses_itself_alone),
        cmocka_unit_test(every_truncation_is_read_or_refused),
        cmocka_unit_test(wrong_headers_say_where_they_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
