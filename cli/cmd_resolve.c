/* SPDX-License-Identifier: MIT */
/*
 * cairn resolve: names into collapsed stacks or a pprof profile.
 *
 *     IN ──► read (locked where it is replaced) ──► resolver ──► temporary file ──► rename
 *
 * Before the rename IN must still be the file that was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cairn/resolve.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/args.h"
#include "cli/resolve_convert.h"
#include "cli/resolve_summary.h"
#include "cli/source.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum { BUILD_IDS_BYTES_MAX = 64 << 20 };

struct job {
    const char *in, *out; /* `out` is NULL where `in` is replaced */
    const char *maps_path, *build_ids_path;
    struct cli_list symbol_dirs, perf_maps;
    struct cairn_resolve_opts opts;
    enum cairn_format format;
    bool force, json;
    int verbosity;
    struct cairn_maps *maps;
    struct cairn_buffer build_ids;
    struct cairn_resolver *resolver;
    struct cli_output *output;
};

enum {
    OPT_OUTPUT,
    OPT_MAPS,
    OPT_SYMBOLS,
    OPT_DEBUG_DIR,
    OPT_BUILD_IDS,
    OPT_KALLSYMS,
    OPT_KERNEL_MODULES,
    OPT_KERNEL_SECTIONS,
    OPT_VMLINUX,
    OPT_KERNEL_SLIDE,
    OPT_PERF_MAP,
    OPT_ALLOW_MISMATCH,
    OPT_NAMES,
    OPT_NO_INLINES,
    OPT_LINES,
    OPT_LEAF,
    OPT_OFFSETS,
    OPT_FROM,
    OPT_FORCE,
    OPT_MAX_MEMORY,
    OPT_JSON,
    OPT_VERBOSE,
    OPT_WAYS,
};

static const struct cli_option options[] = {
    [OPT_OUTPUT] = {"output", 'o', "OUT",
                    "write to OUT, - for stdout; without it IN is replaced in place"},
    [OPT_MAPS] = {"maps", 'm', "FILE", "a copy of the process's /proc/PID/maps"},
    [OPT_SYMBOLS] =
        {"symbols", 's', "DIR",
         "look for binaries and debug files in DIR (or a glob of folders): by build ID, "
         "by file name, by the module's path below it, by file name anywhere below it; "
         "may be given several times"},
    [OPT_DEBUG_DIR] = {"debug-dir", 0, "DIR", "the global folder of debug files (/usr/lib/debug)"},
    [OPT_BUILD_IDS] = {"build-ids", 0, "FILE",
                       "lines \"BUILD-ID PATH\" that say which build of a module was running"},
    [OPT_KALLSYMS] = {"kallsyms", 0, "FILE",
                      "names of the kernel: a copy of its /proc/kallsyms, or its System.map"},
    [OPT_KERNEL_MODULES] = {"kernel-modules", 0, "FILE",
                            "a copy of /proc/modules: where each kernel module of --kallsyms ends"},
    [OPT_KERNEL_SECTIONS] = {"kernel-sections", 0, "DIR",
                             "a copy of /sys/module: where the sections of kernel modules lie, for "
                             "lines out of their files; without it that is reckoned from "
                             "--kallsyms"},
    [OPT_VMLINUX] = {"vmlinux", 0, "FILE",
                     "the kernel's own ELF file, for lines and inlined functions"},
    [OPT_KERNEL_SLIDE] = {"kernel-slide", 0, "HEX",
                          "how far the kernel was moved from the addresses of System.map and "
                          "vmlinux, where neither a profile nor --kallsyms tells"},
    [OPT_PERF_MAP] = {"perf-map", 0, "FILE",
                      "names of code made at run time: a /tmp/perf-PID.map, or a folder of them; "
                      "may be given several times"},
    [OPT_ALLOW_MISMATCH] = {"allow-mismatch", 0, NULL,
                            "take files whose build ID differs, with a warning"},
    [OPT_NAMES] = {"names", 0, "HOW", "full (default), short (without parameters) or mangled"},
    [OPT_NO_INLINES] = {"no-inlines", 0, NULL, "add no frames for inlined functions"},
    [OPT_LINES] = {"lines", 0, NULL, "append \" (file:line)\" to the names"},
    [OPT_LEAF] = {"leaf", 0, "KIND",
                  "the last frame is ip (default): the address itself, or ret: a return address as "
                  "all the others"},
    [OPT_OFFSETS] = {"offsets", 0, "KIND",
                     "in module+0xoff, off counts rel (default): from the load base, as dladdr() "
                     "does, or file: from the start of the file"},
    [OPT_FROM] = {"from", 0, "FORMAT", "what IN is: auto (default), collapsed or pprof"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace OUT where it is there already"},
    [OPT_MAX_MEMORY] = {"max-memory", 0, "SIZE", "let caches hold at most SIZE (512M, 2G)"},
    [OPT_JSON] =
        {"json", 0, NULL,
         "print the summary as JSON on stdout, or on stderr where stdout takes the result"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL,
                     "say what was decided: segments, files chosen, addresses per module; twice: "
                     "more of it"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

/* The options whose value is one of some words; in the order of the enums that they stand for. */
static bool set_word(struct job *job, struct cli_args *args, int row, const char *value)
{
    static const char *const names[] = {"full", "short", "mangled", NULL};
    static const char *const leaves[] = {"ip", "ret", NULL};
    static const char *const offsets[] = {"rel", "file", NULL};
    static const char *const formats[] = {"auto", "pprof", "collapsed", NULL};
    const char *const *words = row == OPT_NAMES     ? names
                               : row == OPT_LEAF    ? leaves
                               : row == OPT_OFFSETS ? offsets
                                                    : formats;
    int index;
    if (!cli_args_word(args, options[row].name, value, words, &index))
        return false;
    if (row == OPT_NAMES)
        job->opts.symbols.names = (enum cairn_names)index;
    else if (row == OPT_LEAF)
        job->opts.leaf = (enum cairn_leaf)index;
    else if (row == OPT_OFFSETS)
        job->opts.offsets = (enum cairn_offsets)index;
    else
        job->format = (enum cairn_format)index;
    return true;
}

static bool set_memory(struct job *job, struct cli_args *args, const char *value)
{
    uint64_t bytes;
    if (!cli_args_size(args, "max-memory", value, &bytes))
        return false;
    if (bytes == 0 || bytes > SIZE_MAX) {
        cli_args_wrong(args, "--max-memory: \"%s\" is no bound", value);
        return false;
    }
    job->opts.symbols.memory_bytes = (size_t)bytes;
    return true;
}

static bool set_slide(struct job *job, struct cli_args *args, const char *value)
{
    char *end;
    errno = 0;
    job->opts.kernel_slide = strtoull(value, &end, 16);
    job->opts.has_kernel_slide = 1;
    if (!errno && *value != '-' && *value && !*end)
        return true;
    cli_args_wrong(args, "--kernel-slide: \"%s\", expected a number in hex", value);
    return false;
}

static bool set_option(struct job *job, struct cli_args *args, int row, const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &job->opts.symbols);
    switch (row) {
    case OPT_OUTPUT:
        job->out = value;
        break;
    case OPT_MAPS:
        job->maps_path = value;
        break;
    case OPT_SYMBOLS:
        cli_list_add(&job->symbol_dirs, value);
        break;
    case OPT_DEBUG_DIR:
        job->opts.symbols.debug_dir = value;
        break;
    case OPT_BUILD_IDS:
        job->build_ids_path = value;
        break;
    case OPT_KALLSYMS:
        job->opts.kallsyms = value;
        break;
    case OPT_KERNEL_MODULES:
        job->opts.kernel_modules = value;
        break;
    case OPT_KERNEL_SECTIONS:
        job->opts.kernel_sections = value;
        break;
    case OPT_VMLINUX:
        job->opts.vmlinux = value;
        break;
    case OPT_KERNEL_SLIDE:
        return set_slide(job, args, value);
    case OPT_PERF_MAP:
        cli_list_add(&job->perf_maps, value);
        break;
    case OPT_ALLOW_MISMATCH:
        job->opts.symbols.allow_mismatch = 1;
        break;
    case OPT_NO_INLINES:
        job->opts.symbols.no_inlines = 1;
        break;
    case OPT_LINES:
        job->opts.lines = 1;
        break;
    case OPT_FORCE:
        job->force = true;
        break;
    case OPT_JSON:
        job->json = true;
        break;
    case OPT_VERBOSE:
        job->verbosity++;
        break;
    case OPT_MAX_MEMORY:
        return set_memory(job, args, value);
    default:
        return set_word(job, args, row, value);
    }
    return true;
}

static int parse(struct job *job, struct cli_args *args)
{
    const char *value;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!set_option(job, args, row, value))
            return CLI_USAGE;
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (n != 1)
        return n ? cli_args_wrong(args, "\"%s\" is one word too many, expected one IN", operands[1])
                 : cli_args_wrong(args, "IN is missing: a file, or - for stdin");
    job->in = operands[0];
    if (!job->out && strcmp(job->in, "-") == 0)
        job->out = "-";
    return CLI_OK;
}

static bool replaces_input(const struct job *job)
{
    struct stat in, out;
    if (!job->out)
        return true;
    return strcmp(job->out, "-") != 0 && strcmp(job->in, "-") != 0 && stat(job->in, &in) == 0 &&
           stat(job->out, &out) == 0 && S_ISREG(in.st_mode) && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

static int load(struct job *job, struct cairn_err *err)
{
    int result = CAIRN_OK;
    if (job->maps_path)
        result = cairn_maps_read_file(job->maps_path, &job->maps, err);
    if (result == CAIRN_OK && job->build_ids_path)
        result = cairn_file_slurp(job->build_ids_path, BUILD_IDS_BYTES_MAX, &job->build_ids, err);
    if (result < 0)
        return result;
    job->opts.size = sizeof job->opts;
    job->opts.symbols.size = sizeof job->opts.symbols;
    job->opts.symbols.symbol_dirs = job->symbol_dirs.items;
    job->opts.symbols.n_symbol_dirs = job->symbol_dirs.n;
    job->opts.perf_maps = job->perf_maps.items;
    job->opts.n_perf_maps = job->perf_maps.n;
    job->opts.maps = job->maps;
    job->opts.build_ids = job->build_ids_path ? cairn_buffer_text(&job->build_ids) : NULL;
    result = cairn_resolver_new(&job->opts, &job->resolver, err);
    return result < 0 && job->build_ids_path && result == CAIRN_E_FORMAT
               ? cairn_fail_in(err, result, job->build_ids_path)
               : result;
}

static int convert_to_output(struct job *job, struct cli_source *source, struct cairn_err *err)
{
    int result = source->replaced ? cli_output_open_in_place(job->in, &job->output, err)
                                  : cli_output_open(job->out, job->force, &job->output, err);
    if (result < 0)
        return result;
    result = load(job, err);
    if (result == CAIRN_OK)
        result = cli_resolve_convert(&(struct cli_resolve_way){job->resolver, job->format}, source,
                                     job->output, err);
    cli_progress_done();
    if (result == CAIRN_OK)
        result = cli_source_check(source, err);
    return result == CAIRN_OK ? cli_output_commit(job->output, err)
                              : cli_output_fail(job->output, result, err);
}

static int resolve(struct job *job, struct cairn_err *err)
{
    struct cli_source source;
    if (replaces_input(job) && cairn_format_of_name(job->in) == CAIRN_FORMAT_HEAP) {
        cairn_fail(err, CAIRN_E_ARG, "%s: a heap file holds more than a profile with names",
                   job->in);
        cairn_hint(err, "-o FILE.pb.gz keeps it, and writes the profile");
        return CAIRN_E_ARG;
    }
    int result = cli_source_open(job->in, replaces_input(job), &source, err);
    if (result < 0)
        return result;
    result = convert_to_output(job, &source, err);
    cli_source_close(&source);
    if (result == CAIRN_OK && source.replaced)
        cli_say("%s: replaced in place", job->out ? job->out : job->in);
    return result;
}

static void finish(const struct job *job)
{
    if (job->json)
        cli_resolve_print_json(job->resolver, job->out && strcmp(job->out, "-") == 0);
    else
        cli_resolve_say_summary(job->resolver);
}

static int run(struct cli_args *args)
{
    struct job job = {0};
    struct cairn_err err = {0};
    cli_way_init(&job.opts.symbols);
    int status = parse(&job, args);
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
    cli_list_done(&job.perf_maps);
    return status;
}

const struct cli_command cli_cmd_resolve = {
    .name = "resolve",
    .summary = "give names to addresses in collapsed stacks or in a pprof profile",
    .usage = (const char *const[]){"resolve IN [-o OUT] [--maps FILE] [--symbols DIR]... "
                                   "[OPTION...]",
                                   NULL},
    .options = options,
    .notes = "IN is collapsed stacks (\"frame;frame;frame COUNT\", root first) or a pprof profile; "
             "- is stdin. Frames of stacks are addresses (0x7f12a0), module+0xoff or names "
             "already. Without -o, IN is replaced; nothing else is overwritten without --force.",
    .run = run,
};
