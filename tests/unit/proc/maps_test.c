/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include <cairn/log.h>
#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "support/test.h"

static const char ordinary[] =
    "55d0c2a00000-55d0c2a02000 r--p 00000000 fe:01 1441830                    /usr/bin/prog\n"
    "55d0c2a02000-55d0c2a21000 r-xp 00002000 fe:01 1441830                    /usr/bin/prog\n"
    "55d0c3000000-55d0c3021000 rw-p 00000000 00:00 0                          [heap]\n"
    "7f0000000000-7f0000001000 rw-s 00000000 00:01 7                          /dev/shm/a "
    "(deleted)\n"
    "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"
    "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static struct cairn_maps *parse(const char *text, size_t size)
{
    uint8_t *copy = test_copy(text, size);
    struct cairn_maps *maps = NULL;
    struct cairn_err err;
    assert_ok(cairn_maps_parse(copy, size, &maps, &err), err);
    free(copy); /* nothing is borrowed from the text */
    return maps;
}

static struct cairn_maps *parse_str(const char *text)
{
    return parse(text, strlen(text));
}

static void every_field_of_a_line_is_read(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str(ordinary);
    assert_int_equal(cairn_maps_count(maps), 7);
    const struct cairn_map *map = cairn_maps_get(maps, 1);
    assert_int_equal(map->start, 0x55d0c2a02000);
    assert_int_equal(map->end, 0x55d0c2a21000);
    assert_int_equal(map->off, 0x2000);
    assert_int_equal(map->inode, 1441830);
    assert_int_equal(map->dev_major, 0xfe);
    assert_int_equal(map->dev_minor, 1);
    assert_int_equal(map->flags, CAIRN_MAP_READ | CAIRN_MAP_EXEC | CAIRN_MAP_FILE);
    assert_string_equal(map->path, "/usr/bin/prog");
    assert_ptr_equal(map->path, cairn_maps_get(maps, 0)->path);
    assert_string_equal(cairn_maps_get(maps, 2)->path, "[heap]");
    assert_int_equal(cairn_maps_get(maps, 2)->flags, CAIRN_MAP_READ | CAIRN_MAP_WRITE);
    assert_string_equal(cairn_maps_get(maps, 4)->path, "");
    assert_null(cairn_maps_get(maps, 7));
    cairn_maps_free(maps);
    cairn_maps_free(NULL);
}

static void shared_anonymous_memory_has_no_path(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str("1-2 rwxs 0 0:1 9 /dev/zero (deleted)\n"
                                        "2-3 rwxp 0 0:6 4 /dev/zero\n"
                                        "3-4 rwxs 0 0:1 5 /SYSV0000abcd (deleted)\n"
                                        "4-5 r-xp 0 0:1 5 /SYSVinit (deleted)\n"
                                        "5-6 r-xp 0 0:1 5 /dev/zeros\n");
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(cairn_maps_get(maps, i)->path, "");
        assert_int_equal(cairn_maps_get(maps, i)->flags & (CAIRN_MAP_FILE | CAIRN_MAP_DELETED), 0);
    }
    assert_string_equal(cairn_maps_get(maps, 3)->path, "/SYSVinit");
    assert_string_equal(cairn_maps_get(maps, 4)->path, "/dev/zeros");
    cairn_maps_free(maps);
}

static void a_deleted_file_keeps_its_name_and_says_so(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str(ordinary);
    const struct cairn_map *map = cairn_maps_get(maps, 3);
    assert_string_equal(map->path, "/dev/shm/a");
    assert_int_equal(map->flags, CAIRN_MAP_READ | CAIRN_MAP_WRITE | CAIRN_MAP_SHARED |
                                     CAIRN_MAP_FILE | CAIRN_MAP_DELETED);
    cairn_maps_free(maps);
    maps = parse_str("1-2 r--p 0 0:0 0  [a (deleted)\n"
                     "2-3 r--p 0 0:0 0 /x (deleted) (deleted)\n"
                     "3-4 r--p 0 0:0 0 / (deleted)");
    assert_string_equal(cairn_maps_get(maps, 0)->path, "[a (deleted)");
    assert_string_equal(cairn_maps_get(maps, 1)->path, "/x (deleted)");
    assert_string_equal(cairn_maps_get(maps, 2)->path, "/");
    cairn_maps_free(maps);
}

static void paths_hold_blanks_and_escaped_line_breaks(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str("1-2 r-xp 0 0:0 1      /a dir/b  c \n"
                                        "2-3 r-xp 0 0:0 1 /a\\012b\\0123\\012\n"
                                        "3-4 r-xp 0 0:0 1 /back\\slash\\01\\134\n"
                                        "4-5 r-xp 0 0:0 1 /\xff\x1b;");
    assert_string_equal(cairn_maps_get(maps, 0)->path, "/a dir/b  c ");
    assert_string_equal(cairn_maps_get(maps, 1)->path, "/a\nb\n3\n");
    assert_string_equal(cairn_maps_get(maps, 2)->path, "/back\\slash\\01\\134");
    assert_string_equal(cairn_maps_get(maps, 3)->path, "/\xff\x1b;");
    cairn_maps_free(maps);
}

static void copies_may_have_crlf_blank_lines_and_no_last_line_break(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str("1000-2000 r-xp 0 0:0 1 /a\r\n"
                                        "\r\n"
                                        "\n"
                                        "2000-3000 r-xp 0 0:0 1\r\n"
                                        "3000-4000 r-xp 0 0:0 1 /b");
    assert_int_equal(cairn_maps_count(maps), 3);
    assert_string_equal(cairn_maps_get(maps, 0)->path, "/a");
    assert_string_equal(cairn_maps_get(maps, 1)->path, "");
    assert_string_equal(cairn_maps_get(maps, 2)->path, "/b");
    cairn_maps_free(maps);
    maps = parse_str("");
    assert_int_equal(cairn_maps_count(maps), 0);
    assert_null(cairn_maps_find(maps, 0));
    cairn_maps_free(maps);
}

static void what_lies_in_a_gap_is_not_found(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str(ordinary);
    static const struct {
        uint64_t va;
        int index;
    } cases[] = {
        {0, -1},
        {0x55d0c29fffff, -1},
        {0x55d0c2a00000, 0},
        {0x55d0c2a01fff, 0},
        {0x55d0c2a02000, 1},
        {0x55d0c2a20fff, 1},
        {0x55d0c2a21000, -1},
        {0x7f0000001000, -1},
        {0x7f0000002fff, 4},
        {0xffffffffff600000, 6},
        {0xffffffffff601000, -1},
        {UINT64_MAX, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_ptr_equal(cairn_maps_find(maps, cases[i].va),
                         cases[i].index < 0 ? NULL : cairn_maps_get(maps, (size_t)cases[i].index));
    cairn_maps_free(maps);
}

static void lines_out_of_order_are_sorted(void **state)
{
    (void)state;
    struct cairn_maps *maps = parse_str("5000-6000 r-xp 0 0:0 1 /c\n"
                                        "1000-2000 r-xp 0 0:0 1 /a\n"
                                        "2000-3000 r-xp 0 0:0 1 /b\n");
    assert_int_equal(cairn_maps_count(maps), 3);
    assert_string_equal(cairn_maps_get(maps, 0)->path, "/a");
    assert_string_equal(cairn_maps_get(maps, 1)->path, "/b");
    assert_string_equal(cairn_maps_get(maps, 2)->path, "/c");
    cairn_maps_free(maps);
}

static int n_logged;
static char logged[256];

static void hear(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    n_logged++;
    snprintf(logged, sizeof logged, "%s", text);
}

static void the_later_line_wins_and_the_earlier_is_split(void **state)
{
    (void)state;
    n_logged = 0;
    cairn_log_set(hear, NULL, CAIRN_LOG_WARNING);
    struct cairn_maps *maps = parse_str("1000-9000 r-xp 10000 0:0 1 /old\n"
                                        "3000-4000 r-xp 0 0:0 1 /new\n"
                                        "8000-a000 rw-p 0 0:0 0\n");
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    static const struct cairn_map expected[] = {
        {.start = 0x1000, .end = 0x3000, .off = 0x10000, .path = "/old"},
        {.start = 0x3000, .end = 0x4000, .off = 0, .path = "/new"},
        {.start = 0x4000, .end = 0x8000, .off = 0x13000, .path = "/old"},
        {.start = 0x8000, .end = 0xa000, .off = 0, .path = ""},
    };
    assert_int_equal(cairn_maps_count(maps), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        assert_int_equal(map->start, expected[i].start);
        assert_int_equal(map->end, expected[i].end);
        assert_int_equal(map->off, expected[i].off);
        assert_string_equal(map->path, expected[i].path);
    }
    assert_int_equal(n_logged, 1);
    assert_contains(logged, "later lines cover parts of 1 mapping,");
    cairn_maps_free(maps);
}

/* Many small overlapping lines against the plainest rule: for each address, the last line that
 * holds it. */
static void overlaps_follow_the_rule_at_every_address(void **state)
{
    (void)state;
    enum { LINES = 40, SPACE = 100, ROUNDS = 300 };
    uint32_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct cairn_buffer text = {0};
        int owner[SPACE], start_of[LINES];
        memset(owner, -1, sizeof owner);
        for (int line = 0; line < LINES; line++) {
            seed = seed * 1664525 + 1013904223;
            int start = (int)(seed >> 16) % (SPACE - 1);
            int end = start + 1 + (int)(seed >> 8 & 0xff) % (SPACE - start);
            end = end > SPACE ? SPACE : end;
            cairn_buffer_printf(&text, "%x-%x r-xp 1000 0:0 1 /%d\n", start, end, line);
            start_of[line] = start;
            for (int va = start; va < end; va++)
                owner[va] = line;
        }
        struct cairn_maps *maps = parse(cairn_buffer_text(&text), text.size);
        for (int va = 0; va < SPACE; va++) {
            const struct cairn_map *map = cairn_maps_find(maps, (uint64_t)va);
            assert_int_equal(map ? atoi(map->path + 1) : -1, owner[va]);
            if (map) /* the place in the file is that of the whole line */
                assert_int_equal(map->off + (uint64_t)va - map->start,
                                 0x1000 + va - start_of[owner[va]]);
        }
        for (size_t i = 1; i < cairn_maps_count(maps); i++)
            assert_true(cairn_maps_get(maps, i - 1)->end <= cairn_maps_get(maps, i)->start);
        cairn_maps_free(maps);
        cairn_buffer_done(&text);
    }
}

static void what_is_no_mapping_is_refused_by_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"main;work 12", "line 1, column 1: expected an address range"},
        {"1000-2000 r-xp 0 0:0 1\nx", "line 2, column 1: expected an address range"},
        {"1000", "line 1, column 5: expected an address range"},
        {"1000-", "line 1, column 6: expected an address range"},
        {"10001000100010001-2 r-xp 0 0:0 1", "expected an address range"},
        {"2000-1000 r-xp 0 0:0 1", "expected a range whose end lies behind its start"},
        {"1000-1000 r-xp 0 0:0 1", "expected a range whose end lies behind its start"},
        {"1000-2000 r-x 0 0:0 1", "line 1, column 14: expected permissions"},
        {"1000-2000 rxwp 0 0:0 1", "line 1, column 12: expected permissions"},
        {"1000-2000 r-xq 0 0:0 1", "line 1, column 14: expected permissions"},
        {"1000-2000 r-xp  0:0 1", "column 16: expected a file offset"},
        {"1000-2000 r-xp 0 00 1", "column 20: expected a device"},
        {"1000-2000 r-xp 0 100000000:0 1", "expected a device"},
        {"1000-2000 r-xp 0 0:0", "expected a device"},
        {"1000-2000 r-xp 0 0:0 ", "expected an inode"},
        {"1000-2000 r-xp 0 0:0 1x /a", "expected an inode"},
        {"1000-2000 r-xp 0 0:0 18446744073709551616 /a", "expected an inode"},
        {"Name:\tprog", "expected an address range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].text);
        uint8_t *copy = test_copy(cases[i].text, size);
        struct cairn_maps *maps = NULL;
        struct cairn_err err;
        assert_fails(cairn_maps_parse(copy, size, &maps, &err), CAIRN_E_FORMAT, err,
                     cases[i].message);
        assert_null(maps);
        free(copy);
    }
    struct cairn_maps *maps = NULL;
    struct cairn_err err;
    static const char with_nul[] = "1-2 r-xp 0 0:0 1 /a\0b\n";
    assert_fails(cairn_maps_parse(with_nul, sizeof with_nul - 1, &maps, &err), CAIRN_E_FORMAT, err,
                 "no NUL byte");
}

static void limits_have_names(void **state)
{
    (void)state;
    enum { LONG = 65537, MANY = 1048577 };
    struct cairn_maps *maps = NULL;
    struct cairn_err err;
    struct cairn_buffer text = {0};
    cairn_buffer_str(&text, "1-2 r-xp 0 0:0 1 /");
    while (text.size < LONG)
        cairn_buffer_char(&text, 'x');
    assert_fails(cairn_maps_parse(text.data, text.size, &maps, &err), CAIRN_E_LIMIT, err,
                 "line 1: longer than 65536 bytes");
    text.data[text.size - 1] = '\n'; /* one less is just right */
    assert_ok(cairn_maps_parse(text.data, text.size, &maps, &err), err);
    cairn_maps_free(maps);
    maps = NULL;
    cairn_buffer_clear(&text);
    for (unsigned i = 0; i < MANY; i++)
        cairn_buffer_printf(&text, "%x-%x r-xp 0 0:0 1\n", 2 * i, 2 * i + 1);
    assert_fails(cairn_maps_parse(text.data, text.size, &maps, &err), CAIRN_E_LIMIT, err,
                 "line 1048577: more than 1048576 mappings");
    assert_null(maps);
    cairn_buffer_done(&text);
}

static void lack_of_memory_at_any_place_is_told(void **state)
{
    (void)state;
    static const char overlapping[] = "1000-9000 r-xp 0 0:0 1 /old\\012\n"
                                      "3000-4000 r-xp 0 0:0 1 /new\n";
    struct cairn_maps *maps = NULL;
    struct cairn_err err;
    long n = 0;
    for (int code = CAIRN_E_NOMEM; code != CAIRN_OK; n++) {
        assert_int_equal(code, CAIRN_E_NOMEM);
        assert_null(maps);
        cairn_alloc_fail_after(n);
        code = cairn_maps_parse(overlapping, sizeof overlapping - 1, &maps, &err);
        cairn_alloc_fail_after(-1);
    }
    assert_in_range(n, 5, 50);
    assert_int_equal(cairn_maps_count(maps), 3);
    cairn_maps_free(maps);
}

static void our_own_maps_hold_our_own_code(void **state)
{
    (void)state;
    struct cairn_maps *maps;
    struct cairn_err err;
    char exe[4096];
    ssize_t size = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(size > 0);
    exe[size] = 0;
    for (int by_file = 0; by_file < 2; by_file++) {
        if (by_file)
            assert_ok(cairn_maps_read_file("/proc/self/maps", &maps, &err), err);
        else
            assert_ok(cairn_maps_read_pid(getpid(), &maps, &err), err);
        const struct cairn_map *map =
            cairn_maps_find(maps, (uint64_t)(uintptr_t)our_own_maps_hold_our_own_code);
        assert_non_null(map);
        assert_string_equal(map->path, exe);
        assert_true(map->flags & CAIRN_MAP_EXEC);
        map = cairn_maps_find(maps, (uint64_t)(uintptr_t)&ordinary);
        assert_non_null(map);
        assert_false(map->flags & CAIRN_MAP_EXEC);
        cairn_maps_free(maps);
    }
}

static void errors_name_the_file_or_the_process(void **state)
{
    (void)state;
    struct cairn_maps *maps = NULL;
    struct cairn_err err;
    assert_fails(cairn_maps_read_file("/nowhere/maps", &maps, &err), CAIRN_E_MISSING, err,
                 "/nowhere/maps: No such file");
    assert_fails(cairn_maps_read_file("/proc/self/status", &maps, &err), CAIRN_E_FORMAT, err,
                 "/proc/self/status: line 1, column 1: expected an address range");
    assert_fails(cairn_maps_read_pid(0x3fffffff, &maps, &err), CAIRN_E_MISSING, err,
                 "pid 1073741823: No such process");
    assert_null(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_line_is_read),
        cmocka_unit_test(a_deleted_file_keeps_its_name_and_says_so),
        cmocka_unit_test(shared_anonymous_memory_has_no_path),
        cmocka_unit_test(paths_hold_blanks_and_escaped_line_breaks),
        cmocka_unit_test(copies_may_have_crlf_blank_lines_and_no_last_line_break),
        cmocka_unit_test(what_lies_in_a_gap_is_not_found),
        cmocka_unit_test(lines_out_of_order_are_sorted),
        cmocka_unit_test(the_later_line_wins_and_the_earlier_is_split),
        cmocka_unit_test(overlaps_follow_the_rule_at_every_address),
        cmocka_unit_test(what_is_no_mapping_is_refused_by_its_place),
        cmocka_unit_test(limits_have_names),
        cmocka_unit_test(lack_of_memory_at_any_place_is_told),
        cmocka_unit_test(our_own_maps_hold_our_own_code),
        cmocka_unit_test(errors_name_the_file_or_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
