/* SPDX-License-Identifier: MIT */
#include "elf/go_table.h"

#include "elf/dynamic.h"

enum { GO_1_2 = 0xfffffffb, GO_1_16 = 0xfffffffa, GO_1_18 = 0xfffffff0, GO_1_20 = 0xfffffff1 };
enum { HEADER_BYTES = 8, N_OFF = 8, FUNCTIONS_MAX = 1 << 22 };

/* An unsigned number of `width` bytes; outside of the table it is 0, and *failed is set. */
static uint64_t number_at(const struct cairn_go_table *t, uint64_t off, unsigned width,
                          bool *failed)
{
    struct cairn_span bytes;
    if (!cairn_span_slice(t->bytes, off, width, &bytes)) {
        *failed = true;
        return 0;
    }
    struct cairn_reader r = cairn_reader_of(bytes, t->swap);
    return width == 4 ? cairn_reader_u32(&r) : cairn_reader_word(&r, width);
}

static bool read_header(struct cairn_go_table *t)
{
    bool failed = false;
    uint32_t magic = (uint32_t)number_at(t, 0, 4, &failed);
    t->word = t->bytes.size > HEADER_BYTES ? t->bytes.data[HEADER_BYTES - 1] : 0;
    if (failed || (t->word != 4 && t->word != 8))
        return false;
    unsigned fields = magic == GO_1_2 ? 0 : magic == GO_1_16 ? 7 : 8;
    if (magic != GO_1_2 && magic != GO_1_16 && magic != GO_1_18 && magic != GO_1_20)
        return false;
    t->n = number_at(t, N_OFF, t->word, &failed);
    t->functions = N_OFF + t->word;
    if (fields) {
        t->functions = number_at(t, N_OFF + (fields - 1) * t->word, t->word, &failed);
        t->names = number_at(t, N_OFF + (fields - 5) * t->word, t->word, &failed);
        t->is_narrow = fields == 8;
    }
    if (t->is_narrow)
        t->text = number_at(t, N_OFF + 2 * t->word, t->word, &failed);
    return !failed && t->n <= FUNCTIONS_MAX && t->n <= t->bytes.size;
}

/* A linker of C programs leaves the field to a relocation, whose addend it is. */
static uint64_t relocated_text(const struct cairn_elf *elf, const struct cairn_go_table *t,
                               uint64_t vaddr)
{
    struct cairn_elf_dynamic dynamic = {0};
    struct cairn_elf_reloc reloc;
    struct cairn_elf_section text;
    uint64_t field = vaddr + N_OFF + 2 * t->word;
    cairn_elf_read_dynamic(elf, &dynamic);
    for (size_t k = 0; k < dynamic.n_relocs; k++)
        for (uint64_t i = 0; cairn_elf_reloc(elf, &dynamic.relocs[k], i, &reloc); i++)
            if (reloc.vaddr == field)
                return reloc.addend;
    return cairn_elf_find_section(elf, ".text", &text) ? text.vaddr : 0;
}

bool cairn_go_table_open(const struct cairn_elf *elf, struct cairn_go_table *ret_table)
{
    struct cairn_elf_section section;
    struct cairn_go_table t = {.swap = elf->swap};
    *ret_table = (struct cairn_go_table){0};
    if ((!cairn_elf_find_section(elf, ".gopclntab", &section) &&
         !cairn_elf_find_section(elf, ".data.rel.ro.gopclntab", &section)) ||
        !cairn_elf_section_bytes(elf, &section, &t.bytes) || !read_header(&t))
        return false;
    if (t.is_narrow && !t.text)
        t.text = relocated_text(elf, &t, section.vaddr);
    *ret_table = t;
    return true;
}

static unsigned entry_width(const struct cairn_go_table *t)
{
    return t->is_narrow ? 4 : t->word;
}

bool cairn_go_table_start(const struct cairn_go_table *t, uint64_t i, uint64_t *ret_vaddr)
{
    unsigned width = entry_width(t);
    bool failed = i > t->n;
    *ret_vaddr = t->text + number_at(t, t->functions + 2 * i * width, width, &failed);
    return !failed;
}

bool cairn_go_table_find(const struct cairn_go_table *t, uint64_t vaddr, uint64_t *ret_from,
                         uint64_t *ret_to)
{
    uint64_t low = 0, high = t->n, start;
    if (!t->n || !cairn_go_table_start(t, high, ret_to) || vaddr >= *ret_to ||
        !cairn_go_table_start(t, low, ret_from) || vaddr < *ret_from)
        return false;
    while (high - low > 1) { /* *ret_from, low's start, <= vaddr < *ret_to, high's */
        uint64_t middle = low + (high - low) / 2;
        if (!cairn_go_table_start(t, middle, &start))
            return false;
        if (start <= vaddr) {
            low = middle;
            *ret_from = start;
        } else {
            high = middle;
            *ret_to = start;
        }
    }
    return true;
}

bool cairn_go_table_name(const struct cairn_go_table *t, uint64_t i,
                         struct cairn_span *ret_from_name)
{
    unsigned width = entry_width(t);
    bool failed = i >= t->n;
    uint64_t base = t->is_narrow || t->names ? t->functions : 0;
    uint64_t func = number_at(t, t->functions + (2 * i + 1) * width, width, &failed);
    uint64_t at = t->names + number_at(t, base + func + width, 4, &failed);
    if (failed || at >= t->bytes.size)
        return false;
    return cairn_span_slice(t->bytes, at, t->bytes.size - at, ret_from_name);
}
