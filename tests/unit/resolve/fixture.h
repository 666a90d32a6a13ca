/* SPDX-License-Identifier: MIT */
/*
 * A folder with three programs in it, and a text resolved against them.
 *
 *     name       type     code segment: file offset, vaddr     functions
 *     lld.so     ET_DYN   0x0bd0 at 0x1bd0                     first 0x1c00-0x1c20, second 0x1c20-
 *     fixed      ET_EXEC  0x1000 at 0x401000                   start 0x401000-0x401010
 *     two.so     ET_DYN   0x1000 at 0x1000, 0x3000 at 0x5000   low 0x1100-0x1140,
 *                                                              high 0x5100-0x5140
 *
 * lld.so is laid out as lld does it: the code begins inside the page where the read-only segment
 * ends, so that page of the file is mapped twice. `second` ends at 0x1c40; behind it is a gap up to
 * `third;` at 0x1c60-0x1c80.
 */
#ifndef CAIRN_TESTS_RESOLVE_FIXTURE_H
#define CAIRN_TESTS_RESOLVE_FIXTURE_H

#include <elf.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include <cairn/log.h>
#include <cairn/resolve.h>

#include "base/buffer.h"
#include "support/elfwriter.h"
#include "support/test.h"

static char fixture_dir[64];
static char fixture_said[16384]; /* what the log got, a line each */

static inline void fixture_keep_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    size_t n = strlen(fixture_said);
    snprintf(fixture_said + n, sizeof fixture_said - n, "%c %s\n", "HWID"[level + 1], text);
}

static inline void fixture_write(const char *name, const void *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", fixture_dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void fixture_finish(struct test_elf *w, const char *name)
{
    size_t size;
    test_elf_symtab(w, false);
    uint8_t *bytes = test_elf_finish(w, &size);
    fixture_write(name, bytes, size);
    free(bytes);
}

/* A section of code; SHT_NOBITS is that of a debug file. */
static inline uint16_t fixture_code(struct test_elf *w, const char *name, uint32_t type,
                                    uint64_t vaddr, uint64_t size)
{
    return (uint16_t)test_elf_section(w, name, type, SHF_ALLOC | SHF_EXECINSTR, vaddr, size);
}

static inline void fixture_function(struct test_elf *w, const char *name, uint16_t section,
                                    uint64_t vaddr, uint64_t size)
{
    test_elf_symbol(w, name, STB_GLOBAL, STT_FUNC, section, vaddr, size);
}

static inline void fixture_make_lld(void)
{
    static const uint8_t id[] = {0xaa, 0xbb, 0xcc, 0xdd};
    struct test_elf *w = malloc(sizeof *w);
    assert_non_null(w);
    *w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(w, PF_R, 0, 0, 0xbd0, 0xbd0);
    test_elf_load(w, PF_R | PF_X, 0xbd0, 0x1bd0, 0x400, 0x400);
    test_elf_build_id(w, id, sizeof id, true);
    uint16_t text = fixture_code(w, ".text", SHT_PROGBITS, 0x1bd0, 0x400);
    fixture_function(w, "first", text, 0x1c00, 0x20);
    fixture_function(w, "second", text, 0x1c20, 0x20);
    fixture_function(w, "third;", text, 0x1c60, 0x20);
    fixture_finish(w, "lld.so");
    free(w);
}

static inline void fixture_make_others(void)
{
    struct test_elf *w = malloc(sizeof *w);
    assert_non_null(w);
    *w = test_elf_of(true, false, ET_EXEC, EM_X86_64);
    test_elf_load(w, PF_R, 0, 0x400000, 0x800, 0x800);
    test_elf_load(w, PF_R | PF_X, 0x1000, 0x401000, 0x200, 0x200);
    fixture_function(w, "start", fixture_code(w, ".text", SHT_PROGBITS, 0x401000, 0x200), 0x401000,
                     0x10);
    fixture_finish(w, "fixed");
    *w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(w, PF_R, 0, 0, 0x800, 0x800);
    test_elf_load(w, PF_R | PF_X, 0x1000, 0x1000, 0x800, 0x800);
    test_elf_load(w, PF_R | PF_X, 0x3000, 0x5000, 0x800, 0x800);
    fixture_function(w, "low", fixture_code(w, ".text", SHT_PROGBITS, 0x1000, 0x800), 0x1100, 0x40);
    uint16_t high = fixture_code(w, ".text.high", SHT_PROGBITS, 0x5000, 0x800);
    fixture_function(w, "high", high, 0x5100, 0x40);
    fixture_finish(w, "two.so");
    free(w);
}

static inline int fixture_enter(void **state)
{
    (void)state;
    snprintf(fixture_dir, sizeof fixture_dir, "/tmp/cairn-resolve.XXXXXX");
    if (!mkdtemp(fixture_dir))
        return -1;
    fixture_make_lld();
    fixture_make_others();
    fixture_said[0] = 0;
    cairn_log_set(fixture_keep_log, NULL, CAIRN_LOG_WARNING);
    return 0;
}

static inline int fixture_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static inline int fixture_leave(void **state)
{
    (void)state;
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    return nftw(fixture_dir, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A text that is handed out in pieces of `piece` bytes. */
struct fixture_input {
    const char *bytes;
    size_t size, piece;
};

static inline long fixture_read(void *ctx, void *buf, size_t size)
{
    struct fixture_input *in = ctx;
    size_t n = in->size < in->piece ? in->size : in->piece;
    n = n < size ? n : size;
    memcpy(buf, in->bytes, n);
    in->bytes += n;
    in->size -= n;
    return (long)n;
}

static inline int fixture_write_out(void *ctx, const void *bytes, size_t size)
{
    cairn_buffer_add(ctx, bytes, size);
    return 0;
}

/* Options with the folder of the programs as the only place to look, and with these maps. */
static inline struct cairn_resolve_opts fixture_opts(const char *maps_text)
{
    static const char *dirs[1];
    dirs[0] = fixture_dir;
    struct cairn_maps *maps = NULL;
    struct cairn_err err;
    if (maps_text)
        assert_ok(cairn_maps_parse(maps_text, strlen(maps_text), &maps, &err), err);
    struct cairn_resolve_opts opts = {.size = sizeof opts, .maps = maps};
    opts.symbols.size = sizeof opts.symbols;
    opts.symbols.symbol_dirs = dirs;
    opts.symbols.n_symbol_dirs = 1;
    return opts;
}

static inline struct cairn_resolver *fixture_resolver(const struct cairn_resolve_opts *opts)
{
    struct cairn_resolver *resolver = NULL;
    struct cairn_err err;
    assert_ok(cairn_resolver_new(opts, &resolver, &err), err);
    cairn_maps_free((struct cairn_maps *)opts->maps); /* all of it was copied */
    return resolver;
}

/* Holds that the text comes out as expected, whatever the pieces in which it is read. */
static inline void fixture_resolves(struct cairn_resolver *resolver, const char *in, size_t in_size,
                                    const char *expected, size_t expected_size)
{
    static const size_t pieces[] = {1 << 20, 7, 1};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct fixture_input input = {in, in_size, pieces[i]};
        struct cairn_buffer out = {0};
        struct cairn_err err;
        assert_ok(cairn_resolve_text(resolver, fixture_read, &input, fixture_write_out, &out, &err),
                  err);
        if (out.size != expected_size || memcmp(cairn_buffer_text(&out), expected, out.size) != 0)
            fail_msg("\"%s\"\nbecame\n\"%s\", expected\n\"%s\"", in, cairn_buffer_text(&out),
                     expected);
        cairn_buffer_done(&out);
    }
}

static inline void fixture_names(struct cairn_resolve_opts opts, const char *in,
                                 const char *expected)
{
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    fixture_resolves(resolver, in, strlen(in), expected, strlen(expected));
    cairn_resolver_free(resolver);
}

static inline struct cairn_resolve_summary fixture_summary(const struct cairn_resolver *resolver)
{
    struct cairn_resolve_summary summary = {.size = sizeof summary};
    cairn_resolver_summary(resolver, &summary);
    return summary;
}

#endif /* CAIRN_TESTS_RESOLVE_FIXTURE_H */
