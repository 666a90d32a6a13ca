/* SPDX-License-Identifier: MIT */
#include "debugfile/candidate.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/error.h"
#include "base/xz.h"
#include "base/zip.h"
#include "elf/layout.h"
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

/* Nobody can guess what is in an archive: one entry that can be looked at is named. */
static void hint_entries(struct cairn_span bytes, const char *path, struct cairn_err *err)
{
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    if (!cairn_archive_is_one(bytes) || cairn_archive_open(bytes, &archive, NULL) < 0)
        return;
    for (size_t pos = 0; cairn_archive_next(&archive, &pos, &entry);) {
        if (entry.name.size > 3 && !memcmp(entry.name.data + entry.name.size - 3, ".so", 3) &&
            cairn_archive_data(&archive, &entry, &data, NULL) == CAIRN_OK) {
            cairn_hint(err, "it is a zip archive: name a library in it, as %s!/%.*s", path,
                       (int)entry.name.size, (const char *)entry.name.data);
            return;
        }
    }
    cairn_hint(err, "it is a zip archive without a stored (uncompressed) library");
}

/* The bytes of the file are from now on those that were made of them. */
static void replace_bytes(struct cairn_file *file, struct cairn_span bytes, void *owned)
{
    cairn_free(file->owned);
    file->owned = owned;
    file->bytes = bytes;
}

/* Unpacks what is packed as a whole. */
static int unpack(struct cairn_file *file, struct cairn_err *err)
{
    struct cairn_span packed = file->bytes;
    size_t limit = cairn_elf_plain_bytes_max(packed.size);
    struct cairn_buffer plain = {0};
    int code = CAIRN_OK;
    if (cairn_zip_is_gzip(packed))
        code = cairn_zip_gunzip(packed, limit, &plain, err);
    else if (cairn_xz_is_xz(packed))
        code = cairn_xz_unpack(packed, limit, &plain, err);
    else if (cairn_zip_is_zstd(packed))
        code = cairn_zip_unzstd(packed, limit, &plain, err);
    if (code == CAIRN_OK && plain.size)
        replace_bytes(file, cairn_buffer_span(&plain), plain.data);
    else
        cairn_buffer_done(&plain);
    return code;
}

static int lay_out(struct cairn_candidate *c, struct cairn_err *err)
{
    struct cairn_elf_data data;
    int code = cairn_elf_lay_out(&c->elf, &data, err);
    if (code < 0)
        return code;
    replace_bytes(&c->file, data.bytes, data.owned);
    c->is_relocatable = true;
    return cairn_elf_open(c->file.bytes, &c->elf, err);
}

/* Looks at the file that was opened; takes it over. */
static int look_at(struct cairn_file file, const char *path, struct cairn_candidate *ret_candidate,
                   struct cairn_err *err)
{
    struct cairn_candidate c = {.file = file, .stored = file.bytes};
    int code = unpack(&c.file, err);
    if (code == CAIRN_OK) {
        code = cairn_elf_open(c.file.bytes, &c.elf, err);
        if (code < 0)
            hint_entries(c.file.bytes, path, err);
    }
    if (code == CAIRN_OK && cairn_elf_is_relocatable(&c.elf))
        code = lay_out(&c, err);
    if (code == CAIRN_OK && c.elf.type != ET_EXEC && c.elf.type != ET_DYN)
        code = cairn_fail(err, CAIRN_E_FORMAT,
                          "ELF type is %u, expected 1 (relocatable), 2 (executable) or 3 (shared "
                          "object)",
                          c.elf.type);
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

/* Narrows the file of an archive to one entry. */
static int enter_archive(struct cairn_file *file, const char *entry_name, struct cairn_err *err)
{
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    int code = cairn_archive_open(file->bytes, &archive, err);
    if (code == CAIRN_OK)
        code = cairn_archive_find(&archive, entry_name, &entry, err);
    if (code == CAIRN_OK)
        code = cairn_archive_data(&archive, &entry, &data, err);
    if (code == CAIRN_OK)
        file->bytes = data;
    return code;
}

static int open_entry(const char *path, const char *split, struct cairn_file *ret_file,
                      struct cairn_err *err)
{
    struct cairn_file file;
    struct stat st;
    char *archive = cairn_strdup(path);
    if (!archive)
        return cairn_fail_memory(err);
    archive[split - path] = 0;
    int code = stat(archive, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)
                   ? cairn_fail(err, CAIRN_E_MISSING, "%s: no such archive", archive)
                   : cairn_file_open(archive, &file, err);
    if (code == CAIRN_OK) {
        code = enter_archive(&file, split + 2, err);
        if (code < 0) {
            cairn_file_close(&file);
            cairn_fail_in(err, code, archive);
        }
    }
    cairn_free(archive);
    if (code == CAIRN_OK)
        *ret_file = file;
    return code;
}

int cairn_candidate_open(const char *path, struct cairn_candidate *ret_candidate,
                         struct cairn_err *err)
{
    struct cairn_file file;
    struct stat st;
    const char *split = cairn_archive_split(path);
    bool missing = stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (missing && !split)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: no such file", path);
    int code = missing ? open_entry(path, split, &file, err) : cairn_file_open(path, &file, err);
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
    return a->file.dev == b->file.dev && a->file.inode == b->file.inode &&
           a->stored.data - a->file.mapping.data == b->stored.data - b->file.mapping.data;
}
