/* SPDX-License-Identifier: MIT */
#include "symlist/list.h"

#include <stdio.h>
#include <unistd.h>

#include <cairn/symbolizer.h>

#include "base/alloc.h"
#include "base/file.h"
#include "support/test.h"
#include "symlist/jit_map.h"
#include "symlist/kallsyms.h"

static struct cairn_symbol_list kernel_list(const char *text, const char *modules)
{
    struct cairn_symbol_list list = {0};
    struct cairn_err err = {0};
    int code = cairn_kallsyms_read(cairn_span_of(text), cairn_span_of(modules), &list, &err);
    if (code < 0)
        print_error("%s\n", err.msg);
    assert_int_equal(code, CAIRN_OK);
    return list;
}

static struct cairn_symbol_list jit_list(const char *text)
{
    struct cairn_symbol_list list = {0};
    struct cairn_err err = {0};
    assert_int_equal(cairn_jit_map_read(cairn_span_of(text), &list, &err), CAIRN_OK);
    return list;
}

static const char *name_at(const struct cairn_symbol_list *list, uint64_t va)
{
    const struct cairn_listed_symbol *symbol = cairn_symbol_list_find(list, va);
    return symbol ? cairn_symbol_list_name(list, symbol) : "-";
}

static const char *module_at(const struct cairn_symbol_list *list, uint64_t va)
{
    const struct cairn_listed_symbol *symbol = cairn_symbol_list_find(list, va);
    return symbol ? cairn_strings_get(&list->modules, symbol->module) : "-";
}

static const char kernel[] = "0000000000000000 A fixed_percpu_data\n"
                             "ffffffff81000000 T _stext\n"
                             "ffffffff81000000 T startup_64\n"
                             "ffffffff81000000 T _text\n"
                             "ffffffff81000100 t __pfx_work\n"
                             "ffffffff81000110 t work\n"
                             "ffffffff81000118 t $x\n"
                             "ffffffff81000119 t .Lloop\n"
                             "ffffffff81000200 T __do_it\n"
                             "ffffffff81000200 T do_it\n"
                             "ffffffff81000200 W weak_it\n"
                             "ffffffff81000300 t work.cold\n"
                             "ffffffff81000300 T __sched_text_start\n"
                             "ffffffff81000400 T _etext\n"
                             "ffffffff81800000 D table\n"
                             "ffffffffc0a01000 t chain\t[nf_tables]\n"
                             "ffffffffc0a01800 t last\t[nf_tables]\n"
                             "ffffffffc0b00010 t only\t[ext4]\n";

static void functions_end_where_the_next_symbol_begins(void **state)
{
    (void)state;
    struct cairn_symbol_list list = kernel_list(kernel, NULL);
    assert_true(list.kernel_text == 0xffffffff81000000);
    assert_int_equal(list.source, CAIRN_SOURCE_KERNEL);
    assert_string_equal(name_at(&list, 0xffffffff81000000), "startup_64");
    assert_string_equal(name_at(&list, 0xffffffff810000ff), "startup_64");
    assert_string_equal(name_at(&list, 0xffffffff81000108), "-"); /* padding before work */
    assert_string_equal(name_at(&list, 0xffffffff81000110), "work");
    assert_string_equal(name_at(&list, 0xffffffff810001ff), "work"); /* $x and .L end nothing */
    assert_string_equal(name_at(&list, 0xffffffff81000300), "work.cold");
    assert_string_equal(name_at(&list, 0xffffffff81000400), "-");
    assert_string_equal(name_at(&list, 0xffffffff81800000), "-");
    assert_string_equal(name_at(&list, 0xffffffff80ffffff), "-");
    cairn_symbol_list_done(&list);
}

static void of_aliases_the_global_one_without_underscores_is_taken(void **state)
{
    (void)state;
    struct cairn_symbol_list list = kernel_list(kernel, NULL);
    assert_string_equal(name_at(&list, 0xffffffff81000200), "do_it");
    assert_true(cairn_symbol_list_find(&list, 0xffffffff81000200)->shared);
    assert_false(cairn_symbol_list_find(&list, 0xffffffff81000000)->shared); /* only markers */
    cairn_symbol_list_done(&list);
}

static void the_last_function_of_a_module_ends_with_it_or_with_its_page(void **state)
{
    (void)state;
    struct cairn_symbol_list list = kernel_list(kernel, NULL);
    assert_string_equal(module_at(&list, 0xffffffffc0a01000), "nf_tables");
    assert_string_equal(module_at(&list, 0xffffffff81000110), "");
    assert_string_equal(name_at(&list, 0xffffffffc0a01fff), "last");
    assert_string_equal(name_at(&list, 0xffffffffc0a02000), "-");
    assert_string_equal(name_at(&list, 0xffffffffc0b00fff), "only");
    assert_string_equal(name_at(&list, 0xffffffffc0b01000), "-");
    cairn_symbol_list_done(&list);
    list = kernel_list(kernel, "nf_tables 8192 0 - Live 0xffffffffc0a01000\n"
                               "ext4 16 1 jbd2,crc, Live 0xffffffffc0b00010 (E)\n"
                               "hidden 16 1 - Live 0x0000000000000000\nshort 1\n\n");
    assert_string_equal(name_at(&list, 0xffffffffc0a02fff), "last");
    assert_string_equal(name_at(&list, 0xffffffffc0a03000), "-");
    assert_string_equal(name_at(&list, 0xffffffffc0b0001f), "only");
    assert_string_equal(name_at(&list, 0xffffffffc0b00020), "-");
    cairn_symbol_list_done(&list);
}

static void hidden_addresses_are_told_with_what_to_do(void **state)
{
    (void)state;
    struct cairn_symbol_list list = {0};
    struct cairn_err err = {0};
    assert_int_equal(cairn_kallsyms_read(cairn_span_of("0000000000000000 T _text\n"
                                                       "0000000000000000 t work\n"),
                                         (struct cairn_span){0}, &list, &err),
                     CAIRN_E_ACCESS);
    assert_non_null(strstr(err.msg, "hides"));
    assert_non_null(strstr(err.hint, "kernel.kptr_restrict=0"));
    assert_null(list.symbols);
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "no symbols here\n",
                                        "xyz T work\n",
                                        "ffffffff81000000 TT work\n",
                                        "ffffffff81000000 T\n",
                                        "11112222333344445 T work\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cairn_symbol_list list = {0};
        struct cairn_err err = {0};
        assert_int_equal(
            cairn_kallsyms_read(cairn_span_of(texts[i]), (struct cairn_span){0}, &list, &err),
            CAIRN_E_FORMAT);
        assert_non_null(strstr(err.msg, "ADDRESS TYPE NAME"));
    }
    struct cairn_symbol_list list =
        kernel_list("garbage\r\nffffffff81000000 T work\r\nffffffff81000010 D end\r\n", "");
    assert_string_equal(name_at(&list, 0xffffffff8100000f), "work");
    cairn_symbol_list_done(&list);
}

static void later_lines_of_a_jit_map_win(void **state)
{
    (void)state;
    struct cairn_symbol_list list = jit_list("7f0000003000 100 last one\n"
                                             "7f0000001000 1000 Interpreter\n"
                                             "7f0000001400 100 java.lang.String::hash code\n"
                                             "0x7f0000001480 0x100 later\r\n"
                                             "7f0000004000 0 gone\n"
                                             "7f0000003000 100 again");
    assert_int_equal(list.source, CAIRN_SOURCE_JIT);
    assert_string_equal(name_at(&list, 0x7f0000000fff), "-");
    assert_string_equal(name_at(&list, 0x7f0000001000), "Interpreter");
    assert_string_equal(name_at(&list, 0x7f0000001400), "java.lang.String::hash code");
    assert_string_equal(name_at(&list, 0x7f000000147f), "java.lang.String::hash code");
    assert_string_equal(name_at(&list, 0x7f0000001480), "later");
    assert_string_equal(name_at(&list, 0x7f000000157f), "later");
    assert_string_equal(name_at(&list, 0x7f0000001580), "Interpreter");
    assert_string_equal(name_at(&list, 0x7f0000002000), "-");
    assert_string_equal(name_at(&list, 0x7f0000003080), "again");
    assert_string_equal(name_at(&list, 0x7f0000004000), "-");
    cairn_symbol_list_done(&list);
}

static void lines_that_are_none_are_skipped(void **state)
{
    (void)state;
    struct cairn_symbol_list list = jit_list("\n1000\n1000 10\n1000 10 \nffffffffffffffff 2 wraps\n"
                                             "zz 10 x\n2000 10 good\n");
    assert_int_equal(list.n, 1);
    assert_string_equal(name_at(&list, 0x200f), "good");
    cairn_symbol_list_done(&list);
    struct cairn_err err = {0};
    assert_int_equal(cairn_jit_map_read(cairn_span_of("not a map\n"), &list, &err), CAIRN_E_FORMAT);
    assert_non_null(strstr(err.msg, "line 1"));
    list = jit_list("");
    assert_int_equal(list.n, 0);
    cairn_symbol_list_done(&list);
}

/* Every row against what painting them one after the other gives. */
static void painting_agrees_with_the_slow_way(void **state)
{
    (void)state;
    enum { ROWS = 60, PLACES = 256, ROUNDS = 200 };
    unsigned seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct cairn_symbol_list list = {0};
        int owner[PLACES] = {0};
        for (int i = 1; i <= ROWS; i++) {
            char name[8];
            seed = seed * 1103515245 + 12345;
            uint64_t start = (seed >> 16) % PLACES, end = start + 1 + (seed >> 8) % 40;
            end = end > PLACES ? PLACES : end;
            for (uint64_t at = start; at < end; at++)
                owner[at] = i;
            snprintf(name, sizeof name, "%d", i);
            const struct cairn_listed_symbol row = {.start = start, .end = end, .rank = 1};
            assert_int_equal(cairn_symbol_list_add(&list, &row, name, strlen(name), NULL), 0);
        }
        assert_int_equal(cairn_symbol_list_paint(&list, NULL), CAIRN_OK);
        for (int at = 0; at < PLACES; at++) {
            char name[8];
            snprintf(name, sizeof name, "%d", owner[at]);
            assert_string_equal(name_at(&list, (uint64_t)at), owner[at] ? name : "-");
        }
        cairn_symbol_list_done(&list);
    }
}

static void lack_of_memory_is_told_at_every_allocation(void **state)
{
    (void)state;
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM; n++) {
        struct cairn_symbol_list list = {0};
        cairn_alloc_fail_after(n);
        code = cairn_kallsyms_read(cairn_span_of(kernel), cairn_span_of("a 1 0 - Live 0x10\n"),
                                   &list, NULL);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || !list.symbols);
        cairn_symbol_list_done(&list);
    }
    assert_int_equal(code, CAIRN_OK);
    code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM; n++) {
        struct cairn_symbol_list list = {0};
        cairn_alloc_fail_after(n);
        code = cairn_jit_map_read(cairn_span_of("10 10 a\n"), &list, NULL);
        cairn_alloc_fail_after(-1);
        cairn_symbol_list_done(&list);
    }
    assert_int_equal(code, CAIRN_OK);
}

/* The symbolizer answers from lists as it does from files. */
static void modules_of_lists_answer(void **state)
{
    (void)state;
    struct cairn_symbolizer *s = NULL;
    struct cairn_module *module = NULL;
    struct cairn_symbol symbol;
    char path[] = "/tmp/cairn-list-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(cairn_write_all(fd, kernel, strlen(kernel), path, NULL), CAIRN_OK);
    close(fd);
    assert_int_equal(cairn_symbolizer_new(NULL, &s, NULL), CAIRN_OK);
    assert_int_equal(cairn_symbolizer_open_kallsyms(s, path, NULL, &module, NULL), CAIRN_OK);
    unlink(path);
    assert_int_equal(cairn_symbolize(s, module, 0xffffffff81000310, &symbol, NULL), CAIRN_OK);
    assert_int_equal(symbol.state, CAIRN_SYMBOL_NAMED);
    assert_string_equal(symbol.frames[0].function, "work");
    assert_string_equal(symbol.frames[0].suffix, "cold");
    assert_null(symbol.frames[0].module);
    assert_int_equal(symbol.frames[0].source, CAIRN_SOURCE_KERNEL);
    assert_int_equal(cairn_symbolize(s, module, 0xffffffffc0a01010, &symbol, NULL), CAIRN_OK);
    assert_string_equal(symbol.frames[0].module, "nf_tables");
    assert_int_equal(cairn_symbolize(s, module, 0xffffffff81000400, &symbol, NULL), CAIRN_OK);
    assert_int_equal(symbol.state, CAIRN_SYMBOL_NO_SYMBOL);
    static const char map[] = "1000 10 work.with.dots\n1010 10 _ZN3app3runEv\n";
    assert_int_equal(
        cairn_symbolizer_open_jit_map(s, "perf-1.map", map, strlen(map), &module, NULL), CAIRN_OK);
    assert_int_equal(cairn_symbolize(s, module, 0x1008, &symbol, NULL), CAIRN_OK);
    assert_string_equal(symbol.frames[0].function, "work.with.dots");
    assert_int_equal(symbol.frames[0].source, CAIRN_SOURCE_JIT);
    assert_int_equal(cairn_symbolize(s, module, 0x1010, &symbol, NULL), CAIRN_OK);
    assert_string_equal(symbol.frames[0].function, "app::run()");
    assert_string_equal(cairn_module_info(module)->path, "perf-1.map");
    cairn_symbolizer_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_end_where_the_next_symbol_begins),
        cmocka_unit_test(of_aliases_the_global_one_without_underscores_is_taken),
        cmocka_unit_test(the_last_function_of_a_module_ends_with_it_or_with_its_page),
        cmocka_unit_test(hidden_addresses_are_told_with_what_to_do),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(later_lines_of_a_jit_map_win),
        cmocka_unit_test(lines_that_are_none_are_skipped),
        cmocka_unit_test(painting_agrees_with_the_slow_way),
        cmocka_unit_test(lack_of_memory_is_told_at_every_allocation),
        cmocka_unit_test(modules_of_lists_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
