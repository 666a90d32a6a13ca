/* SPDX-License-Identifier: MIT */
/*
 * A core file as the space of a cursor. Memory that the kernel did not write (code, usually) is
 * read from the files that were mapped, as far as they are those of the core's builds.
 */
#include "target/core.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "base/zip.h"
#include "target/core_memory.h"
#include "target/core_modules.h"
#include "target/regs.h"
#include "target/target.h"
#include "unwind/space.h"

/* What the core itself holds. */
static bool read_core(void *ctx, uint64_t va, void *to, size_t size)
{
    return cairn_core_memory_read(ctx, va, to, size) == size;
}

static int accessor_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_core_target *c = ctx;
    return !read_core(ctx, va, to, size) && !cairn_target_read_file(&c->target, va, to, size);
}

static int accessor_find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    struct cairn_core_target *c = ctx;
    return cairn_target_find(&c->target, va, ret_region);
}

static bool next_code(void *ctx, uint64_t va, uint64_t *ret_va)
{
    const struct cairn_core_target *t = ctx;
    return cairn_target_next_code(&t->target, va, ret_va);
}

/* What is not in the file cannot have been written. */
static bool next_data(void *ctx, uint64_t va, uint64_t *ret_from, uint64_t *ret_to)
{
    const struct cairn_core_target *t = ctx;
    const struct cairn_target_map *map;
    for (; (map = cairn_target_next_heap(&t->target, va)); va = map->end) {
        uint64_t from = va > map->start ? va : map->start;
        const struct cairn_core_part *part = cairn_core_memory_part(t, from);
        if (!part)
            continue;
        size_t left = part->bytes.size - (size_t)(from - part->va);
        *ret_from = from;
        *ret_to = from + (left < CAIRN_SPACE_DATA_MAX ? left : CAIRN_SPACE_DATA_MAX);
        *ret_to = *ret_to < map->end ? *ret_to : map->end;
        return true;
    }
    return false;
}

static int threads(void *ctx, int *ret_tids, size_t cap, size_t *ret_n, struct cairn_err *err)
{
    const struct cairn_core_target *c = ctx;
    (void)err;
    for (size_t i = 0; i < c->notes.n_threads && i < cap; i++)
        ret_tids[i] = c->notes.threads[i].tid;
    *ret_n = c->notes.n_threads;
    return CAIRN_OK;
}

static int regs(void *ctx, int tid, struct cairn_cursor_regs *ret_regs, struct cairn_err *err)
{
    const struct cairn_core_target *c = ctx;
    for (size_t i = 0; i < c->notes.n_threads; i++)
        if (c->notes.threads[i].tid == tid &&
            cairn_target_regs(c->notes.threads[i].regs, c->elf.swap, ret_regs))
            return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_MISSING, "thread %d: is not in the core file", tid);
}

static void done(void *ctx)
{
    struct cairn_core_target *c = ctx;
    cairn_target_done(&c->target);
    cairn_core_notes_done(&c->notes);
    cairn_free(c->parts);
    cairn_file_close(&c->file);
    cairn_free(c);
}

/* The path without what the kernel appends to that of a deleted file. */
static uint32_t add_path(struct cairn_core_target *c, const char *path, uint32_t *flags)
{
    static const char deleted[] = " (deleted)";
    size_t size = cairn_is_shared_memory(path) ? 0 : strlen(path), tail = sizeof deleted - 1;
    if (size > tail && strcmp(path + size - tail, deleted) == 0) {
        *flags |= CAIRN_MAP_DELETED;
        size -= tail;
    }
    return cairn_strings_add(&c->target.texts, path, size);
}

static int add_map(struct cairn_core_target *c, struct cairn_target_map map, struct cairn_err *err)
{
    const struct cairn_core_file *file = cairn_core_notes_file(&c->notes, map.start);
    if (file) {
        map.off = file->off + (map.start - file->start);
        map.path = add_path(c, file->path, &map.flags);
    } else if (c->notes.vdso && map.start == c->notes.vdso) {
        map.path = cairn_strings_add_str(&c->target.texts, "[vdso]");
    }
    return cairn_target_add(&c->target, &map, err);
}

/* What the file holds of a segment; it may end before its end. */
static int add_part(struct cairn_core_target *c, const struct cairn_elf_segment *segment)
{
    struct cairn_core_part part = {.va = segment->vaddr};
    uint64_t left = segment->off < c->elf.bytes.size ? c->elf.bytes.size - segment->off : 0;
    uint64_t size = segment->file_size < segment->mem_size ? segment->file_size : segment->mem_size;
    if (segment->mem_size > UINT64_MAX - segment->vaddr || !left || !size ||
        !cairn_span_slice(c->elf.bytes, segment->off, size < left ? size : left, &part.bytes))
        return CAIRN_OK;
    if (cairn_grow((void **)&c->parts, &c->cap_parts, c->n_parts + 1, sizeof *c->parts) < 0)
        return CAIRN_E_NOMEM;
    c->parts[c->n_parts++] = part;
    return CAIRN_OK;
}

static int add_segment(struct cairn_core_target *c, const struct cairn_elf_segment *segment,
                       struct cairn_err *err)
{
    struct cairn_target_map map = {
        .start = segment->vaddr,
        .flags = (segment->flags & PF_R ? CAIRN_MAP_READ : 0u) |
                 (segment->flags & PF_W ? CAIRN_MAP_WRITE : 0u) |
                 (segment->flags & PF_X ? CAIRN_MAP_EXEC : 0u),
    };
    if (__builtin_add_overflow(segment->vaddr, segment->mem_size, &map.end))
        return CAIRN_OK;
    return add_map(c, map, err);
}

static int compare_parts(const void *a, const void *b)
{
    const struct cairn_core_part *left = a, *right = b;
    return left->va < right->va ? -1 : left->va > right->va;
}

/* Files that no segment stands for: gcore(1) leaves out what is not written. */
static int add_files(struct cairn_core_target *c, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < c->notes.n_files && code == CAIRN_OK; i++) {
        const struct cairn_core_file *file = &c->notes.files[i];
        if (!cairn_target_find_map(&c->target, file->start))
            code = add_map(c,
                           (struct cairn_target_map){.start = file->start,
                                                     .end = file->end,
                                                     .flags = CAIRN_MAP_READ | CAIRN_MAP_EXEC},
                           err);
    }
    cairn_target_sort(&c->target);
    return code;
}

/* Memory first: without NT_FILE it is what tells of files. */
static int read_memory_of(struct cairn_core_target *c, struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; cairn_elf_segment(&c->elf, i, &segment); i++)
        if (segment.type == PT_LOAD && add_part(c, &segment) < 0)
            return cairn_fail_memory(err);
    if (c->n_parts)
        qsort(c->parts, c->n_parts, sizeof *c->parts, compare_parts);
    return CAIRN_OK;
}

static int read_maps(struct cairn_core_target *c, struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    int code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && cairn_elf_segment(&c->elf, i, &segment); i++)
        if (segment.type == PT_LOAD)
            code = add_segment(c, &segment, err);
    cairn_target_sort(&c->target);
    return code == CAIRN_OK ? add_files(c, err) : code;
}

static bool read_head(void *ctx, const char *path, uint8_t *to, size_t size)
{
    struct cairn_core_target *c = ctx;
    struct cairn_debugfile_found found = {0};
    struct cairn_span head;
    if (cairn_debugfile_find(c->target.finder, path, NULL, &found, NULL) < 0)
        return false;
    bool is_there = cairn_span_slice(found.image.bytes, 0, size, &head);
    if (is_there)
        memcpy(to, head.data, size);
    cairn_debugfile_found_done(&found);
    return is_there;
}

static bool is_of_build(void *ctx, const char *path, const char *build_id)
{
    struct cairn_core_target *c = ctx;
    struct cairn_debugfile_found found = {0};
    if (cairn_debugfile_find(c->target.finder, path, build_id, &found, NULL) < 0)
        return false;
    bool is_there = found.image.bytes.size > 0;
    cairn_debugfile_found_done(&found);
    return is_there;
}

/* No file has that name: it is looked for by its build ID alone. */
static void find_build(void *ctx, const char *build_id, char ret_path[PATH_MAX])
{
    struct cairn_core_target *c = ctx;
    struct cairn_debugfile_found found = {0};
    char name[PATH_MAX];
    snprintf(name, sizeof name, "/build-id/%s", build_id);
    int code = cairn_debugfile_find(c->target.finder, name, build_id, &found, NULL);
    const char *path = found.image_path ? found.image_path : found.debug_path;
    if (code < 0 || !found.verified || !realpath(path, ret_path))
        memcpy(ret_path, name, sizeof name);
    cairn_debugfile_found_done(&found);
}

/* Modules are known by absolute paths. One that is not here may be below the root. */
static int find_program(struct cairn_core_target *c, const struct cairn_unwind_opts *opts,
                        struct cairn_err *err)
{
    const char *path = opts && opts->program ? opts->program : "";
    if (!*path || realpath(path, c->program))
        return CAIRN_OK;
    int os_errno = errno;
    if (path[0] != '/' || !opts->root || strlen(path) >= sizeof c->program)
        return cairn_fail_os(err, os_errno, "the program %s", path);
    snprintf(c->program, sizeof c->program, "%s", path);
    return CAIRN_OK;
}

static int find_files(struct cairn_core_target *c, struct cairn_err *err)
{
    const struct cairn_core_access access = {
        &c->target.memory, read_head, is_of_build, find_build, c, *c->program ? c->program : NULL};
    if (!c->notes.n_files)
        return cairn_core_modules_read(&c->elf, &access, &c->notes, err);
    if (*c->program && !cairn_core_notes_rename(&c->notes, c->notes.phdr, c->program))
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: passed over; the core file does not say which of its files is the program",
                  c->program);
    return CAIRN_OK;
}

/* Kernels write the notes first, gdb's gcore last: of its files, one that was cut has none. */
static int fail_without_threads(const struct cairn_elf *elf, struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    if (!cairn_target_regs_bytes(elf->machine)) {
        int code =
            cairn_fail(err, CAIRN_E_SUPPORT,
                       "a core file of %s: stacks of x86-64, x86, aarch64 and arm can be read",
                       cairn_elf_machine_name(elf->machine));
        cairn_hint(err, "gdb-multiarch, or that machine's own gdb or eu-stack, reads it");
        return code;
    }
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++) {
        if (segment.type != PT_NOTE || segment.file_size == 0 ||
            cairn_span_slice(elf->bytes, segment.off, segment.file_size, &(struct cairn_span){0}))
            continue;
        int code = cairn_fail(err, CAIRN_E_FORMAT,
                              "a core file whose threads are missing: its notes begin at 0x%" PRIx64
                              " and take 0x%" PRIx64 " bytes, the file ends at 0x%zx",
                              segment.off, segment.file_size, elf->bytes.size);
        cairn_hint(err, "it was cut short: by a copy that was not finished, a full disk, or a "
                        "limit (ulimit -c)");
        return code;
    }
    return cairn_fail(err, CAIRN_E_FORMAT, "a core file without threads");
}

static int read_core_file(struct cairn_core_target *c, const struct cairn_unwind_opts *opts,
                          struct cairn_err *err)
{
    const char *packer = cairn_zip_program(c->elf.bytes);
    if (packer) {
        cairn_fail(err, CAIRN_E_FORMAT, "is compressed (%s), expected a core file", packer);
        cairn_hint(err,
                   "%s -dc FILE >core, or of systemd's coredumpctl dump PID -o core; then "
                   "cairn stack core",
                   packer);
        return CAIRN_E_FORMAT;
    }
    int code = cairn_elf_open(c->elf.bytes, &c->elf, err);
    if (code < 0)
        return code;
    if (c->elf.type != ET_CORE)
        return cairn_fail(err, CAIRN_E_FORMAT, "is an ELF file of type %u, expected %d (a core)",
                          c->elf.type, ET_CORE);
    code = cairn_core_notes_read(&c->elf, &c->notes, err);
    if (code == CAIRN_OK && !c->notes.n_threads)
        code = fail_without_threads(&c->elf, err);
    if (code == CAIRN_OK)
        code = read_memory_of(c, err);
    if (code == CAIRN_OK)
        code = find_program(c, opts, err);
    if (code == CAIRN_OK)
        code = find_files(c, err);
    return code == CAIRN_OK ? read_maps(c, err) : code;
}

static const struct cairn_space_kind kind = {.is_dead = true,
                                             .done = done,
                                             .next_code = next_code,
                                             .next_data = next_data,
                                             .threads = threads,
                                             .regs = regs};

const struct cairn_core_target *cairn_core_target_of(const struct cairn_unwind_space *space)
{
    return space->kind == &kind ? space->accessors.ctx : NULL;
}

const struct cairn_core_facts *cairn_target_core_facts(const struct cairn_unwind_space *space)
{
    const struct cairn_core_target *c = cairn_core_target_of(space);
    return c ? &c->notes.facts : NULL;
}

static int open_space(struct cairn_core_target *c, const struct cairn_unwind_opts *opts,
                      struct cairn_unwind_space **ret_space, struct cairn_err *err)
{
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors,
        .ctx = c,
        .read = accessor_read,
        .find = accessor_find,
    };
    c->target.memory = (struct cairn_memory){.read = read_core, .ctx = c};
    int code = cairn_target_init(&c->target, opts, NULL, err);
    if (code == CAIRN_OK)
        code = read_core_file(c, opts, err);
    return code == CAIRN_OK ? cairn_space_make(&accessors, &kind, ret_space, err) : code;
}

int cairn_target_open_core(struct cairn_span bytes, const struct cairn_unwind_opts *opts,
                           struct cairn_unwind_space **ret_space, struct cairn_err *err)
{
    struct cairn_core_target *c = cairn_alloc(1, sizeof *c);
    if (!c)
        return cairn_fail_memory(err);
    c->elf.bytes = bytes;
    int code = open_space(c, opts, ret_space, err);
    if (code < 0)
        done(c);
    return code;
}

int cairn_unwind_space_open_core(const char *path, const struct cairn_unwind_opts *opts,
                                 struct cairn_unwind_space **ret_space, struct cairn_err *err)
{
    struct cairn_core_target *c = cairn_alloc(1, sizeof *c);
    if (!c)
        return cairn_fail_memory(err);
    int code = cairn_file_open(path, &c->file, err);
    if (code == CAIRN_OK) {
        c->elf.bytes = c->file.bytes;
        code = open_space(c, opts, ret_space, err);
        if (code < 0)
            code = cairn_fail_in(err, code, path);
    }
    if (code < 0)
        done(c);
    return code;
}
