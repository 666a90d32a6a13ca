/* SPDX-License-Identifier: MIT */
#include "unwind/space_module.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/log.h"
#include "code/extent.h"
#include "elf/minidebug.h"
#include "unwind/cursor_row.h"
#include "unwind/derive.h"
#include "unwind/fp_step.h"

/* BYTES_A_STEP: of CFI that are made into rows in the time that a row saves, some 0.3 us. */
enum { FDES_MAX = 1 << 24, BYTES_A_STEP = 100 };

/* Rules are made of code where that is worth it: of so many bytes, a part of all in so many; of
 * less where a walk has met such code, but of no more than DERIVE_MET_MAX bytes. GAP_BYTES_MIN:
 * less lies between functions. FUNCTION_BYTES_MAX: of a function that
 * are looked through; NAMELESS_BYTES_MAX: where no symbol says where it starts. */
enum {
    GAP_BYTES_MIN = 32,
    DERIVE_BYTES_MIN = 128,
    DERIVE_PART = 64,
    DERIVE_MET_MAX = 256 << 10,
    FUNCTION_BYTES_MAX = 16 << 10,
    NAMELESS_BYTES_MAX = 4 << 10
};

/* The file's own was found if it is not packed. */
static void open_debug_frame(struct cairn_space_module *m, const struct cairn_elf *elf)
{
    struct cairn_err why;
    struct cairn_elf_section section;
    if (m->sections.debug_frame.bytes.size ||
        !cairn_elf_find_section(elf, ".debug_frame", &section))
        return;
    if (cairn_elf_read_section_of(elf, &section, &m->debug_frame, &why) < 0)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    else
        m->sections.debug_frame.bytes = m->debug_frame.bytes;
}

static int compare_places(const void *a, const void *b)
{
    const struct cairn_fde_place *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return left->off < right->off ? -1 : left->off > right->off;
}

/* A section without a table of its own is gone through once. */
static int index_fdes(const struct cairn_cfi *cfi, struct cairn_fde_index *index)
{
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_fde fde;
    if (!cfi->bytes.size || cfi->hdr.size)
        return CAIRN_OK;
    while (index->n < FDES_MAX && cairn_cfi_next(&iter, &fde)) {
        /* Of a function that the linker threw away the addresses are 0. */
        if (fde.from == 0 || fde.from >= fde.to)
            continue;
        if (cairn_grow((void **)&index->places, &index->cap, index->n + 1, sizeof *index->places) <
            0)
            return CAIRN_E_NOMEM;
        index->places[index->n++] =
            (struct cairn_fde_place){.from = fde.from, .to = fde.to, .off = fde.off};
    }
    if (index->n)
        qsort(index->places, index->n, sizeof *index->places, compare_places);
    return CAIRN_OK;
}

/* What nothing else describes. Where there are no tables at all nobody shall think that there are
 * some. */
static void add_crt(struct cairn_space_module *m)
{
    struct cairn_module_entry entry;
    if (!m->sections.eh_frame.bytes.size || m->sections.debug_frame.bytes.size)
        return;
    cairn_space_module_find(m, m->elf.entry, &entry);
    uint64_t bare = entry.kind == CAIRN_ENTRY_NONE ? m->elf.entry : 0;
    m->sections.debug_frame.bytes =
        (struct cairn_span){m->crt, cairn_crt_frames(&m->elf, bare, m->crt)};
}

static int open_rules(struct cairn_space_module *m)
{
    open_debug_frame(m, &m->elf);
    if (m->debug_file != m->file)
        open_debug_frame(m, &m->debug);
    m->sections.known.bytes = (struct cairn_span){m->go, cairn_go_frames(&m->elf, m->go)};
    int code = index_fdes(&m->sections.known, &m->known_index);
    if (code == CAIRN_OK)
        code = index_fdes(&m->sections.eh_frame, &m->eh_index);
    if (code < 0)
        return code;
    add_crt(m);
    return index_fdes(&m->sections.debug_frame, &m->debug_index);
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
    if (cairn_elf_open(file, &m->elf, &why) < 0)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    else
        m->usable =
            cairn_unwind_sections_for(cairn_row_arch_of(m->elf.machine), &m->elf, &m->sections);
    m->entry_bytes = cairn_crt_entry_bytes(&m->elf);
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
    cairn_elf_data_done(&m->debug_frame);
    cairn_free(m->image);
    cairn_free(m->known_index.places);
    cairn_free(m->eh_index.places);
    cairn_free(m->debug_index.places);
    cairn_buffer_done(&m->derived);
    cairn_free(m);
}

/* The last place that begins at or before the vaddr. */
static const struct cairn_fde_place *find_place(const struct cairn_fde_index *index, uint64_t vaddr)
{
    size_t n = CAIRN_COUNT_BELOW(index->places, index->n, from, vaddr);
    return n && vaddr < index->places[n - 1].to ? &index->places[n - 1] : NULL;
}

static bool find_fde(const struct cairn_cfi *cfi, const struct cairn_fde_index *index,
                     uint64_t vaddr, struct cairn_module_entry *ret)
{
    if (!cfi->bytes.size)
        return false;
    const struct cairn_fde_place *place = cfi->hdr.size ? NULL : find_place(index, vaddr);
    if (cfi->hdr.size ? !cairn_cfi_find(cfi, vaddr, &ret->fde)
                      : !place || !cairn_cfi_fde_at(cfi, place->off, &ret->fde))
        return false;
    ret->kind = CAIRN_ENTRY_FDE;
    ret->cfi = cfi;
    return true;
}

void cairn_space_module_find(const struct cairn_space_module *m, uint64_t vaddr,
                             struct cairn_module_entry *ret)
{
    const struct cairn_unwind_sections *s = &m->sections;
    ret->kind = CAIRN_ENTRY_NONE;
    if (!m->usable || find_fde(&s->known, &m->known_index, vaddr, ret) ||
        find_fde(&s->eh_frame, &m->eh_index, vaddr, ret) ||
        find_fde(&s->debug_frame, &m->debug_index, vaddr, ret))
        return;
    if (s->exidx.index.size && vaddr <= UINT32_MAX &&
        cairn_exidx_find(&s->exidx, (uint32_t)vaddr, &ret->exidx))
        ret->kind = CAIRN_ENTRY_EXIDX;
}

/* Gives back what the image does not need. */
static void keep_table(struct cairn_space_module *m, void *work, size_t image_bytes)
{
    void *image = cairn_realloc(work, image_bytes, 1);
    m->image = image ? image : work;
    if (cairn_unwind_table_open((struct cairn_span){m->image, image_bytes}, &m->table))
        return;
    cairn_free(m->image);
    m->image = NULL;
}

static void build_table(struct cairn_space_module *m)
{
    struct cairn_unwind_table_input input = cairn_unwind_table_input_of(&m->sections);
    struct cairn_unwind_table_built built;
    uint64_t work_bytes;
    m->asked_table = true;
    m->table_end = CAIRN_TABLE_NOTHING;
    m->has_exidx = input.exidx && !input.eh_frame && !input.debug_frame;
    if (!m->usable || !m->sections.arch->encode ||
        cairn_unwind_table_measure(&input, &work_bytes) != CAIRN_TABLE_OK || work_bytes > SIZE_MAX)
        return;
    void *work = cairn_alloc((size_t)work_bytes, 1);
    m->table_end =
        work ? cairn_unwind_table_build(&input, work, work_bytes, &built) : CAIRN_TABLE_NO_ROOM;
    if (m->table_end == CAIRN_TABLE_OK)
        keep_table(m, work, built.image.size);
    else
        cairn_free(work);
}

static void add_symtab(struct cairn_space_module *m, const struct cairn_elf *elf,
                       enum cairn_elf_symtab_kind kind)
{
    struct cairn_elf_symtab *table = &m->symtabs[m->n_symtabs];
    struct cairn_err why;
    if (cairn_elf_symtab_open(elf, kind, &m->elf, table, &why) < 0) {
        cairn_log_err(CAIRN_LOG_INFO, &why);
        return;
    }
    if (kind == CAIRN_ELF_DYNSYM)
        cairn_code_bound_labels(table, &m->elf);
    if (cairn_elf_symtab_is_empty(table))
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

struct gaps {
    struct cairn_derive_gap *items;
    size_t n, cap;
    uint64_t bytes;
};

static int add_gap(struct gaps *gaps, uint64_t from, uint64_t to)
{
    if (to < from + GAP_BYTES_MIN || to <= from)
        return CAIRN_OK;
    int code = cairn_grow((void **)&gaps->items, &gaps->cap, gaps->n + 1, sizeof *gaps->items);
    if (code < 0)
        return code;
    gaps->items[gaps->n++] = (struct cairn_derive_gap){from, to};
    gaps->bytes += to - from;
    return CAIRN_OK;
}

/* What no row covers of [from, to). */
static int add_gaps(const struct cairn_space_module *m, uint64_t from, uint64_t to,
                    struct gaps *gaps)
{
    const struct cairn_unwind_table *table = &m->table;
    int code = CAIRN_OK;
    uint64_t at = from, vaddr, next;
    uint32_t rule;
    bool covered = false;
    for (uint32_t i = 0; m->image && i < table->n_rows && code == CAIRN_OK; i++) {
        bool covers = cairn_rule_kind(table->rules[i]) != CAIRN_RULE_NONE;
        if (covers == covered || !cairn_unwind_table_row(table, i, &vaddr, &rule))
            continue;
        next = vaddr < from ? from : vaddr > to ? to : vaddr;
        if (!covered)
            code = add_gap(gaps, at, next);
        covered = covers;
        at = next;
    }
    if (covered) /* up to the table's end, behind which there need be no row */
        at = table->to < from ? from : table->to;
    return code < 0 ? code : add_gap(gaps, at, to);
}

static int find_gaps(const struct cairn_space_module *m, struct gaps *gaps,
                     uint64_t *ret_code_bytes)
{
    struct cairn_elf_section section;
    uint64_t reached = 0;
    int code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && cairn_elf_section(&m->elf, i, &section); i++) {
        if (!cairn_derive_is_code(&section) || section.vaddr < reached ||
            section.size > UINT64_MAX - section.vaddr)
            continue;
        *ret_code_bytes += section.size;
        reached = section.vaddr + section.size;
        code = add_gaps(m, section.vaddr, reached, gaps);
    }
    return code;
}

/* Behind what .debug_frame there is; the first function of all has its row where it had none. */
static int derive(struct cairn_space_module *m, const struct gaps *gaps)
{
    const struct cairn_elf_symtab *symtabs[CAIRN_SPACE_SYMTABS_MAX];
    struct cairn_derive_input input = {
        .elf = &m->elf, .gaps = gaps->items, .n_gaps = gaps->n, .symtabs = symtabs};
    if (!m->asked_names)
        open_names(m);
    for (size_t i = 0; i < m->n_symtabs; i++)
        if (cairn_elf_symtab_sort(&m->symtabs[i], NULL) == CAIRN_OK)
            symtabs[input.n_symtabs++] = &m->symtabs[i];
    struct cairn_span before = m->sections.debug_frame.bytes;
    if (!before.size && !m->sections.eh_frame.bytes.size)
        before = (struct cairn_span){m->crt, cairn_crt_frames(&m->elf, m->elf.entry, m->crt)};
    cairn_buffer_add(&m->derived, before.data, before.size);
    m->derived_off = before.size;
    int code = cairn_derive(&input, &m->derived);
    if (code < 0 || m->derived.size == m->derived_off)
        return code;
    m->sections.debug_frame.bytes = cairn_buffer_span(&m->derived);
    m->debug_index.n = 0;
    return index_fdes(&m->sections.debug_frame, &m->debug_index);
}

static bool is_worth_it(const struct cairn_space_module *m, const struct gaps *gaps,
                        uint64_t code_bytes)
{
    if (gaps->bytes < DERIVE_BYTES_MIN || gaps->bytes > CAIRN_DERIVE_BYTES_MAX)
        return false;
    return gaps->bytes >= code_bytes / DERIVE_PART ||
           (m->asked_met && gaps->bytes <= DERIVE_MET_MAX);
}

/* Adds rules that are made of the code to a table that was built. */
static void add_derived(struct cairn_space_module *m)
{
    struct gaps gaps = {0};
    uint64_t code_bytes = 0;
    if (m->derived.size > m->derived_off || !m->usable || m->elf.machine != EM_X86_64 ||
        !m->elf.is64 || (!m->image && m->table_end != CAIRN_TABLE_NOTHING))
        return;
    if (find_gaps(m, &gaps, &code_bytes) == CAIRN_OK && is_worth_it(m, &gaps, code_bytes)) {
        m->asked_derived = true;
        if (derive(m, &gaps) == CAIRN_OK && m->derived.size > m->derived_off) {
            cairn_free(m->image);
            m->image = NULL;
            build_table(m);
        }
    }
    cairn_free(gaps.items);
}

static void make_table(struct cairn_space_module *m)
{
    build_table(m);
    add_derived(m);
}

bool cairn_space_module_derive(struct cairn_space_module *m)
{
    if (m->asked_met || m->asked_derived || !m->usable || m->elf.machine != EM_X86_64)
        return false;
    m->asked_met = true;
    if (m->asked_table)
        add_derived(m);
    else
        make_table(m);
    return m->derived.size > m->derived_off;
}

bool cairn_space_module_is_derived(const struct cairn_space_module *m, uint64_t vaddr)
{
    if (m->derived.size == m->derived_off)
        return false;
    const struct cairn_fde_place *place = find_place(&m->debug_index, vaddr);
    return place && place->off >= m->derived_off;
}

uint64_t cairn_space_module_derived_bytes(const struct cairn_space_module *m)
{
    uint64_t sum = 0;
    for (size_t i = 0; m->derived.size > m->derived_off && i < m->debug_index.n; i++)
        if (m->debug_index.places[i].off >= m->derived_off)
            sum += m->debug_index.places[i].to - m->debug_index.places[i].from;
    return sum;
}

const struct cairn_unwind_table *cairn_space_module_table(struct cairn_space_module *m,
                                                          const struct cairn_unwind_arch *arch,
                                                          enum cairn_table_when when)
{
    const struct cairn_unwind_sections *s = &m->sections;
    bool has_cfi = s->eh_frame.bytes.size || s->debug_frame.bytes.size;
    uint64_t bytes = s->eh_frame.bytes.size + s->debug_frame.bytes.size + s->exidx.index.size;
    if (s->arch != arch || (has_cfi && s->exidx.index.size)) /* which of both it was is wanted */
        return NULL;
    if (!m->asked_table && (when == CAIRN_TABLE_NOW || m->n_asked++ >= bytes / BYTES_A_STEP))
        make_table(m);
    return m->image ? &m->table : NULL;
}

bool cairn_space_module_keeps_fp(struct cairn_space_module *m, const struct cairn_unwind_arch *arch)
{
    if (m->asked_fp)
        return m->keeps_fp;
    if (!m->asked_table)
        make_table(m);
    m->asked_fp = true;
    if (m->sections.arch == arch && !arch->encode) /* rows alone: most are of code without any */
        m->keeps_fp = !m->sections.eh_frame.bytes.size && !m->sections.debug_frame.bytes.size;
    else
        m->keeps_fp = m->sections.arch != arch || m->table_end == CAIRN_TABLE_NOTHING ||
                      (m->image && cairn_fp_kept(arch, &m->table));
    return m->keeps_fp;
}

struct cairn_fp_function cairn_space_module_function(struct cairn_space_module *m, uint64_t vaddr)
{
    struct cairn_span code;
    const struct cairn_elf_symbol *symbol = cairn_space_module_symbol(m, vaddr);
    uint64_t from = symbol ? symbol->vaddr : vaddr, least = vaddr - vaddr % GAP_BYTES_MIN;
    bool is_start = symbol && vaddr - from <= FUNCTION_BYTES_MAX;
    for (uint64_t back = 0; !is_start && back < NAMELESS_BYTES_MAX; back += GAP_BYTES_MIN) {
        struct cairn_module_entry entry;
        cairn_space_module_find(m, least - back, &entry);
        if (entry.kind == CAIRN_ENTRY_FDE && entry.fde.to < from)
            from = entry.fde.to;
        if (entry.kind != CAIRN_ENTRY_NONE || !cairn_elf_is_code(&m->elf, least - back))
            break;
        from = least - back;
    }
    if (from >= vaddr || !cairn_elf_bytes_at(&m->elf, from, &code) || code.size < vaddr - from)
        return (struct cairn_fp_function){0};
    code.size = (size_t)(vaddr - from);
    return cairn_fp_function_read(m->elf.machine, code, from, is_start);
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
