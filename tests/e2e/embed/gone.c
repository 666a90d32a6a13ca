/* SPDX-License-Identifier: MIT */
/* A library that is closed while its function is hooked, and comes again: gone LIBRARY. */
#include <dlfcn.h>
#include <stdio.h>

#include <cairn/hook.h>

static int (*original)(void);
static int n_hooked;

static int hooked(void)
{
    n_hooked++;
    return original();
}

static struct cairn_err err;

static struct cairn_hook *hook_ask(void *ask)
{
    struct cairn_hook *hook = NULL;
    if (cairn_hook_function(ask, (void *)hooked, 0, (void **)&original, &hook, &err) < 0)
        printf("refused %s: %s\n", cairn_code_name(err.code), err.msg);
    return hook;
}

int main(int argc, char **argv)
{
    for (int round = 0; argc > 1 && round < 3; round++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        int (*ask)(void) = library ? (int (*)(void))dlsym(library, "ask") : NULL;
        if (!ask)
            return 1;
        struct cairn_hook *hook = hook_ask((void *)ask);
        ask();
        dlclose(library);
        const int code = cairn_hook_remove(hook, &err);
        printf("hooked %d removed %s\n", n_hooked, cairn_code_name((enum cairn_code)code));
        if (round == 2)
            hook_ask((void *)ask);
    }
    return 0;
}
