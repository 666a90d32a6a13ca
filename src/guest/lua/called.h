/* SPDX-License-Identifier: MIT */
/* Called: the name by which a function of Lua calls another one. */
#ifndef CAIRN_GUEST_LUA_CALLED_H
#define CAIRN_GUEST_LUA_CALLED_H

#include "guest/lua/state.h"

/* The name that the call before the caller's saved pc has for what it calls; false: it has none, or
 * the version is not known (5.1 to 5.4 are). */
bool cairn_lua_called(struct cairn_memory memory, const struct cairn_lua_layout *layout,
                      const struct cairn_lua_call *caller, char *to, size_t room);

#endif /* CAIRN_GUEST_LUA_CALLED_H */
