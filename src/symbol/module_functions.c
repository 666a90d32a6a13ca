/* SPDX-License-Identifier: MIT */
#include "symbol/module_functions.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "dwarf/cfi_hdr.h"
#include "symbol/module.h"

#ifndef PT_ARM_EXIDX
#define PT_ARM_EXIDX 0x70000001
#endif

static bool find_segment(const struct cairn_elf *elf, uint32_t type,
                         struct cairn_elf_segment *ret_segment)
{
    for (uint32_t i = 0; cairn_elf_segment(elf, i, ret_segment); i++)
        if (ret_segment->type == type)
            return true;
    return false;
}

static void find_eh_frame(const struct cairn_elf *elf, struct cairn_cfi *cfi)
{
    struct cairn_elf_segment segment;
    if (find_segment(elf, PT_GNU_EH_FRAME, &segment) &&
        cairn_elf_bytes_at(elf, segment.vaddr, &cfi->hdr)) {
        cfi->hdr_vaddr = segment.vaddr;
        cfi->hdr.size = cfi->hdr.size < segment.mem_size ? cfi->hdr.size : (size_t)segment.mem_size;
    }
    if (cairn_elf_find_plain(elf, ".eh_frame", &cfi->vaddr, &cfi->bytes))
        return;
    /* Without section headers the table says where it is. */
    if (cairn_cfi_hdr_section(cfi, &cfi->vaddr) && cairn_elf_bytes_at(elf, cfi->vaddr, &cfi->bytes))
        cairn_cfi_hdr_cut(cfi);
    else
        cfi->bytes = (struct cairn_span){0};
}

static void find_exidx(const struct cairn_elf *elf, struct cairn_module_functions *f)
{
    struct cairn_elf_segment segment;
    if (elf->machine != EM_ARM || elf->is64 || !find_segment(elf, PT_ARM_EXIDX, &segment) ||
        !cairn_elf_bytes_at(elf, segment.vaddr, &f->exidx.index))
        return;
    if (f->exidx.index.size > segment.mem_size)
        f->exidx.index.size = (size_t)segment.mem_size;
    f->exidx.index_vaddr = (uint32_t)segment.vaddr;
    f->exidx.swap = elf->swap;
}

static void find_stubs(const struct cairn_elf *elf, struct cairn_module_functions *f)
{
    struct cairn_elf_section section;
    for (uint32_t i = 0; i < elf->n_sections && f->n_stubs < CAIRN_MODULE_STUB_SECTIONS; i++)
        if (cairn_elf_section(elf, i, &section) &&
            (strncmp(section.name, ".plt", 4) == 0 || strcmp(section.name, ".iplt") == 0))
            f->stubs[f->n_stubs++] =
                (struct cairn_module_function){section.vaddr, section.vaddr + section.size};
}

static void open_sections(const struct cairn_module *m, struct cairn_module_functions *f)
{
    const struct cairn_elf *image = &m->image;
    uint64_t vaddr;
    f->eh_frame = (struct cairn_cfi){
        .machine = image->machine, .address_size = image->is64 ? 8 : 4, .swap = image->swap};
    f->debug_frame = f->eh_frame;
    f->debug_frame.debug_frame = true;
    if (m->has_image) {
        find_eh_frame(image, &f->eh_frame);
        find_exidx(image, f);
        (void)cairn_go_table_open(image, &f->go);
    }
    if (!cairn_elf_find_plain(image, ".debug_frame", &vaddr, &f->debug_frame.bytes))
        cairn_elf_find_plain(&m->debug, ".debug_frame", &vaddr, &f->debug_frame.bytes);
    find_stubs(image, f);
    f->opened = true;
}

static int add_entries(struct cairn_module_functions *f, const struct cairn_cfi *cfi)
{
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_cfi_entry entry;
    while (cfi->bytes.size && cairn_cfi_next_entry(&iter, &entry)) {
        if (cairn_grow((void **)&f->list, &f->cap, f->n + 1, sizeof *f->list) < 0)
            return CAIRN_E_NOMEM;
        f->list[f->n++] = (struct cairn_module_function){entry.from, entry.to};
    }
    return CAIRN_OK;
}

static int by_start(const void *left, const void *right)
{
    const struct cairn_module_function *a = left, *b = right;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}

/* A list is made once, however many addresses a damaged table has no answer for. */
static int make_list(struct cairn_module_functions *f, struct cairn_err *err)
{
    if (f->listed)
        return CAIRN_OK;
    int code = add_entries(f, &f->eh_frame);
    if (code == CAIRN_OK)
        code = add_entries(f, &f->debug_frame);
    if (code < 0) {
        f->n = 0;
        return cairn_fail_memory(err);
    }
    if (f->n)
        qsort(f->list, f->n, sizeof *f->list, by_start);
    f->listed = true;
    return CAIRN_OK;
}

static bool ask_list(const struct cairn_module_functions *f, uint64_t vaddr,
                     struct cairn_module_function *ret_function)
{
    size_t n = CAIRN_COUNT_BELOW(f->list, f->n, from, vaddr);
    if (!n || vaddr >= f->list[n - 1].to)
        return false;
    *ret_function = f->list[n - 1];
    return true;
}

/* Linkers merge neighbours whose program is in the index itself. */
static bool ask_exidx(const struct cairn_exidx *exidx, uint64_t vaddr,
                      struct cairn_module_function *ret_function)
{
    size_t i;
    if (vaddr > UINT32_MAX || !cairn_exidx_find(exidx, (uint32_t)vaddr, &i) ||
        i + 1 == cairn_exidx_count(exidx))
        return false;
    uint32_t what = cairn_exidx_what(exidx, i), end = cairn_exidx_start(exidx, i + 1);
    if (what == CAIRN_EXIDX_WHAT_CANTUNWIND || what >> 31 || vaddr >= end)
        return false;
    *ret_function = (struct cairn_module_function){cairn_exidx_start(exidx, i), end};
    return true;
}

/* One FDE describes all stubs of a procedure linkage table together: they are no function. */
static bool is_stubs(const struct cairn_module_functions *f, uint64_t vaddr)
{
    for (size_t i = 0; i < f->n_stubs; i++)
        if (vaddr >= f->stubs[i].from && vaddr < f->stubs[i].to)
            return true;
    return false;
}

static int ask(struct cairn_module_functions *f, uint64_t vaddr,
               struct cairn_module_function *ret_function, struct cairn_err *err)
{
    struct cairn_fde fde;
    enum cairn_cfi_table answer = CAIRN_CFI_TABLE_GAP;
    if (f->eh_frame.bytes.size && !f->listed)
        answer = cairn_cfi_ask_table(&f->eh_frame, vaddr, &fde);
    if (answer == CAIRN_CFI_TABLE_COVERS) {
        *ret_function = (struct cairn_module_function){fde.from, fde.to};
        return 1;
    }
    if (answer == CAIRN_CFI_TABLE_WRONG || f->debug_frame.bytes.size) {
        int code = make_list(f, err);
        if (code < 0)
            return code;
    }
    return ask_list(f, vaddr, ret_function) || ask_exidx(&f->exidx, vaddr, ret_function) ||
           cairn_go_table_find(&f->go, vaddr, &ret_function->from, &ret_function->to);
}

int cairn_module_find_function(struct cairn_module *module, uint64_t vaddr, uint64_t *ret_from,
                               uint64_t *ret_to, struct cairn_err *err)
{
    struct cairn_module_functions *functions = &module->functions_without_name;
    struct cairn_module_function found;
    if (module->is_listed || module->found.is_relocatable)
        return 0;
    if (!functions->opened)
        open_sections(module, functions);
    int code = ask(functions, vaddr, &found, err);
    if (code <= 0)
        return code;
    if (is_stubs(functions, found.from) || !cairn_elf_is_code(&module->image, found.from))
        return 0;
    *ret_from = found.from;
    *ret_to = found.to;
    return 1;
}

size_t cairn_module_functions_bytes(const struct cairn_module_functions *functions)
{
    return functions->cap * sizeof *functions->list;
}

void cairn_module_functions_done(struct cairn_module_functions *functions)
{
    cairn_free(functions->list);
    *functions = (struct cairn_module_functions){0};
}
