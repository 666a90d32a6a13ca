/* SPDX-License-Identifier: MIT */
#include "unwind/space_module.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "elf/minidebug.h"
#include "unwind/fp_step.h"
#include "unwind/table.h"

enum { FDES_MAX = 1 << 24 };

static struct cairn_cfi empty_cfi(const struct cairn_elf *elf)
{
    return (struct cairn_cfi){
        .machine = elf->machine,
        .address_size = elf->is64 ? 8 : 4,
        .swap = elf->swap,
    };
}

static bool find_segment(const struct cairn_elf *elf, uint32_t type,
                         struct cairn_elf_segment *ret_segment)
{
    for (uint32_t i = 0; cairn_elf_segment(elf, i, ret_segment); i++)
        if (ret_segment->type == type)
            return true;
    return false;
}

static bool find_bytes(const struct cairn_elf *elf, const char *name, uint64_t *ret_vaddr,
                       struct cairn_span *ret_bytes)
{
    struct cairn_elf_section section;
    if (!cairn_elf_find_section(elf, name, &section) || section.type == SHT_NOBITS ||
        !cairn_elf_section_bytes(elf, &section, ret_bytes) || !ret_bytes->size)
        return false;
    *ret_vaddr = section.vaddr;
    return true;
}

/* Where .eh_frame_hdr says that .eh_frame begins (LSB Core 5.0, 10.6.2): version, three encodings,
 * then the pointer. Linkers write it relative to its place; others are left to section headers. */
static bool hdr_frame_vaddr(const struct cairn_elf *elf, struct cairn_span hdr, uint64_t hdr_vaddr,
                            uint64_t *ret_vaddr)
{
    enum { PCREL_SDATA4 = 0x1b };
    struct cairn_reader r = cairn_reader_of(hdr, elf->swap);
    bool sound = cairn_reader_u8(&r) == 1 && cairn_reader_u8(&r) == PCREL_SDATA4;
    cairn_reader_skip(&r, 2);
    uint64_t distance = (uint64_t)(int64_t)(int32_t)cairn_reader_u32(&r);
    *ret_vaddr = hdr_vaddr + 4 + distance;
    return sound && !r.failed;
}

static void open_eh_frame(const struct cairn_elf *elf, struct cairn_cfi *cfi)
{
    struct cairn_elf_segment segment;
    uint64_t got_vaddr, vaddr;
    *cfi = empty_cfi(elf);
    if (find_segment(elf, PT_GNU_EH_FRAME, &segment) &&
        cairn_elf_bytes_at(elf, segment.vaddr, &cfi->hdr)) {
        if (cfi->hdr.size > segment.mem_size)
            cfi->hdr.size = (size_t)segment.mem_size;
        cfi->hdr_vaddr = segment.vaddr;
    }
    if (!find_bytes(elf, ".eh_frame", &cfi->vaddr, &cfi->bytes) && cfi->hdr.size &&
        hdr_frame_vaddr(elf, cfi->hdr, cfi->hdr_vaddr, &vaddr) &&
        cairn_elf_bytes_at(elf, vaddr, &cfi->bytes))
        cfi->vaddr = vaddr;
    struct cairn_span ignored;
    if (find_bytes(elf, ".text", &vaddr, &ignored))
        cfi->text_vaddr = vaddr;
    if (find_bytes(elf, ".got", &got_vaddr, &ignored))
        cfi->data_vaddr = got_vaddr;
}

static void open_debug_frame(const struct cairn_elf *elf, struct cairn_module_cfi *frame)
{
    struct cairn_err why;
    struct cairn_elf_section section;
    frame->cfi = empty_cfi(elf);
    frame->cfi.debug_frame = true;
    if (!cairn_elf_find_section(elf, ".debug_frame", &section))
        return;
    if (cairn_elf_read_section_of(elf, &section, &frame->data, &why) < 0)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    else
        frame->cfi.bytes = frame->data.bytes;
}

static void open_exidx(const struct cairn_elf *elf, struct cairn_exidx *exidx)
{
    struct cairn_elf_segment segment;
    uint64_t vaddr;
    if (elf->machine != EM_ARM || elf->is64 || !find_segment(elf, PT_ARM_EXIDX, &segment) ||
        !cairn_elf_bytes_at(elf, segment.vaddr, &exidx->index))
        return;
    if (exidx->index.size > segment.mem_size)
        exidx->index.size = (size_t)segment.mem_size;
    exidx->index_vaddr = (uint32_t)segment.vaddr;
    exidx->swap = elf->swap;
    /* Without section headers the table lies in the same segment as its index. */
    if (find_bytes(elf, ".ARM.extab", &vaddr, &exidx->extab)) {
        exidx->extab_vaddr = (uint32_t)vaddr;
        return;
    }
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++)
        if (segment.type == PT_LOAD && exidx->index_vaddr - segment.vaddr < segment.file_size &&
            cairn_elf_bytes_at(elf, segment.vaddr, &exidx->extab))
            exidx->extab_vaddr = (uint32_t)segment.vaddr;
}

static int compare_places(const void *a, const void *b)
{
    const struct cairn_fde_place *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return left->off < right->off ? -1 : left->off > right->off;
}

/* A section without a table of its own is gone through once. */
static int index_fdes(struct cairn_module_cfi *frame)
{
    struct cairn_cfi_iter iter = {.cfi = &frame->cfi};
    struct cairn_fde fde;
    if (!frame->cfi.bytes.size || frame->cfi.hdr.size)
        return CAIRN_OK;
    while (frame->n_index < FDES_MAX && cairn_cfi_next(&iter, &fde)) {
        /* Of a function that the linker threw away the addresses are 0. */
        if (fde.from == 0 || fde.from >= fde.to)
            continue;
        if (cairn_grow((void **)&frame->index, &frame->cap_index, frame->n_index + 1,
                       sizeof *frame->index) < 0)
            return CAIRN_E_NOMEM;
        frame->index[frame->n_index++] =
            (struct cairn_fde_place){.from = fde.from, .to = fde.to, .off = fde.off};
    }
    if (frame->n_index)
        qsort(frame->index, frame->n_index, sizeof *frame->index, compare_places);
    return CAIRN_OK;
}

static void cfi_done(struct cairn_module_cfi *frame)
{
    cairn_elf_data_done(&frame->data);
    cairn_free(frame->index);
}

static int open_rules(struct cairn_space_module *m)
{
    open_eh_frame(&m->elf, &m->eh_frame.cfi);
    open_debug_frame(&m->elf, &m->debug_frame);
    if (!m->debug_frame.cfi.bytes.size && m->debug_file != m->file)
        open_debug_frame(&m->debug, &m->debug_frame);
    open_exidx(&m->elf, &m->exidx);
    int code = index_fdes(&m->eh_frame);
    return code < 0 ? code : index_fdes(&m->debug_frame);
}

int cairn_space_module_new(struct cairn_span file, struct cairn_span debug_file,
                           struct cairn_space_module **ret_module, struct cairn_err *err)
{
    struct cairn_space_module *m = cairn_alloc(1, sizeof *m);
    struct cairn_err why;
    if (!m)
        return cairn_fail_memory(err);
    m->file = file.data;
    m->debug_file = debug_file.data;
    m->usable = cairn_elf_open(file, &m->elf, &why) == CAIRN_OK;
    if (!m->usable)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    m->debug = m->elf;
    if (!debug_file.data || cairn_elf_open(debug_file, &m->debug, NULL) < 0 ||
        m->debug.machine != m->elf.machine) {
        m->debug = m->elf;
        m->debug_file = m->file;
    }
    if (m->usable && open_rules(m) < 0) {
        cairn_space_module_free(m);
        return cairn_fail_memory(err);
    }
    *ret_module = m;
    return CAIRN_OK;
}

void cairn_space_module_free(struct cairn_space_module *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_symtabs; i++)
        cairn_elf_symtab_done(&m->symtabs[i]);
    cairn_elf_data_done(&m->minidebug);
    cfi_done(&m->eh_frame);
    cfi_done(&m->debug_frame);
    cairn_free(m);
}

/* The last place that begins at or before the vaddr. */
static const struct cairn_fde_place *find_place(const struct cairn_module_cfi *frame,
                                                uint64_t vaddr)
{
    size_t low = 0, high = frame->n_index;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (frame->index[middle].from <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low && vaddr < frame->index[low - 1].to ? &frame->index[low - 1] : NULL;
}

static bool find_fde(const struct cairn_module_cfi *frame, uint64_t vaddr, struct cairn_fde *ret)
{
    if (!frame->cfi.bytes.size)
        return false;
    if (frame->cfi.hdr.size)
        return cairn_cfi_find(&frame->cfi, vaddr, ret);
    const struct cairn_fde_place *place = find_place(frame, vaddr);
    return place && cairn_cfi_fde_at(&frame->cfi, place->off, ret);
}

void cairn_space_module_find(const struct cairn_space_module *m, uint64_t vaddr,
                             struct cairn_module_entry *ret)
{
    ret->kind = CAIRN_ENTRY_NONE;
    if (!m->usable)
        return;
    if (find_fde(&m->eh_frame, vaddr, &ret->fde)) {
        ret->kind = CAIRN_ENTRY_FDE;
        ret->cfi = &m->eh_frame.cfi;
    } else if (find_fde(&m->debug_frame, vaddr, &ret->fde)) {
        ret->kind = CAIRN_ENTRY_FDE;
        ret->cfi = &m->debug_frame.cfi;
    } else if (m->exidx.index.size && vaddr <= UINT32_MAX &&
               cairn_exidx_find(&m->exidx, (uint32_t)vaddr, &ret->exidx)) {
        ret->kind = CAIRN_ENTRY_EXIDX;
    }
}

/* The lowest and the highest vaddr of code. */
static void find_text(const struct cairn_elf *elf, struct cairn_unwind_table_input *input)
{
    struct cairn_elf_segment segment;
    input->text_from = UINT64_MAX;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++) {
        uint64_t end;
        if (segment.type != PT_LOAD || !(segment.flags & PF_X) ||
            __builtin_add_overflow(segment.vaddr, segment.mem_size, &end))
            continue;
        if (segment.vaddr < input->text_from)
            input->text_from = segment.vaddr;
        if (end > input->text_to)
            input->text_to = end;
    }
}

static bool ask_keeps_fp(const struct cairn_space_module *m, const struct cairn_unwind_arch *arch)
{
    struct cairn_unwind_table_input input = {
        .arch = arch,
        .eh_frame = m->eh_frame.cfi.bytes.size ? &m->eh_frame.cfi : NULL,
        .debug_frame = m->debug_frame.cfi.bytes.size ? &m->debug_frame.cfi : NULL,
        .exidx = m->exidx.index.size ? &m->exidx : NULL,
    };
    struct cairn_unwind_table_built built;
    struct cairn_unwind_table table;
    uint64_t work_bytes;
    find_text(&m->elf, &input);
    if (!arch->encode || cairn_unwind_table_measure(&input, &work_bytes) != CAIRN_TABLE_OK ||
        work_bytes > SIZE_MAX)
        return true;
    void *work = cairn_alloc((size_t)work_bytes, 1);
    enum cairn_unwind_table_end end =
        work ? cairn_unwind_table_build(&input, work, work_bytes, &built) : CAIRN_TABLE_NO_ROOM;
    bool keeps = end == CAIRN_TABLE_NOTHING ||
                 (end == CAIRN_TABLE_OK && cairn_unwind_table_open(built.image, &table) &&
                  cairn_fp_kept(arch, &table));
    cairn_free(work);
    return keeps;
}

bool cairn_space_module_keeps_fp(struct cairn_space_module *m, const struct cairn_unwind_arch *arch)
{
    if (!m->asked_fp)
        m->keeps_fp = ask_keeps_fp(m, arch);
    m->asked_fp = true;
    return m->keeps_fp;
}

static void add_symtab(struct cairn_space_module *m, const struct cairn_elf *elf,
                       enum cairn_elf_symtab_kind kind)
{
    struct cairn_elf_symtab *table = &m->symtabs[m->n_symtabs];
    struct cairn_err why;
    if (cairn_elf_symtab_open(elf, kind, &m->elf, table, &why) < 0)
        cairn_log_err(CAIRN_LOG_INFO, &why);
    else if (cairn_elf_symtab_is_empty(table))
        cairn_elf_symtab_done(table);
    else
        m->n_symtabs++;
}

/* In the order in which they are asked: the fullest first. */
static void open_names(struct cairn_space_module *m)
{
    struct cairn_elf packed;
    m->asked_names = true;
    add_symtab(m, &m->elf, CAIRN_ELF_SYMTAB);
    if (!m->n_symtabs && m->debug_file != m->file)
        add_symtab(m, &m->debug, CAIRN_ELF_SYMTAB);
    if (!m->n_symtabs && cairn_elf_read_minidebug(&m->elf, &m->minidebug, NULL) == CAIRN_OK &&
        m->minidebug.bytes.size && cairn_elf_open(m->minidebug.bytes, &packed, NULL) == CAIRN_OK &&
        packed.machine == m->elf.machine)
        add_symtab(m, &packed, CAIRN_ELF_SYMTAB);
    add_symtab(m, &m->elf, CAIRN_ELF_DYNSYM);
}

const struct cairn_elf_symbol *cairn_space_module_symbol(struct cairn_space_module *m,
                                                         uint64_t vaddr)
{
    const struct cairn_elf_symbol *symbol = NULL;
    if (!m->usable)
        return NULL;
    if (!m->asked_names)
        open_names(m);
    for (size_t i = 0; i < m->n_symtabs && !symbol; i++)
        if (cairn_elf_symtab_ask(&m->symtabs[i], vaddr, &symbol, NULL) < 0)
            symbol = NULL;
    return symbol;
}
