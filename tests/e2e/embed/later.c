/* SPDX-License-Identifier: MIT */
/*
 * Slots of libraries that come and go: later LIBRARY... Each is loaded, asked and closed twice.
 * What they call is getppid(); a hook adds 1000. Their constructors call it, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/hook.h>

static int (*original)(void);

static int hooked(void)
{
    return original() + 100000000;
}

static void print(const char *what, void *library, const char *name)
{
    int (*ask)(void) = (int (*)(void))dlsym(library, name);
    const int value = ask ? ask() : -1;
    printf(" %s %s", what, value >= 100000000 ? "hooked" : value == getppid() ? "plain" : "wrong");
}

int main(int argc, char **argv)
{
    const char *const names[] = {"liblater_*"};
    const struct cairn_hook_where where = {
        .size = sizeof where, .modules = names, .n_modules = 1, .later = true};
    struct cairn_hook *hook;
    struct cairn_err err;
    void *before = dlopen(argv[1], RTLD_NOW);
    if (cairn_hook_slots("getppid", (void *)hooked, &where, (void **)&original, &hook, &err) < 0) {
        fprintf(stderr, "later: %s (%s)\n", err.msg, err.hint);
        return 1;
    }
    print("before", before, "ask");
    printf("\n");
    for (int round = 0; round < 2; round++)
        for (int i = 2; i < argc; i++) {
            void *library = dlopen(argv[i], i % 2 ? RTLD_LAZY : RTLD_NOW);
            if (!library) {
                fprintf(stderr, "later: %s\n", dlerror());
                return 1;
            }
            printf("%s:", strrchr(argv[i], '/') + 1);
            print("constructor", library, "asked_early");
            print("call", library, "ask");
            print("pointer", library, "ask_by_pointer");
            printf("\n");
            dlclose(library);
        }
    void *last = dlopen(argv[2], RTLD_LAZY);
    if (cairn_hook_remove(hook, &err) < 0) {
        fprintf(stderr, "later: %s (%s)\n", err.msg, err.hint);
        return 1;
    }
    printf("removed:");
    print("before", before, "ask");
    print("call", last, "ask");
    print("pointer", last, "ask_by_pointer");
    printf("\n");
    return 0;
}
