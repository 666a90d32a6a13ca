/* SPDX-License-Identifier: MIT */
/*
 * cairn resolve of a kernel log:
 *
 *     LOG ──► cairn_klog: dumps ──► which are asked for ──► maps of the process ──► text, JSON,
 *                                                                                   profile
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/klog.h"
#include "cli/numbers.h"
#include "cli/write_profile.h"

enum { PIECE_BYTES = 1 << 20, OUT_BYTES = 1 << 16, IDLE_MS = 1000, EPOCH_YEAR = 1970 };

typedef unsigned long long ull;

struct cli_counted {
    uint64_t n;
    const char *what, *words; /* what: NULL: the number alone */
};

int cli_klog_drain(struct cli_klog *klog, bool all, struct cairn_err *err)
{
    if (klog->out.failed)
        return cairn_fail_memory(err);
    if (!klog->out.size || (!all && klog->out.size < OUT_BYTES))
        return CAIRN_OK;
    if (cli_output_write(klog->output, klog->out.data, klog->out.size) != 0)
        return cli_output_error(klog->output, err);
    cairn_buffer_clear(&klog->out);
    return CAIRN_OK;
}

int cli_klog_show(struct cli_klog *klog, struct cairn_err *err)
{
    int code = cli_klog_drain(klog, true, err);
    if (code == CAIRN_OK && cli_output_flush(klog->output) < 0)
        code = cli_output_error(klog->output, err);
    return code;
}

static bool is_waiting(const struct cli_source *source)
{
    struct pollfd fd = {.fd = source->fd, .events = POLLIN};
    return source->head_used == source->head_size && poll(&fd, 1, IDLE_MS) == 0;
}

long cli_klog_read(struct cli_klog *klog, struct cli_source *source, void *buf, size_t size,
                   int (*idle)(struct cli_klog *klog, void *ctx, struct cairn_err *err), void *ctx,
                   struct cairn_err *err)
{
    bool follow = klog->opts->follow, told = false;
    for (;;) {
        if (follow && is_waiting(source)) {
            if (!told && idle(klog, ctx, err) < 0)
                return -1;
            told = true;
            continue;
        }
        long got = cli_source_read(source, buf, size);
        if (got < 0)
            cairn_fail_os(err, source->os_errno, "%s", source->name);
        if (got != 0 || !follow || !S_ISREG(source->st.st_mode))
            return got;
        if (!told && idle(klog, ctx, err) < 0)
            return -1;
        told = true;
        usleep(IDLE_MS * 1000); /* a file grows without a word */
    }
}

/* "12.5": seconds since boot. "2026-11-28 20:11:46", also with a T: a date, as the log has it. */
static bool read_time(const char *text, uint64_t *ret_us, bool *ret_is_date)
{
    struct tm tm = {0};
    char *end;
    const char *rest = strptime(text, "%Y-%m-%d", &tm);
    if (rest && (*rest == 'T' || *rest == ' '))
        rest = strptime(rest + 1, "%H:%M:%S", &tm);
    if (rest && !*rest) {
        tm.tm_wday = -1; /* timegm(3) sets it unless time_t, of 32 bits, cannot hold the date */
        time_t seconds = timegm(&tm);
        const bool is_late = tm.tm_wday < 0 && tm.tm_year > EPOCH_YEAR - 1900;
        *ret_us = seconds > 0 ? (uint64_t)seconds * 1000000 : is_late ? UINT64_MAX : 0;
        *ret_is_date = true;
        return true;
    }
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds < 1e12))
        return false;
    *ret_us = (uint64_t)(seconds * 1e6 + 0.5);
    *ret_is_date = false;
    return true;
}

static int read_bounds(struct cli_klog *klog, struct cairn_err *err)
{
    const char *const texts[] = {klog->opts->since, klog->opts->until};
    uint64_t *const values[] = {&klog->since_us, &klog->until_us};
    klog->until_us = UINT64_MAX;
    for (int i = 0; i < 2; i++)
        if (texts[i] && !read_time(texts[i], values[i], &klog->is_date)) {
            cairn_fail(err, CAIRN_E_ARG, "%s: \"%s\" is no time", i ? "--until" : "--since",
                       texts[i]);
            cairn_hint(err, "seconds since boot, as the log prints them (12.5), or a date of a log "
                            "with dates (\"2026-11-28 20:11:46\")");
            return CAIRN_E_ARG;
        }
    return CAIRN_OK;
}

/* Is the process or thread `pid` among those that the dump may be of? */
static bool is_of(const struct cairn_klog_dump *dump, int pid)
{
    bool found = dump->pid == pid || dump->tgid == pid;
    for (size_t i = 0; i < dump->n_others && i < CAIRN_KLOG_OTHERS_MAX && dump->is_whose; i++)
        found = found || dump->others[i] == pid;
    return found;
}

static bool has_user_frames(const struct cairn_klog_dump *dump)
{
    return dump->n_frames && dump->frames[dump->n_frames - 1].part == CAIRN_KLOG_USER;
}

/* Does the log itself say files and offsets? */
static bool has_places(const struct cairn_klog_dump *dump)
{
    for (size_t i = dump->n_frames; i-- > 0 && dump->frames[i].part == CAIRN_KLOG_USER;)
        if (*dump->frames[i].text)
            return true;
    return false;
}

static bool is_wanted(const struct cli_klog *klog, const struct cairn_klog_dump *dump)
{
    const struct cli_klog_opts *opts = klog->opts;
    bool has_bounds = opts->since || opts->until;
    if (opts->pid && !is_of(dump, opts->pid))
        return false;
    if (opts->tag && strcmp(opts->tag, dump->title) != 0)
        return false;
    if (opts->user_only && !has_user_frames(dump))
        return false;
    if (!has_bounds)
        return true;
    return dump->time_us != UINT64_MAX && dump->is_date == klog->is_date &&
           dump->time_us >= klog->since_us && dump->time_us <= klog->until_us;
}

static int take(struct cli_klog *klog, const struct cairn_klog_dump *dump, struct cairn_err *err)
{
    int space = CAIRN_NO_SPACE;
    size_t n, left;
    klog->n_shown++;
    if (has_user_frames(dump)) {
        int code = cli_klog_maps_of(klog, dump, &space, err);
        if (code < 0)
            return code;
        klog->n_user++;
        klog->n_user_mapped += space != CAIRN_NO_SPACE || has_places(dump);
    }
    if (klog->opts->json)
        return cli_klog_put_json(klog, dump, space, err);
    if (!klog->profile)
        return cli_klog_put_text(klog, dump, space, err);
    int code = cli_klog_usable(klog, dump, space, &n, &left, err);
    return code < 0
               ? code
               : cairn_resolver_klog_sample(klog->resolver, dump, n, space, klog->profile, err);
}

static int take_dump(void *ctx, const struct cairn_klog_dump *dump)
{
    struct cli_klog *klog = ctx;
    if (!is_wanted(klog, dump))
        return 0;
    klog->code = take(klog, dump, klog->err);
    if (klog->code == CAIRN_OK)
        klog->code = cli_klog_drain(klog, false, klog->err);
    return klog->code < 0;
}

static int flush_idle(struct cli_klog *klog, void *reader, struct cairn_err *err)
{
    int code = cairn_klog_flush(reader, err);
    return code < 0 ? code : cli_klog_show(klog, err);
}

static int read_all(struct cli_klog *klog, struct cairn_klog *reader, struct cli_source *source,
                    struct cairn_err *err)
{
    uint8_t *piece = cairn_realloc(NULL, PIECE_BYTES, 1);
    int code = piece ? CAIRN_OK : cairn_fail_memory(err);
    while (code == CAIRN_OK) {
        long got = cli_klog_read(klog, source, piece, PIECE_BYTES, flush_idle, reader, err);
        if (got <= 0) {
            code = got < 0 ? (int)err->code : CAIRN_OK;
            break;
        }
        struct cairn_err why;
        code = cairn_klog_feed(reader, piece, (size_t)got, &why);
        if (code < 0 && klog->code == CAIRN_OK)
            *err = why;
        if (code == CAIRN_OK && klog->opts->follow)
            code = cli_klog_show(klog, err);
    }
    cairn_free(piece);
    if (code == CAIRN_OK)
        code = cairn_klog_flush(reader, klog->code < 0 ? NULL : err);
    return klog->code < 0 ? klog->code : code;
}

static int fail_empty(const struct cli_klog *klog, const struct cairn_klog *reader,
                      struct cairn_err *err)
{
    struct cairn_klog_counts counts = {.size = sizeof counts};
    cairn_klog_counts(reader, &counts);
    bool is_filtered = klog->opts->pid || klog->opts->tag || klog->opts->since || klog->opts->until;
    const char *what = klog->opts->user_only ? "user stack" : "stack dump";
    if (klog->opts->pid)
        cairn_fail(err, CAIRN_E_MISSING, "%s: no %s of pid %d in its %llu lines", klog->name, what,
                   klog->opts->pid, (ull)counts.n_lines);
    else
        cairn_fail(err, CAIRN_E_MISSING, "%s: no %s%s in its %llu lines", klog->name, what,
                   is_filtered ? " of what was asked for" : "", (ull)counts.n_lines);
    if (counts.n_dumps)
        cairn_hint(err,
                   "it has %llu dumps of other threads, tags or times; pid= in the log is that "
                   "of the thread",
                   (ull)counts.n_dumps);
    return CAIRN_E_MISSING;
}

/* "3 dumps mixed with others, 1 line of no dump" in one line. */
static void say_counted(const struct cli_counted *rows, size_t n, bool says_zero)
{
    struct cairn_buffer text = {0};
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].n && !says_zero)
            continue;
        if (text.size)
            cairn_buffer_str(&text, ", ");
        if (rows[i].what)
            cli_add_counted(&text, rows[i].n, rows[i].what);
        else
            cli_add_count(&text, rows[i].n);
        cairn_buffer_str(&text, rows[i].words);
    }
    if (text.size && !text.failed)
        cli_say("%s", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void say_counts(const struct cli_klog *klog, const struct cairn_klog *reader)
{
    struct cairn_klog_counts c = {.size = sizeof c};
    cairn_klog_counts(reader, &c);
    const struct cli_counted all[] = {
        {c.n_lines, "line", ""}, {c.n_dumps, "dump", ""}, {klog->n_shown, NULL, " shown"}};
    const struct cli_counted odd[] = {{c.n_mixed, "dump", " mixed with others"},
                                      {c.n_holes, "place", " with missing lines"},
                                      {c.n_astray, "line", " of no dump for sure"},
                                      {c.n_long, "line", " longer than 64 KiB cut"},
                                      {c.n_closed, "dump", " closed for lack of space"},
                                      {c.n_unprinted, "dump", " not printed by the kernel"}};
    say_counted(all, sizeof all / sizeof *all, true);
    say_counted(odd, sizeof odd / sizeof *odd, false);
}

static int check_shown(const struct cli_klog *klog, const struct cairn_klog *reader,
                       struct cairn_err *err)
{
    if (!klog->n_shown)
        return fail_empty(klog, reader, err);
    if (klog->n_user && !klog->n_user_mapped && (klog->n_maps || klog->n_folders)) {
        cairn_fail(err, CAIRN_E_MISSING, "%s: --maps has none for any of its %llu user stacks",
                   klog->name, (ull)klog->n_user);
        cairn_hint(err, "give --maps PID=FILE with the pid of the log or of its process");
        return CAIRN_E_MISSING;
    }
    return CAIRN_OK;
}

static int write_profile(struct cli_klog *klog, struct cairn_err *err)
{
    enum cairn_format format = cairn_format_of_name(klog->opts->out);
    return cli_write_profile(klog->profile, format, klog->output, err);
}

static int run_reader(struct cli_klog *klog, struct cli_source *source, struct cairn_err *err)
{
    struct cairn_klog *reader = NULL;
    int code = cairn_klog_new(take_dump, klog, &reader, err);
    if (code == CAIRN_OK)
        code = read_all(klog, reader, source, err);
    if (code == CAIRN_OK)
        code = cli_klog_drain(klog, true, err);
    if (code == CAIRN_OK)
        code = check_shown(klog, reader, err);
    cli_progress_done();
    if (code == CAIRN_OK && klog->profile)
        code = write_profile(klog, err);
    if (code == CAIRN_OK)
        say_counts(klog, reader);
    cairn_klog_free(reader);
    return code;
}

static void done(struct cli_klog *klog)
{
    cairn_profile_free(klog->profile);
    cairn_buffer_done(&klog->out);
    cairn_free(klog->maps);
    cairn_free(klog->folders);
    cairn_free(klog->known);
    cairn_table_done(&klog->spaces);
    cairn_table_done(&klog->texts);
    cairn_arena_done(&klog->arena);
}

int cli_klog_run(const struct cli_klog_opts *opts, struct cairn_resolver *resolver,
                 struct cli_source *source, struct cairn_err *err)
{
    struct cli_klog klog = {.opts = opts, .resolver = resolver, .name = source->name, .err = err};
    const char *out = opts->out ? opts->out : "-";
    bool is_profile =
        !opts->json && !opts->annotate && cairn_format_of_name(out) != CAIRN_FORMAT_AUTO;
    int code = read_bounds(&klog, err);
    if (code == CAIRN_OK)
        code = cli_klog_maps_open(&klog, err);
    if (code == CAIRN_OK && is_profile)
        code = cairn_profile_new(&klog.profile, err);
    if (code == CAIRN_OK)
        code = cli_output_open(out, opts->force, &klog.output, err);
    if (code == CAIRN_OK) {
        code =
            opts->annotate ? cli_klog_annotate(&klog, source, err) : run_reader(&klog, source, err);
        if (code < 0)
            code = cli_output_fail(klog.output, code, err);
        else
            code = cli_output_commit(klog.output, err);
    }
    done(&klog);
    return code;
}
