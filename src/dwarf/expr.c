/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "dwarf/expr.h"

#include "base/reader.h"
#include "dwarf/cfi_constants.h"

/*
 * The operations that name a place (DW_OP_reg*, DW_OP_piece, ...), ask for a frame's function or an
 * object, or hold an address before it was relocated (DW_OP_addr) are refused: DWARF 5, 6.4.2 rules
 * out some of them, and no value comes of the others here.
 */
struct machine {
    struct cairn_reader r;
    const struct cairn_expr_input *input;
    unsigned depth;
    bool failed;
    uint64_t stack[CAIRN_EXPR_DEPTH];
};

static uint64_t wrap(const struct machine *m, uint64_t value)
{
    return m->input->address_size == 4 ? (uint32_t)value : value;
}

static int64_t as_signed(const struct machine *m, uint64_t value)
{
    return m->input->address_size == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth == CAIRN_EXPR_DEPTH)
        m->failed = true;
    else
        m->stack[m->depth++] = wrap(m, value);
}

static uint64_t pop(struct machine *m)
{
    if (!m->depth) {
        m->failed = true;
        return 0;
    }
    return m->stack[--m->depth];
}

/* The n-th from the top on; 0 is the top. */
static uint64_t peek(struct machine *m, unsigned n)
{
    if (n >= m->depth) {
        m->failed = true;
        return 0;
    }
    return m->stack[m->depth - 1 - n];
}

static void push_register(struct machine *m, uint64_t reg)
{
    int64_t off = cairn_reader_sleb(&m->r);
    if (reg >= 64 || !(m->input->known >> reg & 1))
        m->failed = true;
    else
        push(m, m->input->regs[reg] + (uint64_t)off);
}

static void push_memory(struct machine *m, unsigned size)
{
    const struct cairn_memory *memory = m->input->memory;
    uint8_t bytes[8] = {0};
    uint64_t va = pop(m);
    if (m->failed || !size || size > m->input->address_size || !memory ||
        !memory->read(memory->ctx, va, bytes, size)) {
        m->failed = true;
        return;
    }
    bool big = m->input->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[big ? i : size - 1 - i];
    push(m, value);
}

static uint64_t shift(const struct machine *m, uint8_t op, uint64_t value, uint64_t by)
{
    bool beyond = by >= 8u * m->input->address_size;
    if (op == CAIRN_DW_OP_SHRA)
        return (uint64_t)(as_signed(m, value) >> (beyond ? 63 : by));
    if (beyond)
        return 0;
    return op == CAIRN_DW_OP_SHL ? value << by : value >> by;
}

static bool compare(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
    case CAIRN_DW_OP_EQ:
        return a == b;
    case CAIRN_DW_OP_GE:
        return a >= b;
    case CAIRN_DW_OP_GT:
        return a > b;
    case CAIRN_DW_OP_LE:
        return a <= b;
    case CAIRN_DW_OP_LT:
        return a < b;
    default:
        return a != b;
    }
}

/* The quotient has a sign, the remainder has none: so do libgcc and gdb. */
static uint64_t divide(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
    if (!b) {
        m->failed = true;
        return 0;
    }
    if (op == CAIRN_DW_OP_MOD)
        return a % b;
    if (as_signed(m, b) == -1) /* the lowest number has no opposite */
        return -a;
    return (uint64_t)(as_signed(m, a) / as_signed(m, b));
}

/* Operations on the two on top. */
static void run_binary(struct machine *m, uint8_t op)
{
    uint64_t b = pop(m), a = pop(m);
    switch (op) {
    case CAIRN_DW_OP_AND:
        push(m, a & b);
        break;
    case CAIRN_DW_OP_DIV:
    case CAIRN_DW_OP_MOD:
        push(m, divide(m, op, a, b));
        break;
    case CAIRN_DW_OP_MINUS:
        push(m, a - b);
        break;
    case CAIRN_DW_OP_MUL:
        push(m, a * b);
        break;
    case CAIRN_DW_OP_OR:
        push(m, a | b);
        break;
    case CAIRN_DW_OP_PLUS:
        push(m, a + b);
        break;
    case CAIRN_DW_OP_SHL:
    case CAIRN_DW_OP_SHR:
    case CAIRN_DW_OP_SHRA:
        push(m, shift(m, op, a, b));
        break;
    case CAIRN_DW_OP_XOR:
        push(m, a ^ b);
        break;
    case CAIRN_DW_OP_EQ:
    case CAIRN_DW_OP_GE:
    case CAIRN_DW_OP_GT:
    case CAIRN_DW_OP_LE:
    case CAIRN_DW_OP_LT:
    case CAIRN_DW_OP_NE:
        push(m, compare(op, as_signed(m, a), as_signed(m, b)));
        break;
    default:
        m->failed = true;
    }
}

/* const1u .. const8s: the width doubles with every second one, and every second one is signed. */
static void push_constant(struct machine *m, uint8_t op)
{
    unsigned width = 1u << (op - CAIRN_DW_OP_CONST1U) / 2;
    uint64_t value = cairn_reader_word(&m->r, width);
    bool is_signed = (op - CAIRN_DW_OP_CONST1U) & 1;
    if (is_signed && width < 8 && value >> (8 * width - 1))
        value |= ~0ull << 8 * width;
    push(m, value);
}

static void jump(struct machine *m, bool taken)
{
    int16_t distance = (int16_t)cairn_reader_u16(&m->r);
    if (taken) /* before the beginning it wraps, and is beyond the end */
        cairn_reader_seek(&m->r, m->r.pos + (uint64_t)(int64_t)distance);
}

/* Operations on what lies on the stack already, other than sums. */
static void run_stack(struct machine *m, uint8_t op)
{
    uint64_t a, b, c;
    switch (op) {
    case CAIRN_DW_OP_DUP:
        push(m, peek(m, 0));
        break;
    case CAIRN_DW_OP_DROP:
        pop(m);
        break;
    case CAIRN_DW_OP_OVER:
        push(m, peek(m, 1));
        break;
    case CAIRN_DW_OP_PICK:
        push(m, peek(m, cairn_reader_u8(&m->r)));
        break;
    case CAIRN_DW_OP_SWAP:
        a = pop(m), b = pop(m);
        push(m, a);
        push(m, b);
        break;
    default: /* DW_OP_rot: the top becomes the third */
        a = pop(m), b = pop(m), c = pop(m);
        push(m, a);
        push(m, c);
        push(m, b);
    }
}

static void run_unary(struct machine *m, uint8_t op)
{
    uint64_t a;
    switch (op) {
    case CAIRN_DW_OP_DEREF:
        push_memory(m, m->input->address_size);
        break;
    case CAIRN_DW_OP_DEREF_SIZE:
        push_memory(m, cairn_reader_u8(&m->r));
        break;
    case CAIRN_DW_OP_ABS:
        a = pop(m);
        push(m, as_signed(m, a) < 0 ? -a : a);
        break;
    case CAIRN_DW_OP_NEG:
        push(m, -pop(m));
        break;
    case CAIRN_DW_OP_NOT:
        push(m, ~pop(m));
        break;
    default: /* DW_OP_plus_uconst */
        push(m, pop(m) + cairn_reader_uleb(&m->r));
    }
}

static void run_op(struct machine *m, uint8_t op)
{
    if (op >= CAIRN_DW_OP_LIT0 && op <= CAIRN_DW_OP_LIT31) {
        push(m, op - (unsigned)CAIRN_DW_OP_LIT0);
        return;
    }
    if (op >= CAIRN_DW_OP_BREG0 && op <= CAIRN_DW_OP_BREG31) {
        push_register(m, op - (unsigned)CAIRN_DW_OP_BREG0);
        return;
    }
    if (op >= CAIRN_DW_OP_CONST1U && op <= CAIRN_DW_OP_CONST8S) {
        push_constant(m, op);
        return;
    }
    if (op >= CAIRN_DW_OP_DUP && op <= CAIRN_DW_OP_ROT) {
        run_stack(m, op);
        return;
    }
    switch (op) {
    case CAIRN_DW_OP_CONSTU:
        push(m, cairn_reader_uleb(&m->r));
        break;
    case CAIRN_DW_OP_CONSTS:
        push(m, (uint64_t)cairn_reader_sleb(&m->r));
        break;
    case CAIRN_DW_OP_BREGX:
        push_register(m, cairn_reader_uleb(&m->r));
        break;
    case CAIRN_DW_OP_DEREF:
    case CAIRN_DW_OP_DEREF_SIZE:
    case CAIRN_DW_OP_ABS:
    case CAIRN_DW_OP_NEG:
    case CAIRN_DW_OP_NOT:
    case CAIRN_DW_OP_PLUS_UCONST:
        run_unary(m, op);
        break;
    case CAIRN_DW_OP_SKIP:
        jump(m, true);
        break;
    case CAIRN_DW_OP_BRA:
        jump(m, pop(m) != 0);
        break;
    case CAIRN_DW_OP_CALL_FRAME_CFA:
        m->failed |= !m->input->has_cfa;
        push(m, m->input->cfa);
        break;
    case CAIRN_DW_OP_NOP:
        break;
    default:
        run_binary(m, op);
    }
}

bool cairn_expr_eval(struct cairn_span expr, const struct cairn_expr_input *input,
                     uint64_t *ret_value)
{
    struct machine m;
    m.r = cairn_reader_of(expr, input->swap);
    m.input = input;
    m.depth = 0;
    m.failed = input->address_size != 4 && input->address_size != 8;
    if (input->has_cfa)
        push(&m, input->cfa);
    for (unsigned step = 0; cairn_reader_more(&m.r) && !m.failed; step++) {
        if (step == CAIRN_EXPR_STEPS)
            return false;
        run_op(&m, cairn_reader_u8(&m.r));
    }
    if (m.r.failed || m.failed || !m.depth)
        return false;
    *ret_value = m.stack[m.depth - 1];
    return true;
}
