/* SPDX-License-Identifier: MIT */
/*
 * derive_rows FILE...: rules made of the code alone of programs that have CFI, held against it:
 *
 *     FILE <bytes that CFI covers> <of them: the same rule> <none> <by the other register> <wrong>
 *     C <bytes of code> <of them: with a rule by code>
 *     D <from> <to> <rule by CFI> <rule by code>          the first of the last kind
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "elf/symtab.h"
#include "unwind/derive.h"
#include "unwind/rule_x86_64.h"
#include "unwind/sections.h"

enum { SHOWN = 12, GAPS_MAX = 64 };

struct built {
    void *work;
    struct cairn_unwind_table table;
};

static void die(const char *what)
{
    fprintf(stderr, "derive_rows: %s\n", what);
    exit(1);
}

static struct built build(const struct cairn_unwind_sections *sections)
{
    struct cairn_unwind_table_input input = cairn_unwind_table_input_of(sections);
    struct cairn_unwind_table_built ret;
    uint64_t bytes;
    if (cairn_unwind_table_measure(&input, &bytes) != CAIRN_TABLE_OK)
        die("nothing to make a table of");
    struct built built = {.work = cairn_alloc((size_t)bytes, 1)};
    if (!built.work ||
        cairn_unwind_table_build(&input, built.work, bytes, &ret) != CAIRN_TABLE_OK ||
        !cairn_unwind_table_open(ret.image, &built.table))
        die("no table");
    return built;
}

/* Compilers go on to say where rbp was saved when it is back already: both are right. Of what no
 * rule can say nothing is compared. */
static bool is_same(uint32_t by_cfi, uint32_t by_code)
{
    const uint32_t slot = 0x1ff;
    bool are_rows =
        cairn_rule_kind(by_cfi) == CAIRN_RULE_SIDE && cairn_rule_kind(by_code) == CAIRN_RULE_SIDE;
    return are_rows || (cairn_rule_kind(by_cfi) == CAIRN_X86_64_SP && (by_cfi & ~slot) == by_code);
}

/* Where the next row begins in either. */
static uint64_t next_of(const struct cairn_unwind_table *table, uint32_t *row, uint64_t at)
{
    uint64_t vaddr = UINT64_MAX;
    uint32_t rule;
    while (cairn_unwind_table_row(table, *row, &vaddr, &rule) && vaddr <= at)
        ++*row;
    return *row < table->n_rows ? vaddr : UINT64_MAX;
}

static void compare(const char *path, const struct cairn_unwind_table *told,
                    const struct cairn_unwind_table *made, uint64_t from, uint64_t to)
{
    uint64_t n_told = 0, n_same = 0, n_none = 0, n_other = 0;
    uint32_t told_row = 0, made_row = 0;
    int shown = 0;
    for (uint64_t at = from, next; at < to; at = next) {
        uint64_t a = next_of(told, &told_row, at), b = next_of(made, &made_row, at);
        next = a < b ? a : b;
        next = next < to ? next : to;
        uint32_t by_cfi = cairn_unwind_table_find(told, at),
                 by_code = cairn_unwind_table_find(made, at);
        uint64_t bytes = next - at;
        if (cairn_rule_kind(by_cfi) == CAIRN_RULE_NONE)
            continue;
        n_told += bytes;
        by_code = is_same(by_cfi, by_code) ? by_cfi : by_code;
        n_same += by_cfi == by_code ? bytes : 0;
        n_none += cairn_rule_kind(by_code) == CAIRN_RULE_NONE ? bytes : 0;
        if (by_cfi == by_code || cairn_rule_kind(by_code) == CAIRN_RULE_NONE)
            continue;
        if ((by_cfi ^ by_code) >> CAIRN_RULE_PAYLOAD_BITS == 1)
            continue;
        n_other += bytes;
        if (shown++ < SHOWN)
            printf("D %" PRIx64 " %" PRIx64 " %x %x\n", at, next, by_cfi, by_code);
    }
    printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", path, n_told, n_same,
           n_none, n_told - n_same - n_none - n_other, n_other);
}

static void tell_share(const struct cairn_unwind_table *made, const struct cairn_derive_gap *gaps,
                       size_t n_gaps)
{
    uint64_t bytes = 0, covered = 0;
    for (size_t i = 0; i < n_gaps; i++)
        for (uint64_t at = gaps[i].from; at < gaps[i].to; at++, bytes++)
            covered += cairn_rule_kind(cairn_unwind_table_find(made, at)) != CAIRN_RULE_NONE;
    printf("C %" PRIu64 " %" PRIu64 "\n", bytes, covered);
}

static void look_at(const char *path)
{
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_err err;
    struct cairn_unwind_sections sections;
    struct cairn_elf_symtab symtab;
    struct cairn_elf_section section;
    struct cairn_buffer frames = {0};
    struct cairn_derive_gap gaps[GAPS_MAX];
    size_t n_gaps = 0;
    if (cairn_file_open(path, &file, &err) < 0 || cairn_elf_open(file.bytes, &elf, &err) < 0 ||
        !cairn_unwind_sections_of_file(&elf, &sections) ||
        cairn_elf_symtab_read(&elf, CAIRN_ELF_DYNSYM, &symtab, &err) < 0)
        die(path);
    for (uint32_t i = 0; cairn_elf_section(&elf, i, &section) && n_gaps < GAPS_MAX; i++)
        if (section.flags & SHF_EXECINSTR && strncmp(section.name, ".plt", 4) != 0)
            gaps[n_gaps++] = (struct cairn_derive_gap){section.vaddr, section.vaddr + section.size};
    const struct cairn_elf_symtab *symtabs[] = {&symtab};
    const struct cairn_derive_input input = {&elf, gaps, n_gaps, symtabs, 1};
    if (cairn_derive(&input, &frames) < 0)
        die("no memory");
    struct built told = build(&sections);
    struct cairn_unwind_sections derived = sections;
    derived.eh_frame = (struct cairn_cfi){0};
    derived.debug_frame = sections.debug_frame;
    derived.debug_frame.bytes = cairn_buffer_span(&frames);
    if (!frames.size) {
        printf("%s nothing\n", path);
    } else {
        struct built made = build(&derived);
        tell_share(&made.table, gaps, n_gaps);
        compare(path, &told.table, &made.table, sections.text_from, sections.text_to);
        cairn_free(made.work);
    }
    cairn_free(told.work);
    cairn_buffer_done(&frames);
    cairn_elf_symtab_done(&symtab);
    cairn_file_close(&file);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        look_at(argv[i]);
    return 0;
}
