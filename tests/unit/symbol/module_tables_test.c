/* SPDX-License-Identifier: MIT */
#include "symbol/module_tables.h"

#include <stdio.h>

#include <cairn/log.h>

#include "base/alloc.h"
#include "symbol/symbolizer.h"
#include "unit/symbol/index_module.h"

enum { ONE = 0x1010, OTHER = 0x1130 }; /* addresses of two units */

static unsigned n_said;

static void count_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    (void)text;
    n_said += level == CAIRN_LOG_WARNING;
}

struct opened {
    struct cairn_symbolizer *s;
    struct cairn_module *m;
};

static struct opened open_made(void)
{
    struct cairn_symbolizer_opts opts = {.size = sizeof opts, .index = CAIRN_INDEX_NEVER};
    struct opened o = {0};
    struct cairn_err err;
    size_t size;
    uint8_t *bytes = made_elf(&size);
    assert_ok(cairn_symbolizer_new(&opts, &o.s, &err), err);
    assert_ok(cairn_symbolizer_open_bytes(o.s, "made", bytes, size, &o.m, &err), err);
    free(bytes);
    assert_ok(cairn_module_need_dwarf(o.m, &err), err);
    return o;
}

/* The first unit that claims an address. */
static struct cairn_dwarf_unit *unit_at(struct cairn_module *m, uint64_t vaddr)
{
    const struct cairn_unit_map *map;
    struct cairn_err err;
    uint32_t at, end, off;
    size_t cursor = SIZE_MAX;
    assert_ok(cairn_unit_finder_need_map(&m->unit_finder, &map, &err), err);
    assert_true(cairn_dwarf_place(&m->dwarf, vaddr, vaddr + 1, &at, &end));
    assert_true(cairn_unit_map_next(map, at, &cursor, &off));
    return cairn_dwarf_units_at(&m->units, off);
}

static struct cairn_unit_table *need(struct cairn_module *m, uint64_t vaddr, uint64_t now)
{
    struct cairn_unit_table *table = NULL;
    struct cairn_err err;
    assert_ok(cairn_module_need_table(m, unit_at(m, vaddr), now, &table, &err), err);
    return table;
}

static void a_table_is_read_once(void **state)
{
    (void)state;
    struct opened o = open_made();
    struct cairn_unit_table *first = need(o.m, ONE, 1);
    assert_non_null(first);
    assert_int_equal(o.m->table_bytes, cairn_unit_table_bytes(first));
    assert_ptr_equal(need(o.m, ONE, 2), first);
    assert_int_equal(o.m->n_tables_read, 1);
    assert_ptr_not_equal(need(o.m, OTHER, 3), first);
    assert_int_equal(o.m->n_tables_read, 2);
    cairn_symbolizer_free(o.s);
}

/* Units that share their lines can make many tables of few bytes, in whichever way the module came.
 */
static void the_bound_of_the_user_holds_for_every_module(void **state)
{
    (void)state;
    struct cairn_symbolizer_opts opts = {.size = sizeof opts, .memory_bytes = 20000000};
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_err err;
    size_t size;
    uint8_t *bytes = made_elf(&size);
    assert_ok(cairn_symbolizer_new(&opts, &s, &err), err);
    assert_ok(cairn_symbolizer_open_bytes(s, "made", bytes, size, &m, &err), err);
    assert_int_equal(m->memory_bytes, opts.memory_bytes);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fflush(file), 0);
    assert_ok(cairn_symbolizer_open_fd(s, "(deleted)", fileno(file), &m, &err), err);
    assert_int_equal(m->memory_bytes, opts.memory_bytes);
    fclose(file);
    free(bytes);
    cairn_symbolizer_free(s);
}

static void the_one_not_used_for_longest_goes_first(void **state)
{
    (void)state;
    struct opened o = open_made();
    assert_int_equal(cairn_module_oldest_table(o.m, 9), UINT64_MAX);
    need(o.m, ONE, 1);
    need(o.m, OTHER, 2);
    need(o.m, ONE, 3);
    size_t both = o.m->table_bytes;
    assert_int_equal(cairn_module_oldest_table(o.m, 9), 2);
    assert_true(cairn_module_drop_oldest(o.m, 9));
    assert_true(o.m->table_bytes < both);
    assert_int_equal(cairn_module_oldest_table(o.m, 9), 3);
    assert_false(cairn_module_drop_oldest(o.m, 3)); /* it is in use now */
    assert_int_equal(cairn_module_oldest_table(o.m, 9), 3);
    assert_true(cairn_module_drop_oldest(o.m, 9));
    assert_int_equal(o.m->table_bytes, 0);
    assert_false(cairn_module_drop_oldest(o.m, 9));
    assert_non_null(need(o.m, OTHER, 4)); /* and comes back */
    cairn_symbolizer_free(o.s);
}

static void tables_are_read_ahead_for_the_addresses_asked(void **state)
{
    (void)state;
    static const uint64_t vaddrs[] = {ONE, OTHER, ONE + 1, 0x9999};
    for (unsigned n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct opened o = open_made();
        struct cairn_err err;
        assert_ok(cairn_module_read_tables(o.m, vaddrs + 3, 1, n_threads, 1, &err), err);
        assert_int_equal(o.m->table_bytes, 0); /* of no unit */
        assert_ok(cairn_module_read_tables(o.m, vaddrs, 1, n_threads, 2, &err), err);
        assert_int_equal(o.m->table_bytes, cairn_unit_table_bytes(need(o.m, ONE, 3)));
        assert_ok(cairn_module_read_tables(o.m, vaddrs, 4, n_threads, 4, &err), err);
        assert_non_null(need(o.m, OTHER, 5));
        assert_int_equal(o.m->n_tables_read, 0); /* when they were needed they were there */
        cairn_symbolizer_free(o.s);
    }
}

static void a_unit_that_cannot_be_read_is_told_of_once(void **state)
{
    (void)state;
    struct opened o = open_made();
    cairn_log_set(count_log, NULL, CAIRN_LOG_WARNING);
    n_said = 0;
    unit_at(o.m, ONE);
    o.m->dwarf.abbrev.size = 0;
    assert_null(need(o.m, ONE, 1));
    assert_int_equal(n_said, 1);
    assert_null(need(o.m, ONE, 2));
    assert_int_equal(n_said, 1);
    assert_int_equal(o.m->table_bytes, 0);
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    cairn_symbolizer_free(o.s);
}

static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    static const uint64_t vaddrs[] = {ONE, OTHER};
    for (long n = 0;; n++) {
        struct opened o = open_made();
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        int code = cairn_module_read_tables(o.m, vaddrs, 2, 1, 1, &err);
        cairn_alloc_fail_after(-1);
        assert_non_null(need(o.m, ONE, 2));
        assert_non_null(need(o.m, OTHER, 3));
        bool is_whole = o.m->n_tables_read == 0;
        cairn_symbolizer_free(o.s);
        if (code == CAIRN_OK && is_whole)
            break;
        assert_true(code == CAIRN_OK || code == CAIRN_E_NOMEM);
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read_once),
        cmocka_unit_test(the_bound_of_the_user_holds_for_every_module),
        cmocka_unit_test(the_one_not_used_for_longest_goes_first),
        cmocka_unit_test(tables_are_read_ahead_for_the_addresses_asked),
        cmocka_unit_test(a_unit_that_cannot_be_read_is_told_of_once),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
