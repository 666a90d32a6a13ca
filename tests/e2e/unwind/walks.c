/* SPDX-License-Identifier: MIT */
#include "walks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include <cairn/unwind.h>

#if defined(__x86_64__)
static uint64_t pc_of(const ucontext_t *at)
{
    return (uint64_t)at->uc_mcontext.gregs[REG_RIP];
}
bool walk_can_step(void)
{
    return true;
}
void walk_single_step(ucontext_t *at, bool on)
{
    const greg_t flag = 0x100; /* TF: a trap after the next instruction (Intel SDM 3A, 2.3) */
    at->uc_mcontext.gregs[REG_EFL] &= ~flag;
    if (on)
        at->uc_mcontext.gregs[REG_EFL] |= flag;
}
#else
bool walk_can_step(void)
{
    return false;
}
void walk_single_step(ucontext_t *at, bool on)
{
    (void)at;
    (void)on;
}
#endif

struct state {
    uint64_t from;
    bool begun;
    struct walk *ret;
};

static _Unwind_Reason_Code each(struct _Unwind_Context *context, void *arg)
{
    struct state *state = arg;
    int exact = 0;
    const uint64_t pc = _Unwind_GetIPInfo(context, &exact);
    state->begun = state->begun || (exact && pc == state->from);
    if (state->begun && state->ret->n < WALK_FRAMES && pc)
        state->ret->pc[state->ret->n++] = pc;
    return _URC_NO_REASON;
}

void walk_libgcc(const ucontext_t *from, struct walk *ret)
{
    ret->n = 0;
    ret->why = "its end";
#if defined(__x86_64__)
    struct state state = {pc_of(from), false, ret};
    _Unwind_Backtrace(each, &state);
#else
    (void)from;
    (void)each;
#endif
}

static _Unwind_Reason_Code nothing(struct _Unwind_Context *context, void *arg)
{
    (void)context;
    (void)arg;
    return _URC_NO_REASON;
}

void walk_init(void)
{
    _Unwind_Backtrace(nothing, NULL);
    cairn_unwind_here(NULL, 0, NULL);
}

void walk_ours(const ucontext_t *from, struct walk *ret)
{
    uintptr_t ips[WALK_FRAMES];
    struct cairn_unwind_info info = {.size = sizeof info, .how = ret->how};
    ret->n = (unsigned)cairn_unwind_context(from, ips, WALK_FRAMES, &info);
    for (unsigned i = 0; i < ret->n; i++)
        ret->pc[i] = ips[i];
    ret->n_guessed = info.n_guessed;
    ret->whole = info.end == CAIRN_END_OUTERMOST;
    ret->at_limit = info.end == CAIRN_END_MAX_FRAMES;
    ret->why = cairn_unwind_end_text(info.end);
}

bool walk_begins(const struct walk *walk, const struct walk *with)
{
    return walk->n >= with->n && !memcmp(walk->pc, with->pc, with->n * sizeof with->pc[0]);
}

void walk_print(const struct walk *walk, unsigned n)
{
    for (unsigned i = 0; i < walk->n && i < n; i++) {
        Dl_info info = {0};
        const bool known = dladdr((void *)(uintptr_t)walk->pc[i], &info) != 0 && info.dli_fname;
        const char *slash = known ? strrchr(info.dli_fname, '/') : NULL;
        const uint64_t base = known ? (uintptr_t)info.dli_fbase : 0;
        printf("        %2u %s+0x%llx %s\n", i, slash ? slash + 1 : "",
               (unsigned long long)(walk->pc[i] - base), info.dli_sname ? info.dli_sname : "");
    }
    if (walk->n > n)
        printf("        ... %u in all\n", walk->n);
}
