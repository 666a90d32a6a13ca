/* SPDX-License-Identifier: MIT */
#include "attach/chosen.h"

#include <string.h>
#include <time.h>

#include <cairn/slots.h>

#include "attach/late_table.h"
#include "attach/modules.h"
#include "attach/slot_list.h"
#include "base/alloc.h"
#include "base/error.h"
#include "hook/slots.h"

enum {
    LOOKS = 4, /* at slots that the loader may bind meanwhile */
    LOOK_MS = 2
};

/* A function that makes blocks. */
struct maker {
    char name[CAIRN_LATE_NAME_MAX];
    uint64_t va;       /* 0: no module has it */
    uint64_t after;    /* what a slot of a chosen module holds */
    uint64_t original; /* of the word that the replacement calls through */
};

struct chosen {
    struct cairn_attach_job *job;
    struct cairn_slot_list list;
    struct maker *makers;
    size_t n_makers;
    const char **names;
    bool may_bind; /* a slot was not bound yet */
    bool no_memory;
};

static const struct maker *find_maker(const struct chosen *c, const char *name)
{
    for (size_t i = 0; i < c->n_makers; i++)
        if (strcmp(c->makers[i].name, name) == 0)
            return &c->makers[i];
    return NULL;
}

static bool is_chosen(const struct cairn_attach_job *job, const char *path)
{
    for (size_t i = 0; i < job->opts.n_modules; i++)
        if (cairn_slots_match(job->opts.modules[i], path))
            return true;
    return false;
}

/* Another tool's, or a version of the function that is not the one we know, stays as it is. */
static int take_slot(void *context, const struct cairn_slot_found *found)
{
    struct chosen *c = context;
    const struct maker *maker = find_maker(c, found->name);
    const struct cairn_map *map = cairn_slot_list_data(c->job, found->va);
    if (!is_chosen(c->job, found->module) || !maker || !maker->va || !map || !found->has_value)
        return 0;
    struct cairn_late_slot *slot = cairn_slot_list_find(&c->list, found->va);
    bool is_ours = found->value == maker->after;
    if ((is_ours && !slot) || (!is_ours && found->is_bound && found->value != maker->va)) {
        c->job->report.n_foreign++;
        cairn_attach_say(c->job, "%s in %s: leads to 0x%llx: left alone", found->name,
                         found->module, (unsigned long long)found->value);
        return 0;
    }
    slot = slot ? slot : cairn_slot_list_add(&c->list, found->va);
    if (!slot) {
        c->no_memory = true;
        return 1;
    }
    if (!is_ours) {
        c->may_bind |= !found->is_bound;
        slot->before = found->value;
    }
    slot->after = maker->after;
    slot->is_active = slot->is_wanted = 1;
    slot->is_read_only = !(map->flags & CAIRN_MAP_WRITE);
    return 0;
}

static int read_maker(struct chosen *c, const struct cairn_late_row *row, struct cairn_err *err)
{
    struct maker *maker = &c->makers[c->n_makers];
    *maker = (struct maker){.after = (uintptr_t)(row->chosen ? row->chosen : row->replacement),
                            .original = (uintptr_t)row->original};
    int result = cairn_target_read(&c->job->target, (uintptr_t)row->name, maker->name,
                                   sizeof maker->name, err);
    if (result == CAIRN_OK && !memchr(maker->name, 0, sizeof maker->name))
        result = cairn_fail(err, CAIRN_E_FORMAT,
                            "pid %d: the tracker in it is damaged: a function "
                            "has no name",
                            c->job->target.pid);
    c->n_makers += result == CAIRN_OK;
    return result;
}

/* Of the tracker that is in the process. */
static int read_makers(struct chosen *c, struct cairn_err *err)
{
    const struct cairn_late *late = &c->job->late;
    if (late->row_bytes != sizeof(struct cairn_late_row) || late->n_rows > CAIRN_LATE_ROWS_MAX)
        return cairn_fail(err, CAIRN_E_FORMAT, "pid %d: the tracker in it is damaged",
                          c->job->target.pid);
    struct cairn_late_row *rows = cairn_alloc(late->n_rows + 1, sizeof *rows);
    c->makers = cairn_alloc(late->n_rows + 1, sizeof *c->makers);
    c->names = cairn_alloc(late->n_rows + 1, sizeof *c->names);
    int result = rows && c->makers && c->names ? CAIRN_OK : cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = cairn_target_read(&c->job->target, (uintptr_t)late->rows, rows,
                                   late->n_rows * sizeof *rows, err);
    for (uint32_t i = 0; result == CAIRN_OK && i < late->n_rows; i++)
        if (rows[i].roles & CAIRN_LATE_BIRTH)
            result = read_maker(c, &rows[i], err);
    for (size_t i = 0; i < c->n_makers; i++)
        c->names[i] = c->makers[i].name;
    cairn_free(rows);
    return result;
}

/* A replacement whose function is not diverted calls that. */
static int tell_original(struct chosen *c, const struct maker *maker, struct cairn_err *err)
{
    uint64_t known;
    int result = cairn_target_read(&c->job->target, maker->original, &known, sizeof known, err);
    return result < 0 || known || !maker->va
               ? result
               : cairn_target_write(&c->job->target, maker->original, &maker->va, sizeof maker->va,
                                    err);
}

static int find_functions(struct chosen *c, struct cairn_err *err)
{
    struct cairn_loaded_modules modules = {0};
    struct cairn_wanted_function *functions = cairn_alloc(c->n_makers + 1, sizeof *functions);
    if (!functions)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < c->n_makers; i++)
        functions[i].name = c->makers[i].name;
    int result = cairn_loaded_read(&c->job->target, &modules, err);
    if (result == CAIRN_OK)
        result = cairn_loaded_find(&modules, functions, c->n_makers, err);
    for (size_t i = 0; result == CAIRN_OK && i < c->n_makers; i++) {
        const struct cairn_wanted_function *function =
            cairn_loaded_found(functions, c->n_makers, c->makers[i].name);
        c->makers[i].va = function ? function->va : 0;
        result = tell_original(c, &c->makers[i], err);
    }
    cairn_loaded_done(&modules);
    cairn_free(functions);
    return result;
}

static int find_slots(struct chosen *c, struct cairn_err *err)
{
    struct cairn_err missing = {0};
    int result =
        cairn_slots_of_pid(c->job->target.pid, c->names, c->n_makers, take_slot, c, &missing);
    if (c->no_memory && c->list.n == CAIRN_SLOT_LIST_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "pid %d: its modules have more than %d slots",
                          c->job->target.pid, CAIRN_SLOT_LIST_MAX);
    if (c->no_memory)
        return cairn_fail_memory(err);
    if (result < 0 && result != CAIRN_E_MISSING) { /* some name no slot has: nothing is wrong */
        if (err)
            *err = missing;
        return result;
    }
    return CAIRN_OK;
}

static void report(struct chosen *c)
{
    struct cairn_attach_report *r = &c->job->report;
    uint32_t n_failed = 0;
    r->n_slots = 0;
    for (size_t i = 0; i < c->list.n; i++) {
        const struct cairn_late_slot *slot = &c->list.slots[i];
        n_failed += slot->is_active && slot->state == CAIRN_LATE_SLOT_FAILED;
        r->n_slots += slot->is_active && slot->state == CAIRN_LATE_SLOT_DONE &&
                      (slot->is_wanted || c->n_makers == 0);
    }
    cairn_attach_say(c->job, "%u slots lead %s%s", r->n_slots,
                     c->n_makers ? "to the tracker" : "where they led before",
                     n_failed ? ", but some could not be written" : "");
}

/* One look. The loader may bind a slot just when we store there. */
static int look(struct chosen *c, struct cairn_err *err)
{
    c->may_bind = false;
    c->job->report.n_foreign = 0;
    int result = cairn_target_look_again(&c->job->target, err);
    if (result == CAIRN_OK)
        result = cairn_slot_list_read(c->job, &c->list, err);
    if (result == CAIRN_OK && c->n_makers)
        result = find_slots(c, err);
    return result < 0 ? result : cairn_slot_list_store(c->job, &c->list, err);
}

static int set(struct cairn_attach_job *job, bool is_any, struct cairn_err *err)
{
    const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000L};
    const uint32_t n_foreign = job->report.n_foreign;
    struct chosen c = {.job = job};
    int result = is_any ? read_makers(&c, err) : CAIRN_OK;
    if (result == CAIRN_OK && is_any)
        result = find_functions(&c, err);
    for (int i = 0; result == CAIRN_OK && i < LOOKS; i++) {
        result = look(&c, err);
        if (!c.may_bind)
            break;
        nanosleep(&nap, NULL);
    }
    if (result == CAIRN_OK)
        report(&c);
    job->report.n_foreign += n_foreign;
    cairn_slot_list_done(&c.list);
    cairn_free(c.makers);
    cairn_free(c.names);
    return result;
}

int cairn_chosen_set(struct cairn_attach_job *job, struct cairn_err *err)
{
    return set(job, job->opts.n_modules > 0, err);
}

int cairn_chosen_restore(struct cairn_attach_job *job, struct cairn_err *err)
{
    return set(job, false, err);
}

static bool has_match(const struct cairn_loaded_modules *modules, const char *pattern)
{
    for (size_t i = 0; i < modules->n; i++)
        if (cairn_slots_match(pattern, modules->items[i].path))
            return true;
    return false;
}

int cairn_chosen_check(struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_loaded_modules modules = {0};
    int result = cairn_loaded_read(&job->target, &modules, err);
    for (size_t i = 0; result == CAIRN_OK && i < job->opts.n_modules; i++) {
        if (has_match(&modules, job->opts.modules[i]))
            continue;
        result = cairn_fail(err, CAIRN_E_MISSING, "pid %d: has loaded no module that is called %s",
                            job->target.pid, job->opts.modules[i]);
        cairn_hint(err, "cairn hook slots %d malloc lists modules; attach again when it is loaded",
                   job->target.pid);
    }
    for (size_t i = 0; result == CAIRN_OK && i < modules.n; i++)
        job->report.n_chosen += is_chosen(job, modules.items[i].path);
    cairn_loaded_done(&modules);
    return result;
}
