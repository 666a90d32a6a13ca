/* SPDX-License-Identifier: MIT */
/* cairn symbols list and gc: what the store has, and what goes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "cli/numbers.h"
#include "cli/symbols.h"
#include "cli/term.h"

enum { ID_SHOWN = 12 };

struct job {
    const char *folder;
    bool as_json, is_gc;
    uint64_t n, bytes;
    struct cairn_buffer out;
    struct cairn_json json;
    struct cairn_symbol_trim_opts trim;
    char own[CLI_SYMBOLS_FOLDER];
};

static void put_row(struct cairn_buffer *out, const struct cairn_symbol_entry *entry)
{
    char when[32] = "?";
    time_t used = (time_t)(entry->used_ns / 1000000000);
    struct cairn_buffer size = {0};
    struct tm local;
    if (localtime_r(&used, &local))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    cli_add_size(&size, entry->bytes);
    cairn_buffer_printf(out, "%8s  %-16s  %-10s  %-7s  %-*.*s  ", cairn_buffer_text(&size), when,
                        entry->kind, entry->has, ID_SHOWN, ID_SHOWN, entry->build_id);
    const char *shown = *entry->from ? entry->from : entry->file;
    cairn_escape_terminal(out, shown, strlen(shown));
    cairn_buffer_char(out, '\n');
    cairn_buffer_done(&size);
}

static void put_member(struct cairn_json *json, const struct cairn_symbol_entry *entry)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "build_id", entry->build_id);
    cairn_json_str(json, "kind", entry->kind);
    cairn_json_str(json, "has", *entry->has ? entry->has : NULL);
    cairn_json_str(json, "from", *entry->from ? entry->from : NULL);
    cairn_json_u64(json, "bytes", entry->bytes);
    cairn_json_i64(json, "used", entry->used_ns / 1000000000);
    cairn_json_str(json, "file", entry->file);
    cairn_json_close(json, '}');
}

static int show(void *ctx, const struct cairn_symbol_entry *entry)
{
    struct job *job = ctx;
    if (job->as_json) {
        put_member(&job->json, entry);
    } else {
        if (!job->n)
            cairn_buffer_printf(&job->out, "%8s  %-16s  %-10s  %-7s  %-*s  %s\n", "SIZE",
                                "LAST USED", "KIND", "HAS", ID_SHOWN, "BUILD ID", "FROM");
        put_row(&job->out, entry);
    }
    job->n++;
    job->bytes += entry->bytes;
    return 0;
}

static void put_sum(struct job *job)
{
    cli_add_counted(&job->out, job->n, "file");
    cairn_buffer_str(&job->out, !job->is_gc         ? ", "
                                : job->trim.dry_run ? " would go, "
                                                    : " deleted, ");
    cli_add_size(&job->out, job->bytes);
    cairn_buffer_str(&job->out, ", in ");
    cairn_escape_terminal(&job->out, job->folder, strlen(job->folder));
    cairn_buffer_char(&job->out, '\n');
}

static int work(struct job *job)
{
    struct cairn_err err;
    if (job->as_json) {
        job->json = (struct cairn_json){.out = &job->out};
        cairn_json_open(&job->json, NULL, '{');
        cairn_json_str(&job->json, "folder", job->folder);
        cairn_json_open(&job->json, job->is_gc ? "deleted" : "files", '[');
    }
    job->trim.each = show;
    job->trim.ctx = job;
    int code = job->is_gc ? cairn_symbol_store_trim(job->folder, &job->trim, NULL, NULL, &err)
                          : cairn_symbol_store_each(job->folder, show, job, &err);
    if (code < 0)
        return cli_report(&err);
    if (job->as_json) {
        cairn_json_close(&job->json, ']');
        cairn_json_u64(&job->json, "bytes", job->bytes);
        if (job->is_gc)
            cairn_json_bool(&job->json, "dry_run", job->trim.dry_run);
        cairn_json_close(&job->json, '}');
    } else {
        put_sum(job);
    }
    if (job->out.failed) {
        cli_say("out of memory");
        return CLI_FAILED;
    }
    fwrite(job->out.data, 1, job->out.size, stdout);
    return CLI_OK;
}

static int finish(struct cli_args *args, struct job *job, const char *dir)
{
    size_t n;
    char **words = cli_args_operands(args, &n);
    if (n)
        return cli_args_wrong(args, "\"%s\" is one word too many", words[0]);
    job->folder = cli_symbols_folder(dir, job->own);
    int status = job->folder ? work(job) : CLI_FAILED;
    cairn_buffer_done(&job->out);
    return status;
}

enum list_option { LIST_JSON, LIST_DIR };

static const struct cli_option list_options[] = {
    [LIST_JSON] = {.name = "json", .help = "print one JSON object, numbers and IDs uncut"},
    [LIST_DIR] = {.name = "dir", .value = "DIR", .help = "the folder of the store"},
    {0},
};

static int run_list(struct cli_args *args)
{
    struct job job = {0};
    const char *value, *dir = NULL;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0) {
        if (row == LIST_JSON)
            job.as_json = true;
        else
            dir = value;
    }
    return row == CLI_ARGS_WRONG ? CLI_USAGE : finish(args, &job, dir);
}

const struct cli_command cli_symbols_list = {
    .name = "symbols list",
    .summary = "show what the store has",
    .usage = (const char *const[]){"symbols list [--json] [--dir DIR]", NULL},
    .options = list_options,
    .run = run_list,
};

enum gc_option { GC_MAX_SIZE, GC_OLDER_THAN, GC_DRY_RUN, GC_JSON, GC_DIR };

static const struct cli_option gc_options[] = {
    [GC_MAX_SIZE] = {.name = "max-size",
                     .value = "SIZE",
                     .help = "delete files, those not used for longest first, until the rest takes "
                             "at most SIZE (512M, 20G)"},
    [GC_OLDER_THAN] = {.name = "older-than",
                       .value = "AGE",
                       .help = "delete files that were not used for AGE: 12h, 30d, 8w"},
    [GC_DRY_RUN] = {.name = "dry-run", .help = "delete nothing, say what would go"},
    [GC_JSON] = {.name = "json", .help = "print one JSON object"},
    [GC_DIR] = {.name = "dir", .value = "DIR", .help = "the folder of the store"},
    {0},
};

/* "30d" before now. */
static bool set_age(struct cli_args *args, const char *text, int64_t *ret_since_ns)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    enum { MOST = 100000 };
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (*text < '0' || *text > '9' || *end != units[i].letter || end[1] || n > MOST)
            continue;
        int64_t since = (int64_t)time(NULL) - (int64_t)n * units[i].seconds;
        *ret_since_ns = since > 0 ? since * 1000000000 : 1; /* in nanoseconds some would not fit */
        return true;
    }
    cli_args_wrong(args, "--older-than: \"%s\" is no age, expected 12h, 30d or 8w", text);
    return false;
}

static int run_gc(struct cli_args *args)
{
    struct job job = {.is_gc = true, .trim = {.size = sizeof job.trim}};
    const char *value, *dir = NULL;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0) {
        if (row == GC_MAX_SIZE && !cli_args_size(args, "max-size", value, &job.trim.max_bytes))
            return CLI_USAGE;
        if (row == GC_OLDER_THAN && !set_age(args, value, &job.trim.unused_since_ns))
            return CLI_USAGE;
        job.trim.has_max_bytes |= row == GC_MAX_SIZE;
        job.trim.dry_run |= row == GC_DRY_RUN;
        job.as_json |= row == GC_JSON;
        dir = row == GC_DIR ? value : dir;
    }
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    if (!job.trim.has_max_bytes && !job.trim.unused_since_ns)
        return cli_args_wrong(args, "what may go? give --max-size SIZE or --older-than AGE");
    return finish(args, &job, dir);
}

const struct cli_command cli_symbols_gc = {
    .name = "symbols gc",
    .summary = "delete what was not used for long",
    .usage = (const char *const[]){"symbols gc [--max-size SIZE] [--older-than AGE] [--dry-run] "
                                   "[--json] [--dir DIR]",
                                   NULL},
    .options = gc_options,
    .run = run_gc,
};
