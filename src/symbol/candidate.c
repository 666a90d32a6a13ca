/* SPDX-License-Identifier: MIT */
#include "symbol/candidate.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/note.h"

static bool has_bytes(const struct cairn_elf *elf, const char *section_name)
{
    struct cairn_elf_section section;
    return cairn_elf_find_section(elf, section_name, &section) && section.type != SHT_NOBITS &&
           section.size > 0;
}

static enum cairn_candidate_worth worth_of(const struct cairn_elf *elf)
{
    if (has_bytes(elf, ".debug_info") || has_bytes(elf, ".zdebug_info") ||
        has_bytes(elf, ".debug_line"))
        return CAIRN_WORTH_DWARF;
    return has_bytes(elf, ".symtab") ? CAIRN_WORTH_SYMTAB : CAIRN_WORTH_EXPORTS;
}

static void read_build_id(struct cairn_candidate *c)
{
    static const char digits[] = "0123456789abcdef";
    struct cairn_span id;
    if (cairn_elf_build_id(&c->elf, &id, NULL) < 0 || 2 * id.size >= sizeof c->build_id)
        return;
    for (size_t i = 0; i < id.size; i++) {
        c->build_id[2 * i] = digits[id.data[i] >> 4];
        c->build_id[2 * i + 1] = digits[id.data[i] & 15];
    }
}

/* Looks at the file that was opened; takes it over. */
static int look_at(struct cairn_file file, const char *path, struct cairn_candidate *ret_candidate,
                   struct cairn_err *err)
{
    struct cairn_candidate c = {.file = file};
    int code = cairn_elf_open(c.file.bytes, &c.elf, err);
    if (code == CAIRN_OK && c.elf.type != ET_EXEC && c.elf.type != ET_DYN)
        code =
            cairn_fail(err, CAIRN_E_FORMAT,
                       "ELF type is %u, expected 2 (executable) or 3 (shared object)", c.elf.type);
    if (code < 0) {
        cairn_candidate_close(&c);
        return cairn_fail_in(err, code, path);
    }
    c.path = cairn_strdup(path);
    if (!c.path) {
        cairn_candidate_close(&c);
        return cairn_fail_memory(err);
    }
    read_build_id(&c);
    c.worth = worth_of(&c.elf);
    c.has_code = !cairn_elf_is_debug_only(&c.elf);
    *ret_candidate = c;
    return CAIRN_OK;
}

int cairn_candidate_open(const char *path, struct cairn_candidate *ret_candidate,
                         struct cairn_err *err)
{
    struct cairn_file file;
    struct stat st;
    if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return cairn_fail(err, CAIRN_E_MISSING, "%s: no such file", path);
    int code = cairn_file_open(path, &file, err);
    return code < 0 ? code : look_at(file, path, ret_candidate, err);
}

int cairn_candidate_open_fd(int fd, const char *name, struct cairn_candidate *ret_candidate,
                            struct cairn_err *err)
{
    struct cairn_file file;
    int code = cairn_file_open_fd(fd, name, &file, err);
    return code < 0 ? code : look_at(file, name, ret_candidate, err);
}

void cairn_candidate_close(struct cairn_candidate *c)
{
    cairn_file_close(&c->file);
    cairn_free(c->path);
    *c = (struct cairn_candidate){0};
}

bool cairn_candidate_fits(const struct cairn_candidate *a, const struct cairn_candidate *b)
{
    if (a->elf.machine != b->elf.machine)
        return false;
    if (a->build_id[0] && b->build_id[0])
        return strcmp(a->build_id, b->build_id) == 0;
    struct cairn_elf_section a_text, b_text;
    if (!cairn_elf_find_section(&a->elf, ".text", &a_text) ||
        !cairn_elf_find_section(&b->elf, ".text", &b_text))
        return true;
    return a_text.vaddr == b_text.vaddr && a_text.size == b_text.size;
}

bool cairn_candidate_is_same_file(const struct cairn_candidate *a, const struct cairn_candidate *b)
{
    return a->file.dev == b->file.dev && a->file.inode == b->file.inode;
}
