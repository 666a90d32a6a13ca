/* SPDX-License-Identifier: MIT */
/*
 * Several transfers at once, in the order of what the missing names cost; each file is asked of one
 * server after the other until one has it.
 *
 *     wanted ──► jobs ──► slots: transfer ──► got ──► folder
 *                  ▲                     └──► absent, wrong, failed ─┐
 *                  └────────────── the next server ──────────────────┘
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "debuginfod/transfer.h"

enum { SLOTS = 4, POLL_MS = 100, FILES_MAX = 16384 };

struct job {
    const struct cairn_lacking *wanted;
    const char *name;
    unsigned server;
    bool has_failed; /* on some server: then its absence elsewhere proves nothing */
};

struct fetch {
    struct cairn_debuginfod *client;
    const struct cairn_curl *curl;
    CURLM *multi;
    struct job *jobs;
    size_t n, next, n_done;
    struct cairn_transfer slots[SLOTS];
    struct job *in_slot[SLOTS]; /* NULL: free */
    const char *last;           /* module that was heard of last */
};

static int heaviest_first(const void *left, const void *right)
{
    const struct job *a = left, *b = right;
    if (a->wanted->weight != b->wanted->weight)
        return a->wanted->weight > b->wanted->weight ? -1 : 1;
    if (a->wanted != b->wanted)
        return a->wanted < b->wanted ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Build IDs out of files go into URLs and paths. */
static bool is_id(const char *id)
{
    size_t size = strlen(id);
    return size >= 8 && size < CAIRN_BUILD_ID_TEXT && strspn(id, "0123456789abcdef") == size;
}

/* Each file is asked for once in a run. */
static bool is_new(struct cairn_debuginfod *c, const char *id, const char *name)
{
    struct cairn_buffer key = {0};
    size_t before = c->asked.n;
    cairn_buffer_printf(&key, "%s/%s", id, name);
    bool is_sound = !key.failed && before < FILES_MAX &&
                    cairn_strings_add(&c->asked, cairn_buffer_text(&key), key.size) != UINT32_MAX;
    cairn_buffer_done(&key);
    return is_sound && c->asked.n > before;
}

static void add_job(struct fetch *f, const struct cairn_lacking *wanted, const char *name)
{
    struct cairn_debuginfod *c = f->client;
    if (!is_new(c, wanted->build_id, name))
        return;
    enum cairn_client_state state = cairn_client_folder_look(&c->folder, wanted->build_id, name);
    if (state == CAIRN_CLIENT_MISS)
        cairn_log(CAIRN_LOG_INFO, "debuginfod: %s: no server had its %s a while ago; not asked",
                  wanted->path, name);
    if (state == CAIRN_CLIENT_ABSENT)
        f->jobs[f->n++] = (struct job){.wanted = wanted, .name = name};
}

static bool list_jobs(struct fetch *f, const struct cairn_lacking *wanted, size_t n)
{
    f->jobs = cairn_alloc(n, 2 * sizeof *f->jobs);
    for (size_t i = 0; f->jobs && i < n; i++) {
        if (!is_id(wanted[i].build_id))
            continue;
        if (wanted[i].lacks & CAIRN_LACKS_DEBUG)
            add_job(f, &wanted[i], "debuginfo");
        if (wanted[i].lacks & CAIRN_LACKS_IMAGE)
            add_job(f, &wanted[i], "executable");
    }
    if (f->n)
        qsort(f->jobs, f->n, sizeof *f->jobs, heaviest_first);
    return f->n > 0;
}

/* Ends a job that no server is left for. */
static void finish(struct fetch *f, struct job *job)
{
    f->n_done++;
    if (job->has_failed)
        return;
    cairn_client_folder_miss(&f->client->folder, job->wanted->build_id, job->name);
    cairn_log(CAIRN_LOG_INFO, "debuginfod: %s: no server has its %s", job->wanted->path, job->name);
}

static void stop(struct fetch *f, const struct cairn_err *why)
{
    cairn_log_err(CAIRN_LOG_WARNING, why);
    f->client->is_stopped = true;
}

/* Asks the next server that is not off; false: there is none. */
static bool start(struct fetch *f, size_t slot, struct job *job)
{
    struct cairn_debuginfod *c = f->client;
    struct cairn_transfer *t = &f->slots[slot];
    struct cairn_err why;
    for (; job->server < c->n_servers && c->servers[job->server].is_off; job->server++)
        job->has_failed = true;
    if (job->server == c->n_servers)
        return false;
    *t = (struct cairn_transfer){.client = c,
                                 .server = &c->servers[job->server++],
                                 .wanted = job->wanted,
                                 .name = job->name,
                                 .fd = -1};
    if (cairn_transfer_start(t, f->curl, &why) < 0) {
        stop(f, &why);
        return true;
    }
    f->in_slot[slot] = job;
    f->curl->multi_add_handle(f->multi, t->easy);
    return true;
}

static void fill(struct fetch *f)
{
    for (size_t i = 0; i < SLOTS; i++)
        while (!f->in_slot[i] && f->next < f->n && !f->client->is_stopped) {
            struct job *job = &f->jobs[f->next++];
            if (!start(f, i, job))
                finish(f, job);
        }
}

static void free_slot(struct fetch *f, size_t slot)
{
    f->curl->multi_remove_handle(f->multi, f->slots[slot].easy);
    f->in_slot[slot] = NULL;
}

/* The next server, in the slot that the last one left. */
static void go_on(struct fetch *f, size_t slot, struct job *job)
{
    job->has_failed |= f->client->is_stopped;
    if (f->client->is_stopped || !start(f, slot, job))
        finish(f, job);
}

/* Whoever else waits for a server that is off waits in vain. */
static void leave(struct fetch *f, const struct cairn_server *server)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct job *job = f->in_slot[i];
        if (!job || f->slots[i].server != server)
            continue;
        free_slot(f, i);
        cairn_transfer_drop(&f->slots[i], f->curl);
        job->has_failed = true;
        go_on(f, i, job);
    }
}

static void end_transfer(struct fetch *f, size_t slot, CURLcode result)
{
    struct job *job = f->in_slot[slot];
    struct cairn_server *server = f->slots[slot].server;
    f->last = job->wanted->path;
    f->curl->multi_remove_handle(f->multi, f->slots[slot].easy);
    enum cairn_outcome outcome = cairn_transfer_end(&f->slots[slot], f->curl, result);
    f->in_slot[slot] = NULL;
    if (outcome == CAIRN_OUTCOME_GOT || outcome == CAIRN_OUTCOME_GIVEN_UP) {
        f->n_done++;
        if (outcome == CAIRN_OUTCOME_GOT)
            cairn_log(CAIRN_LOG_INFO, "debuginfod: %s: %s from %s", job->wanted->path, job->name,
                      server->url);
        return;
    }
    job->has_failed |= outcome != CAIRN_OUTCOME_ABSENT;
    go_on(f, slot, job);
    if (server->is_off)
        leave(f, server);
}

static void take_ended(struct fetch *f)
{
    int n_left;
    const CURLMsg *message;
    while ((message = f->curl->multi_info_read(f->multi, &n_left)) != NULL) {
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        for (size_t i = 0; message->msg == CURLMSG_DONE && i < SLOTS; i++)
            if (f->in_slot[i] && f->slots[i].easy == easy) {
                end_transfer(f, i, result);
                break;
            }
    }
}

static void tell(struct fetch *f, const char *name)
{
    struct cairn_debuginfod *c = f->client;
    const struct cairn_debuginfod_progress progress = {.size = sizeof progress,
                                                       .name = name,
                                                       .n_done = f->n_done,
                                                       .n_files = f->n,
                                                       .bytes = c->bytes};
    if (c->progress && c->progress(c->ctx, &progress) != 0)
        c->is_stopped = true;
}

static bool is_busy(const struct fetch *f)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (f->in_slot[i])
            return true;
    return false;
}

static void run(struct fetch *f)
{
    fill(f);
    while (is_busy(f) && !f->client->is_stopped) {
        int n_running;
        if (f->curl->multi_perform(f->multi, &n_running) != CURLM_OK)
            break;
        take_ended(f);
        fill(f);
        tell(f, f->last ? f->last : f->jobs[0].wanted->path);
        if (is_busy(f))
            f->curl->multi_poll(f->multi, NULL, 0, POLL_MS, NULL);
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (f->in_slot[i]) {
            free_slot(f, i);
            cairn_transfer_drop(&f->slots[i], f->curl);
        }
    tell(f, NULL);
}

static bool open_client(struct cairn_debuginfod *c, const struct cairn_curl **ret_curl)
{
    struct cairn_err why;
    *ret_curl = cairn_curl_load(&why);
    if (!*ret_curl)
        cairn_fail_in(&why, CAIRN_E_SUPPORT, "debuginfod");
    else if (c->folder.fd >= 0 || cairn_client_folder_open(c->folder_path, &c->folder, &why) == 0)
        return true;
    cairn_log_err(CAIRN_LOG_WARNING, &why);
    c->is_stopped = true;
    return false;
}

int cairn_debuginfod_can(struct cairn_err *err)
{
    (void)err;
    return CAIRN_OK;
}

void cairn_debuginfod_fetch(void *ctx, const struct cairn_lacking *wanted, size_t n)
{
    struct fetch f = {.client = ctx};
    if (!n || f.client->is_stopped || !open_client(f.client, &f.curl))
        return;
    if (list_jobs(&f, wanted, n)) {
        f.multi = f.curl->multi_init();
        if (f.multi)
            run(&f);
        if (f.multi)
            f.curl->multi_cleanup(f.multi);
    }
    cairn_free(f.jobs);
}
