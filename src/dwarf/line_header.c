/* SPDX-License-Identifier: MIT */
/*
 *     | length | version | [5: address size, segment size] | header length | min length | [4: ops]
 *     | is_stmt | line base | line range | opcode base | lengths... | folders | files
 *     | program... |
 *
 * Up to version 4 folders and files are lists that end with an empty name; version 5 says for each
 * table which values an entry has, in which forms.
 */
#include "dwarf/line_header.h"

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/constants.h"
#include "dwarf/forms.h"

enum {
    FILES_MAX = 1 << 20, /* of one program, folders the same */
    FORMATS_MAX = 255    /* the count is one byte */
};

int cairn_dwarf_line_add_file(struct cairn_dwarf_lines *lines, const char *name, uint64_t dir,
                              struct cairn_err *err)
{
    if (lines->n_files >= FILES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, ".debug_line: more than %d files in one program",
                          FILES_MAX);
    if (cairn_grow((void **)&lines->files, &lines->cap_files, lines->n_files + 1,
                   sizeof *lines->files) < 0)
        return cairn_fail_memory(err);
    lines->files[lines->n_files++] =
        (struct cairn_dwarf_file){name, dir < UINT32_MAX ? (uint32_t)dir : UINT32_MAX};
    return CAIRN_OK;
}

static int add_dir(struct cairn_dwarf_lines *lines, const char *name, struct cairn_err *err)
{
    if (lines->n_dirs >= FILES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, ".debug_line: more than %d folders in one program",
                          FILES_MAX);
    if (cairn_grow((void **)&lines->dirs, &lines->cap_dirs, lines->n_dirs + 1,
                   sizeof *lines->dirs) < 0)
        return cairn_fail_memory(err);
    lines->dirs[lines->n_dirs++] = name;
    return CAIRN_OK;
}

/* Versions 2 to 4: number 0 is the unit's own folder and file. */
static int read_old_tables(struct cairn_reader *r, const struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    int code = add_dir(lines, unit->comp_dir, err);
    const char *name;
    while (code == CAIRN_OK && *(name = cairn_reader_str(r)))
        code = add_dir(lines, name, err);
    if (code == CAIRN_OK)
        code = cairn_dwarf_line_add_file(lines, unit->name, 0, err);
    while (code == CAIRN_OK && *(name = cairn_reader_str(r))) {
        uint64_t dir = cairn_reader_uleb(r);
        (void)cairn_reader_uleb(r); /* time */
        (void)cairn_reader_uleb(r); /* length */
        code = cairn_dwarf_line_add_file(lines, name, dir, err);
    }
    return code;
}

struct format {
    uint64_t content;
    uint16_t form;
};

/* What an entry of a version 5 table is made of. */
static unsigned read_formats(struct cairn_reader *r, struct format formats[FORMATS_MAX])
{
    unsigned n = cairn_reader_u8(r);
    for (unsigned i = 0; i < n; i++) {
        formats[i].content = cairn_reader_uleb(r);
        uint64_t form = cairn_reader_uleb(r);
        if (form > UINT16_MAX || form == CAIRN_DW_FORM_INDIRECT)
            r->failed = true;
        formats[i].form = (uint16_t)form;
    }
    return n;
}

static struct cairn_dwarf_file read_entry(const struct cairn_dwarf *d, struct cairn_reader *r,
                                          const struct cairn_dwarf_unit *as_unit,
                                          const struct format *formats, unsigned n_formats)
{
    struct cairn_dwarf_file entry = {0};
    for (unsigned i = 0; i < n_formats; i++) {
        uint16_t form = formats[i].form;
        uint64_t value = cairn_dwarf_form_read(r, &form, 0, as_unit->sizes);
        if (r->failed)
            break;
        if (formats[i].content == CAIRN_DW_LNCT_PATH)
            entry.name = cairn_dwarf_string(d, as_unit, d->line, form, value);
        else if (formats[i].content == CAIRN_DW_LNCT_DIRECTORY_INDEX)
            entry.dir = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    }
    return entry;
}

/* One table of version 5: folders, or files. */
static int read_new_table(const struct cairn_dwarf *d, struct cairn_reader *r,
                          const struct cairn_dwarf_unit *as_unit, bool of_files,
                          struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    struct format formats[FORMATS_MAX];
    unsigned n_formats = read_formats(r, formats);
    uint64_t n = cairn_reader_uleb(r);
    for (uint64_t i = 0; i < n && !r->failed; i++) {
        size_t start = r->pos;
        struct cairn_dwarf_file entry = read_entry(d, r, as_unit, formats, n_formats);
        if (r->pos == start)
            r->failed = true; /* an entry without bytes: any number of them would fit */
        int code = of_files ? cairn_dwarf_line_add_file(lines, entry.name, entry.dir, err)
                            : add_dir(lines, entry.name, err);
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

static int read_tables(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                       const struct cairn_dwarf_line_header *h, struct cairn_reader *r,
                       struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    if (h->version < 5)
        return read_old_tables(r, unit, lines, err);
    struct cairn_dwarf_unit as_unit = *unit; /* offsets are as wide as this header says */
    as_unit.sizes.offset_size = h->offset_size;
    int code = read_new_table(d, r, &as_unit, false, lines, err);
    if (code == CAIRN_OK)
        code = read_new_table(d, r, &as_unit, true, lines, err);
    return code;
}

/* What the opcodes mean. False where the numbers make no sense. */
static bool read_machine(struct cairn_reader *r, struct cairn_dwarf_line_header *h)
{
    h->min_length = cairn_reader_u8(r);
    h->max_ops = h->version >= 4 ? cairn_reader_u8(r) : 1;
    h->default_is_stmt = cairn_reader_u8(r);
    h->line_base = (int8_t)cairn_reader_u8(r);
    h->line_range = cairn_reader_u8(r);
    h->opcode_base = cairn_reader_u8(r);
    struct cairn_span lengths = cairn_reader_take(r, h->opcode_base ? h->opcode_base - 1u : 0);
    h->lengths = lengths.data;
    return !r->failed && h->opcode_base > 0 && h->max_ops > 0;
}

/* Length and version; leaves `r` cut to this program, behind the version's own fields. */
static bool read_frame(struct cairn_reader *r, struct cairn_dwarf_line_header *h)
{
    uint64_t length = cairn_reader_u32(r);
    h->offset_size = 4;
    if (length == 0xffffffff) {
        length = cairn_reader_u64(r);
        h->offset_size = 8;
    }
    if (r->failed || length > cairn_reader_left(r))
        return false;
    h->end = r->pos + length;
    r->bytes.size = (size_t)h->end;
    h->version = cairn_reader_u16(r);
    if (h->version >= 5)
        cairn_reader_skip(r, 2); /* sizes of addresses and segments; set_address says its own */
    uint64_t header_length = cairn_reader_word(r, h->offset_size);
    h->program = r->pos + header_length;
    return !r->failed && header_length <= cairn_reader_left(r);
}

static int read_header(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                       struct cairn_reader *r, struct cairn_dwarf_line_header *h,
                       struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    unsigned long long at = unit->line_off;
    if (!read_frame(r, h))
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_line at 0x%llx: program runs past the end",
                          at);
    if (h->version < 2 || h->version > 5)
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_line at 0x%llx: version %u, expected 2 to 5",
                          at, h->version);
    r->bytes.size = (size_t)h->program; /* tables end where the program begins */
    if (!read_machine(r, h))
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_line at 0x%llx: damaged header", at);
    int code = read_tables(d, unit, h, r, lines, err);
    if (code < 0)
        return code;
    if (r->failed)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          ".debug_line at 0x%llx: tables of files run past the header", at);
    return CAIRN_OK;
}

int cairn_dwarf_line_header_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                 struct cairn_dwarf_line_header *ret_header,
                                 struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    struct cairn_dwarf_line_header h = {0};
    struct cairn_reader r = cairn_reader_of(d->line, d->swap);
    cairn_reader_seek(&r, unit->line_off);
    size_t start = r.pos;
    int code = read_header(d, unit, &r, &h, lines, err);
    lines->n_bytes =
        r.pos - start; /* of a damaged header too: the bytes read so far have a bound */
    if (code == CAIRN_OK)
        *ret_header = h;
    return code;
}
