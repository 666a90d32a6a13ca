/* SPDX-License-Identifier: MIT */
/* cairn cache: what earlier runs kept of modules; how much it is, and away with it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cairn/cache.h>

#include "base/escape.h"
#include "base/json.h"
#include "cli/args.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum {
    ID_SHOWN = 12, /* digits of a build ID */
    FOLDER_BYTES = 4096
};

enum option { OPTION_CLEAR, OPTION_MAX_SIZE, OPTION_DIR, OPTION_JSON };

static const struct cli_option options[] = {
    [OPTION_CLEAR] = {.name = "clear", .help = "delete all entries"},
    [OPTION_MAX_SIZE] = {.name = "max-size",
                         .value = "SIZE",
                         .help = "delete entries, those not used for longest first, until the rest "
                                 "takes at most SIZE (512M, 2G)"},
    [OPTION_DIR] = {.name = "dir",
                    .value = "DIR",
                    .help = "the folder of the cache; default: $XDG_CACHE_HOME/cairn, else "
                            "~/.cache/cairn"},
    [OPTION_JSON] = {.name = "json", .help = "print one JSON object, numbers and IDs uncut"},
    {0},
};

struct job {
    const char *folder;
    char own[FOLDER_BYTES];
    bool deletes, as_json;
    uint64_t max_bytes;
    size_t n;
    uint64_t bytes;
    struct cairn_buffer out;
    struct cairn_json json;
};

static void put_padded_size(struct cairn_buffer *out, uint64_t bytes)
{
    struct cairn_buffer size = {0};
    cli_add_size(&size, bytes);
    cairn_buffer_printf(out, "%8s", cairn_buffer_text(&size));
    cairn_buffer_done(&size);
}

static void put_row(struct cairn_buffer *out, const struct cairn_cache_entry *entry)
{
    char when[32] = "?";
    time_t used = (time_t)(entry->used_ns / 1000000000);
    struct tm local;
    if (localtime_r(&used, &local))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    put_padded_size(out, entry->bytes);
    cairn_buffer_printf(out, "  %-16s  %-13s  %-*.*s  ", when, entry->kind, ID_SHOWN, ID_SHOWN,
                        *entry->build_id ? entry->build_id : "-");
    const char *shown = *entry->module ? entry->module : entry->file;
    cairn_escape_terminal(out, shown, strlen(shown));
    cairn_buffer_char(out, '\n');
}

static void put_member(struct cairn_json *json, const struct cairn_cache_entry *entry)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "module", *entry->module ? entry->module : NULL);
    cairn_json_str(json, "kind", entry->kind);
    cairn_json_str(json, "build_id", *entry->build_id ? entry->build_id : NULL);
    cairn_json_u64(json, "bytes", entry->bytes);
    cairn_json_i64(json, "used", entry->used_ns / 1000000000);
    cairn_json_str(json, "file", entry->file);
    cairn_json_close(json, '}');
}

static int show(void *ctx, const struct cairn_cache_entry *entry)
{
    struct job *job = ctx;
    if (job->as_json) {
        put_member(&job->json, entry);
    } else {
        if (!job->n)
            cairn_buffer_printf(&job->out, "%8s  %-16s  %-13s  %-*s  %s\n", "SIZE", "LAST USED",
                                "KIND", ID_SHOWN, "BUILD ID", "MODULE");
        put_row(&job->out, entry);
    }
    job->n++;
    job->bytes += entry->bytes;
    return 0;
}

/* "3 entries, 26.9 MB, in /home/me/.cache/cairn" */
static void put_sum(struct job *job, const char *verb)
{
    struct cairn_buffer *out = &job->out;
    cairn_buffer_printf(out, "%zu %s%s, ", job->n, job->n == 1 ? "entry" : "entries", verb);
    cli_add_size(out, job->bytes);
    cairn_buffer_str(out, ", in ");
    cairn_escape_terminal(out, job->folder, strlen(job->folder));
    cairn_buffer_char(out, '\n');
}

static int list(struct job *job, struct cairn_err *err)
{
    if (job->as_json) {
        job->json = (struct cairn_json){.out = &job->out};
        cairn_json_open(&job->json, NULL, '{');
        cairn_json_str(&job->json, "folder", job->folder);
        cairn_json_open(&job->json, "entries", '[');
    }
    int code = cairn_cache_each(job->folder, show, job, err);
    if (code < 0)
        return code;
    if (job->as_json) {
        cairn_json_close(&job->json, ']');
        cairn_json_u64(&job->json, "bytes", job->bytes);
        cairn_json_close(&job->json, '}');
    } else {
        put_sum(job, "");
    }
    return CAIRN_OK;
}

static int trim(struct job *job, struct cairn_err *err)
{
    int code = cairn_cache_trim(job->folder, job->max_bytes, &job->n, &job->bytes, err);
    if (code < 0)
        return code;
    if (job->as_json) {
        job->json = (struct cairn_json){.out = &job->out};
        cairn_json_open(&job->json, NULL, '{');
        cairn_json_str(&job->json, "folder", job->folder);
        cairn_json_u64(&job->json, "deleted_entries", job->n);
        cairn_json_u64(&job->json, "deleted_bytes", job->bytes);
        cairn_json_close(&job->json, '}');
    } else {
        put_sum(job, " deleted");
    }
    return CAIRN_OK;
}

static int work(struct job *job)
{
    struct cairn_err err;
    int code = job->folder ? CAIRN_OK : cairn_cache_folder(job->own, sizeof job->own, &err);
    if (!job->folder)
        job->folder = job->own;
    if (code == CAIRN_OK)
        code = job->deletes ? trim(job, &err) : list(job, &err);
    if (code == CAIRN_OK && job->out.failed) {
        cli_say("out of memory");
        return CLI_FAILED;
    }
    if (code < 0)
        return cli_report(&err);
    fwrite(job->out.data, 1, job->out.size, stdout);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    struct job job = {0};
    const char *value;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0) {
        switch ((enum option)row) {
        case OPTION_CLEAR:
            job.deletes = true;
            break;
        case OPTION_MAX_SIZE:
            job.deletes = true;
            if (!cli_args_size(args, "max-size", value, &job.max_bytes))
                return CLI_USAGE;
            break;
        case OPTION_DIR:
            if (!*value)
                return cli_args_wrong(args, "--dir: a folder without a name");
            job.folder = value;
            break;
        case OPTION_JSON:
            job.as_json = true;
            break;
        }
    }
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (n)
        return cli_args_wrong(args, "\"%s\" is one word too many", operands[0]);
    int status = work(&job);
    cairn_buffer_done(&job.out);
    return status;
}

const struct cli_command cli_cmd_cache = {
    .name = "cache",
    .summary = "show what is kept of modules between runs, or delete it",
    .usage = (const char *const[]){"cache [--json] [--dir DIR]",
                                   "cache --clear | --max-size SIZE [--dir DIR]", NULL},
    .options = options,
    .notes = "Each entry can be deleted at any time: what it held is found out again.",
    .run = run,
};
