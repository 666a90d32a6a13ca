/* SPDX-License-Identifier: MIT */
#include "doctor/file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "elf/note.h"
#include "unwind/sections.h"
#include "unwind/space_module.h"

/* ENTRIES_MAX: of unwind tables; the largest programs have a million. */
enum { ENTRIES_MAX = 1 << 24, ENOUGH_PERCENT = 98 };

static bool has_section(const struct cairn_elf *elf, const char *name)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    return elf && cairn_elf_find_section(elf, name, &section) && section.type != SHT_NOBITS &&
           cairn_elf_section_bytes(elf, &section, &bytes) && bytes.size > 0;
}

static void read_build_id(const struct cairn_elf *elf, char ret_hex[CAIRN_DOCTOR_ID_BYTES])
{
    struct cairn_span id;
    if (!elf || cairn_elf_build_id(elf, &id, NULL) < 0 || 2 * id.size >= CAIRN_DOCTOR_ID_BYTES)
        return;
    for (size_t i = 0; i < id.size; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", id.data[i]);
}

/* Bytes in executable sections, those without section headers in executable segments. */
static uint64_t count_code(const struct cairn_elf *elf)
{
    struct cairn_elf_section section;
    struct cairn_elf_segment segment;
    uint64_t sum = 0;
    for (uint32_t i = 0; cairn_elf_section(elf, i, &section); i++)
        if (section.flags & SHF_EXECINSTR && section.flags & SHF_ALLOC)
            sum += section.size < UINT64_MAX - sum ? section.size : 0;
    for (uint32_t i = 0; !elf->n_sections && cairn_elf_segment(elf, i, &segment); i++)
        if (segment.type == PT_LOAD && segment.flags & PF_X)
            sum += segment.mem_size < UINT64_MAX - sum ? segment.mem_size : 0;
    return sum;
}

/* Of the code, in percent, rounded down, so that 100 is all. */
static int covered_percent(const struct cairn_elf *elf, const struct cairn_unwind_sections *s,
                           const struct cairn_cfi *cfi)
{
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_cfi_entry entry;
    uint64_t covered = 0, code = count_code(elf);
    for (int n = 0; n < ENTRIES_MAX && cairn_cfi_next_entry(&iter, &entry); n++)
        if (entry.from >= s->text_from && entry.to <= s->text_to && entry.to > entry.from)
            covered += entry.to - entry.from;
    if (!code)
        return -1;
    return covered >= code ? 100 : (int)((double)covered * 100 / (double)code);
}

static void read_tables(const struct cairn_elf *elf, const struct cairn_elf *debug,
                        struct cairn_doctor_file *file)
{
    struct cairn_unwind_sections sections;
    bool in_debug = has_section(debug, ".debug_frame") || has_section(debug, ".zdebug_frame");
    if (in_debug)
        file->tables = ".debug_frame";
    if (!elf || !cairn_unwind_sections_of_file(elf, &sections))
        return;
    bool debug_frame = in_debug || sections.debug_frame.bytes.size > 0;
    if (sections.exidx.index.size) {
        file->tables = ".ARM.exidx"; /* beside an .eh_frame of the few objects of start-up */
    } else if (sections.eh_frame.bytes.size) {
        file->tables = debug_frame ? ".eh_frame+.debug_frame" : ".eh_frame";
        file->covered_percent = covered_percent(elf, &sections, &sections.eh_frame);
    } else if (debug_frame) {
        file->tables = ".debug_frame";
        if (sections.debug_frame.bytes.size)
            file->covered_percent = covered_percent(elf, &sections, &sections.debug_frame);
    }
}

/* As who walks by tables has them made. */
static int derived_percent(const struct cairn_elf *elf, struct cairn_span image,
                           struct cairn_span debug)
{
    struct cairn_space_module *module;
    uint64_t code = elf ? count_code(elf) : 0;
    if (!code || cairn_space_module_new(image, debug, &module, NULL) < 0)
        return 0;
    (void)cairn_space_module_table(module, module->sections.arch, CAIRN_TABLE_NOW);
    uint64_t bytes = cairn_space_module_derived_bytes(module);
    cairn_space_module_free(module);
    return bytes >= code ? 100 : (int)((double)bytes * 100 / (double)code);
}

static const char *find_symbols(const struct cairn_elf *elf, const struct cairn_elf *debug)
{
    static const char *const names[] = {".symtab", ".gnu_debugdata", ".dynsym"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_section(elf, names[i]) || has_section(debug, names[i]))
            return names[i];
    return "";
}

static bool has_either(const struct cairn_elf *elf, const struct cairn_elf *debug, const char *name,
                       const char *old_name)
{
    return has_section(elf, name) || has_section(debug, name) || has_section(elf, old_name) ||
           has_section(debug, old_name);
}

static void say_missing(struct cairn_doctor_file *file)
{
    if (!*file->tables && !file->derived_percent)
        file->why = "no unwind tables: frame pointers are believed, or stacks end here";
    else if (!*file->symbols)
        file->why = "no symbols: frames stay addresses";
    else if (!file->has_lines && strcmp(file->symbols, ".dynsym") == 0)
        file->why = "no debug file: exported functions alone have names";
    else if (!file->has_lines)
        file->why = "no debug file: no lines, no inlined calls";
    bool wants_file = !file->has_lines && *file->build_id;
    if (wants_file)
        snprintf(file->fix, sizeof file->fix,
                 "sudo install -D \"$(debuginfod-find debuginfo %s)\" "
                 "/usr/lib/debug/.build-id/%.2s/%s.debug",
                 file->build_id, file->build_id, file->build_id + 2);
    else if (!file->has_lines && *file->why)
        snprintf(file->fix, sizeof file->fix, "build it with -g");
}

void cairn_doctor_read_file(struct cairn_span image, struct cairn_span debug,
                            struct cairn_doctor_file *ret_file)
{
    struct cairn_elf image_elf, debug_elf;
    const struct cairn_elf *elf = NULL, *other = NULL;
    *ret_file =
        (struct cairn_doctor_file){.tables = "", .symbols = "", .covered_percent = -1, .why = ""};
    if (image.size && cairn_elf_open(image, &image_elf, NULL) == CAIRN_OK)
        elf = &image_elf;
    if (debug.size && cairn_elf_open(debug, &debug_elf, NULL) == CAIRN_OK)
        other = &debug_elf;
    if (!elf && !other) {
        ret_file->why = "no ELF file";
        return;
    }
    read_build_id(elf ? elf : other, ret_file->build_id);
    read_tables(elf, other, ret_file);
    if (ret_file->covered_percent < ENOUGH_PERCENT)
        ret_file->derived_percent = derived_percent(elf, image, debug);
    ret_file->symbols = find_symbols(elf, other);
    ret_file->has_lines = has_either(elf, other, ".debug_line", ".zdebug_line");
    ret_file->has_inlines = has_either(elf, other, ".debug_info", ".zdebug_info");
    say_missing(ret_file);
}
