/* SPDX-License-Identifier: MIT */
#include "guest/guest.h"

static bool look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file)
{
    (void)elf, (void)ret_file;
    return false;
}

static int read_states(const struct cairn_guest_thread *thread, struct cairn_guest_cache *cache,
                       struct cairn_guest_result *result)
{
    (void)thread, (void)cache, (void)result;
    return CAIRN_OK;
}

const struct cairn_guest cairn_guest_lua = {
    .number = 0,
    .language = CAIRN_LANGUAGE_LUA,
    .name = "Lua",
    .look = look,
    .read = read_states,
};
