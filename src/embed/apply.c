/* SPDX-License-Identifier: MIT */
#include "embed/apply.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "embed/slots.h"
#include "hook/slots_loaded.h"
#include "rt/sys.h"
#include "rt/word_write.h"

struct cairn_embed_record {
    _Atomic(uintptr_t) *place;
    uintptr_t before, value; /* what it held, and what we have stored */
    uint64_t pass;           /* the last one that saw the slot */
};

/* One pass over the modules. */
struct pass {
    const struct cairn_hook *hook; /* counted */
    struct cairn_embed_counts *counts;
    struct cairn_word_writer writer;
    uint64_t number;
    unsigned long long adds; /* of modules, as the loader counts */
    /* Of the module. */
    const struct dl_phdr_info *info;
    struct cairn_slots_loaded loaded;
    const char *path;
    /* Of a survey. */
    struct cairn_embed_slots *slots;
    uintptr_t found, other; /* the value that the slots have, if it is another one; 1: several */
    const struct cairn_hook *conflict;
    char conflict_path[64];
    bool failed;
};

static char program[4096];

static void set_module(struct pass *pass, const struct dl_phdr_info *info)
{
    if (!program[0]) {
        const long n = cairn_sys_read_link("/proc/self/exe", program, sizeof program - 1);
        program[n > 0 ? n : 0] = 0;
    }
    pass->info = info;
    pass->path = info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : program;
}

/* The library that this code is in, unless it is linked into the program. */
static bool is_own(const struct pass *pass)
{
    return pass->path != program && cairn_slots_has_va(&pass->loaded, (uintptr_t)&program);
}

static void copy_path(char to[64], const char *path)
{
    const size_t n = strlen(path);
    const size_t cut = n > 63 ? n - 63 : 0;
    memcpy(to, path + cut, n - cut + 1);
}

static bool is_meant(const struct cairn_embed_slots *slots, const struct pass *pass,
                     const struct cairn_slot *slot)
{
    return (!slots->version || (slot->version && strcmp(slot->version, slots->version) == 0)) &&
           cairn_embed_where_has(slots, pass->path, (uintptr_t)pass->info->dlpi_addr);
}

/* What the slot is to hold: of those for fewer slots first, and of those the newest. */
static const struct cairn_hook *pick(const struct cairn_embed_name *name, const struct pass *pass,
                                     const struct cairn_slot *slot)
{
    const struct cairn_hook *best = NULL;
    for (const struct cairn_hook *hook = name->chain.all; hook; hook = hook->older)
        if (hook->is_live && is_meant(hook->slots, pass, slot) &&
            (!best || (cairn_embed_slots_cover(best->slots, hook->slots) &&
                       !cairn_embed_slots_cover(hook->slots, best->slots))))
            best = hook;
    return best;
}

static struct cairn_embed_record *find_record(struct cairn_embed_name *name,
                                              const _Atomic(uintptr_t) *place)
{
    struct cairn_embed_record *records = name->records.items;
    for (size_t i = 0; i < name->records.n; i++)
        if (records[i].place == place)
            return &records[i];
    return NULL;
}

/* A slot that is not bound yet holds an address of the module's own PLT. One that the loader has
 * not relocated yet holds neither that nor a function. */
static bool is_untouched(const struct cairn_embed_name *name, const struct pass *pass,
                         const struct cairn_slot *slot, uintptr_t now)
{
    if (now == name->chain.end_va)
        return true;
    return slot->kind == CAIRN_SLOTS_JUMP && !slot->is_defined &&
           cairn_slots_is_code(&pass->loaded.image, now - pass->loaded.image.load_base);
}

/* Is it one that the counts are of? */
static bool is_counted(const struct pass *pass, const struct cairn_embed_name *name,
                       const struct cairn_slot *slot)
{
    return pass->hook && pass->hook->slots->name == name && is_meant(pass->hook->slots, pass, slot);
}

static bool write_slot(struct pass *pass, const struct cairn_embed_name *name,
                       const struct cairn_slot *slot, struct cairn_embed_record *record,
                       uintptr_t value)
{
    const uintptr_t now = atomic_load(record->place);
    pass->writer.is_read_only = !cairn_slots_is_writable(pass->info, slot->vaddr);
    if (now == value || cairn_word_write(&pass->writer, record->place, now, value))
        return true;
    if (is_counted(pass, name, slot)) {
        pass->counts->n_failed++;
        pass->counts->failed_va = (uintptr_t)record->place;
    }
    return false;
}

static void note_other(struct pass *pass, const _Atomic(uintptr_t) *place)
{
    if (!pass->counts->n_other++) {
        pass->counts->other_va = (uintptr_t)place;
        copy_path(pass->counts->other_path, pass->path);
    }
}

static void forget(struct cairn_embed_name *name, struct cairn_embed_record *record)
{
    const struct cairn_embed_record *records = name->records.items;
    *record = records[--name->records.n];
}

/* No hook wants it any more. */
static void release(struct pass *pass, struct cairn_embed_name *name,
                    struct cairn_embed_record *record, const struct cairn_slot *slot)
{
    const uintptr_t now = atomic_load(record->place);
    if (now == record->value)
        (void)write_slot(pass, name, slot, record, record->before);
    else if (!is_untouched(name, pass, slot, now))
        note_other(pass, record->place);
    forget(name, record);
}

static void store(struct pass *pass, struct cairn_embed_name *name, const struct cairn_hook *hook,
                  const struct cairn_slot *slot, _Atomic(uintptr_t) *place)
{
    const uintptr_t now = atomic_load(place);
    struct cairn_embed_record *record = find_record(name, place);
    const bool is_ours = record && now == record->value;
    const bool counts = is_counted(pass, name, slot);
    if (!is_ours && !is_untouched(name, pass, slot, now)) {
        if (record)
            record->pass = pass->number; /* the other tool may put our value back */
        if (counts)
            note_other(pass, place);
        return;
    }
    if (!record) {
        record = cairn_array_add(&name->records, 1, sizeof *record);
        if (!record) {
            pass->counts->n_failed += counts;
            return;
        }
    }
    record->place = place;
    record->pass = pass->number;
    if (!is_ours)
        record->before = record->value = now;
    if (!write_slot(pass, name, slot, record, (uintptr_t)hook->entry_va))
        return;
    record->value = (uintptr_t)hook->entry_va;
    pass->counts->n_slots += counts;
}

static int apply_slot(void *context, const struct cairn_slot *slot)
{
    struct pass *pass = context;
    _Atomic(uintptr_t) *place =
        (_Atomic(uintptr_t) *)(uintptr_t)(pass->info->dlpi_addr + slot->vaddr);
    for (struct cairn_embed_name *name = cairn_embed_names(); name; name = name->next) {
        if (strcmp(name->text, slot->name) != 0)
            continue;
        const struct cairn_hook *hook = pick(name, pass, slot);
        struct cairn_embed_record *record = hook ? NULL : find_record(name, place);
        if (hook)
            store(pass, name, hook, slot, place);
        else if (record)
            release(pass, name, record, slot);
    }
    return 0;
}

static int apply_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct pass *pass = context;
    struct cairn_slots_result result;
    (void)size;
    set_module(pass, info);
    pass->counts->n_modules++;
    if (pass->hook &&
        cairn_embed_where_has(pass->hook->slots, pass->path, (uintptr_t)info->dlpi_addr))
        pass->counts->n_meant++;
    if (!cairn_slots_load(info, &pass->loaded) || is_own(pass))
        return 0;
    pass->writer.low = pass->loaded.relro_low;
    pass->writer.high = pass->loaded.relro_high;
    if (!cairn_slots_each(&pass->loaded.image, apply_slot, pass, &result))
        pass->counts->n_broken++;
    return 0;
}

/* Slots of modules that were unloaded: whose they were, nothing is to be restored in. */
static void forget_unseen(uint64_t number)
{
    for (struct cairn_embed_name *name = cairn_embed_names(); name; name = name->next) {
        struct cairn_embed_record *records = name->records.items;
        for (size_t i = name->records.n; i-- > 0;)
            if (records[i].pass != number)
                forget(name, &records[i]);
    }
}

void cairn_embed_apply(const struct cairn_hook *hook, struct cairn_embed_counts *ret_counts)
{
    static struct pass pass; /* under the room's lock: too large for small stacks */
    static uint64_t number;
    *ret_counts = (struct cairn_embed_counts){0};
    pass.hook = hook;
    pass.counts = ret_counts;
    pass.number = ++number;
    cairn_word_writer_open(&pass.writer);
    dl_iterate_phdr(apply_module, &pass);
    cairn_word_writer_close(&pass.writer);
    forget_unseen(number);
}

/* Neither set of slots contains the other: an original could not know where it is to lead. */
static bool is_conflict(const struct cairn_hook *hook, const struct pass *pass,
                        const struct cairn_slot *slot)
{
    return hook->is_live && is_meant(hook->slots, pass, slot) &&
           !cairn_embed_slots_cover(hook->slots, pass->slots) &&
           !cairn_embed_slots_cover(pass->slots, hook->slots);
}

static int survey_slot(void *context, const struct cairn_slot *slot)
{
    struct pass *pass = context;
    struct cairn_embed_name *name = pass->slots->name;
    if (strcmp(name->text, slot->name) != 0 || !is_meant(pass->slots, pass, slot))
        return 0;
    for (const struct cairn_hook *hook = name->chain.all; hook; hook = hook->older)
        if (is_conflict(hook, pass, slot)) {
            pass->conflict = hook;
            copy_path(pass->conflict_path, pass->path);
        }
    const _Atomic(uintptr_t) *place =
        (_Atomic(uintptr_t) *)(uintptr_t)(pass->info->dlpi_addr + slot->vaddr);
    const uintptr_t now = atomic_load(place);
    name->chain.end_va = pass->found;
    if (now == pass->found)
        pass->other = 1;
    else if (!is_untouched(name, pass, slot, now) && pass->other != now)
        pass->other = pass->other || now < 4096 ? 1 : now;
    return 0;
}

static int survey_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct pass *pass = context;
    struct cairn_slots_result result;
    (void)size;
    set_module(pass, info);
    pass->failed |=
        !pass->slots->later && !cairn_embed_where_note(pass->slots, (uintptr_t)info->dlpi_addr);
    if (cairn_slots_load(info, &pass->loaded) && !is_own(pass))
        (void)cairn_slots_each(&pass->loaded.image, survey_slot, pass, &result);
    return 0;
}

static bool has_live(const struct cairn_embed_name *name)
{
    for (const struct cairn_hook *hook = name->chain.all; hook; hook = hook->older)
        if (hook->is_live)
            return true;
    return false;
}

int cairn_embed_survey(struct cairn_embed_slots *slots, uintptr_t found, struct cairn_err *err)
{
    static struct pass pass; /* under the room's lock */
    struct cairn_embed_name *name = slots->name;
    const uint64_t end_va = name->chain.end_va;
    memset(&pass, 0, sizeof pass);
    pass.slots = slots;
    pass.found = found;
    dl_iterate_phdr(survey_module, &pass);
    if (has_live(name) || pass.failed)
        name->chain.end_va = end_va; /* for good, as long as hooks lead there */
    else if (pass.other > 1)
        name->chain.end_va = pass.other; /* all lead there: another tool's hook, or a local scope */
    else
        name->chain.end_va = found;
    if (pass.failed)
        return cairn_fail_memory(err);
    if (pass.conflict)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "slots of %s: those of %s are of another hook too, and neither hook is "
                          "for all slots of the other",
                          name->text, pass.conflict_path);
    if (!name->chain.end_va)
        return cairn_fail(err, CAIRN_E_MISSING,
                          "slots of %s: no loaded module has a function of that name%s%s",
                          name->text, slots->version ? " and version " : "",
                          slots->version ? slots->version : "");
    return CAIRN_OK;
}
