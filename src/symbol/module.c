/* SPDX-License-Identifier: MIT */
/* Files of a module, and what they say about it. */
#include "symbol/module.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "elf/layout.h"
#include "elf/note.h"

static char *hex_of(struct cairn_span bytes)
{
    char *text = cairn_alloc(2 * bytes.size + 1, 1);
    for (size_t i = 0; text && i < bytes.size; i++) {
        text[2 * i] = "0123456789abcdef"[bytes.data[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bytes.data[i] & 15];
    }
    return text;
}

/* Fills `info` the first time; it stays when contents go and come back. */
static int describe(struct cairn_module *m, const char *path, const char *debug_path,
                    struct cairn_err *err)
{
    struct cairn_elf_section section;
    struct cairn_span id = {0};
    if (m->path)
        return CAIRN_OK;
    if (cairn_elf_build_id(&m->image, &id, NULL) < 0)
        (void)cairn_elf_build_id(&m->debug, &id, NULL);
    m->path = cairn_strdup(path);
    m->debug_path = debug_path ? cairn_strdup(debug_path) : NULL;
    m->build_id = hex_of(id);
    m->machine = cairn_strdup(cairn_elf_machine_name(m->image.machine));
    if (!m->path || !m->build_id || !m->machine || (debug_path && !m->debug_path))
        return cairn_fail_memory(err);
    const struct cairn_elf *dwarf = cairn_module_dwarf_elf(m);
    bool has_lines = cairn_elf_find_section(dwarf, ".debug_line", &section) ||
                     cairn_elf_find_section(dwarf, ".zdebug_line", &section);
    m->info = (struct cairn_module_info){
        .path = m->path,
        .debug_path = m->debug_path,
        .build_id = m->build_id,
        .machine = m->machine,
        .elf_type = m->found.is_relocatable ? ET_REL : m->image.type,
        .verified = m->found.verified,
        .mismatch = m->found.mismatch,
        .has_lines = has_lines && section.type != SHT_NOBITS,
        .has_symtab = (cairn_elf_find_section(&m->debug, ".symtab", &section) ||
                       cairn_elf_find_section(&m->image, ".symtab", &section)) &&
                      section.type != SHT_NOBITS,
    };
    return CAIRN_OK;
}

static int open_elves(struct cairn_module *m, struct cairn_span image, struct cairn_span debug,
                      struct cairn_err *err)
{
    int code = CAIRN_OK;
    m->has_image = image.size > 0;
    if (m->has_image)
        code = cairn_elf_open(image, &m->image, err);
    m->image.is_vouched = m->found.image_vouched;
    if (code == CAIRN_OK && debug.size)
        code = cairn_elf_open(debug, &m->debug, err);
    m->debug.is_vouched = m->found.debug_vouched;
    if (!debug.size)
        m->debug = m->image;
    if (!m->has_image)
        m->image = m->debug;
    return code;
}

/* Without its sections a file can name nothing; nobody would guess why. */
static void tell_cut(const struct cairn_elf *elf, const char *path)
{
    if (elf->sections_off && !elf->n_sections)
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: its section table, at 0x%llx, is not within the file of 0x%zx bytes: it was "
                  "cut short or damaged, and names nothing",
                  path, (unsigned long long)elf->sections_off, elf->bytes.size);
}

int cairn_module_load(struct cairn_module *m, struct cairn_debugfile_found *found,
                      struct cairn_err *err)
{
    m->found = *found;
    *found = (struct cairn_debugfile_found){0};
    const char *path = m->found.image_path ? m->found.image_path : m->found.debug_path;
    int code = open_elves(m, m->found.image.bytes, m->found.debug.bytes, err);
    if (code < 0)
        cairn_fail_in(err, code, path);
    else
        code = describe(m, path, m->found.image_path ? m->found.debug_path : NULL, err);
    if (code < 0) {
        cairn_module_close(m);
        return code;
    }
    m->loaded = true;
    tell_cut(&m->image, path);
    if (m->found.debug_path && m->has_image)
        tell_cut(&m->debug, m->found.debug_path);
    return CAIRN_OK;
}

static int lay_out(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_elf_data data;
    int code = cairn_elf_lay_out(&m->image, &data, err);
    if (code < 0)
        return code;
    cairn_free(m->owned_bytes);
    m->owned_bytes = data.owned;
    m->found.is_relocatable = true;
    code = cairn_elf_open(data.bytes, &m->image, err);
    m->image.is_vouched = true;
    return code;
}

int cairn_module_load_bytes(struct cairn_module *m, const char *name, const void *bytes,
                            size_t size, struct cairn_err *err)
{
    m->owned_bytes = cairn_realloc(NULL, size ? size : 1, 1);
    if (!m->owned_bytes)
        return cairn_fail_memory(err);
    if (size)
        memcpy(m->owned_bytes, bytes, size);
    m->has_image = true;
    int code = cairn_elf_open((struct cairn_span){m->owned_bytes, size}, &m->image, err);
    m->image.is_vouched = true; /* no target chose them: the caller did, and holds a copy of them */
    if (code == CAIRN_OK && cairn_elf_is_relocatable(&m->image))
        code = lay_out(m, err);
    if (code < 0)
        return cairn_fail_in(err, code, name);
    m->debug = m->image;
    code = describe(m, name, NULL, err);
    m->loaded = code == CAIRN_OK;
    return code;
}

void cairn_module_forget_names(struct cairn_module *m)
{
    cairn_table_done(&m->function_of);
    memset(m->recent, 0, sizeof m->recent);
    cairn_free(m->functions);
    m->functions = NULL;
    m->n_functions = m->cap_functions = 0;
    cairn_arena_done(&m->names);
    cairn_strings_done(&m->cut_names);
    if (m->index)
        cairn_index_forget(m->index);
}

void cairn_module_unload(struct cairn_module *m)
{
    cairn_module_forget_names(m);
    cairn_module_leave_way(m);
    cairn_module_unload_dwarf(m);
    cairn_module_symbols_done(&m->symbols);
    cairn_module_functions_done(&m->functions_without_name);
    m->loaded = false;
}

void cairn_module_close(struct cairn_module *m)
{
    cairn_module_unload(m);
    cairn_debugfile_found_done(&m->found);
    m->image = m->debug = (struct cairn_elf){0};
}

const struct cairn_module_info *cairn_module_info(const struct cairn_module *module)
{
    return &module->info;
}

bool cairn_module_holds(const struct cairn_module *m, uint64_t vaddr)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; i < m->image.n_segments; i++)
        if (cairn_elf_segment(&m->image, i, &segment) && segment.type == PT_LOAD &&
            vaddr >= segment.vaddr && vaddr - segment.vaddr < segment.mem_size)
            return true;
    return false;
}

size_t cairn_module_bytes(const struct cairn_module *m)
{
    size_t bytes = cairn_dwarf_files_bytes(&m->files) + m->table_bytes + m->names.used_bytes +
                   m->cap_functions * sizeof *m->functions +
                   cairn_module_symbols_bytes(&m->symbols) +
                   cairn_module_functions_bytes(&m->functions_without_name) +
                   cairn_symbol_list_bytes(&m->list) + cairn_unit_finder_bytes(&m->unit_finder) +
                   m->units.memory.used_bytes + m->units.cap * sizeof *m->units.units +
                   m->units.cap_sorted * sizeof *m->units.sorted +
                   m->cap_unit_states * sizeof *m->unit_states + m->discriminator_bytes +
                   m->cap_discriminators * sizeof *m->discriminators;
    for (size_t i = 0; i < CAIRN_MODULE_N_SECTIONS; i++)
        if (m->sections[i].owned)
            bytes += m->sections[i].bytes.size;
    return m->index ? bytes + cairn_index_bytes(m->index) + m->way.image.cap : bytes;
}
