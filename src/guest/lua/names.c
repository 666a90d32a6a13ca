/* SPDX-License-Identifier: MIT */
#include "guest/chunk.h"
#include "guest/lua/lua.h"
#include "guest/words.h"

static bool read_source(const struct cairn_lua_placed *placed, const struct cairn_lua_proto *proto,
                        char *to, size_t *ret_size)
{
    enum { TT = 8, LONG_5_5 = 0x14 };
    const struct cairn_lua_layout *layout = placed->state.layout;
    uint64_t text = proto->source + layout->text;
    uint8_t tt;
    if (!proto->source || !cairn_guest_u8(placed->constant, proto->source + TT, &tt))
        return false;
    if (layout->minor == 5 && (tt & 0x3f) == LONG_5_5 &&
        !cairn_guest_u64(placed->constant, text, &text))
        return false;
    return cairn_guest_text(placed->constant, text, to, CAIRN_GUEST_NAME_MAX, ret_size);
}

int cairn_lua_name(const struct cairn_lua_placed *placed, size_t call,
                   struct cairn_guest_result *result, struct cairn_guest_frame *frame)
{
    const struct cairn_lua_call *of = &placed->calls[call];
    char source[CAIRN_GUEST_NAME_MAX + 1];
    size_t size;
    if (!of->is_lua || !read_source(placed, &of->proto, source, &size))
        return CAIRN_OK;
    return cairn_guest_chunk(result, source, size, frame);
}
