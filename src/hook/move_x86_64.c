/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Moved code of x86-64 (Intel SDM 2). What is rewritten:
 *
 *     jmp, jcc                rel32; out of reach: jmp *0(%rip), behind the opposite condition
 *     jrcxz, jecxz, loop*     the same with its 8 bits, over a jump that is not taken
 *     call                    push the original return address, jmp
 *     operand from rip        the distance anew; out of reach: lea and mov by a movabs to their own
 *                             register
 *
 * Nothing is written below rsp but by what writes there itself: signal handlers and leaf functions
 * share it. No flag changes.
 */
#include "code/flow.h"
#include "hook/move.h"

enum { REACH_MARGIN = CAIRN_HOOK_COPY_MAX, FAR_JUMP_BYTES = 14, FIXUPS_MAX = 16 };

/* A rel32 of the copy that leads into the copy. */
struct fixup {
    uint16_t at;      /* of the four bytes */
    uint8_t from_off; /* leads to the copy of this byte */
};

struct mover {
    const struct cairn_hook_piece *piece;
    struct cairn_hook_copy *copy;
    size_t taken;
    struct fixup fixups[FIXUPS_MAX];
    size_t n_fixups;
};

/* The instruction that is being moved. */
struct moved {
    struct cairn_x86_64_insn insn;
    struct cairn_code_step step;
    size_t off; /* from from_va on */
    uint64_t va;
};

static bool refuse(struct mover *m, enum cairn_hook_reason reason, uint64_t va)
{
    return cairn_hook_copy_refuse(m->copy, reason, va);
}

static bool add(struct mover *m, const void *bytes, size_t n)
{
    return cairn_hook_copy_add(m->copy, bytes, n);
}

static bool add_u32(struct mover *m, uint32_t value)
{
    uint8_t bytes[4];
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    return add(m, bytes, sizeof bytes);
}

static bool add_u64(struct mover *m, uint64_t value)
{
    return add_u32(m, (uint32_t)value) && add_u32(m, (uint32_t)(value >> 32));
}

static uint64_t here(const struct mover *m)
{
    return m->piece->to_va + m->copy->n_code;
}

static bool is_inside(const struct mover *m, uint64_t va)
{
    return va - m->piece->from_va < m->taken;
}

/* From anywhere in the copy, so that the answer is the same for all of it. */
static bool is_near(const struct mover *m, uint64_t va)
{
    const int64_t distance = (int64_t)(va - m->piece->to_va);
    return distance >= INT32_MIN + REACH_MARGIN && distance <= INT32_MAX - REACH_MARGIN;
}

/* The four bytes of a distance to `va`, counted from their end. */
static bool add_distance(struct mover *m, uint64_t va)
{
    if (!is_inside(m, va))
        return add_u32(m, (uint32_t)(va - (here(m) + 4)));
    if (m->n_fixups >= FIXUPS_MAX)
        return refuse(m, CAIRN_HOOK_TOO_LARGE, va);
    m->fixups[m->n_fixups++] =
        (struct fixup){(uint16_t)m->copy->n_code, (uint8_t)(va - m->piece->from_va)};
    return add_u32(m, 0);
}

static bool needs_far(const struct mover *m, uint64_t va)
{
    return !is_inside(m, va) && !is_near(m, va);
}

/* jmp rel32, or jmp *0(%rip) with the address behind it */
static bool add_jump(struct mover *m, uint64_t va)
{
    if (needs_far(m, va))
        return add(m, "\xff\x25\0\0\0\0", 6) && add_u64(m, va);
    return add(m, "\xe9", 1) && add_distance(m, va);
}

static uint8_t jump_bytes(const struct mover *m, uint64_t va)
{
    return needs_far(m, va) ? FAR_JUMP_BYTES : 5;
}

static bool move_condition(struct mover *m, const struct moved *i)
{
    const unsigned condition = i->insn.op & 15;
    if (!needs_far(m, i->step.to)) {
        const uint8_t near[] = {0x0f, (uint8_t)(0x80 | condition)};
        return add(m, near, sizeof near) && add_distance(m, i->step.to);
    }
    const uint8_t over[] = {(uint8_t)(0x70 | (condition ^ 1)), FAR_JUMP_BYTES};
    return add(m, over, sizeof over) && add_jump(m, i->step.to);
}

/* They count rcx or compare it, and have 8 bits. */
static bool move_count(struct mover *m, const struct moved *i)
{
    const uint8_t code[] = {(uint8_t)i->insn.op, 2, 0xeb, jump_bytes(m, i->step.to)};
    return (!i->insn.is_short_address || add(m, "\x67", 1)) && add(m, code, sizeof code) &&
           add_jump(m, i->step.to);
}

/* Only the last instruction may call: the callee returns to the original. */
static bool check_call(struct mover *m, const struct moved *i)
{
    if (m->piece->has_shadow_stack)
        return refuse(m, CAIRN_HOOK_CALLS, i->va);
    if (i->off + i->step.size < m->taken)
        return refuse(m, CAIRN_HOOK_RETURNS_IN, i->va);
    return true;
}

/* push of the 8 bytes that lie `distance` bytes behind it */
static bool add_push(struct mover *m, uint32_t distance)
{
    return add(m, "\xff\x35", 2) && add_u32(m, distance);
}

static bool move_call(struct mover *m, const struct moved *i)
{
    const uint64_t to = i->step.to, from = m->piece->from_va;
    if (!check_call(m, i))
        return false;
    if (is_inside(m, to) && to != from)
        return refuse(m, CAIRN_HOOK_BRANCHES_IN, i->va);
    /* A call of the function itself goes to its entry, and not to the copy of it. */
    if (!add_push(m, is_near(m, to) ? 5 : FAR_JUMP_BYTES))
        return false;
    bool done = is_near(m, to) ? add(m, "\xe9", 1) && add_u32(m, (uint32_t)(to - (here(m) + 4)))
                               : add(m, "\xff\x25\0\0\0\0", 6) && add_u64(m, to);
    return done && add_u64(m, i->va + i->step.size);
}

static bool move_plain(struct mover *m, const struct moved *i)
{
    return add(m, i->insn.start, i->step.size);
}

/* A call by memory at rsp: the push in front moves that by 8. The distance gets 32 bits. */
static bool add_jump_by_stack(struct mover *m, const struct moved *i)
{
    const struct cairn_x86_64_insn *insn = &i->insn;
    if (insn->disp < 0 || insn->disp > INT32_MAX - 8) /* the push would write over it */
        return refuse(m, CAIRN_HOOK_READS_PC, i->va);
    const uint8_t modrm[] = {(uint8_t)(2 << 6 | 4 << 3 | 4), insn->start[insn->modrm_at + 1]};
    return add(m, insn->start, insn->modrm_at) && add(m, modrm, sizeof modrm) &&
           add_u32(m, (uint32_t)(insn->disp + 8));
}

/* The same bytes, but digit 4 of opcode ff, a jump, in place of 2. */
static bool add_jump_by_place(struct mover *m, const struct moved *i)
{
    const struct cairn_x86_64_insn *insn = &i->insn;
    const uint8_t modrm = (uint8_t)((insn->start[insn->modrm_at] & ~(7 << 3)) | 4 << 3);
    return add(m, insn->start, insn->modrm_at) && add(m, &modrm, 1) &&
           add(m, insn->start + insn->modrm_at + 1, i->step.size - insn->modrm_at - 1);
}

static bool move_indirect_call(struct mover *m, const struct moved *i)
{
    const struct cairn_x86_64_insn *insn = &i->insn;
    const bool by_rip = cairn_x86_64_insn_is_rip(insn);
    const bool by_stack = insn->knows_place && insn->base == CAIRN_RSP;
    if (!check_call(m, i))
        return false;
    if (insn->mod == 3 && insn->rm == CAIRN_RSP)
        return refuse(m, CAIRN_HOOK_READS_PC, i->va);
    const uint64_t place = cairn_x86_64_insn_rip_va(insn, i->step.size, i->va);
    if (by_rip && !is_near(m, place))
        return refuse(m, CAIRN_HOOK_OUT_OF_REACH, i->va);
    const size_t jump = by_stack ? (size_t)insn->modrm_at + 6 : i->step.size;
    if (!add_push(m, (uint32_t)jump) ||
        !(by_stack ? add_jump_by_stack(m, i) : add_jump_by_place(m, i)))
        return false;
    if (by_rip) { /* the distance is the last of the instruction */
        m->copy->n_code -= 4;
        if (!add_u32(m, (uint32_t)(place - (here(m) + 4))))
            return false;
    }
    return add_u64(m, i->va + i->step.size);
}

/* lea: the address as an immediate of its register. */
static bool move_far_lea(struct mover *m, const struct moved *i, uint64_t place)
{
    const unsigned number = i->insn.digit | (i->insn.rex & CAIRN_REX_R ? 8 : 0);
    const uint8_t rex = (uint8_t)(0x48 | (number >> 3));
    const uint8_t op = (uint8_t)(0xb8 | (number & 7));
    return add(m, &rex, 1) && add(m, &op, 1) && add_u64(m, place);
}

/* mov from memory: the address into its register, which is dead there, then by that. rbp and r13
 * need a distance, rsp and r12 a SIB byte. */
static bool move_far_load(struct mover *m, const struct moved *i, uint64_t place)
{
    const unsigned number = i->insn.digit | (i->insn.rex & CAIRN_REX_R ? 8 : 0), low = number & 7;
    uint8_t code[5];
    size_t n = 0;
    const unsigned rex = (i->insn.rex & CAIRN_REX_W) | (number >> 3) * (CAIRN_REX_R | CAIRN_REX_B);
    if (rex)
        code[n++] = (uint8_t)(0x40 | rex);
    code[n++] = 0x8b;
    code[n++] = (uint8_t)((low == 5 ? 1 << 6 : 0) | low << 3 | low);
    if (low == 4)
        code[n++] = 0x24;
    if (low == 5)
        code[n++] = 0;
    return number != 4 /* rsp */ && move_far_lea(m, i, place) && add(m, code, n);
}

static bool move_far_operand(struct mover *m, const struct moved *i, uint64_t place)
{
    const struct cairn_x86_64_insn *insn = &i->insn;
    const bool is_plain = insn->map == CAIRN_MAP_ONE && !insn->is_vector && !insn->is_narrow;
    const bool has_prefix = insn->modrm_at != 1 + (insn->rex || insn->start[0] == 0x40);
    bool done = false;
    if (is_plain && !has_prefix && insn->op == 0x8d && insn->rex & CAIRN_REX_W)
        done = move_far_lea(m, i, place);
    else if (is_plain && !has_prefix && insn->op == 0x8b)
        done = move_far_load(m, i, place);
    return done || refuse(m, m->copy->reason ? m->copy->reason : CAIRN_HOOK_OUT_OF_REACH, i->va);
}

static bool move_rip_operand(struct mover *m, const struct moved *i)
{
    const struct cairn_x86_64_insn *insn = &i->insn;
    const uint64_t place = cairn_x86_64_insn_rip_va(insn, i->step.size, i->va);
    const bool is_lea = insn->map == CAIRN_MAP_ONE && insn->op == 0x8d;
    if (insn->is_short_address)
        return refuse(m, CAIRN_HOOK_READS_PC, i->va);
    /* The function's own address stays what it was; code as data would be seen changed. */
    if (is_inside(m, place) && !(is_lea && place == m->piece->from_va))
        return refuse(m, CAIRN_HOOK_BRANCHES_IN, i->va);
    if (!is_near(m, place))
        return move_far_operand(m, i, place);
    const uint32_t distance = (uint32_t)(place - (here(m) + i->step.size));
    const size_t at = m->copy->n_code + insn->disp_at;
    if (!move_plain(m, i))
        return false;
    for (unsigned b = 0; b < 4; b++)
        m->copy->code[at + b] = (uint8_t)(distance >> 8 * b);
    return true;
}

/* xbegin, xabort, xend: a transaction ends where it began. */
static bool is_transaction(const struct cairn_x86_64_insn *i)
{
    return (i->map == CAIRN_MAP_ONE && (i->op == 0xc6 || i->op == 0xc7) && i->digit == 7) ||
           (i->map == CAIRN_MAP_0F && i->op == 0x01 && i->mod == 3 && i->digit == 2 &&
            i->rm == CAIRN_RBP);
}

static bool move_one(struct mover *m, const struct moved *i)
{
    const bool is_branch = i->step.knows_to;
    if ((is_branch || i->step.flow == CAIRN_FLOW_CALL) && i->insn.is_narrow &&
        !(i->insn.rex & CAIRN_REX_W))
        return refuse(m, CAIRN_HOOK_NOT_CODE, i->va); /* 16 bits by AMD's CPUs alone */
    switch (i->step.flow) {
    case CAIRN_FLOW_BRANCH:
        return i->insn.map == CAIRN_MAP_ONE && i->insn.op >= 0xe0 ? move_count(m, i)
                                                                  : move_condition(m, i);
    case CAIRN_FLOW_JUMP:
        return add_jump(m, i->step.to);
    case CAIRN_FLOW_CALL:
        return is_branch ? move_call(m, i) : move_indirect_call(m, i);
    default:
        return cairn_x86_64_insn_is_rip(&i->insn) ? move_rip_operand(m, i) : move_plain(m, i);
    }
}

/* Decodes the instruction at `off`. */
static bool take(struct mover *m, size_t off, struct moved *ret)
{
    const struct cairn_hook_piece *p = m->piece;
    ret->off = off;
    ret->va = p->from_va + off;
    size_t size =
        cairn_x86_64_insn_take(&ret->insn, (struct cairn_span){p->code + off, p->n_code - off});
    if (!size)
        return refuse(m, CAIRN_HOOK_CUT_OFF, ret->va);
    if (size > CAIRN_X86_64_INSN_MAX || cairn_x86_64_insn_is_bad(&ret->insn) ||
        (ret->insn.map == CAIRN_MAP_ONE && !ret->insn.is_vector && ret->insn.op == 0xcc))
        return refuse(m, CAIRN_HOOK_NOT_CODE, ret->va);
    if (is_transaction(&ret->insn))
        return refuse(m, CAIRN_HOOK_EXCLUSIVE, ret->va);
    cairn_x86_64_insn_step(&ret->insn, size, ret->va, &ret->step);
    return true;
}

/* How far the whole instructions reach. */
static bool measure(struct mover *m)
{
    size_t off = 0;
    while (off < m->piece->least) {
        struct moved i;
        if (!take(m, off, &i))
            return false;
        off += i.step.size;
    }
    m->taken = off;
    return true;
}

static bool never_goes_on(enum cairn_flow flow)
{
    return flow == CAIRN_FLOW_JUMP || flow == CAIRN_FLOW_INDIRECT || flow == CAIRN_FLOW_RETURN ||
           flow == CAIRN_FLOW_STOP || flow == CAIRN_FLOW_CALL;
}

/* The copy of the instruction that begins `from_off` bytes into the original. */
static bool find_copy(const struct cairn_hook_copy *copy, size_t from_off, uint16_t *ret_to_off)
{
    for (size_t i = 0; i < copy->n_insns; i++)
        if (copy->from_off[i] == from_off) {
            *ret_to_off = copy->to_off[i];
            return true;
        }
    return false;
}

static bool resolve_fixups(struct mover *m)
{
    for (size_t i = 0; i < m->n_fixups; i++) {
        const struct fixup *f = &m->fixups[i];
        uint16_t to;
        if (!find_copy(m->copy, f->from_off, &to))
            return refuse(m, CAIRN_HOOK_BRANCHES_IN, m->piece->from_va + f->from_off);
        const uint32_t distance = (uint32_t)to - (f->at + 4u);
        for (unsigned b = 0; b < 4; b++)
            m->copy->code[f->at + b] = (uint8_t)(distance >> 8 * b);
    }
    return true;
}

bool cairn_hook_move_x86_64(const struct cairn_hook_piece *piece, struct cairn_hook_copy *ret_copy)
{
    struct mover m = {.piece = piece, .copy = ret_copy};
    struct moved i = {.step.flow = CAIRN_FLOW_NEXT};
    if (!measure(&m))
        return false;
    for (size_t off = 0; off < m.taken; off += i.step.size)
        if (!take(&m, off, &i) || !cairn_hook_copy_begin(ret_copy, off) || !move_one(&m, &i))
            return false;
    ret_copy->taken = m.taken;
    ret_copy->from_off[ret_copy->n_insns] = (uint8_t)m.taken;
    ret_copy->to_off[ret_copy->n_insns] = (uint16_t)ret_copy->n_code;
    return (never_goes_on(i.step.flow) || add_jump(&m, piece->from_va + m.taken)) &&
           resolve_fixups(&m);
}

size_t cairn_hook_far_jump_x86_64(uint64_t target_va, uint8_t *ret_code)
{
    static const uint8_t jump[6] = {0xff, 0x25};
    for (size_t i = 0; i < sizeof jump; i++)
        ret_code[i] = jump[i];
    for (unsigned b = 0; b < 8; b++)
        ret_code[sizeof jump + b] = (uint8_t)(target_va >> 8 * b);
    return FAR_JUMP_BYTES;
}
