/* SPDX-License-Identifier: MIT */
/*
 * A module for lua_truth.lua: the stack that the script believes it has, in a file that others map.
 * $SHADOW names the file; guest_stops.c says what is in it.
 */
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    volatile unsigned depth, line, pad[2];
    volatile unsigned id[252];
} * shadow;

static int enter(lua_State *L)
{
    unsigned depth = shadow->depth;
    shadow->id[depth] = (unsigned)lua_tonumber(L, 1);
    __asm__ volatile("" ::: "memory");
    shadow->depth = depth + 1;
    return 0;
}

static int leave(lua_State *L)
{
    (void)L;
    shadow->depth--;
    return 0;
}

static int depth(lua_State *L)
{
    if (lua_gettop(L))
        shadow->depth = (unsigned)lua_tonumber(L, 1);
    lua_pushnumber(L, shadow->depth);
    return 1;
}

static int ccall(lua_State *L)
{
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

static int cpcall(lua_State *L)
{
    if (lua_pcall(L, lua_gettop(L) - 1, 1, 0))
        lua_pushnil(L);
    return 1;
}

int luaopen_shadow(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"enter", enter}, {"leave", leave}, {"depth", depth}, {"ccall", ccall}, {"cpcall", cpcall}};
    int fd = open(getenv("SHADOW"), O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return luaL_error(L, "no shadow");
    shadow = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushcfunction(L, functions[i].func);
        lua_setfield(L, -2, functions[i].name);
    }
    return 1;
}
