/* SPDX-License-Identifier: MIT */
/*
 * Rows of files and lines. Hot path: opcodes without operands or with one of a single byte, by a
 * table of what each does, in registers, without a call.
 */
#include "dwarf/line.h"

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/constants.h"
#include "dwarf/line_machine.h"

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

/* The bytes of set_discriminator, which changes nothing that is asked for here; 0: it is another
 * one, or runs past the end. */
static size_t discriminator_bytes(const uint8_t *at, const uint8_t *end)
{
    bool is = end - at >= 3 && at[1] && at[1] < 0x80 && at[2] == CAIRN_DW_LNE_SET_DISCRIMINATOR;
    return is && end - at >= 2 + at[1] ? 2u + at[1] : 0;
}

/* Runs on while opcodes are simple and their operands have at most two bytes; all that changes is
 * held in registers. */
static void run_simple(struct cairn_dwarf_line_machine *m, const struct step *steps)
{
    const uint8_t *at = m->r.bytes.data + m->r.pos, *end = m->r.bytes.data + m->r.bytes.size;
    const uint32_t min_length = m->h.min_length;
    uint64_t vaddr = m->vaddr;
    uint32_t line = m->line, file = m->file;
    while (at < end && !m->no_memory) {
        const struct step *step = &steps[*at];
        if (step->kind == STEP_ROW) {
            at++;
            vaddr += step->vaddr;
            line += (uint32_t)step->line;
            cairn_dwarf_line_add_at(m, vaddr, file, line);
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

static void run(struct cairn_dwarf_line_machine *m)
{
    struct step steps[256];
    list_steps(&m->h, steps);
    while (cairn_reader_more(&m->r)) {
        run_simple(m, steps);
        if (cairn_reader_more(&m->r))
            cairn_dwarf_line_machine_step(m);
    }
}

int cairn_dwarf_lines_read_again(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                 struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    struct cairn_dwarf_line_machine m;
    lines->n_rows = lines->n_files = lines->n_dirs = lines->n_bytes = 0;
    if (unit->line_off == UINT64_MAX)
        return CAIRN_OK;
    int code = cairn_dwarf_line_machine_begin(&m, d, unit, lines, err);
    if (code < 0)
        return code;
    run(&m);
    lines->n_bytes = m.r.pos - (size_t)unit->line_off;
    return cairn_dwarf_line_machine_end(&m, err);
}

int cairn_dwarf_lines_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_lines *ret_lines, struct cairn_err *err)
{
    struct cairn_dwarf_lines lines = {0};
    int code = cairn_dwarf_lines_read_again(d, unit, &lines, err);
    if (code == CAIRN_E_NOMEM)
        cairn_dwarf_lines_done(&lines);
    else
        *ret_lines = lines;
    return code;
}

int cairn_dwarf_statements_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                struct cairn_dwarf_lines *ret_lines, struct cairn_err *err)
{
    struct cairn_dwarf_lines lines = {0};
    struct cairn_dwarf_line_machine m;
    int code = CAIRN_OK;
    if (unit->line_off != UINT64_MAX)
        code = cairn_dwarf_line_machine_begin(&m, d, unit, &lines, err);
    if (unit->line_off != UINT64_MAX && code == CAIRN_OK) {
        m.has_statements_alone = true;
        while (cairn_reader_more(&m.r))
            cairn_dwarf_line_machine_step(&m);
        lines.n_bytes = m.r.pos - (size_t)unit->line_off;
        code = cairn_dwarf_line_machine_end(&m, err);
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
