/* SPDX-License-Identifier: MIT */
/*
 * Is PUC Lua in a file, and where is its loop? The text "$Lua..." that every build has tells the
 * release. The loop, luaV_execute(), is the function that a table of exactly as many places as
 * there are opcodes leads into: a table of `switch`, or since 5.4 of labels.
 */
#include <stdio.h>
#include <string.h>

#include "guest/image.h"
#include "guest/lua/lua.h"

static const struct {
    uint8_t minor, n_opcodes;
} loops[] = {{1, 38}, {2, 39}, {3, 46}, {3, 47}, {4, 83}, {5, 85}};

/* 5.1 compiled as C++ lacks the text that tells the release, for nothing uses it. But _VERSION is
 * "Lua 5.1", a text of its own. Others may have it, too: then the loop is missing. */
static bool find_short_version(const struct cairn_elf *elf, struct cairn_guest_file *file)
{
    enum { SIZE = sizeof "Lua 5.1" };
    struct cairn_span bytes;
    if (!cairn_guest_find_text(elf, "Lua 5.1", &bytes) || bytes.size < SIZE || bytes.data[SIZE - 1])
        return false;
    snprintf(file->version, sizeof file->version, "Lua 5.1");
    file->variant = CAIRN_LUA_VERSION(1, 0);
    return true;
}

/* "$LuaVersion: Lua 5.4.4  Copyright", "$Lua: Lua 5.1.5 Copyright" */
static bool find_version(const struct cairn_elf *elf, struct cairn_guest_file *file)
{
    struct cairn_span bytes;
    if (!cairn_guest_find_text(elf, "$LuaVersion: Lua 5.", &bytes) &&
        !cairn_guest_find_text(elf, "$Lua: Lua 5.", &bytes))
        return false;
    char text[40];
    unsigned minor = 0, patch = 0;
    size_t n = bytes.size < sizeof text - 1 ? bytes.size : sizeof text - 1;
    memcpy(text, bytes.data, n);
    text[n] = 0;
    const char *at = strchr(text, ' ');
    if (!at || sscanf(at, " Lua 5.%2u.%2u", &minor, &patch) < 1 || minor < 1 || minor > 5)
        return false;
    snprintf(file->version, sizeof file->version, "Lua 5.%u.%u", minor, patch);
    file->variant = CAIRN_LUA_VERSION(minor, patch);
    return true;
}

static void find_loop(const struct cairn_elf *elf, struct cairn_guest_file *file)
{
    struct cairn_guest_image image;
    uint64_t from, to;
    if (!cairn_guest_image_open(elf, &image))
        return;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (loops[i].minor != file->variant >> 8 ||
            !cairn_guest_find_table(&image, loops[i].n_opcodes, &from, &to))
            continue;
        file->loop = from;
        file->loop_end = to;
        file->state_reg = cairn_guest_first_argument(elf, from);
        return;
    }
}

bool cairn_lua_look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file)
{
    if (!elf->is64 || elf->swap)
        return false;
    if (find_version(elf, ret_file)) {
        find_loop(elf, ret_file);
        return true;
    }
    if (!find_short_version(elf, ret_file))
        return false;
    find_loop(elf, ret_file);
    return cairn_guest_has_loop(ret_file);
}
