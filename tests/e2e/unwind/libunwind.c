/* SPDX-License-Identifier: MIT */
#include "libunwind.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    CURSOR_WORDS = 127, /* of an unw_cursor_t */
    SIGNAL_FRAME = 1,   /* UNW_INIT_SIGNAL_FRAME */
    UNW_FP = 6,         /* UNW_X86_64_RBP */
    UNW_SP = 7,         /* UNW_REG_SP */
    UNW_IP = 16,        /* UNW_REG_IP */
};

/* UNW_CACHE_NONE, UNW_CACHE_GLOBAL. The cache takes a return address and the same address of a leaf
 * for one, where rules may differ. */
enum { NO_CACHE = 0, CACHE = 1 };
static int (*unw_here)(void *context);
static int (*unw_init)(uint64_t *cursor, void *context, int flags);
static int (*unw_step)(uint64_t *cursor);
static int (*unw_get)(uint64_t *cursor, int reg, uint64_t *ret);
static int (*set_policy)(void *space, int policy);
static void **space;

bool libunwind_find(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)&unw_here = dlsym(library, "_Ux86_64_getcontext");
    *(void **)&unw_init = dlsym(library, "_ULx86_64_init_local2");
    *(void **)&unw_step = dlsym(library, "_ULx86_64_step");
    *(void **)&unw_get = dlsym(library, "_ULx86_64_get_reg");
    *(void **)&set_policy = dlsym(library, "_ULx86_64_set_caching_policy");
    space = dlsym(library, "_ULx86_64_local_addr_space");
    if (!unw_here || !unw_init || !unw_step || !unw_get || !set_policy || !space)
        return false;
    set_policy(*space, NO_CACHE);
    return true;
}

void libunwind_use_cache(void)
{
    set_policy(*space, CACHE);
}

static void walk(uint64_t *cursor, struct libunwind_stack *ret)
{
    ret->n = 0;
    for (int more = ret->status == 0; more && ret->n < CAIRN_MAX_FRAMES;) {
        uint64_t pc = 0;
        if (unw_get(cursor, UNW_IP, &pc) < 0 || pc == 0)
            break;
        unw_get(cursor, UNW_SP, &ret->sp[ret->n]);
        unw_get(cursor, UNW_FP, &ret->fp[ret->n]);
        ret->pc[ret->n++] = pc;
        ret->status = unw_step(cursor);
        more = ret->status > 0;
    }
}

void libunwind_walk(void *context, struct libunwind_stack *ret)
{
    uint64_t cursor[CURSOR_WORDS];
    ret->status = unw_init(cursor, context, SIGNAL_FRAME);
    walk(cursor, ret);
}

void libunwind_walk_here(struct libunwind_stack *ret)
{
    uint64_t cursor[CURSOR_WORDS];
    ucontext_t here;
    ret->status = unw_here(&here) == 0 ? unw_init(cursor, &here, 0) : -1;
    walk(cursor, ret);
}

static bool holds(uint64_t va, uint64_t word)
{
    uint64_t found;
    const struct iovec to = {&found, sizeof found}, from = {(void *)(uintptr_t)va, sizeof found};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof found && found == word;
}

/* Behind a guess libunwind's own is wrong. */
uint64_t libunwind_sp(const struct libunwind_stack *stack, size_t i)
{
    if (i == 0 || holds(stack->sp[i] - 8, stack->pc[i]))
        return stack->sp[i];
    return holds(stack->fp[i - 1] + 8, stack->pc[i]) ? stack->fp[i - 1] + 16 : 0;
}
