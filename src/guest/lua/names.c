/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "guest/definition.h"
#include "guest/lua/lua.h"
#include "guest/words.h"

enum { IN_TEXT_MAX = 64 /* of a chunk's first line, as luaO_chunkid() cuts it */ };

/* A text without a file is known by its first line. */
static size_t name_of_text(const char *source, size_t size, char *to, size_t room)
{
    size_t line = 0;
    while (line < size && source[line] != '\n' && source[line] != '\r' && line < IN_TEXT_MAX)
        line++;
    int n = snprintf(to, room, "[string \"%.*s%s\"]", (int)line, source, line < size ? "..." : "");
    return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static bool read_source(const struct cairn_lua_placed *placed, const struct cairn_lua_proto *proto,
                        char *to, size_t *ret_size)
{
    enum { LONG_5_5 = 0x14 };
    const struct cairn_lua_layout *layout = placed->state.layout;
    uint64_t text = proto->source + layout->text;
    uint8_t tt;
    if (!proto->source || !placed->memory.read(placed->memory.ctx, proto->source + 8, &tt, 1))
        return false;
    if (layout->minor == 5 && (tt & 0x3f) == LONG_5_5 &&
        !cairn_guest_u64(placed->memory, text, &text))
        return false;
    return cairn_guest_text(placed->memory, text, to, CAIRN_GUEST_NAME_MAX, ret_size);
}

/* The name that the text itself has, where that is the chunk's name. */
static bool name_by_text(const char *source, size_t size, uint32_t line, char *name, size_t room)
{
    if (source[0] == '@' || source[0] == '=' || size == CAIRN_GUEST_NAME_MAX)
        return false;
    for (uint32_t i = 1; i < line && size; i++) {
        const char *end = memchr(source, '\n', size);
        size_t skip = end ? (size_t)(end + 1 - source) : size;
        source += skip;
        size -= skip;
    }
    const char *end = memchr(source, '\n', size);
    return cairn_guest_definition(source, end ? (size_t)(end - source) : size, name, room);
}

static int keep(struct cairn_guest_result *result, const char *text, size_t size, uint32_t *to)
{
    *to = cairn_strings_add(&result->strings, text, size);
    return *to == UINT32_MAX ? CAIRN_E_NOMEM : CAIRN_OK;
}

static int name_lua(const struct cairn_lua_placed *placed, const struct cairn_lua_proto *proto,
                    struct cairn_guest_result *result, struct cairn_guest_frame *frame)
{
    char source[CAIRN_GUEST_NAME_MAX + 1], name[CAIRN_GUEST_NAME_MAX];
    size_t size;
    int code = CAIRN_OK;
    if (!read_source(placed, proto, source, &size))
        return CAIRN_OK;
    source[size] = 0;
    frame->is_of_file = source[0] == '@';
    if (size && (source[0] == '@' || source[0] == '='))
        code = keep(result, source + 1, size - 1, &frame->chunk);
    else
        code = keep(result, name, name_of_text(source, size, name, sizeof name), &frame->chunk);
    if (code == CAIRN_OK && proto->defined && size &&
        name_by_text(source, size, proto->defined, name, sizeof name))
        code = keep(result, name, strlen(name), &frame->name);
    return code;
}

int cairn_lua_name(const struct cairn_lua_placed *placed, size_t call,
                   struct cairn_guest_result *result, struct cairn_guest_frame *frame)
{
    const struct cairn_lua_call *of = &placed->calls[call];
    return of->is_lua ? name_lua(placed, &of->proto, result, frame) : CAIRN_OK;
}
