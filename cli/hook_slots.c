/* SPDX-License-Identifier: MIT */
/* cairn hook slots: the slots of named functions, of a file or of all modules of a process. */
#include <stdio.h>
#include <string.h>

#include <cairn/slots.h>

#include "base/buffer.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/hook.h"
#include "cli/term.h"

enum { NAME_COLUMNS = 26, RELOCATION_COLUMNS = 19 };

struct job {
    struct cli_hook_query query;
    struct cairn_buffer out;
    struct cairn_json json;
    uint64_t n;
};

static void add_escaped(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

/* "0x7f12.. in /usr/lib/libc.so.6" */
static void add_value(struct cairn_buffer *out, const struct cairn_slot_found *slot)
{
    if (!slot->has_value) {
        cairn_buffer_str(out, "its memory cannot be read");
        return;
    }
    cairn_buffer_printf(out, "0x%llx", (unsigned long long)slot->value);
    if (slot->leads_into) {
        cairn_buffer_str(out, " in ");
        add_escaped(out, slot->leads_into);
    }
    if (!slot->is_bound)
        cairn_buffer_str(out, ", not bound yet");
}

static void put_line(struct job *job, const struct cairn_slot_found *slot)
{
    struct cairn_buffer name = {0};
    add_escaped(&name, slot->name);
    cairn_buffer_str(&name, slot->version ? "@" : "");
    add_escaped(&name, slot->version ? slot->version : "");
    cairn_buffer_printf(&job->out, "0x%-14llx  %-*s  %-*s", (unsigned long long)slot->va,
                        NAME_COLUMNS, cairn_buffer_text(&name), RELOCATION_COLUMNS,
                        slot->relocation);
    cairn_buffer_done(&name);
    if (job->query.pid) {
        cairn_buffer_str(&job->out, "  ");
        add_escaped(&job->out, slot->module);
        cairn_buffer_str(&job->out, "  -> ");
        add_value(&job->out, slot);
    }
    cairn_buffer_char(&job->out, '\n');
}

static void put_object(struct job *job, const struct cairn_slot_found *slot)
{
    struct cairn_json *json = &job->json;
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "module", slot->module);
    cairn_json_str(json, "name", slot->name);
    if (slot->version)
        cairn_json_str(json, "version", slot->version);
    cairn_json_hex(json, "address", slot->va);
    cairn_json_str(json, "relocation", slot->relocation);
    cairn_json_bool(json, "pointer", slot->is_pointer);
    if (slot->has_value) {
        cairn_json_hex(json, "value", slot->value);
        cairn_json_bool(json, "bound", slot->is_bound);
        if (slot->leads_into)
            cairn_json_str(json, "leads_into", slot->leads_into);
    }
    cairn_json_close(json, '}');
}

static int show(void *context, const struct cairn_slot_found *slot)
{
    struct job *job = context;
    job->n++;
    if (job->query.json)
        put_object(job, slot);
    else
        put_line(job, slot);
    return job->out.failed;
}

static int work(struct job *job)
{
    const struct cli_hook_query *query = &job->query;
    struct cairn_err err = {0};
    if (job->query.json) {
        job->json = (struct cairn_json){.out = &job->out};
        cairn_json_open(&job->json, NULL, '{');
        cairn_json_open(&job->json, "slots", '[');
    }
    int code =
        query->pid
            ? cairn_slots_of_pid(query->pid, query->names, query->n_names, show, job, &err)
            : cairn_slots_of_file(query->input, query->names, query->n_names, show, job, &err);
    if (job->out.failed)
        return cli_say("out of memory"), CLI_FAILED;
    if (code < 0 && !(code == CAIRN_E_MISSING && job->n))
        return cli_report(&err);
    if (job->query.json) {
        cairn_json_close(&job->json, ']');
        cairn_json_close(&job->json, '}');
    }
    fwrite(job->out.data, 1, job->out.size, stdout);
    return code < 0 ? cli_report(&err) : CLI_OK;
}

static int run(struct cli_args *args)
{
    struct job job = {0};
    if (!cli_hook_take_query(args, true, &job.query))
        return CLI_USAGE;
    int status = work(&job);
    cairn_buffer_done(&job.out);
    return status;
}

const struct cli_command cli_hook_slots = {
    .name = "hook slots",
    .summary = "list the slots that lead to functions, and where they lead now",
    .usage = (const char *const[]){"hook slots FILE|PID NAME...", NULL},
    .options = cli_hook_query_options,
    .run = run,
};
