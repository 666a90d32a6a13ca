/* SPDX-License-Identifier: MIT */
#include "dwarf/line_machine.h"

#include "base/error.h"
#include "dwarf/constants.h"

static void begin_sequence(struct cairn_dwarf_line_machine *m)
{
    m->vaddr = 0;
    m->op_index = 0;
    m->file = 1;
    m->line = 1;
    m->discriminator = 0;
    m->is_stmt = m->h.default_is_stmt;
    m->first_row = m->lines->n_rows;
    m->begun = false;
    m->dropped = false;
    m->unsorted = false;
}

/* A row at the machine's present state. */
static void add_row(struct cairn_dwarf_line_machine *m)
{
    const bool is_wanted = m->is_stmt || !m->has_statements_alone;
    if (m->tells_discriminator)
        cairn_dwarf_line_add_at(m, m->vaddr, 0, m->discriminator);
    else if (is_wanted)
        cairn_dwarf_line_add_at(m, m->vaddr, m->file, m->line);
    m->discriminator = 0;
}

/* Rows out of order: sorted, and of those at one address the last of the program is kept. */
static void sort_rows(struct cairn_dwarf_line_machine *m)
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

static void end_sequence(struct cairn_dwarf_line_machine *m)
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
        m->sequences[m->n_sequences++] = (struct cairn_dwarf_sequence){
            m->lines->rows[first].low, (uint32_t)high, (uint32_t)first, (uint32_t)n};
        /* Its end will stand behind its rows: where sequences are in order, nothing moves up. */
        cairn_dwarf_line_push(m, (struct cairn_dwarf_row){0});
    }
    begin_sequence(m);
}

/* Operation advance (6.2.5.1); on all but VLIW machines an instruction is one operation. */
static inline void advance(struct cairn_dwarf_line_machine *m, uint64_t operations)
{
    const struct cairn_dwarf_line_header *h = &m->h;
    if (h->max_ops == 1) {
        m->vaddr += operations * h->min_length;
        return;
    }
    uint64_t ops = m->op_index + operations;
    m->vaddr += ops / h->max_ops * h->min_length;
    m->op_index = (uint32_t)(ops % h->max_ops);
}

static void define_file(struct cairn_dwarf_line_machine *m, struct cairn_reader *inside)
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

static void run_extended(struct cairn_dwarf_line_machine *m)
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
    case CAIRN_DW_LNE_SET_DISCRIMINATOR: {
        uint64_t discriminator = cairn_reader_uleb(&inside);
        m->discriminator = discriminator < UINT32_MAX ? (uint32_t)discriminator : UINT32_MAX;
        break;
    }
    default: /* those of vendors change nothing that is asked for */
        break;
    }
}

static void run_standard(struct cairn_dwarf_line_machine *m, uint8_t opcode)
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
        advance(m, m->h.line_range ? (255u - m->h.opcode_base) / m->h.line_range : 0);
        break;
    case CAIRN_DW_LNS_FIXED_ADVANCE_PC:
        m->vaddr += cairn_reader_u16(r);
        m->op_index = 0;
        break;
    case CAIRN_DW_LNS_NEGATE_STMT:
        m->is_stmt = !m->is_stmt;
        break;
    case CAIRN_DW_LNS_SET_BASIC_BLOCK:
    case CAIRN_DW_LNS_SET_PROLOGUE_END:
    case CAIRN_DW_LNS_SET_EPILOGUE_BEGIN:
        break;
    default: /* set_column, set_isa, and those of later versions: the header counts operands */
        for (unsigned i = 0; i < m->h.lengths[opcode - 1]; i++)
            (void)cairn_reader_uleb(r);
        break;
    }
}

void cairn_dwarf_line_machine_step(struct cairn_dwarf_line_machine *m)
{
    const unsigned line_range = m->h.line_range ? m->h.line_range : 1;
    uint8_t opcode = m->r.bytes.data[m->r.pos++];
    if (opcode < m->h.opcode_base) {
        run_standard(m, opcode);
        return;
    }
    unsigned adjusted = opcode - m->h.opcode_base;
    advance(m, adjusted / line_range);
    m->line += (uint32_t)(m->h.line_base + (int)(adjusted % line_range));
    add_row(m);
}

/* Appends one sequence to `rows`, from `from` on: what lies before it is another's. */
static size_t append_sequence(struct cairn_dwarf_row *rows, size_t n,
                              const struct cairn_dwarf_row *old,
                              const struct cairn_dwarf_sequence *s, uint32_t from)
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

static bool are_in_order(const struct cairn_dwarf_line_machine *m)
{
    for (size_t i = 1; i < m->n_sequences; i++)
        if (m->sequences[i].low < m->sequences[i - 1].low)
            return false;
    return true;
}

/* All rows of the whole sequences, in order of address. */
static int flatten(struct cairn_dwarf_line_machine *m)
{
    struct cairn_dwarf_lines *lines = m->lines;
    struct cairn_dwarf_row *rows = lines->rows;
    size_t n = 0;
    if (!are_in_order(m)) {
        rows = cairn_realloc(NULL, lines->n_rows, sizeof *rows);
        if (!rows || cairn_dwarf_sort(m->sequences, m->n_sequences, sizeof *m->sequences) < 0) {
            cairn_free(rows);
            return CAIRN_E_NOMEM;
        }
    }
    uint32_t reached = 0;
    for (size_t i = 0; i < m->n_sequences; i++) {
        const struct cairn_dwarf_sequence *s = &m->sequences[i];
        if (s->high <= reached)
            continue;
        n = append_sequence(rows, n, lines->rows, s, s->low > reached ? s->low : reached);
        reached = s->high;
    }
    if (rows != lines->rows) {
        cairn_free(lines->rows);
        lines->rows = rows;
        lines->cap_rows = lines->n_rows;
    }
    lines->n_rows = n;
    return CAIRN_OK;
}

int cairn_dwarf_line_machine_begin(struct cairn_dwarf_line_machine *ret_machine,
                                   const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                   struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    struct cairn_dwarf_line_machine m = {.d = d, .lines = lines, .base = cairn_dwarf_base(d)};
    int code = cairn_dwarf_line_header_read(d, unit, &m.h, lines, err);
    if (code < 0)
        return code;
    m.r = cairn_reader_of((struct cairn_span){d->line.data, (size_t)m.h.end}, d->swap);
    m.r.pos = (size_t)m.h.program;
    begin_sequence(&m);
    *ret_machine = m;
    return CAIRN_OK;
}

int cairn_dwarf_line_machine_end(struct cairn_dwarf_line_machine *m, struct cairn_err *err)
{
    int code = CAIRN_OK;
    m->lines->n_rows = m->first_row; /* a sequence without an end says nothing about its last row */
    if (m->no_memory || flatten(m) < 0)
        code = cairn_fail_memory(err);
    else if (m->r.failed)
        code = cairn_fail(err, CAIRN_E_FORMAT, ".debug_line at 0x%zx: damaged program", m->r.pos);
    cairn_free(m->sequences);
    m->sequences = NULL;
    return code;
}
