/* SPDX-License-Identifier: MIT */
/*
 * Lines: of each instruction in 5.1 to 5.3; since 5.4 as differences, a byte each, from the line
 * before, with an absolute one at least every 128 instructions (ldebug.c, luaG_getfuncline).
 */
#include <string.h>

#include "guest/lua/state.h"
#include "guest/words.h"

enum { ABSOLUTE = -128, APART_MAX = 256 };

static uint32_t line_by_deltas(struct cairn_memory memory, const struct cairn_lua_proto *proto,
                               uint64_t index)
{
    uint32_t pair[2], at = 0, line = proto->defined;
    uint32_t low = 0, high = proto->n_abs_line_info; /* entries are sorted by pc */
    bool has_base = false;
    int8_t deltas[APART_MAX];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!memory.read(memory.ctx, proto->abs_line_info + 8 * (uint64_t)middle, pair,
                         sizeof pair))
            return 0;
        if (pair[0] > index) {
            high = middle;
            continue;
        }
        low = middle + 1;
        at = pair[0];
        line = pair[1];
        has_base = true;
    }
    uint32_t first = has_base ? at + 1 : 0;
    uint64_t n = index + 1 - first;
    if (index + 1 <= first)
        return line;
    if (n > APART_MAX || index >= proto->n_line_info ||
        !memory.read(memory.ctx, proto->line_info + first, deltas, (size_t)n))
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        if (deltas[i] == ABSOLUTE)
            return 0;
        line += (uint32_t)deltas[i];
    }
    return line;
}

uint32_t cairn_lua_line(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                        const struct cairn_lua_proto *proto, uint64_t saved_pc)
{
    uint32_t line;
    if (!proto->n_line_info)
        return 0;
    if (!cairn_lua_is_pc(proto, saved_pc))
        return saved_pc == proto->code ? proto->defined : 0;
    uint64_t index = (saved_pc - proto->code) / 4 - 1;
    if (layout->lines_are_deltas)
        return line_by_deltas(memory, proto, index);
    return index < proto->n_line_info &&
                   cairn_guest_u32(memory, proto->line_info + 4 * index, &line)
               ? line
               : 0;
}
