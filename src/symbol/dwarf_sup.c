/* SPDX-License-Identifier: MIT */
/* The supplementary file of a module, as dwz -m makes it. */
#include "base/error.h"
#include "base/log.h"
#include "debugfile/candidate.h"
#include "dwarf/sup.h"
#include "elf/note.h"
#include "symbol/dwarf_files.h"

struct sup_search {
    struct cairn_dwarf_files *files;
    struct cairn_dwarf_sup link;
    bool by_checksum; /* .debug_sup, not a build ID */
    struct cairn_side_file *found;
    struct cairn_err refusal; /* of the first that was there but could not be taken */
    struct cairn_err *err;
};

/* The link of `elf`, of either kind. CAIRN_E_MISSING: it has none. */
static int read_link(const struct cairn_elf *elf, struct cairn_dwarf_sup *ret_link,
                     bool *ret_by_checksum, struct cairn_err *err)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    *ret_by_checksum = false;
    if (cairn_elf_find_section(elf, ".gnu_debugaltlink", &section) &&
        cairn_elf_section_bytes(elf, &section, &bytes) && bytes.size)
        return cairn_dwarf_read_altlink(bytes, ret_link, err);
    *ret_by_checksum = true;
    if (cairn_elf_find_section(elf, ".debug_sup", &section) &&
        cairn_elf_section_bytes(elf, &section, &bytes) && bytes.size)
        return cairn_dwarf_read_sup(bytes, elf->swap, ret_link, err);
    return cairn_fail(err, CAIRN_E_MISSING, "no link to a supplementary file");
}

static void hex_of(struct cairn_span id, char text[CAIRN_BUILD_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = id.size < CAIRN_BUILD_ID_TEXT / 2 ? id.size : CAIRN_BUILD_ID_TEXT / 2;
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[id.data[i] >> 4];
        text[2 * i + 1] = digits[id.data[i] & 15];
    }
    text[2 * n] = 0;
}

/* Is the file what the link means? */
static int check_sup(const struct sup_search *s, const struct cairn_side_file *file,
                     struct cairn_err *err)
{
    struct cairn_dwarf_sup own = {0};
    struct cairn_span id = {0};
    bool by_checksum;
    int code = read_link(&file->elf, &own, &by_checksum, err);
    if (code < 0 && code != CAIRN_E_MISSING)
        return code;
    if (code == CAIRN_OK && !own.is_sup)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "a supplementary file that refers to another one, %s, which none may",
                          own.name);
    if (s->by_checksum)
        id = own.id;
    else
        (void)cairn_elf_build_id(&file->elf, &id, NULL);
    char found[CAIRN_BUILD_ID_TEXT], wanted[CAIRN_BUILD_ID_TEXT];
    hex_of(id, found);
    hex_of(s->link.id, wanted);
    if (id.size != s->link.id.size || (id.size && memcmp(id.data, s->link.id.data, id.size) != 0))
        return cairn_fail(err, CAIRN_E_ARG, "another build: its ID is %s, expected %s",
                          *found ? found : "unknown", wanted);
    return CAIRN_OK;
}

static int try_sup(void *ctx, const char *path)
{
    struct sup_search *s = ctx;
    struct cairn_side_file *file;
    struct cairn_err why;
    int code = cairn_side_file_open(s->files, CAIRN_SIDE_SUP, path, &file, &why);
    if (code == CAIRN_E_MISSING)
        return 0;
    if (code == CAIRN_OK) {
        code = file ? check_sup(s, file, &why) : CAIRN_E_FORMAT;
        if (code < 0 && file)
            cairn_fail_in(&why, code, path);
    }
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(s->err);
    if (code < 0) {
        if (!s->refusal.code)
            s->refusal = why;
        return 0;
    }
    s->found = file;
    return 1;
}

static void tell(const struct sup_search *s)
{
    struct cairn_err why;
    const char *path = s->files->owner.path;
    if (s->refusal.code) {
        why = s->refusal;
        cairn_fail_in(&why, why.code, path);
    } else {
        cairn_fail(
            &why, CAIRN_E_MISSING,
            "%s: the supplementary file %s (dwz -m) is missing: names and inline frames that "
            "are in it are unknown",
            path, s->link.name);
    }
    cairn_hint(&why, "give the folder that holds it with --symbols");
    cairn_log_err(CAIRN_LOG_WARNING, &why);
}

int cairn_dwarf_files_open_sup(struct cairn_dwarf_files *files, const struct cairn_elf *elf,
                               struct cairn_err *err)
{
    struct sup_search s = {.files = files, .err = err};
    const struct cairn_dwarf_owner *owner = &files->owner;
    if (!owner->dwarf->info.size) /* strip leaves the link in programs: nothing follows it then */
        return CAIRN_OK;
    int code = read_link(elf, &s.link, &s.by_checksum, &s.refusal);
    if (code == CAIRN_E_MISSING || (code == CAIRN_OK && s.link.is_sup))
        return CAIRN_OK;
    if (code < 0) {
        tell(&s);
        return CAIRN_OK;
    }
    struct cairn_dwarf_places places = {.finder = owner->finder,
                                        .image_path = owner->image_path,
                                        .debug_path = owner->debug_path,
                                        .try_path = try_sup,
                                        .ctx = &s};
    char id[CAIRN_BUILD_ID_TEXT] = "";
    if (!s.by_checksum)
        hex_of(s.link.id, id);
    code = cairn_dwarf_places_sup(&places, owner->path, s.link.name, id);
    if (code < 0)
        return cairn_fail_memory(err);
    if (!s.found) {
        files->is_incomplete = true;
        tell(&s);
        return CAIRN_OK;
    }
    cairn_log(CAIRN_LOG_INFO, "%s: supplementary file %s", owner->path, s.found->path);
    owner->dwarf->alt_str = s.found->info.str;
    owner->units->alt = &s.found->units;
    return CAIRN_OK;
}
