/* SPDX-License-Identifier: MIT */
/* cairn hook plan: how the functions of a file or a process can be diverted. */
#include <stdio.h>
#include <string.h>

#include <cairn/maps.h>
#include <cairn/plans.h>

#include "base/buffer.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/hook.h"
#include "cli/term.h"

enum { N_WAYS = CAIRN_HOOK_WAY_BRANCH + 1, NAME_COLUMNS = 28, BYTES_COLUMNS = 15 };

struct job {
    struct cli_hook_query query;
    struct cairn_buffer out;
    struct cairn_json json;
    struct cairn_maps *maps; /* of the process, read when a hook of another tool is found */
    uint64_t n[N_WAYS], n_all;
};

/* "e9 .. 55 53": two points where the byte depends on where an island is mapped. */
static void add_bytes(struct cairn_buffer *out, const uint8_t *bytes, const uint8_t *known,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            cairn_buffer_char(out, ' ');
        if (known && !known[i])
            cairn_buffer_str(out, "..");
        else
            cairn_buffer_printf(out, "%02x", bytes[i]);
    }
}

/* As the file counts addresses, or, of a process, as it does. */
static uint64_t shown(const struct job *job, const struct cairn_planned *p, uint64_t va)
{
    return job->query.pid ? va : va - p->load_base;
}

/* What is mapped where a hook of another tool leads; "": nothing with a name. */
static const char *name_place(struct job *job, uint64_t va)
{
    if (!job->maps && job->query.pid && va)
        (void)cairn_maps_read_pid(job->query.pid, &job->maps, NULL);
    const struct cairn_map *map = job->maps ? cairn_maps_find(job->maps, va) : NULL;
    return map ? map->path : "";
}

static void add_reason(struct job *job, const struct cairn_planned *p)
{
    const struct cairn_hook_plan *plan = p->plan;
    cairn_buffer_printf(&job->out, "%s (at 0x%llx)", cairn_hook_reason_text(plan->reason),
                        (unsigned long long)shown(job, p, plan->reason_va));
    if (plan->reason != CAIRN_HOOK_HOOKED || !plan->leads_to)
        return;
    const char *place = name_place(job, plan->leads_to);
    cairn_buffer_printf(&job->out, ", leads to 0x%llx", (unsigned long long)plan->leads_to);
    cairn_buffer_str(&job->out, *place ? " in " : "");
    cairn_escape_terminal(&job->out, place, strlen(place));
}

static void add_way(struct job *job, const struct cairn_planned *p)
{
    const struct cairn_hook_plan *plan = p->plan;
    struct cairn_buffer bytes = {0};
    add_bytes(&bytes, p->before, NULL, plan->patch_bytes);
    cairn_buffer_printf(&job->out, "0x%-14llx  %-*s ",
                        (unsigned long long)shown(job, p, plan->patch_va), BYTES_COLUMNS,
                        cairn_buffer_text(&bytes));
    cairn_buffer_str(&job->out, "-> ");
    add_bytes(&job->out, p->after, p->known, plan->patch_bytes);
    if (plan->pad_bytes)
        cairn_buffer_printf(&job->out, ", padding at 0x%llx",
                            (unsigned long long)shown(job, p, plan->pad_va));
    if (plan->how == CAIRN_HOOK_WAY_PUN && job->query.pid)
        cairn_buffer_printf(&job->out, ", island at 0x%llx", (unsigned long long)plan->island_va);
    cairn_buffer_done(&bytes);
}

static void put_line(struct job *job, const struct cairn_planned *p)
{
    struct cairn_buffer name = {0};
    cairn_escape_terminal(&name, p->name, strlen(p->name));
    cairn_buffer_printf(&job->out, "%-*s  %-4s  ", NAME_COLUMNS, cairn_buffer_text(&name),
                        cairn_hook_way_name(p->plan->way));
    cairn_buffer_done(&name);
    if (p->plan->way == CAIRN_HOOK_WAY_NONE)
        add_reason(job, p);
    else
        add_way(job, p);
    cairn_buffer_str(&job->out, p->is_resolver ? " (an IFUNC's resolver)\n" : "\n");
}

static void put_bytes(struct cairn_json *json, const char *name, const uint8_t *bytes,
                      const uint8_t *known, size_t n)
{
    struct cairn_buffer text = {0};
    add_bytes(&text, bytes, known, n);
    cairn_json_str(json, name, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void put_reason_member(struct job *job, const struct cairn_planned *p)
{
    const struct cairn_hook_plan *plan = p->plan;
    cairn_json_str(&job->json, "reason", cairn_hook_reason_text(plan->reason));
    cairn_json_hex(&job->json, "reason_at", shown(job, p, plan->reason_va));
    if (plan->reason == CAIRN_HOOK_HOOKED && plan->leads_to) {
        cairn_json_hex(&job->json, "leads_to", plan->leads_to);
        cairn_json_str(&job->json, "leads_into", name_place(job, plan->leads_to));
    }
}

static void put_way_members(struct job *job, const struct cairn_planned *p)
{
    const struct cairn_hook_plan *plan = p->plan;
    struct cairn_json *json = &job->json;
    cairn_json_str(json, "how", cairn_hook_way_name(plan->how));
    cairn_json_hex(json, "patch", shown(job, p, plan->patch_va));
    put_bytes(json, "before", p->before, NULL, plan->patch_bytes);
    put_bytes(json, "after", p->after, p->known, plan->patch_bytes);
    cairn_json_hex(json, "word", shown(job, p, plan->word_va));
    cairn_json_bool(json, "aligned", plan->is_aligned);
    cairn_json_u64(json, "moved_bytes", plan->move_bytes);
    cairn_json_hex(json, "resume", shown(job, p, plan->resume_va));
    if (plan->pad_bytes) {
        cairn_json_hex(json, "pad", shown(job, p, plan->pad_va));
        put_bytes(json, "pad_before", plan->pad_before, NULL, plan->pad_bytes);
    }
    if (plan->how == CAIRN_HOOK_WAY_PUN && job->query.pid)
        cairn_json_hex(json, "island", plan->island_va);
}

static void put_object(struct job *job, const struct cairn_planned *p)
{
    struct cairn_json *json = &job->json;
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "name", p->name);
    cairn_json_str(json, "module", p->module);
    if (p->n_bytes)
        cairn_json_u64(json, "bytes", p->n_bytes);
    cairn_json_bool(json, "resolver", p->is_resolver);
    cairn_json_str(json, "way", cairn_hook_way_name(p->plan->way));
    if (p->plan->way == CAIRN_HOOK_WAY_NONE)
        put_reason_member(job, p);
    else
        put_way_members(job, p);
    cairn_json_close(json, '}');
}

static int show(void *context, const struct cairn_planned *p)
{
    struct job *job = context;
    job->n[p->plan->way]++;
    job->n_all++;
    if (job->query.json)
        put_object(job, p);
    else
        put_line(job, p);
    return job->out.failed;
}

/* "2153 functions: one 581 (27.0 %), ..." */
static void put_sum(struct job *job)
{
    static const enum cairn_hook_way order[N_WAYS] = {CAIRN_HOOK_WAY_ONE,    CAIRN_HOOK_WAY_PAD,
                                                      CAIRN_HOOK_WAY_PUN,    CAIRN_HOOK_WAY_LATE,
                                                      CAIRN_HOOK_WAY_BRANCH, CAIRN_HOOK_WAY_NONE};
    if (job->query.json) {
        cairn_json_open(&job->json, "sum", '{');
        cairn_json_u64(&job->json, "functions", job->n_all);
        for (size_t i = 0; i < N_WAYS; i++)
            cairn_json_u64(&job->json, cairn_hook_way_name(order[i]), job->n[order[i]]);
        cairn_json_close(&job->json, '}');
        return;
    }
    cairn_buffer_printf(&job->out, "%llu function%s", (unsigned long long)job->n_all,
                        job->n_all == 1 ? "" : "s");
    const char *comma = ": ";
    for (size_t i = 0; i < N_WAYS; i++) {
        const uint64_t n = job->n[order[i]];
        if (n)
            cairn_buffer_printf(&job->out, "%s%s %llu (%.1f %%)", comma,
                                cairn_hook_way_name(order[i]), (unsigned long long)n,
                                100.0 * (double)n / (double)job->n_all);
        comma = n ? ", " : comma;
    }
    cairn_buffer_char(&job->out, '\n');
}

static int work(struct job *job)
{
    const struct cairn_plans_opts opts = {
        .size = sizeof opts, .names = job->query.names, .n_names = job->query.n_names};
    struct cairn_err err = {0};
    if (job->query.json) {
        job->json = (struct cairn_json){.out = &job->out};
        cairn_json_open(&job->json, NULL, '{');
        cairn_json_open(&job->json, "functions", '[');
    }
    int code = job->query.pid ? cairn_plans_of_pid(job->query.pid, &opts, show, job, &err)
                              : cairn_plans_of_file(job->query.input, &opts, show, job, &err);
    if (code < 0 && !(code == CAIRN_E_MISSING && job->n_all))
        return job->out.failed ? (cli_say("out of memory"), CLI_FAILED) : cli_report(&err);
    if (job->query.json)
        cairn_json_close(&job->json, ']');
    put_sum(job);
    if (job->query.json)
        cairn_json_close(&job->json, '}');
    fwrite(job->out.data, 1, job->out.size, stdout);
    return code < 0 ? cli_report(&err) : CLI_OK;
}

static int run(struct cli_args *args)
{
    struct job job = {0};
    if (!cli_hook_take_query(args, false, &job.query))
        return CLI_USAGE;
    int status = work(&job);
    cairn_maps_free(job.maps);
    cairn_buffer_done(&job.out);
    return status;
}

const struct cli_command cli_hook_plan = {
    .name = "hook plan",
    .summary = "list how each function can be diverted by changing one instruction",
    .usage = (const char *const[]){"hook plan FILE|PID [FUNCTION...]", NULL},
    .options = cli_hook_query_options,
    .run = run,
};
