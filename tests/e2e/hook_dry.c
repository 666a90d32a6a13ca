/* SPDX-License-Identifier: MIT */
/* hook_dry FILE NEAR FAR: moves the first instructions of each function of a file, dry. Prints
 * "FROM LEAST TO TAKEN BYTES OFFSETS" for each copy, one behind the other from NEAR and from FAR
 * on, or "FROM LEAST REASON". All numbers are hexadecimal. For hook_agree.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <cairn/hook.h>

#include "base/file.h"
#include "elf/symtab.h"
#include "plans/piece.h"

enum { ALIGNMENT = 16, N_LEASTS = 3 };
static const size_t leasts[N_LEASTS] = {1, 5, 16};

struct dry {
    struct cairn_elf elf;
    uint64_t near, far;
};

static void move(struct dry *d, const struct cairn_elf_symbol *s, struct cairn_span code,
                 size_t least, uint64_t *slot)
{
    struct cairn_hook_copy copy;
    const struct cairn_hook_piece piece = {.size = sizeof piece,
                                           .cpu = cairn_plans_cpu(&d->elf),
                                           .code = code.data,
                                           .n_code = code.size,
                                           .from_va = s->vaddr,
                                           .to_va = *slot,
                                           .least = least};
    printf("%" PRIx64 " %zx ", s->vaddr, least);
    if (!cairn_hook_move(&piece, &copy)) {
        printf("%s\n", cairn_hook_reason_text(copy.reason));
        return;
    }
    printf("%" PRIx64 " %zx ", *slot, copy.taken);
    for (size_t i = 0; i < copy.n_code; i++)
        printf("%02x", copy.code[i]);
    for (size_t i = 0; i <= copy.n_insns; i++)
        printf("%c%x", i ? ',' : ' ', copy.to_off[i]);
    putchar('\n');
    *slot += (copy.n_code + ALIGNMENT) & ~(uint64_t)(ALIGNMENT - 1);
}

static void each(struct dry *d, const struct cairn_elf_symtab *symtab)
{
    for (size_t i = 0; i < symtab->n; i++) {
        const struct cairn_elf_symbol *s = &symtab->symbols[i];
        struct cairn_span code;
        if ((i && s->vaddr == s[-1].vaddr) || !cairn_elf_bytes_at(&d->elf, s->vaddr, &code))
            continue;
        for (unsigned k = 0; k < N_LEASTS; k++) {
            move(d, s, code, leasts[k], &d->near);
            move(d, s, code, leasts[k], &d->far);
        }
    }
}

int main(int argc, char **argv)
{
    struct cairn_file file;
    struct cairn_elf_symtab symtab;
    struct cairn_err err;
    struct dry d = {0};
    if (argc != 4 || cairn_file_open(argv[1], &file, &err) < 0 ||
        cairn_elf_open(file.bytes, &d.elf, &err) < 0 ||
        cairn_elf_symtab_read(&d.elf, CAIRN_ELF_DYNSYM, &symtab, &err) < 0) {
        fprintf(stderr, "hook_dry: %s\n", argc == 4 ? err.msg : "FILE NEAR FAR");
        return 1;
    }
    d.near = strtoull(argv[2], NULL, 16);
    d.far = strtoull(argv[3], NULL, 16);
    each(&d, &symtab);
    cairn_elf_symtab_done(&symtab);
    cairn_file_close(&file);
    return 0;
}
