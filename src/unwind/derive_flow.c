/* SPDX-License-Identifier: MIT */
#include "unwind/derive_flow.h"

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "unwind/arch.h"

enum {
    ENDS_BYTES = 16,                /* behind a call that ends a thread */
    FUNCTION_BYTES_MAX = 256 << 10, /* to either side */
    BYTES_A_STEP = 64               /* are looked through in the time of a step */
};

const struct cairn_derive_state cairn_derive_entry = {
    .sp = CAIRN_DERIVE_WORD, .fp = CAIRN_DERIVE_UNKNOWN, .intact = (1u << CAIRN_DERIVE_KEPT) - 1};

struct cairn_derive_code *cairn_derive_gap_of(const struct cairn_deriving *d, uint64_t vaddr)
{
    size_t n = CAIRN_COUNT_BELOW(d->gaps, d->n_gaps, from, vaddr);
    return n && vaddr < d->gaps[n - 1].to ? &d->gaps[n - 1] : NULL;
}

size_t cairn_derive_byte_of(const struct cairn_derive_code *gap, uint64_t vaddr)
{
    return gap->at + (size_t)(vaddr - gap->from);
}

struct cairn_span cairn_derive_code_from(const struct cairn_derive_code *gap, uint64_t vaddr)
{
    return (struct cairn_span){gap->code + (vaddr - gap->from), (size_t)(gap->to - vaddr)};
}

static bool same(const struct cairn_derive_state *a, const struct cairn_derive_state *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Its number + 1; 0: memory is gone. */
static uint32_t number_of(struct cairn_deriving *d, const struct cairn_derive_state *state)
{
    uint64_t hash = cairn_hash_bytes(state, sizeof *state);
    uint32_t number;
    while (cairn_table_find(&d->by_hash, hash, &number)) {
        if (same(&d->known[number], state))
            return number + 1;
        hash++;
    }
    if (cairn_grow((void **)&d->known, &d->cap_known, d->n_known + 1, sizeof *d->known) < 0 ||
        cairn_table_set(&d->by_hash, hash, (uint32_t)d->n_known) < 0) {
        d->code = CAIRN_E_NOMEM;
        return 0;
    }
    d->known[d->n_known] = *state;
    return (uint32_t)++d->n_known;
}

bool cairn_derive_spend(struct cairn_deriving *d, uint64_t work)
{
    if (work > d->n_left && d->code == CAIRN_OK)
        d->code = CAIRN_E_LIMIT;
    d->n_left -= work < d->n_left ? work : d->n_left;
    return d->code == CAIRN_OK;
}

void cairn_derive_add_place(struct cairn_deriving *d, struct cairn_derive_place **list, size_t *n,
                            size_t *cap, const struct cairn_derive_place *place)
{
    if (cairn_grow((void **)list, cap, *n + 1, sizeof **list) < 0)
        d->code = CAIRN_E_NOMEM;
    else
        (*list)[(*n)++] = *place;
}

void cairn_derive_add_edge(struct cairn_deriving *d, struct cairn_derive_edge **list, size_t *n,
                           size_t *cap, struct cairn_derive_edge edge)
{
    if (cairn_grow((void **)list, cap, *n + 1, sizeof **list) < 0)
        d->code = CAIRN_E_NOMEM;
    else
        (*list)[(*n)++] = edge;
}

void cairn_derive_go_to(struct cairn_deriving *d, const struct cairn_derive_place *from,
                        uint64_t vaddr, const struct cairn_derive_state *state)
{
    struct cairn_derive_place to = *from;
    to.vaddr = vaddr;
    to.state = number_of(d, state);
    to.by_fall = false;
    cairn_derive_add_place(d, &d->todo, &d->n_todo, &d->cap_todo, &to);
}

void cairn_derive_spoil(struct cairn_deriving *d, const struct cairn_derive_place *place,
                        size_t byte)
{
    d->marks[place->guess ? cairn_derive_byte_of(cairn_derive_gap_of(d, place->guess), place->guess)
                          : byte] |= CAIRN_DERIVE_IS_BAD;
}

/* What both ways say; false: they do not agree on the CFA. */
static bool join(struct cairn_derive_state *into, const struct cairn_derive_state *with)
{
    if (into->sp != with->sp && into->sp != CAIRN_DERIVE_UNKNOWN &&
        with->sp != CAIRN_DERIVE_UNKNOWN)
        return false;
    into->sp = into->sp == with->sp ? into->sp : CAIRN_DERIVE_UNKNOWN;
    into->fp = into->fp == with->fp ? into->fp : CAIRN_DERIVE_UNKNOWN;
    into->intact &= with->intact;
    for (unsigned i = 0; i < CAIRN_DERIVE_KEPT; i++)
        if (into->saved[i] != with->saved[i])
            into->saved[i] = 0;
    return true;
}

/* Comes to a place: false where there is nothing new, or where this way must not go. */
static bool arrive(struct cairn_deriving *d, struct cairn_derive_place *place, size_t byte)
{
    uint32_t before = d->states[byte], number = place->state;
    bool is_entry = number && same(&d->known[number - 1], &cairn_derive_entry);
    if (!number || (d->marks[byte] & CAIRN_DERIVE_BEGINS && !is_entry && place->by_fall))
        return false; /* what was called does not come back */
    struct cairn_derive_state state = d->known[number - 1];
    if ((d->marks[byte] & CAIRN_DERIVE_BEGINS && !is_entry) ||
        (before && before != number && !join(&state, &d->known[before - 1]))) {
        cairn_derive_spoil(d, place, byte);
        return false;
    }
    if (before && before != number)
        number = number_of(d, &state);
    if (number == before || d->code < 0)
        return false;
    d->states[byte] = place->state = number;
    return true;
}

uint64_t cairn_derive_behind_padding(const struct cairn_derive_code *gap, uint64_t vaddr)
{
    struct cairn_code_step step = {.is_padding = true};
    while (vaddr < gap->to && step.is_padding) {
        cairn_code_step_x86_64(cairn_derive_code_from(gap, vaddr), vaddr, &step);
        vaddr += step.is_padding ? step.size : 0;
    }
    return vaddr;
}

bool cairn_derive_is_unchanged(const struct cairn_derive_state *state)
{
    return state->sp == CAIRN_DERIVE_WORD && state->intact >> CAIRN_DERIVE_KEPT_FP & 1;
}

void cairn_derive_bounds(struct cairn_deriving *d, const struct cairn_derive_place *jump,
                         uint64_t *ret_from, uint64_t *ret_to)
{
    const uint64_t vaddr = jump->vaddr - 1;
    if (jump->guess) {
        *ret_from = jump->guess;
        *ret_to = jump->guess_end;
        return;
    }
    const struct cairn_derive_code *gap = cairn_derive_gap_of(d, vaddr);
    const uint8_t *mark = d->marks + cairn_derive_byte_of(gap, vaddr);
    uint64_t before = vaddr - gap->from, behind = gap->to - vaddr, below = 0, above = 1;
    before = before < FUNCTION_BYTES_MAX ? before : FUNCTION_BYTES_MAX;
    behind = behind < FUNCTION_BYTES_MAX ? behind : FUNCTION_BYTES_MAX;
    while (below < before && !(*(mark - below) & CAIRN_DERIVE_BEGINS))
        below++;
    while (above < behind && !(mark[above] & CAIRN_DERIVE_BEGINS))
        above++;
    *ret_from = vaddr - below;
    *ret_to = vaddr + above;
    cairn_derive_spend(d, (below + above) / BYTES_A_STEP);
}

/* A jump to what is described already, or to a function's begin, is a call in its last place. */
static void jump(struct cairn_deriving *d, const struct cairn_derive_place *place, size_t byte,
                 uint64_t to, const struct cairn_derive_state *state)
{
    const struct cairn_derive_code *gap = cairn_derive_gap_of(d, to);
    unsigned marks = gap ? d->marks[cairn_derive_byte_of(gap, to)] : CAIRN_DERIVE_BEGINS;
    bool is_call = marks & CAIRN_DERIVE_BEGINS && !(place->guess && marks & CAIRN_DERIVE_GUESSED);
    bool is_astray = !is_call && place->guess && (to < place->guess || to >= place->guess_end);
    if (is_astray || (is_call && !cairn_derive_is_unchanged(state)))
        cairn_derive_spoil(d, place, byte);
    else if (!gap || (is_call && place->guess))
        d->marks[byte] |= CAIRN_DERIVE_RETURNS;
    else if (!is_call)
        cairn_derive_go_to(d, place, to, state);
    if (gap)
        cairn_derive_add_edge(d, &d->edges, &d->n_edges, &d->cap_edges,
                              (struct cairn_derive_edge){place->vaddr - 1, to});
}

static bool ends_thread(const struct cairn_derive_code *gap, uint64_t vaddr)
{
    uint8_t code[ENDS_BYTES] = {0};
    struct cairn_span left = cairn_derive_code_from(gap, vaddr);
    memcpy(code, left.data, left.size < sizeof code ? left.size : sizeof code);
    return cairn_unwind_x86_64.ends_thread((struct cairn_span){code, sizeof code});
}

/* A call may not come back; where padding follows, what is known to be reached goes first. */
static bool call(struct cairn_deriving *d, struct cairn_derive_place *place,
                 const struct cairn_derive_code *gap, size_t byte,
                 const struct cairn_derive_insn *insn, const struct cairn_derive_state *state)
{
    const struct cairn_derive_code *to = insn->knows_to ? cairn_derive_gap_of(d, insn->to) : NULL;
    if (place->vaddr >= gap->to ||
        (to && d->marks[cairn_derive_byte_of(to, insn->to)] & CAIRN_DERIVE_NEVER_RETURNS))
        return false;
    if (state->sp != CAIRN_DERIVE_UNKNOWN && state->sp < CAIRN_DERIVE_WORD &&
        ends_thread(gap, place->vaddr)) {
        d->marks[byte] |= CAIRN_DERIVE_ENDS_THREAD;
        return false;
    }
    if (cairn_derive_behind_padding(gap, place->vaddr) == place->vaddr)
        return true;
    place->state = number_of(d, state);
    place->by_fall = true;
    cairn_derive_add_place(d, &d->later, &d->n_later, &d->cap_later, place);
    return false;
}

/* What a jump by a table will ask for: which addresses were taken, what bounds the index. */
static void note(struct cairn_deriving *d, struct cairn_derive_place *place,
                 const struct cairn_derive_insn *insn)
{
    if (insn->has_place && insn->flow == CAIRN_FLOW_NEXT) {
        memmove(place->places + 1, place->places, sizeof place->places - sizeof place->places[0]);
        place->places[0] = insn->place;
        if (!cairn_derive_gap_of(d, insn->place))
            cairn_derive_add_edge(d, &d->taken, &d->n_taken, &d->cap_taken,
                                  (struct cairn_derive_edge){place->vaddr - 1, insn->place});
    }
    if (insn->guard == CAIRN_DERIVE_COMPARES)
        place->compared = insn->number;
    else if (insn->guard == CAIRN_DERIVE_ABOVE)
        place->bound = place->compared + 1;
}

/* Goes along one way as long as it leads on. */
static void follow(struct cairn_deriving *d, struct cairn_derive_place place)
{
    struct cairn_derive_state state;
    struct cairn_derive_insn insn;
    struct cairn_derive_code *gap;
    while (cairn_derive_spend(d, 1) && (gap = cairn_derive_gap_of(d, place.vaddr))) {
        size_t byte = cairn_derive_byte_of(gap, place.vaddr);
        if (!arrive(d, &place, byte))
            return;
        state = d->known[place.state - 1];
        cairn_derive_x86_64(cairn_derive_code_from(gap, place.vaddr), place.vaddr, &state, &insn);
        place.vaddr += insn.size;
        note(d, &place, &insn);
        switch (insn.flow) {
        case CAIRN_FLOW_NEXT:
            break;
        case CAIRN_FLOW_CALL:
            if (!call(d, &place, gap, byte, &insn, &state))
                return;
            break;
        case CAIRN_FLOW_BRANCH: {
            struct cairn_derive_place taken = place;
            if (insn.guard == CAIRN_DERIVE_NOT_ABOVE)
                taken.bound = place.compared + 1;
            jump(d, &taken, byte, insn.to, &state);
            break;
        }
        case CAIRN_FLOW_JUMP:
            jump(d, &place, byte, insn.to, &state);
            return;
        case CAIRN_FLOW_INDIRECT:
            place.state = number_of(d, &state);
            if (insn.has_place)
                place.places[0] = insn.place;
            cairn_derive_add_place(d, &d->jumps, &d->n_jumps, &d->cap_jumps, &place);
            return;
        case CAIRN_FLOW_RETURN:
            if (cairn_derive_is_unchanged(&state))
                d->marks[byte] |= CAIRN_DERIVE_RETURNS;
            else
                cairn_derive_spoil(d, &place, byte);
            return;
        case CAIRN_FLOW_STOP:
            return;
        default:
            cairn_derive_spoil(d, &place, byte);
            return;
        }
        if (!same(&state, &d->known[place.state - 1]))
            place.state = number_of(d, &state);
        place.by_fall = true;
        if (place.vaddr < gap->to &&
            d->marks[cairn_derive_byte_of(gap, place.vaddr)] & CAIRN_DERIVE_BEGINS)
            cairn_derive_add_edge(d, &d->edges, &d->n_edges, &d->cap_edges,
                                  (struct cairn_derive_edge){place.vaddr - 1, place.vaddr});
    }
}

void cairn_derive_follow_all(struct cairn_deriving *d)
{
    while (d->code == CAIRN_OK && d->n_todo)
        follow(d, d->todo[--d->n_todo]);
}
