/* SPDX-License-Identifier: MIT */
/* Layout: debug sections. Those of one name, of COMDAT groups, become one. */
#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "elf/compressed.h"
#include "elf/layout_parts.h"

/* What names and lines are read from, by the part of the name behind ".debug_" or ".zdebug_". */
static const char *const debug_names[CAIRN_LAYOUT_N_DEBUG] = {
    "info",        "types", "abbrev", "line",     "str",    "line_str",
    "str_offsets", "addr",  "ranges", "rnglists", "aranges"};

unsigned cairn_layout_debug_of(const struct cairn_elf_section *section)
{
    const char *name = section->name;
    if (section->type == SHT_NOBITS || section->type == SHT_NULL || (section->flags & SHF_ALLOC) ||
        name[0] != '.')
        return CAIRN_LAYOUT_NO_DEBUG;
    name += name[1] == 'z' ? 2 : 1;
    if (strncmp(name, "debug_", 6) != 0)
        return CAIRN_LAYOUT_NO_DEBUG;
    for (unsigned i = 0; i < CAIRN_LAYOUT_N_DEBUG; i++)
        if (strcmp(name + 6, debug_names[i]) == 0)
            return i;
    return CAIRN_LAYOUT_NO_DEBUG;
}

/* Appends the contents of one debug section; those that are damaged are left out. */
static int append_debug(struct cairn_layout_parts *l, struct cairn_layout_part *part,
                        struct cairn_err *err)
{
    struct cairn_elf_data data = {0};
    struct cairn_err why = {0};
    size_t limit = cairn_elf_plain_bytes_max(l->elf->bytes.size);
    int code = cairn_elf_read_section_of(l->elf, &part->section, &data, &why);
    size_t added = l->out.size - l->elf->bytes.size;
    if (code == CAIRN_OK && (added > limit || data.bytes.size > limit - added)) {
        cairn_elf_data_done(&data);
        return cairn_fail(err, CAIRN_E_LIMIT, "debug sections hold more than %zu bytes", limit);
    }
    part->section.off = l->out.size;
    part->section.size = code == CAIRN_OK ? data.bytes.size : 0;
    part->section.flags &= ~(uint64_t)SHF_COMPRESSED;
    if (code == CAIRN_OK)
        cairn_buffer_add(&l->out, data.bytes.data, data.bytes.size);
    cairn_elf_data_done(&data);
    if (code == CAIRN_E_NOMEM || l->out.failed)
        return cairn_fail_memory(err);
    if (code < 0)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    return CAIRN_OK;
}

/* All debug sections of one name, one behind the other: the address of each is where it begins in
 * the whole. One that stands alone and is not compressed stays where it is. */
static int gather_debug(struct cairn_layout_parts *l, unsigned debug, uint32_t first, uint32_t n,
                        struct cairn_err *err)
{
    struct cairn_layout_part *head = &l->parts[first];
    uint64_t start = l->out.size;
    struct cairn_span bytes;
    bool is_packed = (head->section.flags & SHF_COMPRESSED) || head->section.name[1] == 'z';
    if (n == 1 && !is_packed) {
        if (cairn_elf_section_bytes(l->elf, &head->section, &bytes))
            return CAIRN_OK;
    }
    for (uint32_t i = first; i < l->elf->n_sections; i++) {
        struct cairn_layout_part *part = &l->parts[i];
        if (part->debug != debug)
            continue;
        int code = append_debug(l, part, err);
        if (code < 0)
            return code;
        part->section.vaddr = part->section.off - start;
    }
    return CAIRN_OK;
}

/* Sound files have no two sections in one place, so that all together fit into the file. */
int cairn_layout_gather_debug(struct cairn_layout_parts *l, struct cairn_err *err)
{
    uint32_t first[CAIRN_LAYOUT_N_DEBUG] = {0}, n[CAIRN_LAYOUT_N_DEBUG] = {0};
    uint64_t total = 0;
    for (uint32_t i = 1; i < l->elf->n_sections; i++) {
        const struct cairn_layout_part *part = &l->parts[i];
        if (part->debug == CAIRN_LAYOUT_NO_DEBUG)
            continue;
        first[part->debug] = n[part->debug]++ ? first[part->debug] : i;
        if (__builtin_add_overflow(total, part->section.size, &total))
            total = UINT64_MAX;
    }
    if (total > l->elf->bytes.size)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "debug sections of 0x%llx bytes in a file of 0x%zx: they overlap",
                          (unsigned long long)total, l->elf->bytes.size);
    for (unsigned i = 0; i < CAIRN_LAYOUT_N_DEBUG; i++) {
        int code = n[i] ? gather_debug(l, i, first[i], n[i], err) : CAIRN_OK;
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

/* The first of a name is the whole, under the name of today; the others are gone. */
int cairn_layout_join_debug(struct cairn_layout_parts *l, struct cairn_err *err)
{
    struct cairn_layout_part *names =
        &l->parts[l->elf->names_index < l->elf->n_sections ? l->elf->names_index : 0];
    uint32_t first[CAIRN_LAYOUT_N_DEBUG] = {0};
    struct cairn_span old;
    uint64_t start = 0;
    for (uint32_t i = 1; i < l->elf->n_sections; i++) {
        struct cairn_layout_part *part = &l->parts[i];
        if (part->debug == CAIRN_LAYOUT_NO_DEBUG)
            continue;
        struct cairn_layout_part *head = &l->parts[first[part->debug] ? first[part->debug] : i];
        if (head != part) {
            head->section.size = part->section.off + part->section.size - head->section.off;
            part->section.type = SHT_NULL;
            continue;
        }
        first[part->debug] = i;
        if (part->section.name[1] != 'z' || !cairn_elf_section_bytes(l->elf, &names->section, &old))
            continue;
        if (!start) {
            start = l->out.size;
            cairn_buffer_add(&l->out, old.data, old.size);
        }
        part->name = (uint32_t)(l->out.size - start);
        cairn_buffer_printf(&l->out, ".debug_%s", debug_names[part->debug]);
        cairn_buffer_char(&l->out, '\0');
    }
    for (uint32_t i = 1; i < l->elf->n_sections; i++)
        if (l->parts[i].debug != CAIRN_LAYOUT_NO_DEBUG)
            l->parts[i].section.vaddr = 0;
    if (start && !l->out.failed) {
        names->section.off = start;
        names->section.size = l->out.size - start;
    }
    return l->out.failed ? cairn_fail_memory(err) : CAIRN_OK;
}
