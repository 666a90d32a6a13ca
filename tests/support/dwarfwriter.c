/* SPDX-License-Identifier: MIT */
#include "support/dwarfwriter.h"

#include <assert.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>

static const struct cairn_dwarf_range code = {0x1000, 0x3000};

struct test_dwarf test_dwarf_of(unsigned version, bool big, unsigned offset_size,
                                unsigned address_size)
{
    return (struct test_dwarf){
        .version = version, .big = big, .offset_size = offset_size, .address_size = address_size};
}

static void put_byte(struct test_bytes *b, uint8_t byte)
{
    assert(b->n < TEST_DWARF_BYTES_MAX);
    b->data[b->n++] = byte;
}

void test_dwarf_patch(const struct test_dwarf *w, struct test_bytes *b, size_t at, uint64_t value,
                      unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        b->data[at + i] = (uint8_t)(value >> 8 * (w->big ? width - 1 - i : i));
}

void test_dwarf_u(const struct test_dwarf *w, struct test_bytes *b, uint64_t value, unsigned width)
{
    assert(b->n + width <= TEST_DWARF_BYTES_MAX);
    test_dwarf_patch(w, b, b->n, value, width);
    b->n += width;
}

void test_dwarf_addr(const struct test_dwarf *w, struct test_bytes *b, uint64_t vaddr)
{
    test_dwarf_u(w, b, vaddr, w->address_size);
}

void test_dwarf_off(const struct test_dwarf *w, struct test_bytes *b, uint64_t off)
{
    test_dwarf_u(w, b, off, w->offset_size);
}

void test_dwarf_uleb(struct test_bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(b, (uint8_t)(value | 0x80));
    put_byte(b, (uint8_t)value);
}

void test_dwarf_sleb(struct test_bytes *b, int64_t value)
{
    while (value < -0x40 || value >= 0x40) {
        put_byte(b, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    put_byte(b, (uint8_t)(value & 0x7f));
}

void test_dwarf_str(struct test_bytes *b, const char *text)
{
    do
        put_byte(b, (uint8_t)*text);
    while (*text++);
}

void test_dwarf_abbrev(struct test_dwarf *w, uint64_t number, unsigned tag, int children, ...)
{
    va_list args;
    test_dwarf_uleb(&w->abbrev, number);
    test_dwarf_uleb(&w->abbrev, tag);
    put_byte(&w->abbrev, children != 0);
    va_start(args, children);
    for (int attribute; (attribute = va_arg(args, int)) != 0;) {
        int form = va_arg(args, int);
        test_dwarf_uleb(&w->abbrev, (uint64_t)attribute);
        test_dwarf_uleb(&w->abbrev, (uint64_t)form);
        if (form == CAIRN_DW_FORM_IMPLICIT_CONST)
            test_dwarf_sleb(&w->abbrev, va_arg(args, int));
    }
    va_end(args);
    put_byte(&w->abbrev, 0);
    put_byte(&w->abbrev, 0);
}

/* Room for a length; gives where it stands. */
static size_t begin_length(const struct test_dwarf *w, struct test_bytes *b)
{
    if (w->offset_size == 8)
        test_dwarf_u(w, b, 0xffffffff, 4);
    size_t at = b->n;
    test_dwarf_off(w, b, 0);
    return at;
}

static void end_length(const struct test_dwarf *w, struct test_bytes *b, size_t at)
{
    test_dwarf_patch(w, b, at, b->n - at - w->offset_size, w->offset_size);
}

void test_dwarf_unit_begin(struct test_dwarf *w)
{
    w->unit_start = begin_length(w, &w->info);
    test_dwarf_u(w, &w->info, w->version, 2);
    if (w->version >= 5) {
        put_byte(&w->info, w->unit_type ? w->unit_type : CAIRN_DW_UT_COMPILE);
        put_byte(&w->info, (uint8_t)w->address_size);
        test_dwarf_off(w, &w->info, 0);
    } else {
        test_dwarf_off(w, &w->info, 0);
        put_byte(&w->info, (uint8_t)w->address_size);
    }
    bool is_type = w->unit_type == CAIRN_DW_UT_TYPE || w->unit_type == CAIRN_DW_UT_SPLIT_TYPE;
    if (is_type || (w->version >= 5 && w->unit_type > CAIRN_DW_UT_PARTIAL))
        test_dwarf_u(w, &w->info, w->signature, 8);
    if (is_type)
        test_dwarf_off(w, &w->info, w->type_off);
}

void test_dwarf_unit_end(struct test_dwarf *w)
{
    end_length(w, &w->info, w->unit_start);
    put_byte(&w->abbrev, 0);
}

static void put_new_tables(struct test_dwarf *w)
{
    static const char *const dirs[] = {"/src", "inc"};
    static const struct {
        const char *name;
        uint8_t dir;
    } files[] = {{"a.c", 0}, {"a.c", 0}, {"b.h", 1}};
    put_byte(&w->line, 1); /* one value an entry */
    test_dwarf_uleb(&w->line, CAIRN_DW_LNCT_PATH);
    test_dwarf_uleb(&w->line, CAIRN_DW_FORM_STRING);
    test_dwarf_uleb(&w->line, 2);
    for (int i = 0; i < 2; i++)
        test_dwarf_str(&w->line, dirs[i]);
    put_byte(&w->line, 2);
    test_dwarf_uleb(&w->line, CAIRN_DW_LNCT_PATH);
    test_dwarf_uleb(&w->line, CAIRN_DW_FORM_LINE_STRP);
    test_dwarf_uleb(&w->line, CAIRN_DW_LNCT_DIRECTORY_INDEX);
    test_dwarf_uleb(&w->line, CAIRN_DW_FORM_UDATA);
    test_dwarf_uleb(&w->line, 3);
    for (int i = 0; i < 3; i++) {
        test_dwarf_off(w, &w->line, w->line_str.n);
        test_dwarf_str(&w->line_str, files[i].name);
        test_dwarf_uleb(&w->line, files[i].dir);
    }
}

static void put_old_tables(struct test_dwarf *w)
{
    test_dwarf_str(&w->line, "inc");
    test_dwarf_str(&w->line, "");
    test_dwarf_str(&w->line, "a.c");
    for (int i = 0; i < 3; i++) /* folder, time, length */
        put_byte(&w->line, 0);
    test_dwarf_str(&w->line, "b.h");
    put_byte(&w->line, 1);
    put_byte(&w->line, 0);
    put_byte(&w->line, 0);
    test_dwarf_str(&w->line, "");
}

void test_dwarf_line_begin(struct test_dwarf *w)
{
    static const uint8_t lengths[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    w->line_start = begin_length(w, &w->line);
    test_dwarf_u(w, &w->line, w->version, 2);
    if (w->version >= 5) {
        put_byte(&w->line, (uint8_t)w->address_size);
        put_byte(&w->line, 0);
    }
    w->line_header_length = w->line.n;
    test_dwarf_off(w, &w->line, 0);
    put_byte(&w->line, w->min_length ? w->min_length : 1);
    if (w->version >= 4)
        put_byte(&w->line, w->max_ops ? w->max_ops : 1);
    put_byte(&w->line, 1);           /* default_is_stmt */
    put_byte(&w->line, (uint8_t)-5); /* line base */
    put_byte(&w->line, 14);          /* line range */
    put_byte(&w->line, 13);          /* opcode base */
    for (int i = 0; i < 12; i++)
        put_byte(&w->line, lengths[i]);
    if (w->version >= 5)
        put_new_tables(w);
    else
        put_old_tables(w);
    test_dwarf_patch(w, &w->line, w->line_header_length,
                     w->line.n - w->line_header_length - w->offset_size, w->offset_size);
}

void test_dwarf_line_end(struct test_dwarf *w)
{
    end_length(w, &w->line, w->line_start);
}

void test_dwarf_line_at(struct test_dwarf *w, uint64_t vaddr)
{
    put_byte(&w->line, 0);
    test_dwarf_uleb(&w->line, 1 + w->address_size);
    put_byte(&w->line, CAIRN_DW_LNE_SET_ADDRESS);
    test_dwarf_addr(w, &w->line, vaddr);
}

void test_dwarf_line_row(struct test_dwarf *w, unsigned advance, int line_advance)
{
    if (line_advance >= -5 && line_advance < 9 && advance * 14 + 13 + 14 <= 256) {
        put_byte(&w->line, (uint8_t)(13 + advance * 14 + (unsigned)(line_advance + 5)));
        return;
    }
    put_byte(&w->line, CAIRN_DW_LNS_ADVANCE_PC);
    test_dwarf_uleb(&w->line, advance);
    put_byte(&w->line, CAIRN_DW_LNS_ADVANCE_LINE);
    test_dwarf_sleb(&w->line, line_advance);
    put_byte(&w->line, CAIRN_DW_LNS_COPY);
}

void test_dwarf_line_sequence_end(struct test_dwarf *w, unsigned advance)
{
    put_byte(&w->line, CAIRN_DW_LNS_ADVANCE_PC);
    test_dwarf_uleb(&w->line, advance);
    put_byte(&w->line, 0);
    put_byte(&w->line, 1);
    put_byte(&w->line, CAIRN_DW_LNE_END_SEQUENCE);
}

static struct cairn_span span_of(const struct test_bytes *b)
{
    return (struct cairn_span){b->n ? b->data : NULL, b->n};
}

struct cairn_dwarf test_dwarf_sections(const struct test_dwarf *w)
{
    return (struct cairn_dwarf){
        .info = span_of(&w->info),
        .abbrev = span_of(&w->abbrev),
        .line = span_of(&w->line),
        .str = span_of(&w->str),
        .line_str = span_of(&w->line_str),
        .str_offsets = span_of(&w->str_offsets),
        .addr = span_of(&w->addr),
        .ranges = span_of(&w->ranges),
        .rnglists = span_of(&w->rnglists),
        .aranges = span_of(&w->aranges),
        .swap = w->big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
        .code = &code,
        .n_code = 1,
    };
}

void test_dwarf_to_elf(const struct test_dwarf *w, struct test_elf *elf)
{
    const struct {
        const char *name;
        const struct test_bytes *bytes;
    } sections[] = {
        {".debug_info", &w->info},         {".debug_abbrev", &w->abbrev},
        {".debug_line", &w->line},         {".debug_str", &w->str},
        {".debug_line_str", &w->line_str}, {".debug_str_offsets", &w->str_offsets},
        {".debug_addr", &w->addr},         {".debug_ranges", &w->ranges},
        {".debug_rnglists", &w->rnglists}, {".debug_aranges", &w->aranges},
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i].bytes->n)
            test_elf_bytes(elf, sections[i].name, SHT_PROGBITS, 0, sections[i].bytes->data,
                           sections[i].bytes->n);
}
