/* SPDX-License-Identifier: MIT */
#include "debugfile/candidate.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/error.h"
#include "base/xz.h"
#include "base/zip.h"
#include "debugfile/other_file.h"
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

/* The bytes of the file are from now on those that were made of them. */
static void replace_bytes(struct cairn_file *file, struct cairn_span bytes, void *owned)
{
    cairn_free(file->owned);
    file->owned = owned;
    file->bytes = bytes;
}

static bool is_packed(struct cairn_span bytes)
{
    return cairn_zip_is_gzip(bytes) || cairn_xz_is_xz(bytes) || cairn_zip_is_zstd(bytes);
}

/* A process can map any file, and one of 14 MB can unpack to 14 GB. No process runs a packed one.
 */
static bool may_unpack(const struct cairn_file *file, const char *path, bool is_vouched)
{
    return is_vouched || (file->is_guarded && strstr(path, ".ko."));
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
    bool is_vouched = c->elf.is_vouched;
    replace_bytes(&c->file, data.bytes, data.owned);
    c->is_relocatable = true;
    code = cairn_elf_open(c->file.bytes, &c->elf, err);
    c->elf.is_vouched = is_vouched;
    return code;
}

static int open_elf(struct cairn_candidate *c, const char *path, bool is_vouched,
                    struct cairn_err *err)
{
    if (is_packed(c->file.bytes) && !may_unpack(&c->file, path, is_vouched)) {
        cairn_fail(err, CAIRN_E_FORMAT,
                   "is packed; files that a process maps are not unpacked, expected an ELF file");
        cairn_hint(err, "name the file, or give its folder with --symbols, and it is unpacked");
        return CAIRN_E_FORMAT;
    }
    int code = unpack(&c->file, err);
    if (code == CAIRN_OK) {
        code = cairn_elf_open(c->file.bytes, &c->elf, err);
        if (code < 0)
            cairn_other_file_name(c->file.bytes, path, err);
    }
    c->elf.is_vouched = is_vouched || c->file.is_guarded;
    return code;
}

/* Looks at the file that was opened; takes it over. */
static int look_at(struct cairn_file file, const char *path, bool is_vouched,
                   struct cairn_candidate *ret_candidate, struct cairn_err *err)
{
    struct cairn_candidate c = {.file = file, .stored = file.bytes};
    int code = open_elf(&c, path, is_vouched, err);
    if (code == CAIRN_OK && cairn_elf_is_relocatable(&c.elf))
        code = lay_out(&c, err);
    if (code == CAIRN_OK && c.elf.type != ET_EXEC && c.elf.type != ET_DYN)
        code = cairn_other_file_fail_type(c.elf.type, path, err);
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

static int open_entry(const char *path, const char *split, const char *root,
                      struct cairn_file *ret_file, struct cairn_err *err)
{
    struct cairn_file file;
    char *archive = cairn_strdup(path);
    if (!archive)
        return cairn_fail_memory(err);
    archive[split - path] = 0;
    int code = cairn_file_open_below(root, archive, &file, err);
    if (code == CAIRN_E_MISSING)
        cairn_fail(err, CAIRN_E_MISSING, "%s: no such archive", archive);
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

int cairn_candidate_open(const char *path, const struct cairn_candidate_place *place,
                         struct cairn_candidate *ret_candidate, struct cairn_err *err)
{
    struct cairn_file file;
    const char *split = cairn_archive_split(path);
    int code = cairn_file_open_below(place->root, path, &file, err);
    if (code == CAIRN_E_MISSING && split)
        code = open_entry(path, split, place->root, &file, err);
    else if (code == CAIRN_E_MISSING)
        cairn_fail(err, CAIRN_E_MISSING, "%s: no such file", path);
    return code < 0 ? code : look_at(file, path, place->is_vouched, ret_candidate, err);
}

int cairn_candidate_open_fd(int fd, const char *name, struct cairn_candidate *ret_candidate,
                            struct cairn_err *err)
{
    struct cairn_file file;
    int code = cairn_file_open_fd(fd, name, &file, err);
    return code < 0 ? code : look_at(file, name, false, ret_candidate, err);
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
