/* SPDX-License-Identifier: MIT */
#include "unwind/derive.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/log.h"
#include "elf/go_table.h"
#include "unwind/crt.h"
#include "unwind/derive_flow.h"

/* ALIGN: of functions, where padding comes before. STEPS_A_BYTE: four times what any program has
 * needed yet. NAMED_BYTES: with a symbol for so many, nobody is looked for in other code. */
enum { ALIGN = 16, STEPS_A_BYTE = 4, STEPS_MORE = 1 << 16, EDGES_A_STEP = 16, NAMED_BYTES = 2048 };

/* `guess_end`: up to where nobody names it; 0: somebody does. */
static void begin_at(struct cairn_deriving *d, uint64_t vaddr, uint64_t guess_end)
{
    struct cairn_derive_code *gap = cairn_derive_gap_of(d, vaddr);
    if (!gap || d->marks[cairn_derive_byte_of(gap, vaddr)] & CAIRN_DERIVE_BEGINS)
        return;
    d->marks[cairn_derive_byte_of(gap, vaddr)] |=
        CAIRN_DERIVE_BEGINS | (guess_end ? CAIRN_DERIVE_GUESSED : 0);
    const struct cairn_derive_place place = {.guess = guess_end ? vaddr : 0,
                                             .guess_end = guess_end};
    cairn_derive_go_to(d, &place, vaddr, &cairn_derive_entry);
}

/* Padding behind a call leads on to a loop, which others may have found, or is never reached. */
static bool may_lead_on(const struct cairn_deriving *d, const struct cairn_derive_place *place)
{
    const struct cairn_derive_code *gap = cairn_derive_gap_of(d, place->vaddr);
    uint64_t next = cairn_derive_behind_padding(gap, place->vaddr);
    if (next >= gap->to || d->marks[cairn_derive_byte_of(gap, next)] & CAIRN_DERIVE_BEGINS)
        return false;
    uint32_t found = d->states[cairn_derive_byte_of(gap, next)];
    return !found || d->known[found - 1].sp == d->known[place->state - 1].sp;
}

static void follow_later(struct cairn_deriving *d)
{
    while (d->code == CAIRN_OK && d->n_later) {
        struct cairn_derive_place place = d->later[--d->n_later];
        if (may_lead_on(d, &place))
            cairn_derive_add_place(d, &d->todo, &d->n_todo, &d->cap_todo, &place);
        cairn_derive_follow_all(d);
        cairn_derive_follow_jumps(d);
    }
}

/* All that is known so far. */
static void follow_known(struct cairn_deriving *d)
{
    cairn_derive_follow_all(d);
    cairn_derive_follow_jumps(d);
    follow_later(d);
}

static uint64_t next_begin(const struct cairn_deriving *d, const struct cairn_derive_code *gap,
                           uint64_t vaddr)
{
    while (vaddr < gap->to && !(d->marks[cairn_derive_byte_of(gap, vaddr)] & CAIRN_DERIVE_BEGINS))
        vaddr++;
    return vaddr;
}

/* Where the function continues behind unreached code; `vaddr` if it does not continue. */
static uint64_t goes_on_at(const struct cairn_deriving *d, const struct cairn_derive_code *gap,
                           uint64_t vaddr)
{
    size_t byte = cairn_derive_byte_of(gap, vaddr);
    for (uint64_t at = vaddr; at < gap->to && !(d->marks[byte] & CAIRN_DERIVE_BEGINS); at++)
        if (d->states[byte++])
            return at;
    return vaddr;
}

/* From `at` on; behind what was looked at. */
static uint64_t begin_one(struct cairn_deriving *d, const struct cairn_derive_code *gap,
                          uint64_t at, uint64_t end)
{
    uint64_t next = cairn_derive_behind_padding(gap, at);
    bool begins = next % ALIGN == 0 || next == gap->from;
    if (next < end && !d->states[cairn_derive_byte_of(gap, next)] && begins) {
        begin_at(d, next, end);
        follow_known(d);
    }
    bool is_known = next > at && next < gap->to && d->states[cairn_derive_byte_of(gap, next)];
    return is_known ? next : next + 1;
}

/* Unreached code. A function without a symbol may start there, behind padding. Inside a sound
 * function the code follows a call that never returns, and no function starts in it. */
static void begin_rest(struct cairn_deriving *d)
{
    for (size_t g = 0; g < d->n_gaps && d->code == CAIRN_OK; g++) {
        const struct cairn_derive_code *gap = &d->gaps[g];
        uint64_t end = gap->from, goes_on;
        unsigned marks = CAIRN_DERIVE_IS_BAD; /* of the function so far */
        for (uint64_t at = gap->from; at < gap->to && d->code == CAIRN_OK;) {
            struct cairn_derive_state state = cairn_derive_entry;
            struct cairn_derive_insn insn;
            size_t byte = cairn_derive_byte_of(gap, at);
            end = at < end ? end : next_begin(d, gap, at + 1);
            marks = d->marks[byte] | (d->marks[byte] & CAIRN_DERIVE_BEGINS ? 0 : marks);
            if (d->states[byte]) {
                cairn_derive_x86_64(cairn_derive_code_from(gap, at), at, &state, &insn);
                at += insn.size ? insn.size : 1;
            } else if (!(marks & CAIRN_DERIVE_IS_BAD) && (goes_on = goes_on_at(d, gap, at)) > at) {
                at = goes_on;
            } else {
                at = begin_one(d, gap, at, end);
            }
        }
    }
}

/* A list of all addresses that are called, or taken, by the code [from, to). */
static void read_leads(struct cairn_deriving *d, struct cairn_span code, uint64_t vaddr)
{
    for (size_t at = 0; at < code.size && d->code == CAIRN_OK;) {
        struct cairn_derive_state state = cairn_derive_entry;
        struct cairn_derive_insn insn;
        cairn_derive_x86_64((struct cairn_span){code.data + at, code.size - at}, vaddr + at, &state,
                            &insn);
        if (insn.flow == CAIRN_FLOW_CALL && insn.knows_to)
            begin_at(d, insn.to, 0);
        else if (insn.flow == CAIRN_FLOW_NEXT && insn.has_place)
            begin_at(d, insn.place, 0);
        else if (insn.loads && d->input->elf->type == ET_EXEC)
            begin_at(d, insn.number, 0);
        at += insn.flow == CAIRN_FLOW_BAD || !insn.size ? 1 : insn.size;
    }
}

/* The same of code that is described, at a tenth of the time: what looks like a call or the taking
 * of an address, and leads to where compilers let functions begin. */
static void scan_leads(struct cairn_deriving *d, struct cairn_span code, uint64_t vaddr)
{
    size_t gap = CAIRN_COUNT_BELOW(d->gaps, d->n_gaps, to, vaddr);
    for (size_t at = 0; at + 6 <= code.size && d->code == CAIRN_OK; at++) {
        const uint8_t *p = code.data + at;
        if (gap < d->n_gaps && vaddr + at >= d->gaps[gap].from) {
            at = (size_t)(d->gaps[gap++].to - vaddr) - 1;
            continue;
        }
        bool is_call = p[0] == 0xe8, is_lea = p[0] == 0x8d && (p[1] & 0xc7) == 5;
        bool is_wide = p[0] == 0xc7 && (p[1] & 0xf8) == 0xc0; /* movq, sign-extended */
        bool is_load = ((p[0] & 0xf8) == 0xb8 || is_wide) && d->input->elf->type == ET_EXEC;
        if (!is_call && !is_lea && !is_load)
            continue;
        int32_t number;
        memcpy(&number, p + 1 + (is_lea || is_wide), sizeof number);
        uint64_t next = is_load ? 0 : vaddr + at + 5 + is_lea;
        uint64_t to = next + (uint64_t)(int64_t)number;
        if (to % ALIGN == 0)
            begin_at(d, to, 0);
    }
}

bool cairn_derive_is_code(const struct cairn_elf_section *section)
{
    return section->flags & SHF_EXECINSTR && section->flags & SHF_ALLOC &&
           section->type == SHT_PROGBITS && strncmp(section->name, ".plt", 4) != 0;
}

/* How many there are. */
static size_t begin_symbols(struct cairn_deriving *d)
{
    const struct cairn_derive_input *in = d->input;
    size_t n = 0;
    for (size_t t = 0; t < in->n_symtabs; t++)
        for (size_t i = 0; i < in->symtabs[t]->n; i++) {
            const struct cairn_elf_symbol *symbol = &in->symtabs[t]->symbols[i];
            if (symbol->type != STT_FUNC || !cairn_derive_gap_of(d, symbol->vaddr) ||
                strstr(symbol->name, ".cold"))
                continue;
            begin_at(d, symbol->vaddr, 0);
            n++;
        }
    return n;
}

/* Go's own table has all of Go's functions, stripped or not. */
static size_t begin_go(struct cairn_deriving *d)
{
    struct cairn_go_table table;
    uint64_t vaddr;
    if (!cairn_go_table_open(d->input->elf, &table))
        return 0;
    for (uint64_t i = 0; i < table.n && cairn_go_table_start(&table, i, &vaddr); i++)
        begin_at(d, vaddr, 0);
    return (size_t)table.n;
}

/* The program's entry code loads the address of main(), which need not be aligned. */
static void begin_main(struct cairn_deriving *d)
{
    struct cairn_span code;
    uint64_t entry = d->input->elf->entry;
    if (!entry || !cairn_elf_bytes_at(d->input->elf, entry, &code))
        return;
    uint64_t size = cairn_crt_entry_bytes(d->input->elf);
    if (size < CAIRN_CRT_ENTRY_BYTES) /* it may jump, over what is not code, to where it goes on */
        size = CAIRN_CRT_ENTRY_BYTES;
    read_leads(d, (struct cairn_span){code.data, code.size < size ? code.size : (size_t)size},
               entry);
}

static void begin_known(struct cairn_deriving *d)
{
    struct cairn_elf_section section;
    struct cairn_span code;
    size_t n_symbols = begin_symbols(d) + begin_go(d);
    begin_main(d);
    for (size_t g = 0; g < d->n_gaps; g++)
        read_leads(d, cairn_derive_code_from(&d->gaps[g], d->gaps[g].from), d->gaps[g].from);
    if (n_symbols >= d->n_bytes / NAMED_BYTES)
        return;
    for (uint32_t i = 0; cairn_elf_section(d->input->elf, i, &section); i++)
        if (cairn_derive_is_code(&section) &&
            cairn_elf_section_bytes(d->input->elf, &section, &code))
            scan_leads(d, code, section.vaddr);
}

static bool init(struct cairn_deriving *d, const struct cairn_derive_input *input)
{
    d->input = input;
    d->gaps = cairn_alloc(input->n_gaps, sizeof *d->gaps);
    for (size_t i = 0; d->gaps && i < input->n_gaps; i++) {
        const struct cairn_derive_gap *from = &input->gaps[i];
        struct cairn_span code;
        if (!cairn_elf_bytes_at(input->elf, from->from, &code) || code.size < from->to - from->from)
            continue;
        d->gaps[d->n_gaps++] =
            (struct cairn_derive_code){from->from, from->to, d->n_bytes, code.data};
        d->n_bytes += (size_t)(from->to - from->from);
    }
    if (!d->gaps || !d->n_bytes || d->n_bytes > CAIRN_DERIVE_BYTES_MAX)
        return d->gaps != NULL;
    d->states = cairn_alloc(d->n_bytes, sizeof *d->states);
    d->marks = cairn_alloc(d->n_bytes, 1);
    return d->states && d->marks;
}

static void done(struct cairn_deriving *d)
{
    cairn_free(d->gaps);
    cairn_free(d->states);
    cairn_free(d->marks);
    cairn_free(d->known);
    cairn_free(d->todo);
    cairn_free(d->jumps);
    cairn_free(d->later);
    cairn_free(d->tables);
    cairn_free(d->edges);
    cairn_free(d->taken);
    cairn_free(d->begins);
    cairn_table_done(&d->by_hash);
}

static bool add_begin(struct cairn_deriving *d, size_t byte)
{
    if (cairn_grow((void **)&d->begins, &d->cap_begins, d->n_begins + 1, sizeof *d->begins) < 0)
        d->code = CAIRN_E_NOMEM;
    else
        d->begins[d->n_begins++] = byte;
    return d->code == CAIRN_OK;
}

/* The begin of the function that holds the place, as a byte. */
static uint64_t begin_of(const struct cairn_deriving *d, uint64_t vaddr)
{
    size_t n = cairn_count_below(d->begins, d->n_begins, sizeof *d->begins, 0,
                                 cairn_derive_byte_of(cairn_derive_gap_of(d, vaddr), vaddr));
    return n ? d->begins[n - 1] : 0;
}

/* Each begin is given what its function does; `begins` has them all, and where gaps begin. */
static void sum_marks(struct cairn_deriving *d)
{
    for (size_t g = 0; g < d->n_gaps && d->code == CAIRN_OK; g++) {
        const struct cairn_derive_code *gap = &d->gaps[g];
        size_t begin = gap->at, end = gap->at + (size_t)(gap->to - gap->from);
        for (size_t byte = gap->at; byte < end; byte++) {
            if ((d->marks[byte] & CAIRN_DERIVE_BEGINS || byte == gap->at) && !add_begin(d, byte))
                return;
            begin = d->marks[byte] & CAIRN_DERIVE_BEGINS ? byte : begin;
            d->marks[begin] |= d->marks[byte] & (CAIRN_DERIVE_RETURNS | CAIRN_DERIVE_IS_BAD);
        }
    }
    for (size_t i = 0; i < d->n_edges; i++) {
        d->edges[i].from = begin_of(d, d->edges[i].from);
        d->edges[i].to = begin_of(d, d->edges[i].to);
    }
}

/* Who never returns is known when all was followed once, and where its jumps lead. */
static void find_who_never_returns(struct cairn_deriving *d)
{
    bool any = true;
    sum_marks(d);
    while (any && cairn_derive_spend(d, d->n_edges / EDGES_A_STEP)) {
        any = false;
        for (size_t i = 0; i < d->n_edges; i++) {
            const struct cairn_derive_edge *edge = &d->edges[i];
            bool is_new = d->marks[edge->to] & (CAIRN_DERIVE_RETURNS | CAIRN_DERIVE_IS_BAD) &&
                          !(d->marks[edge->from] & CAIRN_DERIVE_RETURNS);
            d->marks[edge->from] |= is_new ? CAIRN_DERIVE_RETURNS : 0;
            any = any || is_new;
        }
    }
    for (size_t byte = 0; byte < d->n_bytes; byte++)
        if (d->marks[byte] & CAIRN_DERIVE_BEGINS &&
            !(d->marks[byte] & (CAIRN_DERIVE_IS_BAD | CAIRN_DERIVE_RETURNS)) && d->states[byte])
            d->marks[byte] |= CAIRN_DERIVE_NEVER_RETURNS;
}

/* Behind a call of who never returns another function's code may stand. */
static void follow_again(struct cairn_deriving *d)
{
    find_who_never_returns(d);
    memset(d->states, 0, d->n_bytes * sizeof *d->states);
    d->n_tables = d->n_edges = d->n_taken = 0;
    for (size_t g = 0; g < d->n_gaps && d->code == CAIRN_OK; g++)
        for (uint64_t at = d->gaps[g].from; at < d->gaps[g].to; at++) {
            uint8_t *mark = &d->marks[cairn_derive_byte_of(&d->gaps[g], at)];
            *mark &= CAIRN_DERIVE_BEGINS | CAIRN_DERIVE_NEVER_RETURNS;
            if (*mark & CAIRN_DERIVE_BEGINS)
                cairn_derive_go_to(d, &(struct cairn_derive_place){0}, at, &cairn_derive_entry);
        }
    follow_known(d);
}

static void find_out(struct cairn_deriving *d)
{
    d->n_left = d->n_bytes * STEPS_A_BYTE + STEPS_MORE;
    begin_known(d);
    follow_known(d);
    follow_again(d);
    begin_rest(d);
}

int cairn_derive(const struct cairn_derive_input *input, struct cairn_buffer *ret_debug_frame)
{
    struct cairn_deriving d = {0};
    if (input->elf->machine != EM_X86_64 || !input->elf->is64 || !input->n_gaps)
        return CAIRN_OK;
    if (!init(&d, input))
        d.code = CAIRN_E_NOMEM;
    if (d.code == CAIRN_OK && d.states)
        find_out(&d);
    if (d.code == CAIRN_OK && d.states)
        cairn_derive_put(&d, ret_debug_frame);
    if (d.code == CAIRN_E_LIMIT)
        cairn_log(CAIRN_LOG_INFO, "%zu bytes of code without CFI are too much to be followed",
                  d.n_bytes);
    int code = d.code == CAIRN_E_NOMEM || ret_debug_frame->failed ? CAIRN_E_NOMEM : CAIRN_OK;
    done(&d);
    return code;
}
