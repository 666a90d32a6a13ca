// SPDX-License-Identifier: MIT
// Exceptions and stacks through hooked functions: throw MODE. The stack of the innermost function is
// printed by libgcc's unwinder.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <unwind.h>

#include <cairn/hook.h>

#define FUNCTION extern "C" __attribute__((noinline, noclone, visibility("default")))

static void *original;
static int n_hooked;

static _Unwind_Reason_Code print(struct _Unwind_Context *context, void *)
{
    printf("frame %p\n", _Unwind_FindEnclosingFunction((void *)(_Unwind_GetIP(context) - 1)));
    return _URC_NO_REASON;
}

FUNCTION int thrower(int n)
{
    _Unwind_Backtrace(print, nullptr);
    if (n == 7)
        throw std::runtime_error("seven");
    return n;
}

FUNCTION int hooked(int n)
{
    return thrower(n) + 1;
}

FUNCTION int replacement(int n)
{
    n_hooked++;
    return reinterpret_cast<int (*)(int)>(original)(n) + 1;
}

FUNCTION int outer(int n)
{
    try {
        return hooked(n);
    } catch (const std::exception &e) {
        printf("caught %s\n", e.what());
        return -1;
    }
}

int main(int, char **argv)
{
    cairn_hook *hook;
    cairn_err err;
    const unsigned flags = std::strcmp(argv[1], "guarded") == 0 ? CAIRN_HOOK_GUARDED : 0;
    if (cairn_hook_function((void *)hooked, (void *)replacement, flags, &original, &hook, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    printf("functions %p %p %p %p\n", (void *)thrower, (void *)hooked, (void *)replacement, (void *)outer);
    const int got[] = {outer(1), outer(7), outer(2), outer(7), outer(3)};
    printf("results %d %d %d %d %d hooked %d\n", got[0], got[1], got[2], got[3], got[4], n_hooked);
    return cairn_hook_remove(hook, &err) < 0;
}
