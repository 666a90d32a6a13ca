/* SPDX-License-Identifier: MIT */
/*
 * cairn resolve: names into collapsed stacks or a pprof profile.
 *
 *     IN ──► read (locked where it is replaced) ──► resolver ──► temporary file ──► rename
 *
 * Before the rename IN must still be the file that was read.
 */
#include <string.h>
#include <sys/stat.h>

#include <cairn/klog.h>
#include <cairn/resolve.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/resolve_convert.h"
#include "cli/resolve_options.h"
#include "cli/resolve_summary.h"
#include "cli/source.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum { BUILD_IDS_BYTES_MAX = 64 << 20 };

static bool replaces_input(const struct cli_resolve_job *job)
{
    struct stat in, out;
    if (!job->out)
        return true;
    return strcmp(job->out, "-") != 0 && strcmp(job->in, "-") != 0 && stat(job->in, &in) == 0 &&
           stat(job->out, &out) == 0 && S_ISREG(in.st_mode) && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

/* What makes the resolver, beside maps: those of a kernel log are read as its dumps come. */
static int load(struct cli_resolve_job *job, struct cairn_err *err)
{
    int result = CAIRN_OK;
    if (job->maps_path && !job->is_klog)
        result = cairn_maps_read_file(job->maps_path, &job->maps, err);
    if (result == CAIRN_OK && job->build_ids_path)
        result = cairn_file_slurp(job->build_ids_path, BUILD_IDS_BYTES_MAX, &job->build_ids, err);
    if (result < 0)
        return result;
    job->opts.size = sizeof job->opts;
    job->opts.symbols.size = sizeof job->opts.symbols;
    job->opts.symbols.symbol_dirs = job->symbol_dirs.items;
    job->opts.symbols.n_symbol_dirs = job->symbol_dirs.n;
    /* A file of this machine's is not what ran where the log was written. */
    job->opts.symbols.no_local_files = job->is_klog && !job->klog.live && job->symbol_dirs.n > 0;
    job->opts.perf_maps = job->perf_maps.items;
    job->opts.n_perf_maps = job->perf_maps.n;
    job->opts.maps = job->maps;
    job->opts.build_ids = job->build_ids_path ? cairn_buffer_text(&job->build_ids) : NULL;
    result = cairn_resolver_new(&job->opts, &job->resolver, err);
    return result < 0 && job->build_ids_path && result == CAIRN_E_FORMAT
               ? cairn_fail_in(err, result, job->build_ids_path)
               : result;
}

static int convert_to_output(struct cli_resolve_job *job, struct cli_source *source,
                             struct cairn_err *err)
{
    int result = source->replaced ? cli_output_open_in_place(job->in, &job->output, err)
                                  : cli_output_open(job->out, job->force, &job->output, err);
    if (result < 0)
        return result;
    result = load(job, err);
    const struct cairn_unwind_opts files = {.size = sizeof files,
                                            .root = job->opts.symbols.root,
                                            .symbol_dirs = job->opts.symbols.symbol_dirs,
                                            .n_symbol_dirs = job->opts.symbols.n_symbol_dirs,
                                            .debug_dir = job->opts.symbols.debug_dir};
    if (result == CAIRN_OK)
        result = cli_resolve_convert(&(struct cli_resolve_way){job->resolver, &files, job->format},
                                     source, job->output, err);
    cli_progress_done();
    if (result == CAIRN_OK)
        result = cli_source_check(source, err);
    return result == CAIRN_OK ? cli_output_commit(job->output, err)
                              : cli_output_fail(job->output, result, err);
}

/* Is the input a kernel log? `--from` may say that it is something else. */
static bool is_klog(const struct cli_resolve_job *job, struct cli_source *source)
{
    const uint8_t *head;
    if (job->is_klog || job->format != CAIRN_FORMAT_AUTO)
        return job->is_klog;
    size_t size = cli_source_peek(source, CLI_SOURCE_HEAD_BYTES, &head);
    return !cli_resolve_is_profile(head, size) && cairn_klog_recognize(head, size);
}

static int resolve_klog(struct cli_resolve_job *job, struct cli_source *source,
                        struct cairn_err *err)
{
    job->is_klog = true;
    job->klog.json = job->json;
    job->klog.force = job->force;
    job->klog.out = job->out;
    int result = load(job, err);
    return result < 0 ? result : cli_klog_run(&job->klog, job->resolver, source, err);
}

static int refuse_to_replace(const struct cli_resolve_job *job, const char *what,
                             struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_ARG, "%s: %s holds more than a profile with names", job->in, what);
    cairn_hint(err, "-o FILE.pb.gz keeps it, and writes the profile");
    return CAIRN_E_ARG;
}

/* What the input is, where no profile can take its place; NULL: one can. */
static const char *find_kept(const struct cli_resolve_job *job, struct cli_source *source)
{
    const uint8_t *head;
    size_t size = cli_source_peek(source, CLI_SOURCE_HEAD_BYTES, &head);
    if (job->format == CAIRN_FORMAT_PERF_DATA || cli_resolve_is_recording(head, size))
        return "a recording of perf";
    if (cli_resolve_is_stack_text(job->format) ||
        cli_resolve_is_stack_text(cairn_format_of_bytes(head, size)))
        return "a report with stacks";
    return NULL;
}

/* --annotate takes IN for a kernel log, whatever it is: it would change nothing in stacks of
 * another kind, and not say so. */
static int check_annotated(const struct cli_resolve_job *job, struct cli_source *source,
                           struct cairn_err *err)
{
    const uint8_t *head;
    if (!job->klog.annotate || job->is_from_klog)
        return CAIRN_OK;
    /* What a log that grows has now may be all for a long time. */
    size_t size = cli_source_peek(source, job->klog.follow ? 1 : CLI_SOURCE_HEAD_BYTES, &head);
    enum cairn_format format = job->format;
    if (format == CAIRN_FORMAT_AUTO && !cli_resolve_is_profile(head, size))
        return CAIRN_OK;
    if (format == CAIRN_FORMAT_AUTO)
        format = cairn_format_of_bytes(head, size);
    const char *name = cairn_format_name(format);
    cairn_fail(err, CAIRN_E_ARG, "%s: --annotate changes kernel logs alone, and this is %s%s",
               job->in, name ? "of the format " : "a profile", name ? name : "");
    cairn_hint(err, "without --annotate, -o FILE.pb.gz gets its stacks with names; with --from "
                    "klog it is passed through all the same");
    return CAIRN_E_ARG;
}

static int resolve(struct cli_resolve_job *job, struct cairn_err *err)
{
    struct cli_source source;
    if (replaces_input(job) && cairn_format_of_name(job->in) == CAIRN_FORMAT_HEAP)
        return refuse_to_replace(job, "a heap file", err);
    int result = cli_source_open(job->in, !job->is_klog && replaces_input(job), &source, err);
    if (result < 0)
        return result;
    const char *kept = source.replaced ? find_kept(job, &source) : NULL;
    result = kept ? refuse_to_replace(job, kept, err) : check_annotated(job, &source, err);
    if (result == CAIRN_OK && is_klog(job, &source)) {
        result = resolve_klog(job, &source, err);
        source.replaced = false;
    } else if (result == CAIRN_OK) {
        result = convert_to_output(job, &source, err);
    }
    cli_source_close(&source);
    if (result == CAIRN_OK && source.replaced)
        cli_say("%s: replaced in place", job->out ? job->out : job->in);
    return result;
}

static void finish(const struct cli_resolve_job *job)
{
    if (job->is_klog)
        return; /* it said its own */
    if (job->json)
        cli_resolve_print_json(job->resolver, job->out && strcmp(job->out, "-") == 0);
    else
        cli_resolve_say_summary(job->resolver);
}

static int run(struct cli_args *args)
{
    struct cli_resolve_job job = {0};
    struct cairn_err err = {0};
    cli_way_init(&job.opts.symbols);
    int status = cli_resolve_parse(&job, args);
    if (status == CLI_OK) {
        cli_log_open(job.verbosity);
        status = resolve(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    if (status == CLI_OK)
        finish(&job);
    cairn_resolver_free(job.resolver);
    cairn_maps_free(job.maps);
    cairn_buffer_done(&job.build_ids);
    cli_list_done(&job.symbol_dirs);
    cli_list_done(&job.klog.maps);
    cli_list_done(&job.perf_maps);
    return status;
}

const struct cli_command cli_cmd_resolve = {
    .name = "resolve",
    .summary = "give names to addresses in stacks, a pprof profile or a kernel log",
    .usage = (const char *const[]){"resolve IN [-o OUT] [--maps FILE] [--symbols DIR]... "
                                   "[OPTION...]",
                                   "resolve LOG [--maps [PID=]FILE]... [--symbols DIR]... "
                                   "[OPTION...]",
                                   "resolve --log LOG --pid N --maps FILE --sym-root DIR", NULL},
    .options = cli_resolve_options,
    .notes = "IN is collapsed stacks (\"frame;frame;frame COUNT\", root first), a pprof profile, "
             "perf.data, a report with stacks (sanitizers, debuggers, crashes) or a kernel log "
             "(LOG), whose stack dumps are printed with names; - is stdin. Frames of stacks are "
             "addresses (0x7f12a0), module+0xoff or names "
             "already. Without -o, IN is replaced, unless it is a kernel log; nothing else is "
             "overwritten "
             "without --force.",
    .run = run,
};
