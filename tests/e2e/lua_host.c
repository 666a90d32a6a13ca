/* SPDX-License-Identifier: MIT */
/* A server with Lua in it, linked statically and stripped: what its own functions call must stand
 * on the stack, and the interpreter's own must not. lua_host FILE */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

static volatile int sink;

__attribute__((noinline)) int helper_of_host(lua_State *L)
{
    int code = lua_pcall(L, 0, 0, 0);
    sink++;
    return code;
}

__attribute__((noinline)) static int from_lua(lua_State *L)
{
    lua_settop(L, 1);
    int code = helper_of_host(L);
    sink++;
    return code ? lua_error(L) : 0;
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_pushcfunction(L, from_lua);
    lua_setglobal(L, "from_lua");
    if (argc < 2 || luaL_loadfile(L, argv[1]) || helper_of_host(L))
        fprintf(stderr, "lua_host: %s\n", argc < 2 ? "no file" : lua_tostring(L, -1));
    lua_close(L);
    return 1;
}
