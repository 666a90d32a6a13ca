/* SPDX-License-Identifier: MIT */
#include "guest/chunk.h"
#include "guest/lua/called.h"
#include "guest/lua/lua.h"
#include "guest/words.h"

static bool read_source(const struct cairn_lua_placed *placed, const struct cairn_lua_call *call,
                        char *to, size_t *ret_size)
{
    enum { TT = 8, LONG_5_5 = 0x14 };
    const struct cairn_lua_layout *layout = placed->state.layout;
    const struct cairn_lua_proto *proto = &call->proto;
    const struct cairn_memory memory = cairn_lua_memory_of(placed, call);
    uint64_t text = proto->source + layout->text;
    uint8_t tt;
    if (!proto->source || !cairn_guest_u8(memory, proto->source + TT, &tt))
        return false;
    if (layout->minor == 5 && (tt & 0x3f) == LONG_5_5 && !cairn_guest_u64(memory, text, &text))
        return false;
    return cairn_guest_text(memory, text, to, CAIRN_GUEST_NAME_MAX, ret_size);
}

/* The next outer frame's call instruction does not name a function that was tail-called, nor a hook
 * or a finalizer: those start a run of their own. */
static int name_by_caller(const struct cairn_lua_placed *placed, size_t call,
                          struct cairn_guest_result *result, struct cairn_guest_frame *frame)
{
    char name[CAIRN_GUEST_NAME_MAX];
    const struct cairn_lua_call *of = &placed->calls[call], *caller = of + 1;
    if (of->is_tail_called || of->starts_run || call + 1 >= placed->n_calls || !caller->is_lua ||
        caller->is_gone || caller->of_moment ||
        !cairn_lua_called(placed->constant, placed->state.layout, caller, name, sizeof name))
        return CAIRN_OK;
    frame->called = cairn_strings_add_str(&result->strings, name);
    return frame->called == UINT32_MAX ? CAIRN_E_NOMEM : CAIRN_OK;
}

/* The source line of its definition will name it. */
static bool has_source(const struct cairn_guest_result *result,
                       const struct cairn_guest_frame *frame)
{
    return frame->name ||
           (frame->is_of_file && *cairn_strings_get(&result->strings, frame->chunk) == '/');
}

int cairn_lua_name(const struct cairn_lua_placed *placed, size_t call,
                   struct cairn_guest_result *result, struct cairn_guest_frame *frame)
{
    const struct cairn_lua_call *of = &placed->calls[call];
    char source[CAIRN_GUEST_NAME_MAX + 1];
    size_t size;
    int code = CAIRN_OK;
    if (of->is_lua && read_source(placed, of, source, &size))
        code = cairn_guest_chunk(result, source, size, frame);
    if (code == CAIRN_OK && frame->kind != CAIRN_GUEST_CHUNK && !has_source(result, frame))
        code = name_by_caller(placed, call, result, frame);
    return code;
}
