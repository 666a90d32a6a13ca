/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_rule.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "rt/pages.h"
#include "rt/self.h"
#include "unwind/exidx.h"
#include "unwind/local_cpu.h"
#include "unwind/local_rows.h"
#include "unwind/modules.h"
#include "unwind/sigframe.h"
#include "unwind/unload.h"

enum {
    HDR_BYTES = 12, /* version, three encodings, pointer, count */
    ROW_BYTES = 8,
    /* What every linker writes: DW_EH_PE_pcrel | sdata4, udata4, datarel | sdata4. */
    POINTER_ENCODING = 0x1b,
    COUNT_ENCODING = 0x03,
    TABLE_ENCODING = 0x3b,
    MAX_ENTRY_BYTES = 1 << 24,
    SMALLEST_PAGE = 4096,
    HEADERS_BYTES = 1024, /* of program headers: there are a dozen */
    CODE_BYTES = 16,  /* that tell where a signal handler or a thread's first function returns */
    EXTAB_BYTES = 512 /* of an entry's instructions; compilers write a dozen */
};

/* Where unwind information is read from: in place within one segment, or by way of the kernel. */
struct source {
    uintptr_t from, to; /* vas; equal: by way of the kernel */
};

static bool fetch(const struct source *source, uintptr_t va, void *to, size_t size)
{
    if (source->from == source->to)
        return cairn_self_read(va, to, size);
    if (va < source->from || va > source->to || size > source->to - va)
        return false;
    cairn_self_copy(va, to, size);
    return true;
}

static bool fetch_u32(const struct source *source, uintptr_t va, uint32_t *ret_value)
{
    return fetch(source, va, ret_value, sizeof(*ret_value));
}

/* Program headers, at va [from, to), of what was loaded at `base`. */
struct headers {
    struct source source;
    uintptr_t base;
};

static bool next_header(const struct headers *h, uintptr_t *at, ElfW(Phdr) * ret_segment)
{
    uintptr_t here = *at;
    *at += sizeof(*ret_segment);
    return here < h->source.to && fetch(&h->source, here, ret_segment, sizeof(*ret_segment));
}

/* Those behind the ELF header at the start of the module. */
static bool headers_of(const struct cairn_local_module *module, struct headers *ret)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segment = {.p_type = PT_NULL};
    if (module->to - module->from < SMALLEST_PAGE)
        return false;
    cairn_self_copy(module->from, &head, sizeof(head));
    size_t bytes = (size_t)head.e_phnum * sizeof(segment);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(segment) ||
        bytes > HEADERS_BYTES || head.e_phoff > SMALLEST_PAGE - bytes)
        return false;
    uintptr_t at = module->from + head.e_phoff;
    ret->source = (struct source){at, at + bytes};
    while (segment.p_type != PT_LOAD)
        if (!next_header(ret, &at, &segment))
            return false;
    ret->base = module->from - segment.p_vaddr;
    return segment.p_offset == 0; /* the first one holds the header */
}

/* Those of the program, of which glibc may say that it begins with its text (2.36, where the kernel
 * loaded it and its segments do not follow each other closely). They always stay. */
static bool headers_of_program(struct headers *ret)
{
    ElfW(Phdr) segment = {.p_type = PT_NULL};
    uintptr_t start = getauxval(AT_PHDR), at = start;
    if (!start || getauxval(AT_PHENT) != sizeof(segment))
        return false;
    ret->source = (struct source){start, start + getauxval(AT_PHNUM) * sizeof(segment)};
    while (segment.p_type != PT_PHDR)
        if (!next_header(ret, &at, &segment))
            return false;
    ret->base = start - segment.p_vaddr;
    return true;
}

/* The readable segment that `va` lies in. */
static bool find_segment(const struct headers *h, uintptr_t va, struct source *ret_source)
{
    ElfW(Phdr) segment;
    for (uintptr_t at = h->source.from; next_header(h, &at, &segment);) {
        uintptr_t from = h->base + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_R) || va < from ||
            va - from >= segment.p_filesz)
            continue;
        *ret_source = (struct source){from, from + segment.p_filesz};
        return true;
    }
    return false;
}

/* The segment that `frames` lies in; by way of the kernel where no headers tell. */
static struct source source_of(const struct cairn_local_module *module, bool in_place)
{
    struct source source = {0, 0};
    struct headers headers;
    if (in_place && headers_of(module, &headers) && find_segment(&headers, module->frames, &source))
        return source;
    if (in_place && headers_of_program(&headers))
        (void)find_segment(&headers, module->frames, &source);
    return source;
}

/* The va of the FDE that may cover `va`: that of the last function which begins at or before it. */
static bool find_fde(const struct source *source, uintptr_t hdr, uintptr_t va, uintptr_t *ret_fde)
{
    uint8_t head[HDR_BYTES];
    uint32_t n;
    if (!fetch(source, hdr, head, sizeof(head)) || head[0] != 1 || head[1] != POINTER_ENCODING ||
        head[2] != COUNT_ENCODING || head[3] != TABLE_ENCODING)
        return false;
    memcpy(&n, head + 8, sizeof(n));
    int64_t wanted = (int64_t)(va - hdr);
    uint32_t low = 0, high = n, word;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!fetch_u32(source, hdr + HDR_BYTES + (uintptr_t)middle * ROW_BYTES, &word))
            return false;
        if ((int32_t)word <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 ||
        !fetch_u32(source, hdr + HDR_BYTES + (uintptr_t)(low - 1) * ROW_BYTES + 4, &word))
        return false;
    *ret_fde = hdr + (uintptr_t)(intptr_t)(int32_t)word;
    return true;
}

/* Both entries, one behind the other: a section of its own, in which only the distance between them
 * is another. Addresses that count from where they stand do so in the FDE alone. */
static bool copy_entries(const struct source *source, uintptr_t fde, struct cairn_local_row *row,
                         uint32_t *ret_fde_off)
{
    uint32_t fde_bytes, cie_bytes, distance;
    if (!fetch_u32(source, fde, &fde_bytes) || !fetch_u32(source, fde + 4, &distance))
        return false;
    uintptr_t cie = fde + 4 - distance;
    if (distance == 0 || !fetch_u32(source, cie, &cie_bytes) || cie_bytes > MAX_ENTRY_BYTES ||
        fde_bytes > MAX_ENTRY_BYTES)
        return false;
    uint32_t fde_off = (4 + cie_bytes + 7) & ~7u;
    size_t all = (size_t)fde_off + 4 + fde_bytes;
    uint8_t *to = row->bytes;
    if (all > sizeof(row->bytes)) {
        to = row->pages = cairn_pages_map(all);
        row->pages_bytes = all;
    }
    if (!to || !fetch(source, cie, to, 4 + cie_bytes) ||
        !fetch(source, fde, to + fde_off, 4 + fde_bytes))
        return false;
    uint32_t back = fde_off + 4;
    memcpy(to + fde_off + 4, &back, sizeof(back));
    row->cfi.bytes = (struct cairn_span){to, all};
    row->cfi.vaddr = fde - fde_off;
    *ret_fde_off = fde_off;
    return true;
}

static enum cairn_local_found find_in_cfi(const struct source *source, uintptr_t hdr, uintptr_t va,
                                          struct cairn_local_row *row)
{
    uintptr_t fde_va;
    uint32_t off;
    row->cfi =
        (struct cairn_cfi){.machine = cairn_local_arch->machine, .address_size = sizeof(uintptr_t)};
    if (!find_fde(source, hdr, va, &fde_va))
        return CAIRN_LOCAL_GAP;
    if (!copy_entries(source, fde_va, row, &off) || !cairn_cfi_fde_at(&row->cfi, off, &row->fde))
        return CAIRN_LOCAL_DAMAGED;
    if (va < row->fde.from || va >= row->fde.to)
        return CAIRN_LOCAL_GAP;
    return cairn_cfi_machine_row_at(&row->machine, &row->cfi, &row->fde, va) ? CAIRN_LOCAL_RULE
                                                                             : CAIRN_LOCAL_DAMAGED;
}

/* The entry of arm's index for `va` and the one behind it, and what .ARM.extab has of it: copies,
 * as if that were all that there is. */
static bool copy_exidx(const struct source *source, const struct cairn_local_module *module,
                       uintptr_t va, struct cairn_local_row *row, struct cairn_exidx *ret)
{
    size_t low = 0, high = module->n_exidx;
    uint32_t word, extab;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uintptr_t entry = module->frames + middle * CAIRN_EXIDX_ENTRY_BYTES;
        if (!fetch_u32(source, entry, &word))
            return false;
        if (cairn_exidx_target(word, (uint32_t)entry) <= (uint32_t)(va | 1))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    uintptr_t entry = module->frames + (low - 1) * CAIRN_EXIDX_ENTRY_BYTES;
    size_t bytes = (low < module->n_exidx ? 2 : 1) * CAIRN_EXIDX_ENTRY_BYTES, size = EXTAB_BYTES;
    if (!fetch(source, entry, row->bytes, bytes) || !fetch_u32(source, entry + 4, &word))
        return false;
    extab = cairn_exidx_target(word, (uint32_t)entry + 4);
    while (size > 0 && !fetch(source, extab, row->bytes + bytes, size))
        size /= 2;
    *ret = (struct cairn_exidx){.index = {row->bytes, bytes},
                                .index_vaddr = (uint32_t)entry,
                                .extab = {row->bytes + bytes, size},
                                .extab_vaddr = extab};
    return true;
}

static enum cairn_local_found find_in_exidx(const struct source *source,
                                            const struct cairn_local_module *module, uintptr_t va,
                                            struct cairn_local_row *row)
{
    struct cairn_exidx exidx;
    row->cfi = (struct cairn_cfi){.machine = EM_ARM, .address_size = 4};
    row->fde.cie = (struct cairn_cie){.ra_reg = cairn_local_arch->ra};
    if (!copy_exidx(source, module, va, row, &exidx))
        return CAIRN_LOCAL_GAP;
    switch (cairn_exidx_row(&exidx, 0, &row->machine.row)) {
    case CAIRN_EXIDX_ROW:
        return CAIRN_LOCAL_RULE;
    case CAIRN_EXIDX_CANTUNWIND:
        return CAIRN_LOCAL_GAP;
    default:
        return CAIRN_LOCAL_DAMAGED;
    }
}

static enum cairn_local_found find_in(const struct cairn_local_module *module, bool in_place,
                                      uintptr_t va, struct cairn_local_row *row)
{
    struct source source = source_of(module, in_place);
    if (module->n_exidx)
        return find_in_exidx(&source, module, va, row);
    return module->frames ? find_in_cfi(&source, module->frames, va, row) : CAIRN_LOCAL_GAP;
}

struct cairn_local_row *cairn_local_row_find(uintptr_t va, enum cairn_local_found *ret_found)
{
    struct cairn_local_module module;
    struct cairn_local_row *row = NULL;
    bool in_place = cairn_unload_enter();
    *ret_found = CAIRN_LOCAL_NO_MODULE;
    if (cairn_modules_find(va, &module)) {
        row = cairn_local_rows_take();
        *ret_found = CAIRN_LOCAL_NO_MEMORY;
    }
    if (row) {
        row->pages = NULL;
        *ret_found = find_in(&module, in_place, va, row);
    }
    cairn_unload_leave();
    if (row && *ret_found != CAIRN_LOCAL_RULE) {
        cairn_local_row_done(row);
        return NULL;
    }
    return row;
}

void cairn_local_row_done(struct cairn_local_row *row)
{
    cairn_pages_unmap(row->pages, row->pages_bytes);
    cairn_local_rows_give(row);
}

/* By what follows a call in code that has no CFI (musl's). */
static bool ends_thread(uintptr_t ret)
{
    uint8_t code[CODE_BYTES];
    return cairn_self_read(ret, code, sizeof(code)) &&
           cairn_local_arch->ends_thread((struct cairn_span){code, sizeof(code)});
}

/* A return address that is the end of the function before it, where no call is what led there: a
 * signal handler's, or that of a coroutine's first function. Whoever goes by rules must look. */
static bool is_start(uintptr_t va)
{
    return cairn_sigframe_at(cairn_local_arch, &cairn_self_memory, va) != CAIRN_SIGFRAME_NONE ||
           ends_thread(va);
}

enum cairn_local_found cairn_local_rule_make(uintptr_t va, uint32_t *ret_rule)
{
    enum cairn_local_found found;
    struct cairn_local_row *row = cairn_local_row_find(va, &found);
    bool is_first = found == CAIRN_LOCAL_GAP && ends_thread(va + 1);
    *ret_rule = cairn_rule_make(is_first ? CAIRN_RULE_OUTERMOST : CAIRN_RULE_NONE, 0);
    if (!row)
        return found;
    *ret_rule = row->fde.to == va + 1 && is_start(va + 1)
                    ? cairn_rule_make(CAIRN_RULE_SIDE, 0)
                    : cairn_local_arch->encode(&row->cfi, &row->fde.cie, &row->machine.row);
    cairn_local_row_done(row);
    return found;
}
