/* SPDX-License-Identifier: MIT */
/* Recordings without sections, and with compressed records. */
#include <zstd.h>

#include "formats/perf_data.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/perf_data_writer.h"
#include "support/test.h"

enum { N_SAMPLES = 40, ATTR = 64, AUXTRACE = 71, COMPRESSED = 81, COMPRESSED2 = 83 };

static void add_samples(struct perf_writer *w)
{
    perf_mmap(w, 7, 0x400000, 0x10000, 0, "/bin/prog", 0);
    for (uint64_t i = 0; i < N_SAMPLES; i++) {
        const uint64_t chain[] = {PERF_MARK_USER, 0x401010 + i, 0x402020};
        perf_sample(w, 7, i + 1, 0, i + 1, chain, 3);
    }
}

/* The samples of add_samples(), all of them. */
static void assert_all_there(struct cairn_span file, size_t piece)
{
    struct test_input input = {file, piece};
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_profile_read(test_read, &input, CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, N_SAMPLES);
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[i * p->n_types + 1];
    assert_int_equal(sum, N_SAMPLES * (N_SAMPLES + 1) / 2);
    assert_int_equal(p->n_modules, 2);
    assert_int_equal(p->n_notes, 0);
    cairn_profile_free(p);
}

/* What a pipe carries: a header, the attribute with its number, the records. */
static struct cairn_buffer pipe_of(struct perf_writer *records)
{
    struct perf_writer head = {.big = records->big};
    struct cairn_buffer file = {0};
    cairn_buffer_add(&file, records->big ? "2ELIFREP" : "PERFILE2", 8);
    perf_put(records, &file, 16, 8);
    perf_begin(&head, ATTR, 0);
    perf_put_attr(&head, &head.data, 0);
    perf_u64(&head, 100);
    perf_end(&head);
    perf_begin(&head, AUXTRACE, 0); /* followed by bytes that are no records */
    perf_u64(&head, 24);
    perf_end(&head);
    for (int i = 0; i < 24; i++)
        cairn_buffer_char(&head.data, 1);
    cairn_buffer_add(&file, head.data.data, head.data.size);
    cairn_buffer_add(&file, records->data.data, records->data.size);
    perf_done(&head);
    perf_done(records);
    return file;
}

static void a_pipe_has_all_that_a_file_has(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct perf_writer w = {.big = big};
        add_samples(&w);
        struct cairn_buffer file = pipe_of(&w);
        for (size_t piece = 0; piece < 50; piece += 7)
            assert_all_there(cairn_buffer_span(&file), piece);
        cairn_buffer_done(&file);
    }
}

static void every_truncation_of_a_pipe_is_read(void **state)
{
    (void)state;
    struct perf_writer w = {0};
    add_samples(&w);
    struct cairn_buffer file = pipe_of(&w);
    for (size_t size = 16; size < file.size; size++) {
        struct cairn_profile *p;
        struct cairn_err err;
        assert_ok(
            test_read_profile((struct cairn_span){file.data, size}, CAIRN_FORMAT_AUTO, &p, &err),
            err);
        cairn_profile_free(p);
    }
    cairn_buffer_done(&file);
}

/* One stream, of which each record of the file has what was flushed: `step` bytes of records, which
 * end anywhere. */
static void add_zipped(struct perf_writer *to, const struct perf_writer *from, size_t step,
                       uint32_t type)
{
    enum { ROOM = 1 << 16 };
    ZSTD_CCtx *context = ZSTD_createCCtx();
    uint8_t *out = malloc(ROOM);
    assert_non_null(context);
    assert_non_null(out);
    for (size_t at = 0; at < from->data.size; at += step) {
        size_t n = from->data.size - at < step ? from->data.size - at : step;
        ZSTD_inBuffer in = {from->data.data + at, n, 0};
        ZSTD_outBuffer bytes = {out, ROOM, 0};
        assert_int_equal(ZSTD_compressStream2(context, &bytes, &in, ZSTD_e_flush), 0);
        perf_begin(to, type, 0);
        if (type == COMPRESSED2)
            perf_u64(to, bytes.pos);
        cairn_buffer_add(&to->data, out, bytes.pos);
        for (size_t i = bytes.pos; type == COMPRESSED2 && i % 8; i++)
            cairn_buffer_char(&to->data, 0);
        perf_end(to);
    }
    ZSTD_freeCCtx(context);
    free(out);
}

static void compressed_records_may_be_cut_anywhere(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 7, 100, 1000, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (uint32_t type = COMPRESSED; type <= COMPRESSED2; type += 2) {
            struct perf_writer plain = {0}, w = {0};
            add_samples(&plain);
            add_zipped(&w, &plain, steps[i], type);
            struct cairn_buffer file = perf_file(&w);
            assert_all_there(cairn_buffer_span(&file), 0);
            cairn_buffer_done(&file);
            perf_done(&plain);
            perf_done(&w);
        }
}

/* Bytes without a pattern: the record is longer than its size can say. */
static void a_compressed_record_may_be_longer_than_its_size_says(void **state)
{
    (void)state;
    enum { NOISE = 65400 };
    struct perf_writer plain = {0}, w = {0};
    uint32_t seed = 1;
    add_samples(&plain);
    perf_begin(&plain, 200, 0); /* of no known type */
    for (size_t i = 0; i < NOISE; i++) {
        seed = seed * 1664525 + 1013904223;
        cairn_buffer_char(&plain.data, (char)(seed >> 24));
    }
    perf_end(&plain);
    /* As perf did: the size of the header wraps. */
    uint8_t *out = malloc(2 * NOISE);
    size_t size = ZSTD_compress(out, 2 * NOISE, plain.data.data, plain.data.size, 1);
    assert_false(ZSTD_isError(size));
    assert_true(size > UINT16_MAX - 16);
    perf_begin(&w, COMPRESSED2, 0);
    perf_u64(&w, size);
    cairn_buffer_add(&w.data, out, size);
    for (size_t i = size; i % 8; i++)
        cairn_buffer_char(&w.data, 0);
    perf_end(&w);
    perf_sample(&w, 7, 1000, 0, 1, (const uint64_t[]){PERF_MARK_USER, 0x409000}, 2);
    struct cairn_buffer file = perf_file(&w);
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, N_SAMPLES + 1);
    cairn_profile_free(p);
    cairn_buffer_done(&file);
    free(out);
    perf_done(&plain);
    perf_done(&w);
}

static void damaged_compression_loses_its_record_alone(void **state)
{
    (void)state;
    struct perf_writer plain = {0}, w = {0};
    add_samples(&plain);
    add_zipped(&w, &plain, SIZE_MAX / 2, COMPRESSED);
    memset(w.data.data + 12, 0xff, 30);
    add_zipped(&w, &plain, SIZE_MAX / 2, COMPRESSED);
    struct cairn_buffer file = perf_file(&w);
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, N_SAMPLES);
    assert_string_equal(p->public_comments[0], "left out: 1 damaged records");
    cairn_profile_free(p);
    cairn_buffer_done(&file);
    perf_done(&plain);
    perf_done(&w);
}

/* The marker and a cookie stand in for the user side, which comes once for two samples. */
static void a_deferred_user_side_joins_its_samples(void **state)
{
    (void)state;
    enum { DEFERRED = 22 };
    const uint64_t mark = (uint64_t)-640, kernel = 0xffffffff81000010;
    struct perf_writer w = {0};
    perf_sample(&w, 7, 1, 0, 1, (const uint64_t[]){PERF_MARK_KERNEL, kernel, mark, 50}, 4);
    perf_sample(&w, 7, 2, 0, 1, (const uint64_t[]){PERF_MARK_KERNEL, kernel + 1, mark, 50}, 4);
    perf_sample(&w, 7, 3, 0, 1, (const uint64_t[]){PERF_MARK_KERNEL, kernel + 2, mark, 51}, 4);
    perf_begin(&w, DEFERRED, 2);
    const uint64_t words[] = {50, 3, PERF_MARK_USER, 0x401010, 0x402020};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        perf_u64(&w, words[i]);
    perf_end_at(&w, 7, 4);
    struct cairn_buffer file = perf_file(&w);
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_cut_row cut;
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, 3);
    for (size_t i = 0; i < 3; i++) {
        uint32_t frames[4];
        assert_int_equal(cairn_profile_stack(p, p->samples[i].stack, frames, 4), i < 2 ? 3 : 1);
        assert_int_equal(p->frames[frames[0]].address, kernel + i);
        if (i < 2)
            assert_int_equal(p->frames[frames[2]].address, 0x40201f);
    }
    assert_int_equal(cairn_profile_cuts(p, &cut, 1), 1);
    assert_string_equal(cut.reason, "the user part of the stack is missing");
    assert_int_equal(cut.n_samples, 1);
    cairn_profile_free(p);
    cairn_buffer_done(&file);
    perf_done(&w);
}

static void numbers_of_events_are_bounded(void **state)
{
    (void)state;
    enum { PIECE = 8 << 20 }; /* of the same zeros, again and again: a table of one entry */
    static const uint8_t bytes[ATTR];
    const struct cairn_span attr = {bytes, sizeof bytes};
    struct cairn_perf_data d = {0};
    struct cairn_err err;
    uint8_t *zeros = calloc(PIECE, 1);
    int code = CAIRN_OK, n = 0;
    assert_non_null(zeros);
    for (; code == CAIRN_OK && n < 100; n++)
        code = cairn_perf_data_add_attr(&d, attr, (struct cairn_span){zeros, PIECE}, &err);
    assert_int_equal(code, CAIRN_E_LIMIT);
    assert_string_equal(err.msg, "perf.data: more than 16777216 numbers of events");
    assert_int_equal(n, 17);
    free(zeros);
    cairn_perf_data_done(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_has_all_that_a_file_has),
        cmocka_unit_test(every_truncation_of_a_pipe_is_read),
        cmocka_unit_test(compressed_records_may_be_cut_anywhere),
        cmocka_unit_test(a_compressed_record_may_be_longer_than_its_size_says),
        cmocka_unit_test(a_deferred_user_side_joins_its_samples),
        cmocka_unit_test(damaged_compression_loses_its_record_alone),
        cmocka_unit_test(numbers_of_events_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
