/* SPDX-License-Identifier: MIT */
/* A host of Lua for guest_cases.sh: guest_cases CASE. It runs until it is killed. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_VMS = 12, N_THREADS = 3 };

static lua_State *vms[N_VMS];
static pthread_mutex_t locks[N_VMS];
static volatile double sink;

static const char hooked[] =
    "local function hook() local x = 0 for i = 1, 500 do x = x + i end end\n"
    "debug.sethook(hook, '', 300)\n"
    "local function burn() local x = 0 for i = 1, 3000 do x = x + i end end\n"
    "local function outer() while true do burn() enter() end end\n"
    "local function inner() burn() end\n"
    "if is_inner then go = inner else outer() end\n";

static const char shared[] =
    "local function burn() local x = 0 for i = 1, 3000 do x = x + i end end\n"
    "local function body() burn() coroutine.yield() burn() end\n"
    "function go() local c = coroutine.wrap(body) c() c() end\n";

__attribute__((noinline)) int called_by_jump(lua_State *L, int n)
{
    for (int i = 0; i < 300000; i++)
        sink += i * n;
    lua_settop(L, 0);
    return 0;
}

static int jumps(lua_State *L)
{
    return called_by_jump(L, 1);
}

static int enter(lua_State *L)
{
    (void)L;
    lua_getglobal(vms[0], "go");
    lua_call(vms[0], 0, 0);
    sink++;
    return 0;
}

static void sleeps(int number)
{
    (void)number;
    sleep(600);
}

static lua_State *new_vm(const char *code, int is_inner)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "jumps", jumps);
    lua_register(L, "enter", enter);
    lua_pushboolean(L, is_inner);
    lua_setglobal(L, "is_inner");
    if (luaL_loadstring(L, code) || lua_pcall(L, 0, 0, 0)) {
        fprintf(stderr, "guest_cases: %s\n", lua_tostring(L, -1));
        exit(1);
    }
    return L;
}

static void *take_turns(void *number)
{
    unsigned seed = (unsigned)(size_t)number;
    for (;;) {
        int i = rand_r(&seed) % N_VMS;
        pthread_mutex_lock(&locks[i]);
        lua_getglobal(vms[i], "go");
        lua_call(vms[i], 0, 0);
        pthread_mutex_unlock(&locks[i]);
    }
    return number;
}

static void share_vms(void)
{
    pthread_t thread;
    for (int i = 0; i < N_VMS; i++) {
        vms[i] = new_vm(shared, 0);
        pthread_mutex_init(&locks[i], NULL);
    }
    for (size_t i = 1; i < N_THREADS; i++)
        pthread_create(&thread, NULL, take_turns, (void *)i);
    take_turns(NULL);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    if (!strcmp(which, "hooked")) {
        vms[0] = new_vm(hooked, 1);
        new_vm(hooked, 0);
    } else if (!strcmp(which, "shared")) {
        share_vms();
    } else if (!strcmp(which, "jumps")) {
        new_vm("local function outer() while true do jumps() end end outer()", 0);
    } else if (!strcmp(which, "signal")) {
        signal(SIGALRM, sleeps);
        ualarm(200000, 0);
        new_vm("local function burn() while true do end end\nlocal function outer() burn() "
               "end\nouter()",
               0);
    }
    return 2;
}
