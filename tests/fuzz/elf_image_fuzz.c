/* SPDX-License-Identifier: MIT */
/* Everything of the room elf that reads a file's bytes. */
#include "elf/note.h"
#include "elf/symbol_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void touch(struct cairn_span bytes)
{
    for (size_t i = 0; i < bytes.size; i += 64)
        sink += bytes.data[i];
    if (bytes.size)
        sink += bytes.data[bytes.size - 1];
}

static void walk_tables(const struct cairn_elf *elf)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++) {
        uint64_t vaddr;
        if (cairn_elf_vaddr_of_mapping(elf, segment.off, 4096, i & 1, &vaddr))
            sink += vaddr + cairn_elf_is_code(elf, segment.vaddr);
    }
    uint64_t first;
    if (cairn_elf_first_vaddr(elf, 65536, &first))
        sink += first + cairn_elf_is_debug_only(elf);
    struct cairn_elf_section section;
    for (uint32_t i = 0; i < 64 && cairn_elf_section(elf, i, &section); i++) {
        struct cairn_span bytes;
        struct cairn_elf_data data;
        if (cairn_elf_section_bytes(elf, &section, &bytes))
            touch(bytes);
        if (cairn_elf_read_section_of(elf, &section, &data, NULL) == CAIRN_OK) {
            touch(data.bytes);
            cairn_elf_data_done(&data);
        }
    }
}

static void walk_symbols(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind)
{
    struct cairn_elf_symtab symtab;
    if (cairn_elf_symtab_read(elf, kind, &symtab, NULL) < 0)
        return;
    for (size_t i = 0; i < symtab.n; i++) {
        const struct cairn_elf_symbol *symbol = &symtab.symbols[i];
        const struct cairn_elf_symbol *found = cairn_elf_symtab_find(&symtab, symbol->vaddr);
        if (!symbol->size || !*symbol->name || !found ||
            symbol->vaddr - found->vaddr >= found->size)
            __builtin_trap(); /* whoever starts here is covered by someone */
        sink += strlen(symbol->name);
    }
    struct cairn_elf_symtab fresh;
    for (size_t i = 0; i < symtab.n && i < 8; i++) {
        uint64_t vaddr = symtab.symbols[i].vaddr + symtab.symbols[i].size / 2;
        const struct cairn_elf_symbol *scanned, *found = cairn_elf_symtab_find(&symtab, vaddr);
        if (cairn_elf_symtab_open(elf, kind, elf, &fresh, NULL) < 0 ||
            cairn_elf_symtab_ask(&fresh, vaddr, &scanned, NULL) < 0)
            __builtin_trap();
        if (!found != !scanned ||
            (found && (found->vaddr != scanned->vaddr || strcmp(found->name, scanned->name) != 0)))
            __builtin_trap();
        cairn_elf_symtab_done(&fresh);
    }
    cairn_elf_symtab_done(&symtab);
}

static int touch_name(void *ctx, const char *name, uint64_t vaddr)
{
    (void)ctx;
    if (!*name)
        __builtin_trap();
    sink += strlen(name) + vaddr;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_elf elf;
    struct cairn_err err;
    if (cairn_elf_open((struct cairn_span){data, size}, &elf, &err) < 0)
        return 0;
    walk_tables(&elf);
    walk_symbols(&elf, CAIRN_ELF_SYMTAB);
    walk_symbols(&elf, CAIRN_ELF_DYNSYM);
    (void)cairn_elf_symbols_each(&elf, CAIRN_ELF_SYMTAB, touch_name, NULL, NULL);

    struct cairn_span id;
    const char *link;
    uint32_t crc;
    struct cairn_elf_data data_of;
    if (cairn_elf_build_id(&elf, &id, &err) == CAIRN_OK)
        touch(id);
    if (cairn_elf_debuglink(&elf, &link, &crc))
        sink += strlen(link) + crc;
    if (cairn_elf_read_section(&elf, ".debug_info", &data_of, &err) == CAIRN_OK) {
        touch(data_of.bytes);
        cairn_elf_data_done(&data_of);
    }
    return 0;
}
