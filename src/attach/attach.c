/* SPDX-License-Identifier: MIT */
/*
 * The steps, in an order that leaves the process unchanged until nothing can refuse any more. If we
 * are killed after any step, the process runs on:
 *
 *     outside    modules, functions, plans          nothing is touched
 *     our thread library, notes, islands, start     nothing leads to them yet
 *     both       the functions, a page each         deaths first, then births
 *     both       slots of chosen modules            instead of births, where some are chosen
 *     both       blocks from before (older.c)       each look at the heap is from outside
 */
#include <limits.h>
#include <string.h>
#include <time.h>

#include "attach/chosen.h"
#include "attach/filters.h"
#include "attach/image.h"
#include "attach/job.h"
#include "attach/older.h"
#include "attach/place.h"
#include "attach/slot_list.h"
#include "base/clock.h"
#include "base/error.h"

enum { PATH_BYTES = PATH_MAX, WAIT_STEP_MS = 20, WAIT_STEPS = 50 };

struct fresh {
    struct cairn_attach_job *job;
    struct cairn_image image;
    struct cairn_late_table table;
    struct cairn_loaded_modules modules;
    struct cairn_diversions diversions;
    char path[PATH_BYTES];
};

static uint64_t import(void *ctx, const char *name)
{
    return cairn_loaded_object(ctx, name);
}

/* It was started under the tracker. */
static int refuse_tracked(const struct cairn_attach_job *job, struct cairn_err *err)
{
    for (size_t i = 0; i < cairn_maps_count(job->target.maps); i++) {
        const char *path = cairn_maps_get(job->target.maps, i)->path;
        const char *base = strrchr(path, '/');
        if (base && strncmp(base, "/libcairn-heap.so", strlen("/libcairn-heap.so")) == 0) {
            cairn_fail(err, CAIRN_E_EXISTS, "pid %d: is tracked already, from its start",
                       job->target.pid);
            cairn_hint(err, "cairn heap leaks %d", job->target.pid);
            return CAIRN_E_EXISTS;
        }
    }
    return CAIRN_OK;
}

static void say_plans(const struct fresh *f)
{
    for (size_t i = 0; i < f->diversions.n; i++) {
        const struct cairn_diversion *item = &f->diversions.items[i];
        const char *path = f->modules.items[item->module].path;
        if (item->same)
            cairn_attach_say(f->job, "%s of %s: is %s", item->wish->name, path,
                             item->same->wish->name);
        else if (item->plan.way == CAIRN_HOOK_WAY_NONE)
            cairn_attach_say(f->job, "%s of %s: stays as it is: %s", item->wish->name, path,
                             cairn_hook_reason_text(item->plan.reason));
        else
            cairn_attach_say(f->job, "%s of %s: %s, island at 0x%llx", item->wish->name, path,
                             cairn_hook_way_name(item->plan.way),
                             (unsigned long long)item->island_va);
    }
}

static int plan_loaded(struct fresh *f, struct cairn_err *err)
{
    const struct cairn_target_process *target = &f->job->target;
    int result = cairn_loaded_read(target, &f->modules, err);
    return result < 0 ? result
                      : cairn_divert_plan(target, &f->modules, &f->table, &f->diversions, err);
}

static int plan_again(struct fresh *f, struct cairn_err *err)
{
    const struct timespec step = {.tv_nsec = WAIT_STEP_MS * 1000000L};
    cairn_diversions_done(&f->diversions);
    cairn_loaded_done(&f->modules);
    nanosleep(&step, NULL);
    int result = cairn_target_look_again(&f->job->target, err);
    return result < 0 ? result : plan_loaded(f, err);
}

/* A process that was started a moment ago gets a second until its loader has mapped the library
 * that has malloc, and one more step to relocate it. */
static int plan_soon(struct fresh *f, struct cairn_err *err)
{
    int result = plan_loaded(f, err), waited = 0;
    for (; result == CAIRN_E_SUPPORT && waited < WAIT_STEPS &&
           cairn_loaded_may_come(&f->modules, "malloc");
         waited++)
        result = plan_again(f, err);
    return result < 0 || waited == 0 ? result : plan_again(f, err);
}

static int plan(struct fresh *f, struct cairn_err *err)
{
    struct cairn_attach_job *job = f->job;
    int result = refuse_tracked(job, err);
    if (result == CAIRN_OK)
        result = cairn_attach_library(job->opts.library, f->path, sizeof f->path, err);
    if (result == CAIRN_OK)
        result = cairn_image_open(f->path, &f->image, err);
    if (result == CAIRN_OK)
        result = cairn_late_table_read(&f->image, &f->table, err);
    if (result == CAIRN_OK)
        result = plan_soon(f, err);
    if (result < 0)
        return result;
    job->report.n_modules = (uint32_t)f->modules.n;
    for (size_t i = 0; i < f->diversions.n; i++)
        job->report.n_refused +=
            !f->diversions.items[i].same && f->diversions.items[i].plan.way == CAIRN_HOOK_WAY_NONE;
    say_plans(f);
    return CAIRN_OK;
}

/* The library, the notes, the islands. */
static int bring(struct fresh *f, struct cairn_err *err)
{
    struct cairn_attach_job *job = f->job;
    struct cairn_ledger *ledger = &job->ledger;
    struct cairn_err later;
    int their_fd = -1;
    *ledger = (struct cairn_ledger){.magic = CAIRN_LEDGER_MAGIC,
                                    .version = CAIRN_LEDGER_VERSION,
                                    .bytes = sizeof *ledger,
                                    .library_bytes = f->image.bytes,
                                    .room_va = job->foothold.code_va,
                                    .code_bytes = f->image.bytes};
    int result =
        cairn_place_image(&job->foothold, &f->image, import, &f->modules, &ledger->base, err);
    if (result < 0)
        return result;
    cairn_attach_say(job, "%s lies at 0x%llx", f->path, (unsigned long long)ledger->base);
    ledger->late_va = ledger->base + f->table.late;
    result = cairn_foothold_hand(&job->foothold, f->image.fd, &their_fd, err);
    if (result == CAIRN_OK)
        result = cairn_divert_prepare(&job->foothold, &f->diversions, their_fd, ledger, err);
    if (their_fd >= 0)
        cairn_foothold_close_fd(&job->foothold, their_fd, &later);
    ledger->is_complete = result == CAIRN_OK;
    if (result == CAIRN_OK)
        result = cairn_ledger_make(&job->foothold, ledger, &job->ledger_va, err);
    if (result < 0) {
        cairn_divert_drop(&job->foothold, &f->diversions);
        cairn_foothold_unmap(&job->foothold, ledger->base, f->image.bytes, &later);
        job->ledger_va = 0;
    }
    return result;
}

static void forget(struct fresh *f)
{
    cairn_diversions_done(&f->diversions);
    cairn_loaded_done(&f->modules);
    cairn_late_table_done(&f->table);
    cairn_image_close(&f->image);
}

static int bring_all(struct cairn_attach_job *job, unsigned *ret_granule_bits,
                     struct cairn_err *err)
{
    struct fresh f = {.job = job, .image = {.fd = -1}};
    int result = plan(&f, err);
    *ret_granule_bits = f.diversions.granule_bits;
    if (result == CAIRN_OK)
        result = cairn_attach_enter(job, err);
    if (result == CAIRN_OK)
        result = bring(&f, err);
    forget(&f);
    return result;
}

static int start(struct cairn_attach_job *job, unsigned granule_bits, struct cairn_err *err)
{
    const struct cairn_late_settings settings = {.size = sizeof settings,
                                                 .granule_bits = granule_bits,
                                                 .max_bytes = job->opts.max_memory,
                                                 .sample_bytes = job->opts.sample_bytes,
                                                 .depth = job->opts.depth,
                                                 .no_stacks = job->opts.no_stacks,
                                                 .chosen = job->opts.n_modules > 0};
    int value, result = cairn_attach_read_late(job, err);
    if (result == CAIRN_OK)
        result = cairn_target_write(&job->target, job->foothold.page_va, &settings, sizeof settings,
                                    err);
    if (result == CAIRN_OK)
        result = cairn_attach_run(job, "start", (uintptr_t)job->late.start, job->foothold.page_va,
                                  &value, err);
    if (result < 0 || value == 0)
        return result;
    cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: the tracker could not begin there (%d)",
               job->target.pid, value);
    cairn_hint(err,
               "its user needs a folder for what is recorded: /dev/shm, $XDG_RUNTIME_DIR or /tmp");
    return CAIRN_E_SUPPORT;
}

static void count_way(struct cairn_attach_report *r, uint32_t way)
{
    r->n_one += way == CAIRN_HOOK_WAY_ONE;
    r->n_pad += way == CAIRN_HOOK_WAY_PAD;
    r->n_pun += way == CAIRN_HOOK_WAY_PUN;
    r->n_late += way == CAIRN_HOOK_WAY_LATE;
    r->n_branch += way == CAIRN_HOOK_WAY_BRANCH;
}

static enum cairn_divert_what what_of(const struct cairn_attach_job *job)
{
    return job->opts.n_modules ? CAIRN_DIVERT_DEATHS : CAIRN_DIVERT_ALL;
}

static void count_ways(struct cairn_attach_job *job)
{
    for (uint32_t i = 0; i < job->ledger.n_rows; i++)
        if (cairn_divert_is_meant(&job->ledger.rows[i], what_of(job)))
            count_way(&job->report, job->ledger.rows[i].way);
}

static int divert(struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_divert_counts counts;
    int result =
        cairn_divert_set(&job->target, &job->foothold, &job->ledger, what_of(job), &counts, err);
    if (result < 0)
        return result;
    cairn_attach_say_nameless(job, &counts);
    job->report.n_functions = counts.n_done;
    job->report.n_foreign = counts.n_foreign + counts.n_gone;
    count_ways(job);
    cairn_attach_say(job, "%u functions lead to the tracker", counts.n_done);
    return CAIRN_OK;
}

static bool all_lead_to_us(const struct cairn_attach_job *job, enum cairn_divert_what what)
{
    for (uint32_t i = 0; i < job->ledger.n_rows; i++)
        if (cairn_divert_is_meant(&job->ledger.rows[i], what) &&
            !cairn_divert_leads_to_us(&job->target, &job->ledger.rows[i]))
            return false;
    return job->ledger.n_rows > 0;
}

/* Threads of the process call the system for the tracker, when we are long gone. */
static int ask_filters(const struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_filters_found found;
    int result = cairn_filters_check(&job->target, &found, err);
    if (result == CAIRN_OK && found.n_threads > 0)
        cairn_attach_say(job,
                         "%zu threads have filters of system calls (seccomp): %zu programs, which "
                         "allow all that the tracker calls%s%s; each was held for %.3f ms at most",
                         found.n_threads, found.n_programs, found.lost ? ", but " : "",
                         found.lost ? found.lost : "", (double)found.held_ns / CAIRN_NS_PER_MS);
    return result;
}

static int refuse_attached(const struct cairn_attach_job *job, bool is_chosen,
                           struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_EXISTS, "pid %d: is tracked already, since somebody attached%s",
               job->target.pid, is_chosen ? " for some modules" : "");
    if (is_chosen || job->opts.n_modules)
        cairn_hint(err, "cairn heap detach %d ends that", job->target.pid);
    else
        cairn_hint(err, "cairn heap leaks %d; after cairn heap stop: cairn heap start %d",
                   job->target.pid, job->target.pid);
    return CAIRN_E_EXISTS;
}

/* Other modules than before, or more of them; what is known stays known. */
static int choose_again(struct cairn_attach_job *job, struct cairn_err *err)
{
    int result = cairn_attach_enter(job, err);
    if (result == CAIRN_OK)
        result = cairn_attach_read_late(job, err);
    if (result == CAIRN_OK)
        result = cairn_chosen_set(job, err);
    job->report.older = CAIRN_OLDER_CHOSEN;
    return result;
}

static int attach_now(struct cairn_attach_job *job, struct cairn_err *err)
{
    unsigned granule_bits = 0; /* of a tracker that began already: it has it */
    int result = ask_filters(job, err);
    if (result < 0)
        return result;
    if (job->report.again)
        result = cairn_attach_enter(job, err);
    else
        result = bring_all(job, &granule_bits, err);
    if (result == CAIRN_OK)
        result = start(job, granule_bits, err);
    if (result == CAIRN_OK)
        result = divert(job, err);
    if (result == CAIRN_OK)
        result = cairn_chosen_set(job, err);
    if (result == CAIRN_OK)
        cairn_attach_list_older(job);
    return result;
}

static int attach(struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_slot_counts counts = {0}; /* of an earlier attach */
    int result = job->opts.n_modules ? cairn_chosen_check(job, err) : CAIRN_OK;
    if (result == CAIRN_OK)
        result = cairn_slot_list_count(job, &counts, err);
    job->report.again = job->ledger_va && job->ledger.is_complete;
    if (result < 0 || !job->report.again)
        return result < 0 ? result : attach_now(job, err);
    bool is_all = all_lead_to_us(job, CAIRN_DIVERT_ALL);
    bool is_chosen = !is_all && counts.n_wanted && all_lead_to_us(job, CAIRN_DIVERT_DEATHS);
    if (is_all || (is_chosen && !job->opts.n_modules))
        return refuse_attached(job, is_chosen, err);
    return is_chosen ? choose_again(job, err) : attach_now(job, err);
}

/* Those that have a way. */
static void count_plans(const struct fresh *f)
{
    struct cairn_attach_report *r = &f->job->report;
    for (size_t i = 0; i < f->diversions.n; i++)
        if (!f->diversions.items[i].same)
            count_way(r, f->diversions.items[i].plan.way);
    r->n_functions = r->n_one + r->n_pad + r->n_pun + r->n_late + r->n_branch;
}

static int check(struct cairn_attach_job *job, struct cairn_err *err)
{
    struct fresh f = {.job = job, .image = {.fd = -1}};
    bool has_filters;
    int result = job->opts.n_modules ? cairn_chosen_check(job, err) : CAIRN_OK;
    if (result == CAIRN_OK && job->ledger_va && job->ledger.is_complete &&
        all_lead_to_us(job, CAIRN_DIVERT_DEATHS))
        result = refuse_attached(job, !all_lead_to_us(job, CAIRN_DIVERT_ALL), err);
    if (result == CAIRN_OK)
        result = plan(&f, err);
    if (result == CAIRN_OK)
        result = cairn_filters_are_there(job->target.pid, &has_filters, err);
    if (result == CAIRN_OK) {
        job->report.has_filters = has_filters;
        count_plans(&f);
    }
    forget(&f);
    return result;
}

int cairn_attach_check(int pid, const struct cairn_attach_opts *opts,
                       struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    struct cairn_attach_job job;
    int result = cairn_attach_begin(pid, opts, &job, err);
    if (result == CAIRN_OK)
        result = check(&job, err);
    return cairn_attach_end(&job, result, ret_report, err);
}

static int work(int pid, const struct cairn_attach_opts *opts,
                struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    struct cairn_attach_job job;
    int result = cairn_attach_begin(pid, opts, &job, err);
    if (result == CAIRN_OK)
        result = attach(&job, err);
    return cairn_attach_end(&job, result, ret_report, err);
}

int cairn_attach(int pid, const struct cairn_attach_opts *opts,
                 struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    return cairn_attach_apart(pid, opts, work, ret_report, err);
}
