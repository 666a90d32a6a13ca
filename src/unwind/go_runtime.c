/* SPDX-License-Identifier: MIT */
#include "unwind/go_runtime.h"

#include <elf.h>

#include "elf/go_table.h"

static const struct known {
    const char *name; /* behind "runtime." */
    bool is_switch;
} known[] = {{"goexit", false}, {"rt0_go", false},   {"systemstack", true},
             {"mcall", true},   {"morestack", true}, {"asmcgocall", true}};

enum { N_KNOWN = sizeof known / sizeof *known };

struct found {
    uint64_t from, to;
};

/* The name of function `i` behind "runtime."; NULL: it is another package's, or a long one. */
static const char *runtime_name(const struct cairn_go_table *table, uint64_t i)
{
    static const char package[] = "runtime.";
    enum { PACKAGE = sizeof package - 1, NAME_MAX = 32 };
    struct cairn_span text;
    if (!cairn_go_table_name(table, i, &text) || text.size < PACKAGE ||
        memcmp(text.data, package, PACKAGE) != 0)
        return NULL;
    size_t left = text.size < PACKAGE + NAME_MAX ? text.size : PACKAGE + NAME_MAX;
    return memchr(text.data, 0, left) ? (const char *)text.data + PACKAGE : NULL;
}

static void find_function(const struct cairn_go_table *table, uint64_t i, const char *name,
                          struct found found[N_KNOWN])
{
    uint64_t from, to;
    for (size_t k = 0; k < N_KNOWN; k++) {
        size_t n = strlen(known[k].name);
        if (found[k].to || strncmp(name, known[k].name, n) != 0 ||
            (name[n] && strcmp(name + n, ".abi0") != 0))
            continue;
        if (cairn_go_table_start(table, i, &from) && cairn_go_table_start(table, i + 1, &to) &&
            from < to && to - from <= UINT32_MAX)
            found[k] = (struct found){from, to};
    }
}

struct section {
    uint8_t *bytes;
    size_t size;
};

static void put(struct section *s, uint64_t number, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->bytes[s->size++] = (uint8_t)(i < sizeof number ? number >> 8 * i : 0);
}

/* Byte codes of DWARF 5, 7.24. */
enum { UNDEFINED = 0x07, DEF_CFA_EXPRESSION = 0x0f, CIE_REST = 16, FDE_REST = 4 };

/* Version 1 without augmentation, padded by DW_CFA_nop; `ra`: the return address's register. */
static void put_cie(struct section *s, unsigned ra)
{
    put(s, 4 + CIE_REST, 4);
    put(s, UINT32_MAX, 4);
    put(s, 1, 2);    /* version, augmentation "" */
    put(s, 1, 1);    /* code by 1, */
    put(s, 0x78, 1); /* data by -8 */
    put(s, ra, 1);
    put(s, 0, CIE_REST - 5);
}

/* No function has called this one; an empty expression for the CFA says that it switched. */
static void put_fde(struct section *s, const struct found *f, bool is_switch, unsigned ra)
{
    put(s, 20 + FDE_REST, 4);
    put(s, 0, 4); /* where the CIE is */
    put(s, f->from, 8);
    put(s, f->to - f->from, 8);
    put(s, UNDEFINED | ra << 8, 2);
    put(s, is_switch ? DEF_CFA_EXPRESSION : 0, 2);
}

size_t cairn_go_frames(const struct cairn_elf *elf, uint8_t ret_bytes[CAIRN_GO_BYTES])
{
    struct cairn_go_table table;
    struct found found[N_KNOWN] = {0};
    struct section s = {.bytes = ret_bytes};
    unsigned ra = elf->machine == EM_X86_64 ? 16 : elf->machine == EM_AARCH64 ? 30 : 0;
    bool any = false;
    if (!ra || !elf->is64 || elf->swap || !cairn_go_table_open(elf, &table))
        return 0;
    for (uint64_t i = 0; i < table.n; i++) {
        const char *name = runtime_name(&table, i);
        if (name)
            find_function(&table, i, name, found);
    }
    put_cie(&s, ra);
    for (size_t k = 0; k < N_KNOWN; k++) {
        if (!found[k].to)
            continue;
        any = true;
        put_fde(&s, &found[k], known[k].is_switch, ra);
    }
    return any ? s.size : 0;
}
