/* SPDX-License-Identifier: MIT */
#include <cairn/hook.h>

#include "base/error.h"
#include "embed/cpu.h"
#include "embed/embed.h"
#include "embed/plan.h"
#include "embed/site.h"
#include "embed/slots.h"

enum {
    KNOWN_FLAGS = CAIRN_HOOK_GUARDED | CAIRN_HOOK_NO_STEPPED | CAIRN_HOOK_ON_TOP |
                  CAIRN_HOOK_KEEP_PADDING | CAIRN_HOOK_UNWIND_TABLES
};

static bool has_guards(void)
{
    uint8_t code[CAIRN_EMBED_THUNK_MAX];
    return cairn_embed_thunk(NULL, code) != 0;
}

int cairn_embed_check_flags(const void *replacement, unsigned flags, struct cairn_hook **ret_hook,
                            struct cairn_err *err)
{
    if (!replacement || !ret_hook)
        return cairn_fail(err, CAIRN_E_ARG, "hook: no %s was given",
                          replacement ? "place for the hook" : "replacement");
    if (flags & ~(unsigned)KNOWN_FLAGS)
        return cairn_fail(err, CAIRN_E_ARG, "hook: flags 0x%x, expected bits of 0x%x", flags,
                          (unsigned)KNOWN_FLAGS);
    if (cairn_embed_cpu == CAIRN_HOOK_CPU_NONE)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "hook: hooks in the own process are not written for this CPU");
    if (flags & CAIRN_HOOK_GUARDED && !has_guards())
        return cairn_fail(err, CAIRN_E_SUPPORT, "hook: guards are not written for this CPU");
    return CAIRN_OK;
}

/* The new one is in front of the chain. */
static int install(const struct cairn_embed_memory *memory, struct cairn_embed_site *site,
                   void *replacement, unsigned flags, struct cairn_hook **ret_hook,
                   struct cairn_err *err)
{
    struct cairn_hook *hook = cairn_embed_chain_add(memory, &site->chain, replacement, flags, NULL);
    if (!hook)
        return cairn_fail_memory(err);
    hook->site = site;
    if (flags & CAIRN_HOOK_UNWIND_TABLES)
        cairn_embed_site_register(site);
    *ret_hook = hook;
    hook->is_live = true;
    return CAIRN_OK;
}

static int hook_locked(const struct cairn_embed_memory *memory, void *function, void *replacement,
                       unsigned flags, void **ret_original, struct cairn_hook **ret_hook,
                       struct cairn_err *err)
{
    struct cairn_embed_site *site;
    struct cairn_hook *hook = NULL;
    int code = cairn_embed_site_get(memory, (uintptr_t)function, flags, &site, err);
    if (code == CAIRN_OK)
        code = install(memory, site, replacement, flags, &hook, err);
    if (code != CAIRN_OK)
        return code;
    /* Before a thread can come to the replacement. */
    void *const before = ret_original ? *ret_original : NULL;
    if (ret_original)
        __atomic_store_n(ret_original, (void *)(uintptr_t)hook->original_va, __ATOMIC_RELEASE);
    code = cairn_embed_chain_settle(memory, &site->chain)
               ? cairn_embed_site_divert(memory, site, err)
               : cairn_embed_fail_write(err, site->island_va);
    if (code == CAIRN_OK) {
        *ret_hook = cairn_embed_handle(hook);
        return CAIRN_OK;
    }
    hook->is_live = false;
    (void)cairn_embed_chain_settle(memory, &site->chain);
    if (ret_original)
        __atomic_store_n(ret_original, before, __ATOMIC_RELEASE);
    return code;
}

int cairn_hook_function(void *function, void *replacement, unsigned flags, void **ret_original,
                        struct cairn_hook **ret_hook, struct cairn_err *err)
{
    struct cairn_embed_memory memory;
    int code = cairn_embed_check_flags(replacement, flags, ret_hook, err);
    if (code != CAIRN_OK)
        return code;
    if (!function || function == replacement)
        return cairn_fail(err, CAIRN_E_ARG, "hook: %s",
                          function ? "a function cannot replace itself" : "no function was given");
    code = cairn_embed_enter_or_fail(err);
    if (code != CAIRN_OK)
        return code;
    code = cairn_embed_memory_open(&memory, err);
    if (code == CAIRN_OK) {
        code = hook_locked(&memory, function, replacement, flags, ret_original, ret_hook, err);
        cairn_embed_memory_close(&memory);
    }
    cairn_embed_leave();
    return code;
}

static int remove_locked(const struct cairn_embed_memory *memory, struct cairn_hook *handle,
                         struct cairn_err *err)
{
    struct cairn_hook *hook = cairn_embed_hook_of(handle);
    if (!hook)
        return cairn_fail(err, CAIRN_E_ARG, "hook: it was removed already");
    hook->is_live = false;
    if (hook->slots)
        return cairn_embed_slots_remove(memory, hook, err);
    if (!cairn_embed_chain_settle(memory, hook->chain))
        return cairn_embed_fail_write(err, hook->site->island_va);
    return cairn_embed_chain_newest(hook->chain)
               ? CAIRN_OK
               : cairn_embed_site_restore(memory, hook->site, hook->flags & CAIRN_HOOK_KEEP_PADDING,
                                          err);
}

int cairn_hook_remove(struct cairn_hook *hook, struct cairn_err *err)
{
    struct cairn_embed_memory memory;
    if (!hook)
        return CAIRN_OK;
    int code = cairn_embed_enter_or_fail(err);
    if (code != CAIRN_OK)
        return code;
    code = cairn_embed_memory_open(&memory, err);
    if (code == CAIRN_OK) {
        code = remove_locked(&memory, hook, err);
        cairn_embed_memory_close(&memory);
    }
    cairn_embed_leave();
    return code;
}
