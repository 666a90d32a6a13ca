/* SPDX-License-Identifier: MIT */
/* All ways in give the same answers, and the cache changes nothing but the work. Each test has a
 * module of its own, without a build ID, at MODULE, and a cache at FOLDER. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/cache.h>
#include <cairn/log.h>

#include "base/alloc.h"
#include "symbol/symbolizer.h"
#include "unit/symbol/index_module.h"

enum { LOW = 0xff0, HIGH = 0x1810 };

static char work[64], folder[96], path[96];
static char said[16384]; /* what the log got, a line each */

static void keep_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%c %s\n", "WID"[level], text);
}

static void write_module(void)
{
    size_t size;
    uint8_t *bytes = made_elf(&size);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    free(bytes);
}

static int enter(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/cairn-way.XXXXXX");
    if (!mkdtemp(work))
        return -1;
    snprintf(folder, sizeof folder, "%s/cache", work);
    snprintf(path, sizeof path, "%s/module", work);
    said[0] = '\0';
    write_module();
    cairn_log_set(keep_log, NULL, CAIRN_LOG_INFO);
    return 0;
}

static int remove_one(const char *one, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(one);
}

static int leave(void **state)
{
    (void)state;
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct opened {
    struct cairn_symbolizer *s;
    struct cairn_module *m;
    struct cairn_err err;
};

static struct cairn_symbolizer_opts opts_of(enum cairn_index_use use, bool cache)
{
    return (struct cairn_symbolizer_opts){.size = sizeof(struct cairn_symbolizer_opts),
                                          .index = use,
                                          .use_cache = cache,
                                          .cache_dir = folder,
                                          .n_threads = 1};
}

static struct opened open_with(const struct cairn_symbolizer_opts *opts)
{
    struct opened o = {0};
    assert_ok(cairn_symbolizer_new(opts, &o.s, &o.err), o.err);
    o.s->way.small_bytes = 0;
    assert_ok(cairn_symbolizer_open_file(o.s, path, &o.m, &o.err), o.err);
    return o;
}

static struct opened open_way(enum cairn_index_use use, bool cache)
{
    struct cairn_symbolizer_opts opts = opts_of(use, cache);
    return open_with(&opts);
}

static int way_of(const struct opened *o)
{
    return cairn_module_info(o->m)->way;
}

static void put_answer(struct cairn_buffer *out, const struct cairn_symbol *symbol)
{
    cairn_buffer_printf(out, "%d:", (int)symbol->state);
    for (uint32_t i = 0; i < symbol->n_frames; i++) {
        const struct cairn_symbol_frame *f = &symbol->frames[i];
        cairn_buffer_printf(out, " %s %s %s:%u %u %d%d %s;", f->function ? f->function : "-",
                            f->linkage ? f->linkage : "-", f->file ? f->file : "-", f->line,
                            f->start_line, f->source, f->folded, f->suffix ? f->suffix : "-");
    }
    cairn_buffer_char(out, '\n');
}

/* All answers as one text; the symbolizer is freed. */
static struct cairn_buffer ask_all(struct opened o)
{
    struct cairn_buffer out = {0};
    for (uint64_t vaddr = LOW; vaddr < HIGH; vaddr++) {
        struct cairn_symbol symbol;
        assert_ok(cairn_symbolize(o.s, o.m, vaddr, &symbol, &o.err), o.err);
        put_answer(&out, &symbol);
    }
    cairn_symbolizer_free(o.s);
    return out;
}

static int put_one(void *ctx, size_t index, const struct cairn_symbol *symbol)
{
    (void)index;
    put_answer(ctx, symbol);
    return 0;
}

static struct cairn_buffer ask_batch(struct opened o)
{
    struct cairn_buffer out = {0};
    static uint64_t vaddrs[HIGH - LOW];
    for (size_t i = 0; i < HIGH - LOW; i++)
        vaddrs[i] = LOW + i;
    assert_ok(cairn_symbolize_batch(o.s, o.m, vaddrs, HIGH - LOW, put_one, &out, &o.err), o.err);
    cairn_symbolizer_free(o.s);
    return out;
}

/* Holds that the answers are those of the units, and frees the text. */
static void same_answers(struct cairn_buffer got)
{
    struct cairn_buffer wanted = ask_all(open_way(CAIRN_INDEX_NEVER, false));
    assert_string_equal(cairn_buffer_text(&got), cairn_buffer_text(&wanted));
    cairn_buffer_done(&got);
    cairn_buffer_done(&wanted);
}

struct wanted {
    const char *kind;
    char file[512];
};

static int keep_path(void *ctx, const struct cairn_cache_entry *entry)
{
    struct wanted *wanted = ctx;
    if (strcmp(entry->kind, wanted->kind) != 0)
        return 0;
    assert_string_equal(wanted->file, ""); /* one entry alone */
    snprintf(wanted->file, sizeof wanted->file, "%s", entry->file);
    return 0;
}

/* The one entry of a kind, "" where there is none. */
static const char *entry_path(const char *kind)
{
    static struct wanted wanted;
    wanted = (struct wanted){.kind = kind};
    assert_int_equal(cairn_cache_each(folder, keep_path, &wanted, NULL), 0);
    return wanted.file;
}

static int way_at_first(struct opened o)
{
    struct cairn_symbol symbol;
    assert_int_equal(way_of(&o), CAIRN_WAY_NONE);
    assert_ok(cairn_symbolize(o.s, o.m, 0x1014, &symbol, &o.err), o.err);
    int way = way_of(&o);
    cairn_symbolizer_free(o.s);
    return way;
}

static void all_ways_give_the_same_answers(void **state)
{
    (void)state;
    same_answers(ask_all(open_way(CAIRN_INDEX_ALWAYS, false)));
    assert_string_equal(entry_path("index"), "");
    same_answers(ask_all(open_way(CAIRN_INDEX_ALWAYS, true)));
    assert_string_not_equal(entry_path("index"), "");
    assert_contains(said, "indexed whole in ");
    said[0] = '\0';
    same_answers(ask_all(open_way(CAIRN_INDEX_ALWAYS, true)));
    assert_null(strstr(said, "indexed whole"));
    assert_contains(said, "module: index from the cache (");
    same_answers(ask_all(open_way(CAIRN_INDEX_AUTO, true)));
    same_answers(ask_batch(open_way(CAIRN_INDEX_AUTO, false)));
    same_answers(ask_batch(open_way(CAIRN_INDEX_ALWAYS, true)));
    same_answers(ask_batch(open_way(CAIRN_INDEX_NEVER, true)));
    said[0] = '\0';
    same_answers(ask_batch(open_way(CAIRN_INDEX_NEVER, true)));
    assert_contains(said, "found by a map from the cache");
}

static void the_way_is_told(void **state)
{
    (void)state;
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_NEVER, false)), CAIRN_WAY_UNITS);
    assert_string_equal(entry_path("index"), "");
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_NEVER, true)), CAIRN_WAY_UNITS);
    assert_contains(said, "unit by unit, found by root DIEs");
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_NEVER, true)), CAIRN_WAY_SAVED_MAP);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_AUTO, true)), CAIRN_WAY_SAVED_MAP);
    assert_contains(said, "unit by unit, found by a map from the cache");
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, false)), CAIRN_WAY_INDEX);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, true)), CAIRN_WAY_INDEX);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_AUTO, true)), CAIRN_WAY_CACHE);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_NEVER, true)), CAIRN_WAY_SAVED_MAP);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_AUTO, false)), CAIRN_WAY_UNITS);
}

static void many_look_ups_make_an_index_where_memory_allows(void **state)
{
    (void)state;
    struct cairn_symbol symbol;
    struct opened o = open_way(CAIRN_INDEX_AUTO, false);
    for (int i = 0; i < 100; i++)
        assert_ok(cairn_symbolize(o.s, o.m, 0x1014, &symbol, &o.err), o.err);
    assert_int_equal(way_of(&o), CAIRN_WAY_INDEX);
    cairn_symbolizer_free(o.s);
    struct cairn_symbolizer_opts opts = opts_of(CAIRN_INDEX_AUTO, true);
    opts.memory_bytes = 16;
    o = open_with(&opts);
    for (int i = 0; i < 100; i++)
        assert_ok(cairn_symbolize(o.s, o.m, 0x1014, &symbol, &o.err), o.err);
    assert_int_equal(way_of(&o), CAIRN_WAY_UNITS);
    same_answers(ask_batch(o));
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, true)), CAIRN_WAY_INDEX);
    o = open_with(&opts); /* what is mapped costs nothing of it */
    assert_int_equal(way_at_first(o), CAIRN_WAY_CACHE);
    same_answers(ask_all(open_with(&opts)));
}

/* An own index that has to go for the bound is not made again and again. */
static void an_index_that_went_for_the_bound_does_not_come_back(void **state)
{
    (void)state;
    struct cairn_symbol symbol;
    struct cairn_symbolizer_opts opts = opts_of(CAIRN_INDEX_ALWAYS, false);
    struct cairn_module *other;
    opts.memory_bytes = 2000;
    struct opened o = open_with(&opts);
    assert_ok(cairn_symbolize(o.s, o.m, 0x1014, &symbol, &o.err), o.err);
    assert_int_equal(way_of(&o), CAIRN_WAY_INDEX);
    char copy[128];
    snprintf(copy, sizeof copy, "%s/copy", work);
    assert_int_equal(link(path, copy), 0);
    assert_ok(cairn_symbolizer_open_file(o.s, copy, &other, &o.err), o.err);
    o.s->way.use = CAIRN_INDEX_AUTO;
    for (int i = 0; i < 20; i++) {
        assert_ok(cairn_symbolize(o.s, other, 0x1014, &symbol, &o.err), o.err);
        assert_ok(cairn_symbolize(o.s, o.m, 0x1014, &symbol, &o.err), o.err);
        assert_string_equal(symbol.frames[0].function, "app::leaf(int)");
    }
    assert_int_equal(way_of(&o), CAIRN_WAY_UNITS);
    cairn_symbolizer_free(o.s);
}

static void a_replaced_file_is_another_module(void **state)
{
    (void)state;
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, true)), CAIRN_WAY_INDEX);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_AUTO, true)), CAIRN_WAY_CACHE);
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_AUTO, true)), CAIRN_WAY_UNITS);
    assert_contains(said, "/module has changed");
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, true)), CAIRN_WAY_INDEX);
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_AUTO, true)), CAIRN_WAY_CACHE);
    assert_string_not_equal(entry_path("index"), ""); /* the same entry, made anew */
}

/* Bytes have no path, and this module has no build ID: nothing tells it from others. */
static void what_cannot_be_told_from_others_is_not_kept(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = made_elf(&size);
    struct opened o = open_way(CAIRN_INDEX_ALWAYS, true);
    assert_ok(cairn_symbolizer_open_bytes(o.s, path, bytes, size, &o.m, &o.err), o.err);
    free(bytes);
    assert_int_equal(way_at_first(o), CAIRN_WAY_INDEX);
    assert_string_equal(entry_path("index"), "");
}

/* Every byte of an entry in turn: what the header shows is made anew with one warning, what it does
 * not show is bounded. */
static void damage_every_byte(enum cairn_index_use use, const char *kind)
{
    struct cairn_symbol symbol;
    struct stat st;
    char file[512];
    snprintf(file, sizeof file, "%s", entry_path(kind));
    assert_int_equal(stat(file, &st), 0);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    for (off_t at = 0; at < st.st_size; at++) {
        int fd = open(file, O_RDWR | O_CLOEXEC);
        uint8_t byte, bad;
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        bad = byte ^ 0xff;
        assert_int_equal(pwrite(fd, &bad, 1, at), 1);
        assert_int_equal(futimens(fd, times), 0); /* or its sum would tell */
        said[0] = '\0';
        struct opened o = open_way(use, true);
        for (uint64_t vaddr = LOW; vaddr < HIGH; vaddr += 0x20)
            assert_ok(cairn_symbolize(o.s, o.m, vaddr, &symbol, &o.err), o.err);
        cairn_symbolizer_free(o.s);
        close(fd);
        if (strstr(said, "W "))
            assert_null(strstr(strstr(said, "W ") + 1, "W "));
        /* made anew, or still there; set right again for the next byte */
        fd = open(file, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(futimens(fd, times), 0);
        close(fd);
    }
    same_answers(ask_all(open_way(use, true)));
}

static void a_damaged_entry_does_no_harm(void **state)
{
    (void)state;
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_NEVER, true)), CAIRN_WAY_UNITS);
    damage_every_byte(CAIRN_INDEX_NEVER, "unit map");
    assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, true)), CAIRN_WAY_INDEX);
    damage_every_byte(CAIRN_INDEX_AUTO, "index");
}

/* Opening, single and many look-ups, with the allocation number `n` failing. False: it was not
 * reached. */
static bool run_short_of_memory(const struct cairn_symbolizer_opts *opts, long n)
{
    static const uint64_t vaddrs[] = {0x1014, 0x1085, 0x1104, 0x1300};
    struct cairn_symbolizer *s = NULL;
    struct cairn_module *m = NULL;
    struct cairn_symbol symbol;
    struct cairn_buffer out = {0};
    struct cairn_err err = {0};
    cairn_alloc_fail_after(n);
    int code = cairn_symbolizer_new(opts, &s, &err);
    if (code == CAIRN_OK) {
        s->way.small_bytes = 0;
        code = cairn_symbolizer_open_file(s, path, &m, &err);
    }
    if (code == CAIRN_OK)
        code = cairn_symbolize(s, m, 0x1014, &symbol, &err);
    if (code == CAIRN_OK)
        code = cairn_symbolize_batch(s, m, vaddrs, 4, put_one, &out, &err);
    if (code != CAIRN_OK)
        assert_int_equal(code, CAIRN_E_NOMEM);
    /* Memory is back, and the same symbolizer goes on. */
    void *probe = cairn_alloc(1, 1);
    cairn_alloc_fail_after(-1);
    if (code != CAIRN_OK && m) {
        assert_ok(cairn_symbolize(s, m, 0x1014, &symbol, &err), err);
        assert_int_equal(symbol.state, CAIRN_SYMBOL_NAMED); /* a name may have stayed mangled */
        assert_int_equal(symbol.n_frames, 2);
        assert_int_equal(symbol.frames[0].line, 3);
    }
    cairn_symbolizer_free(s);
    cairn_buffer_done(&out);
    bool reached = probe == NULL;
    cairn_free(probe);
    return reached;
}

static void lack_of_memory_loses_nothing_in_any_way(void **state)
{
    (void)state;
    enum { ALLOCATIONS_MAX = 20000 };
    static const struct {
        enum cairn_index_use use;
        bool cache, kept; /* kept: the entry stays from round to round */
    } ways[] = {{CAIRN_INDEX_NEVER, false, false},
                {CAIRN_INDEX_NEVER, true, false},
                {CAIRN_INDEX_ALWAYS, false, false},
                {CAIRN_INDEX_ALWAYS, true, false},
                {CAIRN_INDEX_AUTO, true, true}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct cairn_symbolizer_opts opts = opts_of(ways[i].use, ways[i].cache);
        long n = 0;
        assert_ok(cairn_cache_trim(folder, 0, NULL, NULL, NULL), (struct cairn_err){0});
        if (ways[i].kept)
            assert_int_equal(way_at_first(open_way(CAIRN_INDEX_ALWAYS, true)), CAIRN_WAY_INDEX);
        cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
        while (n < ALLOCATIONS_MAX && run_short_of_memory(&opts, n)) {
            n++;
            if (ways[i].cache && !ways[i].kept)
                assert_ok(cairn_cache_trim(folder, 0, NULL, NULL, NULL), (struct cairn_err){0});
        }
        assert_in_range(n, 10, ALLOCATIONS_MAX - 1);
        cairn_log_set(keep_log, NULL, CAIRN_LOG_INFO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        ROW(all_ways_give_the_same_answers),
        ROW(the_way_is_told),
        ROW(many_look_ups_make_an_index_where_memory_allows),
        ROW(an_index_that_went_for_the_bound_does_not_come_back),
        ROW(a_replaced_file_is_another_module),
        ROW(what_cannot_be_told_from_others_is_not_kept),
        ROW(a_damaged_entry_does_no_harm),
        ROW(lack_of_memory_loses_nothing_in_any_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
