/* SPDX-License-Identifier: MIT */
/*
 * Compiled code. A function that was inlined into a trace has no frame on the Lua stack; but the
 * trace has snapshots, from which the interpreter would go on, and each holds for the code from its
 * offset on (lj_jit.h). The snapshot's slots hold the links and functions of the frames that the
 * stack would have then.
 */
#include <string.h>

#include "guest/luajit/luajit.h"
#include "guest/words.h"

enum {
    /* jit_State lies behind the global_State; where its list of traces is moves between versions */
    TRACES_FROM = 1000,
    TRACES_TO = 1320,
    N_TRACES = 12, /* sizetrace, behind the list's address and freetrace */
    TRACES_MAX = 1 << 16,
    LOOKED_MAX = 4096,
    LIST_PIECE = 64,
    /* GCtrace */
    TRACE_BYTES = 120,
    GCT = 9,
    GCT_TRACE = 9,
    /* SnapShot */
    SNAP_BYTES = 12,
    SNAPS_MAX = 4096,
    ENTRIES_MAX = 256,
    FRAMES_MAX = 64,
    CONTINUATION = 2 /* type of a link: lj_frame.h */
};

struct trace {
    uint64_t ir, snaps, snap_map, code;
    uint32_t number, n_snaps, code_size;
};

struct snapshot {
    uint32_t map_off;
    uint16_t ref, code_off;
    uint8_t n_slots, top_slot, n_entries, count;
};
_Static_assert(sizeof(struct snapshot) == SNAP_BYTES, "as lj_jit.h has it");

/* The stack that a snapshot stands for. */
struct slots {
    struct cairn_memory memory;
    uint64_t ir;
    uint32_t entries[ENTRIES_MAX];
    unsigned n;
    uint64_t pc;
    unsigned base; /* slot */
};

static bool read_trace(struct cairn_memory memory, uint64_t va, uint32_t number,
                       struct trace *ret_trace)
{
    uint8_t b[TRACE_BYTES];
    uint16_t n_snaps, own_number;
    if (!va || va % 8 || !memory.read(memory.ctx, va, b, sizeof b) || b[GCT] != GCT_TRACE)
        return false;
    memcpy(&n_snaps, b + 10, 2);
    memcpy(&own_number, b + 104, 2);
    ret_trace->ir = cairn_guest_word(b, 32);
    ret_trace->snaps = cairn_guest_word(b, 48);
    ret_trace->snap_map = cairn_guest_word(b, 56);
    ret_trace->code_size = cairn_guest_half(b, 84);
    ret_trace->code = cairn_guest_word(b, 88);
    ret_trace->n_snaps = n_snaps;
    ret_trace->number = number;
    return own_number == number && n_snaps && n_snaps <= SNAPS_MAX;
}

/* Entry `number` of the list of traces at `list`. */
static bool trace_of_list(struct cairn_memory memory, uint64_t list, uint32_t number,
                          struct trace *ret_trace)
{
    uint64_t va;
    return cairn_guest_u64(memory, list + 8 * (uint64_t)number, &va) &&
           read_trace(memory, va, number, ret_trace);
}

/* A trace stores its number in its first instructions. Until then vm_state has the number of the
 * trace that ran before. A list with an entry that is no trace is not the list of traces. */
static bool find_by_code(struct cairn_memory memory, uint64_t list, uint32_t n, uint64_t ip,
                         struct trace *ret_trace)
{
    uint64_t piece[LIST_PIECE];
    for (uint32_t i = 0; i < n && i < LOOKED_MAX; i++) {
        uint32_t size = n - i < LIST_PIECE ? n - i : LIST_PIECE;
        if (i % LIST_PIECE == 0 &&
            !memory.read(memory.ctx, list + 8 * (uint64_t)i, piece, 8 * (size_t)size))
            return false;
        uint64_t va = piece[i % LIST_PIECE];
        if (va && !read_trace(memory, va, i, ret_trace))
            return false;
        if (va && ip - ret_trace->code < ret_trace->code_size)
            return true;
    }
    return false;
}

/* The trace whose code holds `ip`: most often the one that `vm_state` says. */
static bool find_trace(struct cairn_memory memory, const struct cairn_lj_now *now, uint64_t ip,
                       struct trace *ret_trace)
{
    uint8_t b[TRACES_TO - TRACES_FROM + 24];
    if (!memory.read(memory.ctx, now->state.global + TRACES_FROM, b, sizeof b))
        return false;
    for (size_t at = 0; at <= TRACES_TO - TRACES_FROM; at += 8) {
        uint64_t list = cairn_guest_word(b, at);
        uint32_t n = cairn_guest_half(b, at + N_TRACES);
        if (!list || list % 8 || !n || n > TRACES_MAX)
            continue;
        if (now->vm_state >= 0 && (uint32_t)now->vm_state < n &&
            trace_of_list(memory, list, (uint32_t)now->vm_state, ret_trace) &&
            ip - ret_trace->code < ret_trace->code_size)
            return true;
        if (find_by_code(memory, list, n, ip, ret_trace))
            return true;
    }
    return false;
}

/* The last snapshot whose code begins at or before the offset. */
static bool find_snapshot(struct cairn_memory memory, const struct trace *trace, uint64_t off,
                          struct snapshot *ret_snapshot)
{
    uint32_t low = 0, high = trace->n_snaps;
    bool found = false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct snapshot snapshot;
        if (!memory.read(memory.ctx, trace->snaps + SNAP_BYTES * (uint64_t)middle, &snapshot,
                         sizeof snapshot))
            return false;
        if (snapshot.code_off > off) {
            high = middle;
            continue;
        }
        *ret_snapshot = snapshot;
        found = true;
        low = middle + 1;
    }
    return found;
}

static bool read_slots(const struct trace *trace, const struct snapshot *snapshot,
                       struct slots *slots)
{
    uint64_t map = trace->snap_map + 4 * (uint64_t)snapshot->map_off, pc_and_base;
    slots->ir = trace->ir;
    slots->n = snapshot->n_entries;
    if (!slots->memory.read(slots->memory.ctx, map, slots->entries, 4 * (size_t)slots->n) ||
        !cairn_guest_u64(slots->memory, map + 4 * (uint64_t)slots->n, &pc_and_base))
        return false;
    slots->pc = pc_and_base >> 8;
    slots->base = (unsigned)(pc_and_base & 0xff) + 2;
    return true;
}

/* The constant that a slot holds; false: it is none that is known. */
static bool constant(const struct slots *slots, unsigned slot, uint64_t *ret_value)
{
    for (unsigned i = 0; i < slots->n; i++)
        if (slots->entries[i] >> 24 == slot)
            return cairn_guest_u64(slots->memory,
                                   slots->ir + 8 * (uint64_t)(slots->entries[i] & 0xffff) + 8,
                                   ret_value);
    return false;
}

/* What was read at different moments need not be a prototype: its chunk has a name. */
static bool is_sound(const struct slots *slots, const struct cairn_lj_proto *proto)
{
    enum { STRING = 4, LINE_MAX_GIVEN = 0x7fffff00 };
    uint8_t type;
    return proto->first_line < LINE_MAX_GIVEN && proto->n_lines < LINE_MAX_GIVEN &&
           cairn_guest_u8(slots->memory, proto->chunk + GCT, &type) && type == STRING;
}

/* The function of the frame whose base is that slot. */
static bool proto_at(const struct slots *slots, const struct cairn_lj_now *now, unsigned base,
                     uint64_t pc, struct cairn_lj_proto *ret_proto)
{
    struct cairn_lj_function function;
    uint64_t va;
    bool found = base == 2 ? cairn_guest_u64(slots->memory, now->jit_base - 16, &va)
                           : constant(slots, base - 2, &va);
    if (found && cairn_lj_function_read(slots->memory, cairn_lj_pointer(va), &function) &&
        function.is_lua && pc - function.proto.code <= 4 * (uint64_t)function.proto.n_code) {
        *ret_proto = function.proto;
        return is_sound(slots, ret_proto);
    }
    return cairn_lj_proto_of_pc(slots->memory, pc, ret_proto) && is_sound(slots, ret_proto);
}

/* Goes to the caller's base and pc, which is 0 where the caller is no byte code. */
static bool to_caller(const struct slots *slots, unsigned *base, uint64_t *pc)
{
    uint64_t link;
    uint32_t call;
    if (!constant(slots, *base - 1, &link))
        return false;
    unsigned down = 0;
    if ((link & 3) == 0) {
        if (!cairn_guest_u32(slots->memory, link - 4, &call))
            return false;
        *pc = link;
        down = 2 + (call >> 8 & 0xff);
    } else {
        down = (unsigned)((link & ~UINT64_C(7)) / 8);
        if ((link & 7) != CONTINUATION || !constant(slots, *base - 3, pc))
            *pc = 0;
    }
    if (!down || down + 2 > *base)
        return false;
    *base -= down;
    return true;
}

static int add(const struct cairn_lj_trace_place *at, struct cairn_guest_result *result,
               const struct cairn_lj_proto *proto, uint64_t pc, uint32_t trace)
{
    struct cairn_guest_frame *frame =
        cairn_guest_add_frame(result, at->state, CAIRN_GUEST_TRACE, at->place);
    if (!frame)
        return CAIRN_E_NOMEM;
    frame->is_inlined = true; /* the outermost of them is not: cairn_lj_trace_read() */
    frame->is_about = true;
    frame->trace = trace;
    return cairn_lj_describe(at->any, proto, pc, result, frame);
}

int cairn_lj_trace_read(const struct cairn_lj_trace_place *at, struct cairn_guest_result *result,
                        bool *ret_added)
{
    struct trace trace;
    struct snapshot snapshot;
    struct slots slots = {.memory = at->any};
    struct cairn_lj_proto proto;
    const size_t before = result->n_frames;
    int code = CAIRN_OK;
    *ret_added = false;
    if (!find_trace(slots.memory, at->now, at->ip, &trace) ||
        !find_snapshot(slots.memory, &trace, at->ip - trace.code, &snapshot) ||
        !read_slots(&trace, &snapshot, &slots))
        return CAIRN_OK;
    unsigned base = slots.base;
    uint64_t pc = slots.pc;
    for (unsigned i = 0; i < FRAMES_MAX && code == CAIRN_OK; i++) {
        bool is_last = base <= 2;
        if (pc) {
            if (!proto_at(&slots, at->now, base, pc, &proto)) {
                result->n_frames = before;
                *ret_added = false;
                break;
            }
            code = add(at, result, &proto, pc, trace.number);
            *ret_added = true;
        }
        if (is_last || !to_caller(&slots, &base, &pc))
            break;
    }
    if (*ret_added)
        result->frames[result->n_frames - 1].is_inlined = false;
    return code;
}
