/* SPDX-License-Identifier: MIT */
#include "cache/entry.h"

#include "base/alloc.h"
#include "cache/seal.h"
#include "support/test.h"

static const struct cairn_cache_file files[] = {
    {.role = CAIRN_CACHE_IMAGE,
     .is_guarded = true,
     .path = "/bin/prog",
     .build_id = "0123456789abcdef",
     .size = 100,
     .mtime_ns = 7,
     .layout = 0x1234},
    {.role = CAIRN_CACHE_DEBUG,
     .is_guarded = true,
     .path = "/debug/prog.debug",
     .build_id = "",
     .size = UINT64_MAX,
     .mtime_ns = UINT64_MAX,
     .layout = 1},
    {.role = CAIRN_CACHE_OTHER,
     .is_guarded = true,
     .absent = true,
     .path = "/src/prog.dwo",
     .build_id = ""},
    {.role = CAIRN_CACHE_IMAGE,
     .path = "/home/prog",
     .build_id = "0123456789abcdef",
     .size = 100,
     .mtime_ns = 7,
     .layout = 0x1234,
     .dev = UINT64_MAX,
     .inode = 9,
     .ctime_ns = 8,
     .uid = 1000},
};
enum { N_FILES = sizeof files / sizeof *files };

static struct cairn_buffer make(enum cairn_cache_kind kind, size_t n_files, const char *payload)
{
    struct cairn_buffer out = {0};
    struct cairn_cache_entry_header header = {kind, "/bin/prog", "0123456789abcdef", files,
                                              n_files};
    cairn_cache_entry_write(&header, cairn_span_of(payload), &out);
    cairn_buffer_str(&out, payload);
    assert_false(out.failed);
    return out;
}

static void what_was_written_comes_back(void **state)
{
    (void)state;
    for (size_t n = 0; n <= N_FILES; n++) {
        struct cairn_buffer bytes = make(CAIRN_CACHE_UNIT_MAP, n, "payload");
        struct cairn_cache_entry_read entry;
        struct cairn_err err;
        assert_ok(cairn_cache_entry_read(cairn_buffer_span(&bytes), &entry, &err), err);
        assert_int_equal(entry.header.kind, CAIRN_CACHE_UNIT_MAP);
        assert_string_equal(entry.header.module, "/bin/prog");
        assert_string_equal(entry.header.build_id, "0123456789abcdef");
        assert_int_equal(entry.header.n_files, n);
        for (size_t i = 0; i < n; i++) {
            assert_true(cairn_cache_file_equal(&entry.files[i], &files[i]));
            assert_string_equal(entry.files[i].path, files[i].path);
            assert_int_equal(entry.files[i].mtime_ns, files[i].mtime_ns);
        }
        assert_int_equal(entry.payload.size, 7);
        assert_memory_equal(entry.payload.data, "payload", 7);
        assert_int_equal((size_t)(entry.payload.data - bytes.data) % 64, 0);
        cairn_cache_entry_done(&entry);
        cairn_buffer_done(&bytes);
    }
}

static void an_empty_payload_is_sound(void **state)
{
    (void)state;
    struct cairn_buffer bytes = make(CAIRN_CACHE_INDEX, 1, "");
    struct cairn_cache_entry_read entry;
    struct cairn_err err;
    assert_ok(cairn_cache_entry_read(cairn_buffer_span(&bytes), &entry, &err), err);
    assert_int_equal(entry.payload.size, 0);
    cairn_cache_entry_done(&entry);
    cairn_buffer_done(&bytes);
}

/* The version alone may read as another's: it is not covered until it is known. */
static void every_truncation_and_every_bit_of_the_header_is_noticed(void **state)
{
    (void)state;
    struct cairn_buffer bytes = make(CAIRN_CACHE_INDEX, 3, "payload");
    struct cairn_cache_entry_read entry;
    struct cairn_err err;
    size_t header_size = bytes.data[16] | (size_t)bytes.data[17] << 8;
    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *copy = test_copy(bytes.data, size);
        assert_int_equal(cairn_cache_entry_read((struct cairn_span){copy, size}, &entry, &err),
                         CAIRN_E_FORMAT);
        free(copy);
    }
    for (size_t bit = 0; bit < 8 * header_size; bit++) {
        uint8_t *copy = test_copy(bytes.data, bytes.size);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int code = cairn_cache_entry_read((struct cairn_span){copy, bytes.size}, &entry, &err);
        assert_int_equal(code, bit / 32 == 2 ? CAIRN_E_SUPPORT : CAIRN_E_FORMAT);
        free(copy);
    }
    cairn_buffer_done(&bytes);
}

static void counts_of_dependencies_are_not_believed(void **state)
{
    (void)state;
    struct cairn_buffer bytes = make(CAIRN_CACHE_INDEX, 0, "");
    struct cairn_cache_entry_read entry;
    struct cairn_err err;
    size_t header_size = bytes.data[16];
    memset(bytes.data + 40, 0xff, 8);
    memset(bytes.data + 48, 0, 8);
    uint64_t hash = cairn_cache_hash((struct cairn_span){bytes.data, header_size});
    for (int i = 0; i < 8; i++)
        bytes.data[48 + i] = (uint8_t)(hash >> 8 * i);
    assert_fails(cairn_cache_entry_read(cairn_buffer_span(&bytes), &entry, &err), CAIRN_E_FORMAT,
                 err, "dependencies");
    cairn_buffer_done(&bytes);
}

static void files_are_told_apart(void **state)
{
    (void)state;
    const struct cairn_cache_file by_id = files[0], by_path = files[1];
    struct cairn_cache_file other = by_id;
    other.path = "/elsewhere";
    other.mtime_ns = 99;
    assert_true(cairn_cache_file_equal(&by_id, &other)); /* a copy of the same build */
    other.layout++;
    assert_false(cairn_cache_file_equal(&by_id, &other)); /* the same ID, another file */
    other = by_id;
    other.size++;
    assert_false(cairn_cache_file_equal(&by_id, &other));
    other = by_path;
    other.mtime_ns--;
    assert_false(cairn_cache_file_equal(&by_path, &other));
    other = by_path;
    other.path = "/elsewhere";
    assert_false(cairn_cache_file_equal(&by_path, &other));
    other = by_path;
    other.role = CAIRN_CACHE_IMAGE;
    assert_false(cairn_cache_file_equal(&by_path, &other));
}

/* Build ID, size, layout and time of change can all be forged. */
static void a_file_that_others_can_write_is_known_by_its_inode(void **state)
{
    (void)state;
    const struct cairn_cache_file unguarded = files[3];
    struct cairn_cache_file other = files[0];
    assert_false(cairn_cache_file_equal(&unguarded, &other));
    other = unguarded;
    other.path = "/elsewhere"; /* another name of the same inode */
    assert_true(cairn_cache_file_equal(&unguarded, &other));
    other.dev++;
    assert_false(cairn_cache_file_equal(&unguarded, &other));
    other = unguarded;
    other.inode++;
    assert_false(cairn_cache_file_equal(&unguarded, &other));
    other = unguarded;
    other.ctime_ns++;
    assert_false(cairn_cache_file_equal(&unguarded, &other));
    other = unguarded;
    other.uid++;
    assert_false(cairn_cache_file_equal(&unguarded, &other));
    struct cairn_cache_file nowhere = unguarded;
    nowhere.inode = 0; /* bytes in memory */
    assert_false(cairn_cache_file_equal(&nowhere, &nowhere));
}

static void a_sum_notices_what_changes(void **state)
{
    (void)state;
    uint8_t bytes[100];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(7 * i);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t sum = cairn_cache_sum((struct cairn_span){bytes, size});
        for (size_t i = 0; i < size; i++) {
            bytes[i] ^= 0x10;
            assert_true(cairn_cache_sum((struct cairn_span){bytes, size}) != sum);
            bytes[i] ^= 0x10;
        }
        assert_true(!size || cairn_cache_sum((struct cairn_span){bytes, size - 1}) != sum);
    }
    /* Equal on every machine: entries may lie on a shared disk. */
    assert_true(cairn_cache_sum(cairn_span_of("payload")) == 0x9955ebf9ba31bde2);
}

static void lack_of_memory_is_told(void **state)
{
    (void)state;
    struct cairn_buffer bytes = make(CAIRN_CACHE_INDEX, 3, "payload");
    struct cairn_cache_entry_read entry;
    struct cairn_err err;
    cairn_alloc_fail_after(0);
    int code = cairn_cache_entry_read(cairn_buffer_span(&bytes), &entry, &err);
    struct cairn_buffer out = {0};
    struct cairn_cache_entry_header header = {CAIRN_CACHE_INDEX, "", "", files, 3};
    cairn_cache_entry_write(&header, (struct cairn_span){0}, &out);
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, CAIRN_E_NOMEM);
    assert_true(out.failed);
    cairn_buffer_done(&out);
    cairn_buffer_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_comes_back),
        cmocka_unit_test(an_empty_payload_is_sound),
        cmocka_unit_test(every_truncation_and_every_bit_of_the_header_is_noticed),
        cmocka_unit_test(counts_of_dependencies_are_not_believed),
        cmocka_unit_test(files_are_told_apart),
        cmocka_unit_test(a_file_that_others_can_write_is_known_by_its_inode),
        cmocka_unit_test(a_sum_notices_what_changes),
        cmocka_unit_test(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
