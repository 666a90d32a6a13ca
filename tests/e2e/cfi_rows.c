/* SPDX-License-Identifier: MIT */
/*
 * cfi_rows FILE SECTION: every row of .eh_frame or .debug_frame, for cfi_agree.py:
 *
 *     F <offset> <from> <to> <register of the return address>
 *     R <from> <to> <CFA> <register>=<rule> ...
 *
 * For each FDE it is also held that its first and last address find it, and that the rows found by
 * address are those of the run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "support/cfifile.h"

struct printer {
    const struct cairn_cfi *cfi;
    const struct cairn_fde *fde;
    uint64_t reached;
};

static void die(const char *what, uint64_t at)
{
    printf("%s at 0x%" PRIx64 "\n", what, at);
    exit(1);
}

static void print_rule(const struct cairn_cfi_rule *rule)
{
    switch (rule->where) {
    case CAIRN_CFI_SAME:
        printf("s");
        break;
    case CAIRN_CFI_UNDEFINED:
        printf("u");
        break;
    case CAIRN_CFI_AT_CFA:
        printf("c%+" PRId64, rule->value);
        break;
    case CAIRN_CFI_IS_CFA:
        printf("v%+" PRId64, rule->value);
        break;
    case CAIRN_CFI_IN_REG:
        printf("r%u%+" PRId64, rule->reg, rule->value);
        break;
    case CAIRN_CFI_AT_EXPR:
        printf("exp");
        break;
    default:
        printf("vexp");
    }
}

static bool same_rule(const struct cairn_cfi_rule *a, const struct cairn_cfi_rule *b)
{
    return a->where == b->where && a->reg == b->reg && a->expr_size == b->expr_size &&
           a->value == b->value;
}

static bool same_row(const struct cairn_cfi_row *a, const struct cairn_cfi_row *b)
{
    bool same = a->from == b->from && a->to == b->to && same_rule(&a->cfa, &b->cfa);
    for (unsigned reg = 0; reg < CAIRN_CFI_REGS; reg++)
        same = same && same_rule(&a->regs[reg], &b->regs[reg]);
    return same;
}

static bool print_row(void *ctx, const struct cairn_cfi_row *row)
{
    struct printer *p = ctx;
    struct cairn_cfi_row again;
    if (row->from != p->reached || row->to <= row->from)
        die("rows leave a gap", row->from);
    if (!cairn_cfi_row_at(p->cfi, p->fde, row->to - 1, &again) || !same_row(&again, row))
        die("row_at differs", row->to - 1);
    p->reached = row->to;
    printf("R %" PRIx64 " %" PRIx64 " ", row->from, row->to);
    print_rule(&row->cfa);
    for (unsigned reg = 0; reg < CAIRN_CFI_REGS; reg++) {
        if (row->regs[reg].where == CAIRN_CFI_SAME)
            continue;
        printf(" %u=", reg);
        print_rule(&row->regs[reg]);
    }
    printf("\n");
    return true;
}

static void check_find(const struct cairn_cfi *cfi, const struct cairn_fde *fde, uint64_t vaddr)
{
    struct cairn_fde found;
    if (cfi->hdr.size && (!cairn_cfi_find(cfi, vaddr, &found) || found.off != fde->off))
        die("not found", vaddr);
}

int main(int argc, char **argv)
{
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_err err;
    if (argc != 3 || cairn_file_open(argv[1], &file, &err) < 0 ||
        cairn_elf_open(file.bytes, &elf, &err) < 0) {
        fprintf(stderr, "cfi_rows FILE SECTION\n");
        return 2;
    }
    struct cairn_cfi cfi = test_cfi_of_file(&elf, argv[2]);
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    struct cairn_fde fde;
    while (cairn_cfi_next(&iter, &fde)) {
        struct printer p = {&cfi, &fde, fde.from};
        printf("F %" PRIx64 " %" PRIx64 " %" PRIx64 " %u\n", fde.off, fde.from, fde.to,
               fde.cie.ra_reg);
        if (!cairn_cfi_run(&cfi, &fde, print_row, &p) || p.reached != fde.to)
            die("damaged program", fde.off);
        check_find(&cfi, &fde, fde.from);
        check_find(&cfi, &fde, fde.to - 1);
    }
    if (iter.n_damaged)
        die(cairn_cfi_damage_text(iter.last_damage), iter.off);
    cairn_file_close(&file);
    return 0;
}
