/* SPDX-License-Identifier: MIT */
#include "elf/plt.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    HEADER_BYTES_MAX = 64, /* lld's with retpolines has 48 */
    SLOTS_MAX = 1 << 24,
};

/* A word of the GOT that the loader fills with the address of a function. */
struct cairn_elf_slot {
    uint64_t vaddr;
    uint64_t resolver; /* of an IRELATIVE relocation */
    uint32_t symbol;   /* 0: none */
};

/* Numbers of one meaning in each machine's ABI. */
struct reloc_types {
    uint16_t machine;
    uint32_t jump_slot, glob_dat, irelative;
};

static const struct reloc_types known_types[] = {
    {EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE},
    {EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE},
    {EM_ARM, R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT, R_ARM_IRELATIVE},
    {EM_RISCV, R_RISCV_JUMP_SLOT, R_RISCV_64, 58 /* R_RISCV_IRELATIVE */},
};

static const struct reloc_types *types_of(const struct cairn_elf *elf)
{
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (known_types[i].machine == elf->machine)
            return &known_types[i];
    return NULL;
}

static void add_region(struct cairn_elf_plt *plt, struct cairn_span bytes, uint64_t vaddr,
                       bool is_section, bool has_header)
{
    if (bytes.size && plt->n_regions < CAIRN_ELF_PLT_REGIONS_MAX)
        plt->regions[plt->n_regions++] = (struct cairn_elf_plt_region){
            .code = {.elf = plt->elf, .bytes = bytes, .vaddr = vaddr},
            .is_section = is_section,
            .has_header = has_header,
        };
}

static bool is_plt_name(const char *name)
{
    return strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0 ||
           strcmp(name, ".iplt") == 0;
}

void cairn_elf_plt_open(const struct cairn_elf *elf, struct cairn_elf_plt *ret_plt)
{
    struct cairn_elf_plt plt = {.elf = elf};
    struct cairn_elf_section section;
    struct cairn_elf_segment load;
    struct cairn_span bytes;
    bool can = types_of(elf) && elf->type != ET_REL;
    for (uint32_t i = 1; can && cairn_elf_section(elf, i, &section); i++)
        if ((section.flags & SHF_EXECINSTR) && is_plt_name(section.name) &&
            cairn_elf_section_bytes(elf, &section, &bytes))
            add_region(&plt, bytes, section.vaddr, true, strcmp(section.name, ".plt") == 0);
    for (uint32_t i = 0; can && !elf->n_sections && cairn_elf_segment(elf, i, &load); i++)
        if (load.type == PT_LOAD && (load.flags & PF_X) &&
            cairn_elf_bytes_at(elf, load.vaddr, &bytes))
            add_region(&plt, bytes, load.vaddr, false, false);
    *ret_plt = plt;
}

void cairn_elf_plt_close(struct cairn_elf_plt *plt)
{
    cairn_free(plt->slots);
    *plt = (struct cairn_elf_plt){0};
}

static int compare_slots(const void *left, const void *right)
{
    const struct cairn_elf_slot *a = left, *b = right;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* Without an addend of its own the relocation finds it where it points to. */
static uint64_t resolver_addend(const struct cairn_elf *elf, const struct cairn_elf_relocs *relocs,
                                const struct cairn_elf_reloc *reloc)
{
    struct cairn_span bytes;
    if (relocs->has_addends)
        return reloc->addend;
    if (!cairn_elf_bytes_at(elf, reloc->vaddr, &bytes))
        return 0;
    struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
    return cairn_reader_word(&r, elf->is64 ? 8 : 4);
}

static uint64_t resolver_of(const struct cairn_elf *elf, const struct cairn_elf_relocs *relocs,
                            const struct cairn_elf_reloc *reloc)
{
    uint64_t vaddr = resolver_addend(elf, relocs, reloc);
    return elf->machine == EM_ARM ? vaddr & ~1ull : vaddr; /* the Thumb bit */
}

static int read_slots_of(struct cairn_elf_plt *plt, const struct cairn_elf_relocs *relocs,
                         size_t *cap, struct cairn_err *err)
{
    const struct reloc_types *types = types_of(plt->elf);
    struct cairn_elf_reloc reloc;
    for (uint64_t i = 0; cairn_elf_reloc(plt->elf, relocs, i, &reloc); i++) {
        bool is_call = reloc.type == types->jump_slot || reloc.type == types->glob_dat;
        if ((!is_call && reloc.type != types->irelative) || plt->n_slots == SLOTS_MAX)
            continue;
        if (cairn_grow((void **)&plt->slots, cap, plt->n_slots + 1, sizeof *plt->slots) < 0)
            return cairn_fail_memory(err);
        plt->slots[plt->n_slots++] = (struct cairn_elf_slot){
            .vaddr = reloc.vaddr,
            .symbol = is_call ? reloc.symbol : 0,
            .resolver = is_call ? 0 : resolver_of(plt->elf, relocs, &reloc),
        };
    }
    return CAIRN_OK;
}

static int read_slots(struct cairn_elf_plt *plt, struct cairn_err *err)
{
    size_t cap = 0;
    int code = CAIRN_OK;
    if (plt->has_slots)
        return CAIRN_OK;
    cairn_elf_read_dynamic(plt->elf, &plt->dynamic);
    for (size_t i = 0; i < plt->dynamic.n_relocs && code == CAIRN_OK; i++)
        code = read_slots_of(plt, &plt->dynamic.relocs[i], &cap, err);
    if (code < 0) {
        cairn_free(plt->slots);
        plt->slots = NULL;
        plt->n_slots = 0;
        return code;
    }
    if (plt->n_slots)
        qsort(plt->slots, plt->n_slots, sizeof *plt->slots, compare_slots);
    for (size_t i = 0; i < plt->n_regions; i++)
        plt->regions[i].code.got_vaddr = plt->dynamic.got_vaddr;
    plt->has_slots = true;
    return CAIRN_OK;
}

/* What fills the slot of a stub; a stub that pushes the number of its relocation has no other. */
static bool find_slot(const struct cairn_elf_plt *plt, const struct cairn_elf_stub_code *code,
                      struct cairn_elf_slot *ret_slot)
{
    if (!code->by_index) {
        struct cairn_elf_slot wanted = {.vaddr = code->slot}, *found;
        found = plt->n_slots
                    ? bsearch(&wanted, plt->slots, plt->n_slots, sizeof wanted, compare_slots)
                    : NULL;
        if (found)
            *ret_slot = *found;
        return found != NULL;
    }
    const struct cairn_elf_dynamic *dynamic = &plt->dynamic;
    struct cairn_elf_reloc reloc;
    for (size_t i = 0; i < dynamic->n_relocs; i++) {
        if (!dynamic->relocs[i].is_plt ||
            !cairn_elf_reloc(plt->elf, &dynamic->relocs[i], code->slot, &reloc))
            continue;
        *ret_slot = (struct cairn_elf_slot){.symbol = reloc.symbol};
        return true;
    }
    return false;
}

/* The stub that begins at `vaddr`. */
static bool stub_at(const struct cairn_elf_plt *plt, const struct cairn_elf_plt_region *region,
                    uint64_t vaddr, struct cairn_elf_stub *ret_stub)
{
    struct cairn_elf_stub_code code;
    struct cairn_elf_slot slot;
    if (!cairn_elf_stub_decode(&region->code, vaddr, &code) ||
        (code.by_index && !region->is_section) || !find_slot(plt, &code, &slot))
        return false;
    struct cairn_elf_stub stub = {.vaddr = vaddr, .size = code.size};
    if (slot.symbol)
        stub.name = cairn_elf_dynamic_name(plt->elf, &plt->dynamic, slot.symbol);
    else if (region->is_section)
        stub.resolver = slot.resolver;
    *ret_stub = stub;
    return stub.name || stub.resolver;
}

/* Stubs stand at multiples of the step from here: in a section from its start, else from 0. */
static uint64_t first_place(const struct cairn_elf_plt_region *region)
{
    return region->is_section ? region->code.vaddr : 0;
}

/* The first entry: what stands before the first stub. */
static bool header_of(const struct cairn_elf_plt *plt, const struct cairn_elf_plt_region *region,
                      struct cairn_elf_stub *ret_stub)
{
    unsigned step = cairn_elf_stub_step(plt->elf);
    struct cairn_elf_stub first;
    for (uint64_t size = 0; region->has_header && size <= HEADER_BYTES_MAX; size += step) {
        if (!stub_at(plt, region, region->code.vaddr + size, &first))
            continue;
        *ret_stub =
            (struct cairn_elf_stub){.vaddr = region->code.vaddr, .size = size, .is_header = true};
        return size > 0;
    }
    return false;
}

static bool find_in_region(const struct cairn_elf_plt *plt,
                           const struct cairn_elf_plt_region *region, uint64_t vaddr,
                           struct cairn_elf_stub *ret_stub)
{
    uint64_t step = cairn_elf_stub_step(plt->elf);
    uint64_t start = vaddr - ((vaddr - first_place(region)) & (step - 1));
    for (uint64_t back = 0; back < CAIRN_ELF_STUB_BYTES_MAX; back += step) {
        if (start < back || start - back < region->code.vaddr)
            break;
        if (stub_at(plt, region, start - back, ret_stub) &&
            vaddr - ret_stub->vaddr < ret_stub->size)
            return true;
    }
    return header_of(plt, region, ret_stub) && vaddr - ret_stub->vaddr < ret_stub->size;
}

int cairn_elf_plt_find(struct cairn_elf_plt *plt, uint64_t vaddr, struct cairn_elf_stub *ret_stub,
                       bool *ret_found, struct cairn_err *err)
{
    *ret_found = false;
    for (size_t i = 0; i < plt->n_regions && !*ret_found; i++) {
        const struct cairn_elf_plt_region *region = &plt->regions[i];
        if (vaddr - region->code.vaddr >= region->code.bytes.size)
            continue;
        int code = read_slots(plt, err);
        if (code < 0)
            return code;
        *ret_found = find_in_region(plt, region, vaddr, ret_stub);
    }
    return CAIRN_OK;
}

bool cairn_elf_plt_next(struct cairn_elf_plt *plt, struct cairn_elf_plt_walk *walk,
                        struct cairn_elf_stub *ret_stub, int *ret_code, struct cairn_err *err)
{
    *ret_code = CAIRN_OK;
    if (!plt->n_regions)
        return false;
    unsigned step = cairn_elf_stub_step(plt->elf);
    *ret_code = read_slots(plt, err);
    for (; *ret_code == CAIRN_OK && walk->region < plt->n_regions; walk->region++) {
        const struct cairn_elf_plt_region *region = &plt->regions[walk->region];
        size_t first = (size_t)(first_place(region) - region->code.vaddr) & (step - 1);
        if (!walk->off && header_of(plt, region, ret_stub)) {
            walk->off = (size_t)ret_stub->size;
            return true;
        }
        walk->off = walk->off > first ? walk->off : first;
        for (; walk->off < region->code.bytes.size; walk->off += step) {
            if (!stub_at(plt, region, region->code.vaddr + walk->off, ret_stub))
                continue;
            walk->off += (size_t)ret_stub->size;
            return true;
        }
        walk->off = 0;
    }
    return false;
}
