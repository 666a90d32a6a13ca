/* SPDX-License-Identifier: MIT */
#include "embed/slots.h"

#include <link.h>
#include <string.h>

#include "base/error.h"
#include "embed/apply.h"
#include "embed/chain.h"
#include "embed/later.h"
#include "embed/plan.h"
#include "unwind/loader.h"

static struct cairn_embed_name *names;

struct cairn_embed_name *cairn_embed_names(void)
{
    return names;
}

/* dlsym(3) and dlvsym(3), wherever they are: they moved from libdl to libc in glibc 2.34. */
struct finders {
    void *(*find)(void *handle, const char *name);
    void *(*find_version)(void *handle, const char *name, const char *version);
};

/* Within dl_iterate_phdr, so that no module goes. */
static int find_finders(struct dl_phdr_info *info, size_t size, void *context)
{
    struct finders *finders = context;
    (void)info;
    (void)size;
    finders->find = (void *(*)(void *, const char *))cairn_loader_next("dlsym");
    finders->find_version =
        (void *(*)(void *, const char *, const char *))cairn_loader_next("dlvsym");
    return 1;
}

/* What the loader binds the name to in the global scope; 0: nothing. Without the room's lock. */
static uintptr_t find_function(const char *name, const char *version)
{
    struct finders finders = {NULL, NULL};
    dl_iterate_phdr(find_finders, &finders);
    if (version)
        return finders.find_version ? (uintptr_t)finders.find_version(NULL, name, version) : 0;
    return finders.find ? (uintptr_t)finders.find(NULL, name) : 0;
}

static struct cairn_embed_name *get_name(const char *text)
{
    const size_t n = strlen(text) + 1;
    for (struct cairn_embed_name *name = names; name; name = name->next)
        if (strcmp(name->text, text) == 0)
            return name;
    struct cairn_embed_name *name = cairn_embed_alloc(sizeof *name);
    char *copy = cairn_embed_alloc(n);
    if (!name || !copy)
        return NULL;
    memcpy(copy, text, n);
    name->text = copy;
    name->next = names;
    names = name;
    return name;
}

/* The same libraries are one object, so that removed hooks can be used again. */
static struct cairn_embed_slots *get_slots(struct cairn_embed_name *name,
                                           const struct cairn_hook_where *where)
{
    struct cairn_embed_slots *slots = cairn_embed_where_copy(where);
    if (!slots)
        return NULL;
    for (struct cairn_embed_slots *old = name->slots; old; old = old->next)
        if (cairn_embed_where_is_same(old, slots))
            return old;
    slots->name = name;
    slots->next = name->slots;
    name->slots = slots;
    return slots;
}

static int say_none(const struct cairn_hook *hook, const struct cairn_embed_counts *counts,
                    struct cairn_err *err)
{
    const char *name = hook->slots->name->text;
    if (counts->n_failed)
        return cairn_embed_fail_write(err, counts->failed_va);
    if (counts->n_other) {
        cairn_fail(err, CAIRN_E_EXISTS,
                   "slots of %s: all %u lead elsewhere than to 0x%llx, the first at 0x%llx of %s",
                   name, counts->n_other, (unsigned long long)hook->chain->end_va,
                   (unsigned long long)counts->other_va, counts->other_path);
        cairn_hint(err, "another tool has hooked them, or they ask for another version of it");
        return CAIRN_E_EXISTS;
    }
    cairn_fail(err, CAIRN_E_MISSING, "slots of %s: none in the %u of %u modules that are meant",
               name, counts->n_meant, counts->n_modules);
    cairn_hint(err,
               "cairn hook slots PID %s lists them; a library has none for a function of its "
               "own, and one that comes later needs where.later",
               name);
    return CAIRN_E_MISSING;
}

/* The hook is in the chain, and not live yet. All slots that are meant, or none. */
static int go_live(const struct cairn_embed_memory *memory, struct cairn_hook *hook,
                   struct cairn_err *err)
{
    struct cairn_embed_counts counts;
    hook->is_live = true;
    if (!cairn_embed_chain_settle(memory, hook->chain)) {
        hook->is_live = false;
        return cairn_embed_fail_write(err, hook->gate_va);
    }
    cairn_embed_apply(hook, &counts);
    if (!counts.n_failed && (counts.n_slots || hook->slots->later))
        return CAIRN_OK;
    const int code = say_none(hook, &counts, err);
    hook->is_live = false;
    cairn_embed_apply(hook, &counts);
    (void)cairn_embed_chain_settle(memory, hook->chain);
    return code;
}

static int hook_locked(const struct cairn_embed_memory *memory, struct cairn_embed_name *name,
                       struct cairn_embed_slots *slots, void *replacement, unsigned flags,
                       void **ret_original, struct cairn_hook **ret_hook, struct cairn_err *err)
{
    struct cairn_hook *hook =
        cairn_embed_chain_add(memory, &name->chain, replacement, flags, slots);
    if (!hook)
        return cairn_fail_memory(err);
    void *const before = ret_original ? *ret_original : NULL;
    if (ret_original)
        __atomic_store_n(ret_original, (void *)(uintptr_t)hook->original_va, __ATOMIC_RELEASE);
    int code = go_live(memory, hook, err);
    if (code == CAIRN_OK)
        *ret_hook = cairn_embed_handle(hook);
    else if (ret_original)
        __atomic_store_n(ret_original, before, __ATOMIC_RELEASE);
    return code;
}

/* What the originals lead to in the end, and which modules are meant. */
static int prepare(const char *text, const struct cairn_hook_where *where, uintptr_t found,
                   struct cairn_embed_name **ret_name, struct cairn_embed_slots **ret_slots,
                   struct cairn_err *err)
{
    struct cairn_embed_name *name = get_name(text);
    struct cairn_embed_slots *slots = name ? get_slots(name, where) : NULL;
    if (!slots)
        return cairn_fail_memory(err);
    int code = cairn_embed_survey(slots, found, err);
    if (code == CAIRN_OK) {
        *ret_name = name;
        *ret_slots = slots;
    }
    return code;
}

int cairn_hook_slots(const char *name, void *replacement, const struct cairn_hook_where *where,
                     void **ret_original, struct cairn_hook **ret_hook, struct cairn_err *err)
{
    struct cairn_embed_memory memory;
    struct cairn_embed_name *named = NULL;
    struct cairn_embed_slots *slots = NULL;
    const unsigned flags = where ? where->flags : 0;
    int code = cairn_embed_check_flags(replacement, flags, ret_hook, err);
    if (code == CAIRN_OK)
        code = cairn_embed_where_check(name, where, err);
    if (code != CAIRN_OK)
        return code;
    const uintptr_t found = find_function(name, where ? where->version : NULL);
    if (where && where->later)
        cairn_embed_later_watch();
    code = cairn_embed_enter_or_fail(err);
    if (code != CAIRN_OK)
        return code;
    code = cairn_embed_memory_open(&memory, err);
    if (code == CAIRN_OK) {
        code = prepare(name, where, found, &named, &slots, err);
        if (code == CAIRN_OK)
            code =
                hook_locked(&memory, named, slots, replacement, flags, ret_original, ret_hook, err);
        cairn_embed_memory_close(&memory);
    }
    cairn_embed_leave();
    return code;
}

int cairn_embed_slots_remove(const struct cairn_embed_memory *memory, struct cairn_hook *hook,
                             struct cairn_err *err)
{
    struct cairn_embed_counts counts;
    const char *name = hook->slots->name->text;
    cairn_embed_apply(hook, &counts);
    if (!cairn_embed_chain_settle(memory, hook->chain))
        return cairn_embed_fail_write(err, hook->gate_va);
    if (counts.n_failed)
        return cairn_embed_fail_write(err, counts.failed_va);
    if (!counts.n_other)
        return CAIRN_OK;
    cairn_fail(
        err, CAIRN_E_EXISTS,
        "slots of %s: another tool changed %u since, the first at 0x%llx of %s; they stay as "
        "they are, and may lead to the replacement",
        name, counts.n_other, (unsigned long long)counts.other_va, counts.other_path);
    cairn_hint(err, "remove the other tool's hook first, and keep the replacement loaded");
    return CAIRN_E_EXISTS;
}

/* Looks at modules that were loaded since the last one: a module that is just being loaded is not
 * relocated yet, and is looked at again. */
enum { MOST_LOOKS = 16 };

static bool has_later(void)
{
    for (const struct cairn_embed_name *name = names; name; name = name->next)
        for (const struct cairn_hook *hook = name->chain.all; hook; hook = hook->older)
            if (hook->is_live && hook->slots->later)
                return true;
    return false;
}

struct generation {
    unsigned long long adds, subs;
};

static int read_generation(struct dl_phdr_info *info, size_t size, void *context)
{
    struct generation *ret = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *ret = (struct generation){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

void cairn_embed_slots_look(bool anyhow)
{
    static struct generation seen; /* these two under the room's lock */
    static unsigned looks_left;
    struct generation now = {0};
    struct cairn_embed_counts counts;
    dl_iterate_phdr(read_generation, &now);
    if (!cairn_embed_enter())
        return;
    if (now.adds != seen.adds || now.subs != seen.subs)
        looks_left = MOST_LOOKS;
    seen = now;
    if ((looks_left || anyhow) && has_later())
        cairn_embed_apply(NULL, &counts);
    looks_left -= looks_left != 0;
    cairn_embed_leave();
}

void cairn_hook_refresh(void)
{
    cairn_embed_slots_look(true);
}
