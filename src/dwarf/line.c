/* SPDX-License-Identifier: MIT */
/*
 * The machine that runs line programs (DWARF 5, 6.2.2).
 *
 *     program:  set_address A | special | special | ... | end_sequence | set_address B | ...
 *     rows:     \------------- a sequence --------------/
 *
 * Hot path: opcodes without operands or with one of a single byte, by a table of what each does, in
 * registers, without a call.
 */
#include "dwarf/line.h"

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/constants.h"
#include "dwarf/line_header.h"

/* Whole rows of `lines->rows`, in the order of the program; begins with `low` for the sort. */
struct sequence {
    uint32_t low, high;
    uint32_t first, n; /* rows, without one for the end */
};

struct machine {
    const struct cairn_dwarf *d;
    const struct cairn_dwarf_line_header *h;
    struct cairn_dwarf_lines *lines;
    struct cairn_reader r;
    uint64_t base;

    uint64_t vaddr;
    uint32_t op_index;
    uint32_t file, line;

    size_t first_row; /* of the sequence that runs */
    bool begun;       /* it had a row */
    bool dropped;     /* the first one was outside machine code */
    bool unsorted;
    bool no_memory;

    struct sequence *sequences;
    size_t n_sequences, cap_sequences;
};

static void begin_sequence(struct machine *m)
{
    m->vaddr = 0;
    m->op_index = 0;
    m->file = 1;
    m->line = 1;
    m->first_row = m->lines->n_rows;
    m->begun = false;
    m->dropped = false;
    m->unsorted = false;
}

static void push_row(struct machine *m, struct cairn_dwarf_row row)
{
    struct cairn_dwarf_lines *lines = m->lines;
    if (lines->n_rows == lines->cap_rows &&
        cairn_grow((void **)&lines->rows, &lines->cap_rows, lines->n_rows + 1,
                   sizeof *lines->rows) < 0) {
        m->no_memory = true;
        m->r.failed = true;
        return;
    }
    lines->rows[lines->n_rows++] = row;
}

/* A row: the last one at an address wins, and one that says the same as the row before it is left
 * out. */
static inline void add_row_at(struct machine *m, uint64_t vaddr, uint32_t file, uint32_t line)
{
    struct cairn_dwarf_lines *lines = m->lines;
    if (!m->begun) {
        m->begun = true;
        m->dropped = !cairn_dwarf_is_code(m->d, vaddr);
    }
    uint64_t low = vaddr - m->base;
    if (m->dropped || low >= UINT32_MAX)
        return;
    struct cairn_dwarf_row row = {(uint32_t)low, file, line};
    if (lines->n_rows > m->first_row) {
        struct cairn_dwarf_row *last = &lines->rows[lines->n_rows - 1];
        if (last->low == row.low) {
            *last = row;
            return;
        }
        if (last->low > row.low)
            m->unsorted = true;
        else if (last->line == row.line && last->file == row.file)
            return;
    }
    push_row(m, row);
}

/* A row at the machine's present state. */
static void add_row(struct machine *m)
{
    add_row_at(m, m->vaddr, m->file, m->line);
}

/* Rows out of order: sorted, and of those at one address the last of the program is kept. */
static void sort_rows(struct machine *m)
{
    struct cairn_dwarf_row *rows = m->lines->rows + m->first_row;
    size_t n = m->lines->n_rows - m->first_row, kept = 0;
    if (cairn_dwarf_sort(rows, n, sizeof *rows) < 0) {
        m->no_memory = true;
        m->r.failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (kept && rows[kept - 1].low == rows[i].low)
            kept--;
        rows[kept++] = rows[i];
    }
    m->lines->n_rows = m->first_row + kept;
}

static void end_sequence(struct machine *m)
{
    size_t first = m->first_row;
    uint64_t high = m->vaddr - m->base;
    if (m->lines->n_rows > first && m->unsorted)
        sort_rows(m);
    size_t n = m->lines->n_rows - first;
    if (!n || m->r.failed || high >= UINT32_MAX || high <= m->lines->rows[first].low) {
        m->lines->n_rows = first;
    } else if (cairn_grow((void **)&m->sequences, &m->cap_sequences, m->n_sequences + 1,
                          sizeof *m->sequences) < 0) {
        m->no_memory = true;
        m->r.failed = true;
    } else {
        m->sequences[m->n_sequences++] = (struct sequence){
            m->lines->rows[first].low, (uint32_t)high, (uint32_t)first, (uint32_t)n};
    }
    begin_sequence(m);
}

/* Operation advance (6.2.5.1); on all but VLIW machines an instruction is one operation. */
static inline void advance(struct machine *m, uint64_t operations)
{
    const struct cairn_dwarf_line_header *h = m->h;
    if (h->max_ops == 1) {
        m->vaddr += operations * h->min_length;
        return;
    }
    uint64_t ops = m->op_index + operations;
    m->vaddr += ops / h->max_ops * h->min_length;
    m->op_index = (uint32_t)(ops % h->max_ops);
}

static void define_file(struct machine *m, struct cairn_reader *inside)
{
    const char *name = cairn_reader_str(inside);
    uint64_t dir = cairn_reader_uleb(inside);
    if (inside->failed)
        m->r.failed = true;
    else if (cairn_dwarf_line_add_file(m->lines, name, dir, NULL) < 0) {
        m->no_memory = true;
        m->r.failed = true;
    }
}

static void run_extended(struct machine *m)
{
    uint64_t size = cairn_reader_uleb(&m->r);
    struct cairn_span bytes = cairn_reader_take(&m->r, size);
    if (m->r.failed || !size)
        return;
    struct cairn_reader inside = cairn_reader_of(bytes, m->r.swap);
    switch (cairn_reader_u8(&inside)) {
    case CAIRN_DW_LNE_END_SEQUENCE:
        end_sequence(m);
        break;
    case CAIRN_DW_LNE_SET_ADDRESS:
        m->vaddr = cairn_reader_word(&inside, (unsigned)cairn_reader_left(&inside));
        m->op_index = 0;
        if (inside.failed)
            m->r.failed = true;
        break;
    case CAIRN_DW_LNE_DEFINE_FILE:
        define_file(m, &inside);
        break;
    default: /* set_discriminator and those of vendors change nothing that is asked for */
        break;
    }
}

static void run_standard(struct machine *m, uint8_t opcode)
{
    struct cairn_reader *r = &m->r;
    switch (opcode) {
    case CAIRN_DW_LNS_EXTENDED:
        run_extended(m);
        break;
    case CAIRN_DW_LNS_COPY:
        add_row(m);
        break;
    case CAIRN_DW_LNS_ADVANCE_PC:
        advance(m, cairn_reader_uleb(r));
        break;
    case CAIRN_DW_LNS_ADVANCE_LINE:
        m->line += (uint32_t)cairn_reader_sleb(r);
        break;
    case CAIRN_DW_LNS_SET_FILE: {
        uint64_t file = cairn_reader_uleb(r);
        m->file = file < UINT32_MAX ? (uint32_t)file : UINT32_MAX - 1;
        break;
    }
    case CAIRN_DW_LNS_CONST_ADD_PC:
        advance(m, m->h->line_range ? (255u - m->h->opcode_base) / m->h->line_range : 0);
        break;
    case CAIRN_DW_LNS_FIXED_ADVANCE_PC:
        m->vaddr += cairn_reader_u16(r);
        m->op_index = 0;
        break;
    case CAIRN_DW_LNS_NEGATE_STMT:
    case CAIRN_DW_LNS_SET_BASIC_BLOCK:
    case CAIRN_DW_LNS_SET_PROLOGUE_END:
    case CAIRN_DW_LNS_SET_EPILOGUE_BEGIN:
        break;
    default: /* set_column, set_isa, and those of later versions: the header counts operands */
        for (unsigned i = 0; i < m->h->lengths[opcode - 1]; i++)
            (void)cairn_reader_uleb(r);
        break;
    }
}

/* One opcode, whatever it is. */
static void run_one(struct machine *m)
{
    const unsigned line_range = m->h->line_range ? m->h->line_range : 1;
    uint8_t opcode = m->r.bytes.data[m->r.pos++];
    if (opcode < m->h->opcode_base) {
        run_standard(m, opcode);
        return;
    }
    unsigned adjusted = opcode - m->h->opcode_base;
    advance(m, adjusted / line_range);
    m->line += (uint32_t)(m->h->line_base + (int)(adjusted % line_range));
    add_row(m);
}

/* What an opcode does to address and line, where that is all it does. */
struct step {
    uint32_t vaddr;
    int32_t line;
    uint8_t kind;
};

enum {
    STEP_OTHER,
    STEP_ROW,
    STEP_NOTHING,
    STEP_SKIP,
    STEP_PC,
    STEP_LINE,
    STEP_FILE,
    STEP_EXTENDED
};

static void list_steps(const struct cairn_dwarf_line_header *h, struct step *steps)
{
    static const uint8_t standard[][2] = {
        {CAIRN_DW_LNS_EXTENDED, STEP_EXTENDED}, {CAIRN_DW_LNS_COPY, STEP_ROW},
        {CAIRN_DW_LNS_ADVANCE_PC, STEP_PC},     {CAIRN_DW_LNS_ADVANCE_LINE, STEP_LINE},
        {CAIRN_DW_LNS_SET_FILE, STEP_FILE},     {CAIRN_DW_LNS_NEGATE_STMT, STEP_NOTHING}};
    const unsigned line_range = h->line_range ? h->line_range : 1;
    memset(steps, 0, 256 * sizeof *steps);
    if (h->max_ops != 1)
        return; /* an instruction is several operations: none is that simple */
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        steps[standard[i][0]].kind = standard[i][1];
    if (CAIRN_DW_LNS_SET_COLUMN < h->opcode_base && h->lengths[CAIRN_DW_LNS_SET_COLUMN - 1] == 1)
        steps[CAIRN_DW_LNS_SET_COLUMN].kind = STEP_SKIP;
    for (unsigned opcode = h->opcode_base; opcode < 256; opcode++) {
        unsigned adjusted = opcode - h->opcode_base;
        steps[opcode] = (struct step){adjusted / line_range * h->min_length,
                                      h->line_base + (int)(adjusted % line_range), STEP_ROW};
    }
}

/* The bytes of set_discriminator, which changes nothing that is asked for; 0: it is another one, or
 * runs past the end. */
static size_t discriminator_bytes(const uint8_t *at, const uint8_t *end)
{
    bool is = end - at >= 3 && at[1] && at[1] < 0x80 && at[2] == CAIRN_DW_LNE_SET_DISCRIMINATOR;
    return is && end - at >= 2 + at[1] ? 2u + at[1] : 0;
}

/* Runs on while opcodes are simple and their operands have at most two bytes; all that changes is
 * held in registers. */
static void run_simple(struct machine *m, const struct step *steps)
{
    const uint8_t *at = m->r.bytes.data + m->r.pos, *end = m->r.bytes.data + m->r.bytes.size;
    const uint32_t min_length = m->h->min_length;
    uint64_t vaddr = m->vaddr;
    uint32_t line = m->line, file = m->file;
    while (at < end && !m->no_memory) {
        const struct step *step = &steps[*at];
        if (step->kind == STEP_ROW) {
            at++;
            vaddr += step->vaddr;
            line += (uint32_t)step->line;
            add_row_at(m, vaddr, file, line);
            continue;
        }
        if (step->kind == STEP_NOTHING) {
            at++;
            continue;
        }
        if (step->kind == STEP_EXTENDED) {
            size_t size = discriminator_bytes(at, end);
            at += size;
            if (!size)
                break;
            continue;
        }
        if (step->kind == STEP_OTHER || end - at < 3 || (at[1] & at[2] & 0x80))
            break;
        bool two = at[1] & 0x80;
        uint32_t operand = two ? (at[1] & 0x7fu) | (uint32_t)at[2] << 7 : at[1];
        uint32_t sign = two ? 0x2000 : 0x40;
        at += two ? 3 : 2;
        if (step->kind == STEP_PC)
            vaddr += (uint64_t)operand * min_length;
        else if (step->kind == STEP_LINE)
            line += operand - ((operand & sign) << 1);
        else if (step->kind == STEP_FILE)
            file = operand;
    }
    m->r.pos = (size_t)(at - m->r.bytes.data);
    m->vaddr = vaddr;
    m->line = line;
    m->file = file;
}

static void run(struct machine *m)
{
    struct step steps[256];
    list_steps(m->h, steps);
    begin_sequence(m);
    while (cairn_reader_more(&m->r)) {
        run_simple(m, steps);
        if (cairn_reader_more(&m->r))
            run_one(m);
    }
    m->lines->n_rows = m->first_row; /* a sequence without an end says nothing about its last row */
}

/* Appends one sequence to `rows`, from `from` on: what lies before it is another's. */
static size_t append_sequence(struct cairn_dwarf_row *rows, size_t n,
                              const struct cairn_dwarf_row *old, const struct sequence *s,
                              uint32_t from)
{
    size_t first = n;
    if (n && rows[n - 1].low == from)
        first = --n; /* the end of the sequence before: this one goes on there */
    for (uint32_t i = 0; i < s->n; i++) {
        struct cairn_dwarf_row row = old[s->first + i];
        if (row.low >= s->high)
            break;
        if (row.low < from)
            row.low = from;
        if (n > first && rows[n - 1].low == row.low)
            n--;
        rows[n++] = row;
    }
    rows[n++] = (struct cairn_dwarf_row){s->high, (uint32_t)CAIRN_DWARF_NO_FILE, 0};
    return n;
}

/* All rows of the whole sequences, in order of address. */
static int flatten(struct machine *m)
{
    struct cairn_dwarf_lines *lines = m->lines;
    if (cairn_dwarf_sort(m->sequences, m->n_sequences, sizeof *m->sequences) < 0)
        return CAIRN_E_NOMEM;
    size_t cap = lines->n_rows + m->n_sequences, n = 0;
    struct cairn_dwarf_row *rows = cairn_realloc(NULL, cap ? cap : 1, sizeof *rows);
    if (!rows)
        return CAIRN_E_NOMEM;
    uint32_t reached = 0;
    for (size_t i = 0; i < m->n_sequences; i++) {
        const struct sequence *s = &m->sequences[i];
        if (s->high <= reached)
            continue;
        n = append_sequence(rows, n, lines->rows, s, s->low > reached ? s->low : reached);
        reached = s->high;
    }
    cairn_free(lines->rows);
    lines->rows = rows;
    lines->n_rows = n;
    lines->cap_rows = cap;
    return CAIRN_OK;
}

int cairn_dwarf_lines_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_lines *ret_lines, struct cairn_err *err)
{
    struct cairn_dwarf_lines lines = {0};
    struct cairn_dwarf_line_header h;
    int code = CAIRN_OK;
    if (unit->line_off == UINT64_MAX) {
        *ret_lines = lines;
        return CAIRN_OK;
    }
    code = cairn_dwarf_line_header_read(d, unit, &h, &lines, err);
    if (code == CAIRN_OK) {
        struct machine m = {
            .d = d,
            .h = &h,
            .lines = &lines,
            .base = cairn_dwarf_base(d),
            .r = cairn_reader_of((struct cairn_span){d->line.data, (size_t)h.end}, d->swap)};
        m.r.pos = (size_t)h.program;
        run(&m);
        if (m.no_memory || flatten(&m) < 0)
            code = cairn_fail_memory(err);
        else if (m.r.failed)
            code =
                cairn_fail(err, CAIRN_E_FORMAT, ".debug_line at 0x%zx: damaged program", m.r.pos);
        cairn_free(m.sequences);
    }
    if (code == CAIRN_E_NOMEM)
        cairn_dwarf_lines_done(&lines);
    else
        *ret_lines = lines;
    return code;
}

void cairn_dwarf_lines_done(struct cairn_dwarf_lines *lines)
{
    cairn_free(lines->rows);
    cairn_free(lines->files);
    cairn_free(lines->dirs);
    *lines = (struct cairn_dwarf_lines){0};
}
