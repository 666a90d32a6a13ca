/* SPDX-License-Identifier: MIT */
/* cairn heap list, and cairn heap clean: the states that lie about, and away with those whose
 * processes have ended. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

struct sum {
    uint64_t n, bytes;
};

struct job {
    struct cli_args *args;
    const char *folder; /* NULL: all of ours */
    bool as_json;
    double older_than; /* seconds */
    uint64_t now_ns;
    struct cairn_buffer out;
    struct cairn_json json;
    char shown_folder[4096];
    struct sum all, ended, removed; /* ended: what can be removed */
    int result;
};

static const char *word_of(const struct cairn_heap_stored *s)
{
    static const char *const words[] = {[CAIRN_HEAP_STORED_RUNNING] = "running",
                                        [CAIRN_HEAP_STORED_ENDED] = "ended",
                                        [CAIRN_HEAP_STORED_EXECED] = "execed",
                                        [CAIRN_HEAP_STORED_UNKNOWN] = "unknown"};
    return s->is_of_run && s->status == CAIRN_HEAP_STORED_ENDED ? "awaited" : words[s->status];
}

static bool can_go(const struct cairn_heap_stored *s)
{
    return s->status == CAIRN_HEAP_STORED_ENDED && !s->is_of_run;
}

static void add_text(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void add_padded(struct cairn_buffer *out, int width, const char *text)
{
    cairn_buffer_printf(out, "%*s", width, text);
}

/* A line for each folder, before its states. */
static void add_folder(struct job *job, const char *path)
{
    int n = (int)(strrchr(path, '/') - path);
    if (strncmp(job->shown_folder, path, (size_t)n) == 0 && job->shown_folder[n] == '\0')
        return;
    snprintf(job->shown_folder, sizeof job->shown_folder, "%.*s", n, path);
    cairn_buffer_str(&job->out, job->all.n ? "\n" : "");
    add_text(&job->out, job->shown_folder);
    cairn_buffer_printf(&job->out, ":\n%8s  %-7s %10s  %12s  %-24s  %s\n", "PID", "STATE", "SIZE",
                        "STARTED", "FILE", "COMMAND");
}

static void add_row(struct job *job, const struct cairn_heap_stored *s)
{
    struct cairn_buffer size = {0}, age = {0}, file = {0};
    cli_add_size(&size, s->bytes);
    if (s->start_ns && s->start_ns <= job->now_ns) {
        cli_add_duration(&age, job->now_ns - s->start_ns);
        cairn_buffer_str(&age, " ago");
    }
    add_text(&file, strrchr(s->path, '/') + 1);
    cairn_buffer_printf(&job->out, "%8d  %-7s ", s->pid, word_of(s));
    add_padded(&job->out, 10, cairn_buffer_text(&size));
    cairn_buffer_str(&job->out, "  ");
    add_padded(&job->out, 12, *cairn_buffer_text(&age) ? cairn_buffer_text(&age) : "?");
    cairn_buffer_printf(&job->out, "  %-24s  ", cairn_buffer_text(&file));
    add_text(&job->out, *s->command ? s->command : "?");
    cairn_buffer_char(&job->out, '\n');
    cairn_buffer_done(&size);
    cairn_buffer_done(&age);
    cairn_buffer_done(&file);
}

static void put_member(struct cairn_json *json, const struct cairn_heap_stored *s)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "path", s->path);
    cairn_json_i64(json, "pid", s->pid);
    cairn_json_str(json, "state", word_of(s));
    cairn_json_str(json, "command", s->command);
    cairn_json_u64(json, "bytes", s->bytes);
    cairn_json_u64(json, "start_ns", s->start_ns);
    cairn_json_u64(json, "written_ns", s->written_ns);
    cairn_json_close(json, '}');
}

static void count(struct sum *sum, const struct cairn_heap_stored *s)
{
    sum->n++;
    sum->bytes += s->bytes;
}

static int show(void *ctx, const struct cairn_heap_stored *s)
{
    struct job *job = ctx;
    if (job->as_json) {
        put_member(&job->json, s);
    } else {
        add_folder(job, s->path);
        add_row(job, s);
    }
    count(&job->all, s);
    if (can_go(s))
        count(&job->ended, s);
    return 0;
}

static void add_sum(struct cairn_buffer *out, const struct sum *sum)
{
    cli_add_counted(out, sum->n, "state");
    cairn_buffer_str(out, ", ");
    cli_add_size(out, sum->bytes);
}

static void add_end(struct job *job)
{
    if (job->all.n == 0) {
        cairn_buffer_str(&job->out, "no states\n");
        return;
    }
    cairn_buffer_char(&job->out, '\n');
    add_sum(&job->out, &job->all);
    if (job->ended.n) {
        cairn_buffer_str(&job->out, "; of processes that ended ");
        add_sum(&job->out, &job->ended);
        cairn_buffer_str(&job->out, ": cairn heap clean removes them");
    }
    cairn_buffer_char(&job->out, '\n');
}

static int list(struct job *job, struct cairn_err *err)
{
    job->json = (struct cairn_json){.out = &job->out};
    if (job->as_json) {
        cairn_json_open(&job->json, NULL, '{');
        cairn_json_open(&job->json, "states", '[');
    }
    int result = cairn_heap_each_stored(job->folder, show, job, err);
    if (result < 0)
        return result;
    if (job->as_json) {
        cairn_json_close(&job->json, ']');
        cairn_json_u64(&job->json, "bytes", job->all.bytes);
        cairn_json_u64(&job->json, "ended_bytes", job->ended.bytes);
        cairn_json_close(&job->json, '}');
    } else {
        add_end(job);
    }
    return CAIRN_OK;
}

/* One that cannot be removed is told, and the others are. */
static int remove_it(void *ctx, const struct cairn_heap_stored *s)
{
    struct job *job = ctx;
    struct cairn_err err = {0};
    count(&job->all, s);
    double age = s->written_ns < job->now_ns ? (double)(job->now_ns - s->written_ns) / 1e9 : 0;
    if (!can_go(s) || age < job->older_than)
        return 0;
    int result = cairn_heap_remove_stored(s, &err);
    if (result < 0) {
        (void)cli_report(&err);
        job->result = result;
    } else {
        count(&job->removed, s);
    }
    return 0;
}

static int clean(struct job *job, struct cairn_err *err)
{
    int result = cairn_heap_each_stored(job->folder, remove_it, job, err);
    if (result < 0)
        return result;
    const struct sum left = {job->all.n - job->removed.n, job->all.bytes - job->removed.bytes};
    cairn_buffer_str(&job->out, "removed ");
    add_sum(&job->out, &job->removed);
    if (left.n) {
        cairn_buffer_str(&job->out, "; left ");
        add_sum(&job->out, &left);
    }
    cairn_buffer_char(&job->out, '\n');
    return CAIRN_OK;
}

static bool take_folder(struct job *job)
{
    size_t n;
    char **operands = cli_args_operands(job->args, &n);
    if (n > 1)
        cli_args_wrong(job->args, "one FOLDER at a time");
    job->folder = n ? operands[0] : NULL;
    return n <= 1;
}

static int work(struct job *job, int (*what)(struct job *job, struct cairn_err *err))
{
    struct cairn_err err = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    job->now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    cli_log_open(0);
    int result = what(job, &err);
    if (result == CAIRN_OK && job->out.failed)
        result = cairn_fail_memory(&err);
    if (result == CAIRN_OK)
        fwrite(job->out.data, 1, job->out.size, stdout);
    cairn_buffer_done(&job->out);
    if (result < 0)
        return cli_report(&err);
    return job->result < 0 ? CLI_FAILED : CLI_OK;
}

static const struct cli_option list_options[] = {
    {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    {0},
};

static int run_list(struct cli_args *args)
{
    struct job job = {.args = args};
    const char *value;
    int option;
    while ((option = cli_args_next(args, &value)) >= 0)
        job.as_json = true;
    if (option == CLI_ARGS_WRONG || !take_folder(&job))
        return CLI_USAGE;
    return work(&job, list);
}

static const struct cli_option clean_options[] = {
    {"older-than", 0, "SECONDS", "only states that were last written to so long ago"},
    {0},
};

static int run_clean(struct cli_args *args)
{
    struct job job = {.args = args};
    const char *value;
    int option;
    while ((option = cli_args_next(args, &value)) >= 0)
        if (!cli_args_real(args, "older-than", value, &job.older_than))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG || !take_folder(&job))
        return CLI_USAGE;
    return work(&job, clean);
}

const struct cli_command cli_heap_list = {
    .name = "heap list",
    .summary = "show which states there are, of processes that run and that ended",
    .usage = (const char *const[]){"heap list [--json] [FOLDER]", NULL},
    .options = list_options,
    .run = run_list,
    .remote = CLI_REMOTE_TEXT,
};

const struct cli_command cli_heap_clean = {
    .name = "heap clean",
    .summary = "remove the states of processes that have ended",
    .usage = (const char *const[]){"heap clean [--older-than SECONDS] [FOLDER]", NULL},
    .options = clean_options,
    .run = run_clean,
    .remote = CLI_REMOTE_TEXT,
};
