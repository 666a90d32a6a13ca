/* SPDX-License-Identifier: MIT */
/*
 * A host with two interpreters in one file: Lua functions of one call C that calls Lua functions of
 * the other. Compiled three times: with -DPART=both_outer and -DPART=both_inner, each with the
 * headers of its interpreter, and without.
 */
void both_outer(const char *file, void (*inner)(void));
void both_inner(const char *file, void (*inner)(void));

#ifdef PART
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>

static void (*inner_of)(void);

static int call_inner(lua_State *L)
{
    (void)L;
    inner_of();
    return 0;
}

/* Loads the file at the first call. */
void PART(const char *file, void (*inner)(void))
{
    static lua_State *L;
    if (!L) {
        L = luaL_newstate();
        inner_of = inner;
        luaL_openlibs(L);
        lua_pushcfunction(L, call_inner);
        lua_setglobal(L, "inner");
        if (luaL_loadfile(L, file))
            abort();
        lua_setglobal(L, "chunk");
    }
    lua_getglobal(L, "chunk");
    if (lua_pcall(L, 0, 0, 0))
        abort();
}
#else
static void run_inner(void)
{
    both_inner("inner.lua", 0);
}

int main(void)
{
    both_outer("outer.lua", run_inner);
    return 0;
}
#endif
