/* SPDX-License-Identifier: MIT */
#include "base/archive.h"

#include <stdio.h>

#include "base/buffer.h"
#include "support/test.h"

enum { STORED = 0, DEFLATED = 8, ENTRIES = 8 };

/* An archive in the making; entries may lie. */
struct entry {
    const char *name;
    uint16_t method;
    uint16_t local_extra; /* bytes of the local header's extra field: the directory's has none */
    const char *data;
    uint32_t more_bytes; /* that it claims beyond its data */
    uint32_t more_off;
};

struct shape {
    const char *prefix, *comment;
    bool zip64, counts_prefix;
};

static void put(struct cairn_buffer *b, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        cairn_buffer_char(b, (char)(value >> 8 * i));
}

static void put_zeros(struct cairn_buffer *b, size_t n)
{
    while (n--)
        cairn_buffer_char(b, 0);
}

static void put_entry(struct cairn_buffer *directory, const struct entry *e, uint64_t off,
                      bool zip64)
{
    uint32_t size = (uint32_t)strlen(e->data) + e->more_bytes;
    put(directory, 0x02014b50, 4);
    put_zeros(directory, 6);
    put(directory, e->method, 2);
    put_zeros(directory, 8);
    put(directory, size, 4);
    put(directory, size, 4);
    put(directory, strlen(e->name), 2);
    put(directory, zip64 ? 12 : 0, 2);
    put_zeros(directory, 2 + 8);
    put(directory, zip64 ? UINT32_MAX : off + e->more_off, 4);
    cairn_buffer_str(directory, e->name);
    if (zip64) {
        put(directory, 1, 2);
        put(directory, 8, 2);
        put(directory, off + e->more_off, 8);
    }
}

static void put_end(struct cairn_buffer *b, size_t n, size_t off, size_t size,
                    const struct shape *shape)
{
    size_t end64 = b->size;
    if (shape->zip64) {
        put(b, 0x06064b50, 4);
        put(b, 44, 8);
        put_zeros(b, 12);
        put(b, n, 8);
        put(b, n, 8);
        put(b, size, 8);
        put(b, off, 8);
        put(b, 0x07064b50, 4);
        put_zeros(b, 4);
        put(b, end64, 8);
        put(b, 1, 4);
    }
    put(b, 0x06054b50, 4);
    put_zeros(b, 4);
    put(b, shape->zip64 ? UINT16_MAX : n, 2);
    put(b, shape->zip64 ? UINT16_MAX : n, 2);
    put(b, shape->zip64 ? UINT32_MAX : size, 4);
    put(b, shape->zip64 ? UINT32_MAX : off, 4);
    put(b, strlen(shape->comment), 2);
    cairn_buffer_str(b, shape->comment);
}

static struct cairn_buffer make(const struct entry *entries, size_t n, const struct shape *shape)
{
    struct cairn_buffer b = {0}, directory = {0};
    cairn_buffer_str(&b, shape->prefix);
    size_t start = shape->counts_prefix ? 0 : b.size;
    for (size_t i = 0; i < n; i++) {
        put_entry(&directory, &entries[i], b.size - start, shape->zip64);
        put(&b, 0x04034b50, 4);
        put_zeros(&b, 22);
        put(&b, strlen(entries[i].name), 2);
        put(&b, entries[i].local_extra, 2);
        cairn_buffer_str(&b, entries[i].name);
        put_zeros(&b, entries[i].local_extra);
        cairn_buffer_str(&b, entries[i].data);
    }
    size_t off = b.size - start;
    cairn_buffer_add(&b, directory.data, directory.size);
    put_end(&b, n, off, directory.size, shape);
    cairn_buffer_done(&directory);
    assert_false(b.failed);
    return b;
}

static const struct shape plain_shape = {"", "", false, false};

static const struct entry two[] = {
    {"AndroidManifest.xml", DEFLATED, 0, "packed", 0, 0},
    {"lib/arm64-v8a/liba.so", STORED, 37, "the library", 0, 0},
};

static void data_lies_behind_the_local_header_in_archives_of_every_shape(void **state)
{
    (void)state;
    const struct shape shapes[] = {
        {"", "", false, false},
        {"", "PK\5\6 a comment", false, false},
        {"#!/bin/sh\n", "", false, false},
        {"#!/bin/sh\n", "", false, true},
        {"", "", true, false},
        {"prefix", "comment", true, false},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct cairn_buffer b = make(two, 2, &shapes[i]);
        struct cairn_archive archive;
        struct cairn_archive_entry entry, same;
        struct cairn_span data, held;
        struct cairn_err err;
        assert_ok(cairn_archive_open(cairn_buffer_span(&b), &archive, &err), err);
        assert_int_equal(archive.n_entries, 2);
        assert_ok(cairn_archive_find(&archive, "lib/arm64-v8a/liba.so", &entry, &err), err);
        assert_ok(cairn_archive_data(&archive, &entry, &data, &err), err);
        assert_int_equal(data.size, 11);
        assert_memory_equal(data.data, "the library", 11);
        uint64_t off = (uint64_t)(data.data - b.data);
        assert_true(cairn_archive_find_at(&archive, off, &same, &held));
        assert_true(cairn_archive_find_at(&archive, off + 10, &same, &held));
        assert_true(cairn_span_equal(same.name, entry.name));
        assert_ptr_equal(held.data, data.data);
        assert_false(cairn_archive_find_at(&archive, off - 1, &same, &held));
        assert_false(cairn_archive_find_at(&archive, off + 11, &same, &held));
        cairn_buffer_done(&b);
    }
}

static void what_is_packed_or_not_there_is_told(void **state)
{
    (void)state;
    struct cairn_buffer b = make(two, 2, &plain_shape);
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    struct cairn_err err;
    assert_true(cairn_archive_is_one(cairn_buffer_span(&b)));
    assert_ok(cairn_archive_open(cairn_buffer_span(&b), &archive, &err), err);
    assert_ok(cairn_archive_find(&archive, "AndroidManifest.xml", &entry, &err), err);
    assert_fails(cairn_archive_data(&archive, &entry, &data, &err), CAIRN_E_SUPPORT, err,
                 "is compressed in the archive");
    assert_fails(cairn_archive_find(&archive, "lib/liba.so", &entry, &err), CAIRN_E_MISSING, err,
                 "no such entry");
    cairn_buffer_done(&b);
    assert_fails(cairn_archive_open((struct cairn_span){0}, &archive, &err), CAIRN_E_FORMAT, err,
                 "no zip archive");
}

static void what_deflate_cannot_hold_is_not_even_allocated(void **state)
{
    (void)state;
    struct cairn_buffer b = make(two, 2, &plain_shape), plain = {0};
    uint8_t *record = memmem(b.data, b.size, "PK\1\2", 4); /* the directory's first one */
    const uint32_t claimed = 3u << 30;
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_err err;
    assert_non_null(record);
    memcpy(record + 24, &claimed, sizeof claimed);
    assert_ok(cairn_archive_open(cairn_buffer_span(&b), &archive, &err), err);
    assert_ok(cairn_archive_find(&archive, "AndroidManifest.xml", &entry, &err), err);
    assert_fails(cairn_archive_unpack(&archive, &entry, UINT32_MAX, &plain, &err), CAIRN_E_FORMAT,
                 err, "claims 3221225472 bytes, packed into 6");
    assert_null(plain.data);
    cairn_buffer_done(&b);
}

static void entries_that_claim_what_is_not_theirs_are_refused(void **state)
{
    (void)state;
    const struct entry lying[] = {
        {"long.so", STORED, 0, "short", 1 << 20, 0},
        {"past_the_end.so", STORED, 0, "x", 0, 1 << 20},
        {"into_the_directory.so", STORED, 0, "abc", 1, 0},
    };
    struct cairn_buffer b = make(lying, 3, &plain_shape);
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    struct cairn_err err;
    assert_ok(cairn_archive_open(cairn_buffer_span(&b), &archive, &err), err);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(cairn_archive_find(&archive, lying[i].name, &entry, &err), err);
        assert_fails(cairn_archive_data(&archive, &entry, &data, &err), CAIRN_E_FORMAT, err,
                     "not within the archive");
    }
    for (uint64_t off = 0; off < b.size; off++)
        assert_false(cairn_archive_find_at(&archive, off, &entry, &data));
    cairn_buffer_done(&b);
}

static void names_that_climb_or_write_to_the_terminal_are_passed_over(void **state)
{
    (void)state;
    const struct entry entries[] = {
        {"../evil.so", STORED, 0, "1", 0, 0},     {"lib/../../evil.so", STORED, 0, "2", 0, 0},
        {"/etc/evil.so", STORED, 0, "3", 0, 0},   {"lib/\033[2J.so", STORED, 0, "4", 0, 0},
        {"lib/..", STORED, 0, "5", 0, 0},         {"", STORED, 0, "6", 0, 0},
        {"lib/..fine..so", STORED, 0, "7", 0, 0},
    };
    struct cairn_buffer b = make(entries, 7, &plain_shape);
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_err err;
    size_t pos = 0;
    assert_ok(cairn_archive_open(cairn_buffer_span(&b), &archive, &err), err);
    assert_true(cairn_archive_next(&archive, &pos, &entry));
    assert_true(cairn_span_equal(entry.name, cairn_span_of("lib/..fine..so")));
    assert_false(cairn_archive_next(&archive, &pos, &entry));
    cairn_buffer_done(&b);
}

static void more_entries_than_sixteen_bits_count_are_all_there(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    struct entry *entries = calloc(MANY, sizeof *entries);
    char(*names)[16] = calloc(MANY, sizeof *names);
    assert_non_null(entries);
    assert_non_null(names);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "e%d", i);
        entries[i] = (struct entry){names[i], STORED, 0, "x", 0, 0};
    }
    struct shape shape = {"", "", true, false};
    struct cairn_buffer b = make(entries, MANY, &shape);
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_err err;
    assert_ok(cairn_archive_open(cairn_buffer_span(&b), &archive, &err), err);
    assert_int_equal(archive.n_entries, MANY);
    assert_ok(cairn_archive_find(&archive, "e69999", &entry, &err), err);
    cairn_buffer_done(&b);
    free(entries);
    free(names);
}

static void every_cut_and_every_changed_byte_is_survived(void **state)
{
    (void)state;
    struct shape shape = {"pre", "comment", true, false};
    struct cairn_buffer b = make(two, 2, &shape);
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    for (size_t size = 0; size < b.size; size++)
        assert_int_equal(cairn_archive_open((struct cairn_span){b.data, size}, &archive, NULL),
                         CAIRN_E_FORMAT);
    for (size_t i = 0; i < b.size; i++) {
        b.data[i] ^= 0xff;
        if (cairn_archive_open(cairn_buffer_span(&b), &archive, NULL) == CAIRN_OK)
            for (size_t pos = 0; cairn_archive_next(&archive, &pos, &entry);)
                if (cairn_archive_data(&archive, &entry, &data, NULL) == CAIRN_OK && data.size)
                    assert_true(data.data >= b.data && data.data + data.size <= b.data + b.size);
        b.data[i] ^= 0xff;
    }
    cairn_buffer_done(&b);
}

static void a_path_is_split_at_its_archive(void **state)
{
    (void)state;
    assert_string_equal(cairn_archive_split("/a/base.apk!/lib/x.so"), "!/lib/x.so");
    assert_null(cairn_archive_split("/a/base.apk"));
    assert_null(cairn_archive_split("!/lib/x.so"));
    assert_null(cairn_archive_split("/a/base.apk!/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_lies_behind_the_local_header_in_archives_of_every_shape),
        cmocka_unit_test(what_is_packed_or_not_there_is_told),
        cmocka_unit_test(what_deflate_cannot_hold_is_not_even_allocated),
        cmocka_unit_test(entries_that_claim_what_is_not_theirs_are_refused),
        cmocka_unit_test(names_that_climb_or_write_to_the_terminal_are_passed_over),
        cmocka_unit_test(more_entries_than_sixteen_bits_count_are_all_there),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_survived),
        cmocka_unit_test(a_path_is_split_at_its_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
