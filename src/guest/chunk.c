/* SPDX-License-Identifier: MIT */
#include "guest/chunk.h"

#include <stdio.h>
#include <string.h>

#include "guest/definition.h"

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

/* The name that the text itself has for the function of that line. */
static bool name_by_text(const char *source, size_t size, uint32_t line, char *name, size_t room)
{
    if (size == CAIRN_GUEST_NAME_MAX) /* it was cut */
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

int cairn_guest_chunk(struct cairn_guest_result *result, char *source, size_t size,
                      struct cairn_guest_frame *frame)
{
    char name[CAIRN_GUEST_NAME_MAX];
    source[size] = 0;
    frame->is_of_file = source[0] == '@';
    if (source[0] == '@' || source[0] == '=')
        return keep(result, source + 1, size - 1, &frame->chunk);
    int code = keep(result, name, name_of_text(source, size, name, sizeof name), &frame->chunk);
    if (code == CAIRN_OK && frame->defined &&
        name_by_text(source, size, frame->defined, name, sizeof name))
        code = keep(result, name, strlen(name), &frame->name);
    return code;
}
