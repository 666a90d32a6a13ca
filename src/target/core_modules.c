/* SPDX-License-Identifier: MIT */
#include "target/core_modules.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "base/reader.h"
#include "target/memory_image.h"

enum { PAGE = 4096, DYNAMIC_MAX = 4096, TEXT_AT_ONCE = 64 };

struct walk {
    const struct cairn_core_access *access;
    const struct cairn_memory *memory;
    struct cairn_core_notes *notes;
    unsigned width; /* of a word: 4 or 8 */
    bool swap;
};

/* The first page of a module. */
struct head {
    uint8_t page[PAGE];
    struct cairn_elf elf;
    uint64_t bias; /* va - vaddr */
};

static bool read_words(const struct walk *w, uint64_t va, uint64_t *ret_words, size_t n)
{
    uint8_t raw[8 * 8];
    if (n > sizeof raw / 8 || !w->memory->read(w->memory->ctx, va, raw, n * w->width))
        return false;
    struct cairn_reader r = cairn_reader_of((struct cairn_span){raw, n * w->width}, w->swap);
    for (size_t i = 0; i < n; i++)
        ret_words[i] = cairn_reader_word(&r, w->width);
    return true;
}

/* Up to the NUL, piece by piece: what lies behind it may not be there. */
static bool read_text(const struct walk *w, uint64_t va, char ret_text[CAIRN_CORE_PATH_MAX])
{
    for (size_t n = 0, size; n < CAIRN_CORE_PATH_MAX; n += size) {
        size = TEXT_AT_ONCE - (size_t)((va + n) % TEXT_AT_ONCE);
        size = size < CAIRN_CORE_PATH_MAX - n ? size : CAIRN_CORE_PATH_MAX - n;
        if (!w->memory->read(w->memory->ctx, va + n, ret_text + n, size))
            return false;
        if (memchr(ret_text + n, '\0', size))
            return true;
    }
    return false;
}

/* `path` may be NULL. */
static bool read_head(const struct walk *w, uint64_t base, const char *path, struct head *h)
{
    uint64_t first;
    if (!w->memory->read(w->memory->ctx, base, h->page, PAGE) &&
        (!path || !w->access->read_head(w->access->ctx, path, h->page, PAGE)))
        return false;
    if (cairn_memory_open_head(h->page, PAGE, &h->elf, NULL) < 0 ||
        h->elf.is64 != (w->width == 8) || h->elf.swap != w->swap ||
        !cairn_elf_first_vaddr(&h->elf, PAGE, &first))
        return false;
    h->bias = base - first;
    return true;
}

static int add_module(const struct walk *w, const struct head *h, const char *path)
{
    struct cairn_elf_segment s;
    for (uint32_t i = 0; cairn_elf_segment(&h->elf, i, &s); i++) {
        uint64_t skip = s.vaddr % PAGE, start = h->bias + s.vaddr - skip, size;
        if (s.type != PT_LOAD || s.off < skip ||
            __builtin_add_overflow(skip + PAGE - 1, s.file_size, &size) ||
            (size & ~(uint64_t)(PAGE - 1)) > UINT64_MAX - start)
            continue;
        const struct cairn_core_file file = {start, start + (size & ~(uint64_t)(PAGE - 1)),
                                             s.off - skip, NULL};
        if (cairn_core_notes_add(w->notes, file, path) < 0)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

/* The value of the program's DT_DEBUG; 0: it has none, as static programs. */
static uint64_t find_debug(const struct walk *w, const struct head *program)
{
    struct cairn_elf_segment s;
    uint64_t entry[2] = {0};
    for (uint32_t i = 0; cairn_elf_segment(&program->elf, i, &s); i++)
        for (uint64_t k = 0; s.type == PT_DYNAMIC && k < DYNAMIC_MAX; k++) {
            uint64_t va = program->bias + s.vaddr + k * 2 * w->width;
            if (!read_words(w, va, entry, 2) || entry[0] == DT_NULL)
                return 0;
            if (entry[0] == DT_DEBUG)
                return entry[1];
        }
    return 0;
}

/* The first one is the program. */
static int add_list(const struct walk *w, uint64_t debug)
{
    enum { BASE, NAME, DYNAMIC, NEXT, N };
    uint64_t map[N] = {0}, r_debug[2] = {0};
    char path[CAIRN_CORE_PATH_MAX];
    struct head head;
    int code = CAIRN_OK;
    if (!read_words(w, debug, r_debug, 2) || !read_words(w, r_debug[1], map, N))
        return CAIRN_OK;
    for (int n = 0; map[NEXT] && n < CAIRN_CORE_MODULES_MAX && code == CAIRN_OK; n++) {
        if (!read_words(w, map[NEXT], map, N))
            break;
        if (!read_text(w, map[NAME], path) || path[0] != '/')
            continue; /* the vdso has a name alone */
        if (read_head(w, map[BASE], path, &head))
            code = add_module(w, &head, path);
        else
            cairn_log(CAIRN_LOG_WARNING,
                      "%s: its headers are not in the core file, nor is it at hand", path);
    }
    return code;
}

/* A program that was started by a relative path: the file that lies there from here on, if it is of
 * the build whose ID is in the core's memory. NULL: it is not. */
static const char *find_relative(const struct walk *w, const struct cairn_core_notes *notes,
                                 const char *path, char ret_found[PATH_MAX])
{
    const uint64_t base = notes->phdr - notes->phdr % PAGE;
    char in_core[CAIRN_IMAGE_BUILD_ID_MAX];
    cairn_memory_build_id(w->memory, base, in_core);
    if (!*path || !notes->phdr || !*in_core || !realpath(path, ret_found))
        return NULL;
    return w->access->is_of_build(w->access->ctx, ret_found, in_core) ? ret_found : NULL;
}

/* A segment that starts with an ELF header and has a build ID is a module, even if the link map
 * does not list it. */
static int add_by_build_id(const struct walk *w, uint64_t base)
{
    char build_id[CAIRN_IMAGE_BUILD_ID_MAX], path[PATH_MAX];
    struct head head;
    cairn_memory_build_id(w->memory, base, build_id);
    if (!*build_id || !read_head(w, base, NULL, &head))
        return CAIRN_OK;
    w->access->find_build(w->access->ctx, build_id, path);
    int code = add_module(w, &head, path);
    cairn_core_notes_sort(w->notes);
    return code;
}

static int scan_memory(const struct walk *w, const struct cairn_elf *core)
{
    struct cairn_elf_segment s;
    int n = 0, code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && cairn_elf_segment(core, i, &s); i++) {
        if (s.type != PT_LOAD || cairn_core_notes_file(w->notes, s.vaddr) ||
            s.vaddr == w->notes->vdso || n++ >= CAIRN_CORE_MODULES_MAX)
            continue;
        code = add_by_build_id(w, s.vaddr);
    }
    return code;
}

int cairn_core_modules_read(const struct cairn_elf *core, const struct cairn_core_access *access,
                            struct cairn_core_notes *notes, struct cairn_err *err)
{
    const struct walk w = {access, access->memory, notes, core->is64 ? 8 : 4, core->swap};
    const char *program = access->program;
    int code = CAIRN_OK;
    char path[CAIRN_CORE_PATH_MAX] = "", found[PATH_MAX];
    struct head head;
    if (!program && notes->execfn && read_text(&w, notes->execfn, path))
        program = path;
    if (program && program[0] != '/')
        program = find_relative(&w, notes, path, found);
    if (!program)
        cairn_log(CAIRN_LOG_WARNING,
                  "the core file does not say where the program lies: \"%s\" (name it with --exe)",
                  path);
    if (notes->phdr && read_head(&w, notes->phdr - notes->phdr % PAGE, program, &head)) {
        uint64_t debug = find_debug(&w, &head);
        code = program ? add_module(&w, &head, program) : CAIRN_OK;
        if (code == CAIRN_OK && debug)
            code = add_list(&w, debug);
        cairn_core_notes_sort(notes);
    }
    if (code == CAIRN_OK)
        code = scan_memory(&w, core);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}
