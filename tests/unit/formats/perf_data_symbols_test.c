/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_symbols.h"

#include "formats/protobuf.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/perf_data_writer.h"
#include "support/test.h"

enum { FILES = 128, META_INFO = 129, FILES2 = 132, INIT_MAP = 134, REGS = 1 << 12, COPY = 1 << 13 };

static void put_u32(const struct perf_writer *w, struct cairn_buffer *b, uint32_t value)
{
    perf_put(w, b, value, 4);
}

/* {size; path; kind; min_vaddr; n; {vaddr, size, name}; offset of the segment} */
static void add_file(const struct perf_writer *w, struct cairn_buffer *to, const char *path,
                     uint32_t kind, uint64_t vaddr, const char *name)
{
    struct cairn_buffer row = {0};
    cairn_buffer_add(&row, path, strlen(path) + 1);
    put_u32(w, &row, kind);
    perf_put(w, &row, 0x2000, 8);
    put_u32(w, &row, 1);
    perf_put(w, &row, vaddr, 8);
    put_u32(w, &row, 0x100);
    cairn_buffer_add(&row, name, strlen(name) + 1);
    if (kind == CAIRN_PERF_DATA_FILE_ELF)
        perf_put(w, &row, 0x1000, 8);
    put_u32(w, to, (uint32_t)row.size);
    cairn_buffer_add(to, row.data, row.size);
    cairn_buffer_done(&row);
}

static void add_message(const struct perf_writer *w, struct cairn_buffer *to, const char *path,
                        uint64_t vaddr, const char *name)
{
    struct cairn_buffer message = {0}, symbol = {0}, elf = {0};
    cairn_pb_bytes(&message, 1, cairn_span_of(path));
    cairn_pb_uint(&message, 2, CAIRN_PERF_DATA_FILE_ELF);
    cairn_pb_uint(&message, 3, 0x2000);
    cairn_pb_uint(&symbol, 1, vaddr);
    cairn_pb_uint(&symbol, 2, 0x100);
    cairn_pb_bytes(&symbol, 3, cairn_span_of(name));
    cairn_pb_bytes(&message, 4, cairn_buffer_span(&symbol));
    cairn_pb_uint(&elf, 1, 0x1000);
    cairn_pb_bytes(&message, 6, cairn_buffer_span(&elf));
    put_u32(w, to, (uint32_t)message.size);
    cairn_buffer_add(to, message.data, message.size);
    cairn_buffer_done(&message);
    cairn_buffer_done(&symbol);
    cairn_buffer_done(&elf);
}

static const char meta[] = "simpleperf_version\0"
                           "1.build.7\0"
                           "event_type_info\0"
                           "cpu-cycles,1,0\n\0"
                           "product_props\0"
                           "Google:Pixel:x";

/* The program maps offset 0x1000 at 0x400000: vaddr 0x2000. */
static struct cairn_buffer make_file(bool big, unsigned feature)
{
    struct perf_writer w = {.big = big};
    struct cairn_buffer files = {0};
    const uint64_t chain[] = {PERF_MARK_USER, 0x400010, 0x400121, 0x700030};
    perf_comm(&w, 7, "prog", false, 0);
    perf_mmap(&w, 7, 0x400000, 0x10000, 0x1000, "/data/prog", 0);
    perf_mmap(&w, 7, 0x700000, 0x1000, 0, "/data/perf.data_jit_app_cache:0-100", 0);
    perf_sample(&w, 7, 1000, 0, 250, chain, 4);
    if (feature == FILES) {
        add_file(&w, &files, "/data/prog", CAIRN_PERF_DATA_FILE_ELF, 0x2000, "inner");
        add_file(&w, &files, "/data/perf.data_jit_app_cache:0-100", CAIRN_PERF_DATA_FILE_SYMBOL_MAP,
                 0x700000, "compiled");
    } else {
        add_message(&w, &files, "/data/prog", 0x2000, "inner");
    }
    if (feature == FILES)
        perf_feature(&w, FILES, cairn_buffer_span(&files));
    perf_feature(&w, META_INFO, (struct cairn_span){(const uint8_t *)meta, sizeof meta});
    if (feature == FILES2)
        perf_feature(&w, FILES2, cairn_buffer_span(&files));
    struct cairn_buffer file = perf_file(&w);
    cairn_buffer_done(&files);
    perf_done(&w);
    return file;
}

static struct cairn_profile *read_bytes(struct cairn_buffer *file)
{
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(file), CAIRN_FORMAT_AUTO, &p, &err), err);
    cairn_buffer_done(file);
    return p;
}

/* The name of the frame that is `up` frames above the leaf; "": it has none. */
static const char *name_of(const struct cairn_profile *p, size_t up)
{
    uint32_t stack = p->samples[0].stack;
    while (up--)
        stack = p->stacks[stack].parent;
    const struct cairn_profile_frame *frame = &p->frames[p->stacks[stack].frame];
    return frame->n_lines
               ? cairn_strings_get(&p->strings, p->functions[p->lines[frame->lines].function].name)
               : "";
}

static void symbols_of_the_file_name_its_frames(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct cairn_buffer file = make_file(big, FILES);
        struct cairn_profile *p = read_bytes(&file);
        assert_string_equal(name_of(p, 0), "inner");
        assert_string_equal(name_of(p, 1), ""); /* behind its end */
        assert_string_equal(name_of(p, 2), "compiled");
        const uint32_t caller = p->stacks[p->stacks[p->samples[0].stack].parent].parent;
        assert_int_equal(p->frames[p->stacks[caller].frame].what, CAIRN_WHAT_JIT);
        assert_string_equal(cairn_strings_get(&p->strings, p->types[1].type), "cpu-cycles");
        cairn_profile_free(p);
    }
}

static void messages_say_the_same(void **state)
{
    (void)state;
    struct cairn_buffer file = make_file(false, FILES2);
    struct cairn_profile *p = read_bytes(&file);
    assert_string_equal(name_of(p, 0), "inner");
    assert_string_equal(p->public_comments[0], "simpleperf_version: 1.build.7");
    cairn_profile_free(p);
}

/* What simpleperf unwound has the addresses of calls; other chains have what they return to. */
static void addresses_of_unwound_callers_are_exact(void **state)
{
    (void)state;
    const uint64_t chain[] = {PERF_MARK_USER, 0x400010, 0x400200};
    for (int is_unwound = 0; is_unwound < 2; is_unwound++) {
        struct perf_writer w = {.sample_type = is_unwound ? PERF_USUAL | REGS | COPY : PERF_USUAL};
        perf_begin(&w, 9, 2);
        perf_u64(&w, 0x400010);
        perf_u32(&w, 7);
        perf_u32(&w, 7);
        perf_u64(&w, 1000);
        perf_u64(&w, 100);
        perf_u64(&w, 1);
        perf_u64(&w, 3);
        for (size_t i = 0; i < 3; i++)
            perf_u64(&w, chain[i]);
        if (is_unwound) { /* no registers, no copy: they were used up */
            perf_u64(&w, 0);
            perf_u64(&w, 0);
        }
        perf_end(&w);
        perf_feature(&w, META_INFO, (struct cairn_span){(const uint8_t *)meta, sizeof meta});
        struct cairn_buffer file = perf_file(&w);
        perf_done(&w);
        struct cairn_profile *p = read_bytes(&file);
        const uint32_t caller = p->stacks[p->samples[0].stack].parent;
        assert_int_equal(p->frames[p->stacks[caller].frame].address,
                         is_unwound ? 0x400200 : 0x4001ff);
        cairn_profile_free(p);
    }
}

static void names_and_mappings_of_before_are_records_of_a_feature(void **state)
{
    (void)state;
    struct perf_writer before = {0}, w = {0};
    const uint64_t chain[] = {PERF_MARK_USER, 0x400010};
    perf_comm(&before, 7, "prog", false, 1);
    perf_mmap(&before, 7, 0x400000, 0x10000, 0, "/data/prog", 1);
    perf_sample(&w, 7, 1000, 0, 250, chain, 2);
    perf_feature(&w, INIT_MAP, cairn_buffer_span(&before.data));
    struct cairn_buffer file = perf_file(&w);
    perf_done(&w);
    perf_done(&before);
    struct cairn_profile *p = read_bytes(&file);
    assert_string_equal(
        cairn_profile_module_name(p, p->frames[p->stacks[p->samples[0].stack].frame].module),
        "prog");
    cairn_profile_free(p);
}

/* Each level would take a part of the stack. */
static void a_feature_within_its_own_records_is_damage(void **state)
{
    enum { HEADER_FEATURE = 80, HEAD = 16, DEPTH = 4000 };
    (void)state;
    struct perf_writer nested = {0}, w = {0};
    const uint64_t chain[] = {PERF_MARK_USER, 0x400010};
    for (size_t left = DEPTH; left; left--) {
        perf_begin(&nested, HEADER_FEATURE, 0);
        perf_u64(&nested, INIT_MAP);
        perf_set_size(&nested, left * HEAD);
    }
    perf_sample(&w, 7, 1000, 0, 250, chain, 2);
    perf_feature(&w, INIT_MAP, cairn_buffer_span(&nested.data));
    struct cairn_buffer file = perf_file(&w);
    perf_done(&w);
    perf_done(&nested);
    struct cairn_profile *p = read_bytes(&file);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->n_notes, 1);
    assert_string_equal(p->public_comments[0], "left out: 1 damaged records");
    cairn_profile_free(p);
}

static void a_joined_chain_takes_the_place_of_the_user_side(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct perf_writer w = {.big = big};
        const uint64_t chain[] = {PERF_MARK_KERNEL, 0xffffffff81000010, PERF_MARK_USER, 0x400010};
        const uint64_t joined[] = {0x400010, 0x400020, 0x400030};
        perf_sample(&w, 7, 1000, 0, 250, chain, 4);
        perf_sample(&w, 7, 2000, 0, 250, chain, 4);
        w.record = w.data.size;
        perf_u32(&w, 32775);
        perf_put(&w, &w.data, 0, 2);
        perf_put(&w, &w.data, 88, 2);
        perf_u32(&w, 7);
        perf_u32(&w, 7);
        perf_u64(&w, 0);
        perf_u64(&w, 2000);
        perf_u64(&w, 3);
        for (size_t i = 0; i < 6; i++) /* and the stack pointers */
            perf_u64(&w, joined[i % 3]);
        struct cairn_buffer file = perf_file(&w);
        perf_done(&w);
        struct cairn_profile *p = read_bytes(&file);
        size_t depths[2] = {0};
        assert_int_equal(p->n_samples, 2);
        for (size_t i = 0; i < 2; i++)
            for (uint32_t at = p->samples[i].stack; at; at = p->stacks[at].parent)
                depths[i]++;
        assert_int_equal(depths[0], 2);
        assert_int_equal(depths[1], 4);
        assert_int_equal(p->n_notes, 0);
        cairn_profile_free(p);
    }
}

static void every_truncation_is_read(void **state)
{
    (void)state;
    for (unsigned feature = FILES; feature <= FILES2; feature += FILES2 - FILES) {
        struct cairn_buffer file = make_file(false, feature);
        for (size_t size = 0; size < file.size; size++) {
            struct cairn_profile *p = NULL;
            struct cairn_err err;
            const struct cairn_span cut = {file.data, size};
            if (test_read_profile(cut, CAIRN_FORMAT_PERF_DATA, &p, &err) == CAIRN_OK)
                cairn_profile_free(p);
        }
        cairn_buffer_done(&file);
    }
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    struct cairn_buffer file = make_file(false, FILES);
    test_read_without_memory(cairn_buffer_span(&file), CAIRN_FORMAT_PERF_DATA);
    cairn_buffer_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_of_the_file_name_its_frames),
        cmocka_unit_test(messages_say_the_same),
        cmocka_unit_test(addresses_of_unwound_callers_are_exact),
        cmocka_unit_test(names_and_mappings_of_before_are_records_of_a_feature),
        cmocka_unit_test(a_feature_within_its_own_records_is_damage),
        cmocka_unit_test(a_joined_chain_takes_the_place_of_the_user_side),
        cmocka_unit_test(every_truncation_is_read),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
