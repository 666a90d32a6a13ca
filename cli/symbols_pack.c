/* SPDX-License-Identifier: MIT */
/* cairn symbols pack: the files that a profile needs, in one archive for another desk. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/zstd_writer.h"
#include "cli/numbers.h"
#include "cli/profiles.h"
#include "cli/symbols.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum option {
    OPT_OUTPUT,
    OPT_SYMBOLS,
    OPT_DEBUG_DIR,
    OPT_FORCE,
    OPT_JSON,
    OPT_VERBOSE,
    OPT_DEBUGINFOD,
    OPT_FETCH_LIMIT
};

static const struct cli_option options[] = {
    [OPT_OUTPUT] = {.name = "output",
                    .letter = 'o',
                    .value = "FILE",
                    .help = "the archive, FILE.tar.zst or FILE.tar; default: symbols.tar.zst"},
    [OPT_SYMBOLS] = {.name = "symbols",
                     .value = "DIR",
                     .help =
                         "look for files in this folder (or glob of folders), before the store; "
                         "may be given several times"},
    [OPT_DEBUG_DIR] = {.name = "debug-dir",
                       .value = "DIR",
                       .help = "the folder of installed debug files (default: /usr/lib/debug)"},
    [OPT_FORCE] = {.name = "force", .help = "replace an existing file"},
    [OPT_JSON] = {.name = "json", .help = "print the counts as one JSON object"},
    [OPT_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say which files were chosen"},
    [OPT_DEBUGINFOD] = {.name = "debuginfod",
                        .value = "URL",
                        .help = "ask debuginfod servers for what is not here: those of "
                                "DEBUGINFOD_URLS, or this one",
                        .optional = true},
    [OPT_FETCH_LIMIT] = {.name = "fetch-limit",
                         .value = "SIZE",
                         .help = "what --debuginfod may fetch in this run; default: 2G"},
    {0},
};

struct job {
    const char *out;
    bool force, as_json;
    struct cli_list symbol_dirs;
    struct cairn_symbol_pack_opts opts;
    struct cairn_symbol_packed sum;
};

static void tell_missing(void *ctx, const char *path, const char *build_id, const char *why)
{
    (void)ctx;
    if (strncmp(why, path, strlen(path)) == 0) /* the message says where, too */
        cli_say("%s (build ID %s)", why, *build_id ? build_id : "unknown");
    else
        cli_say("%s: %s", path, why);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), n = strlen(ending);
    return size > n && strcmp(text + size - n, ending) == 0;
}

static int write_archive(struct job *job, const struct cairn_profile *profile,
                         struct cli_output *output, struct cairn_err *err)
{
    struct cairn_zstd_writer zstd = {.write = cli_output_write, .ctx = output};
    bool is_packed = !ends_with(job->out, ".tar");
    struct cairn_err end;
    int code =
        cairn_symbol_pack(profile, &job->opts, is_packed ? cairn_zstd_writer_add : cli_output_write,
                          is_packed ? (void *)&zstd : output, &job->sum, err);
    if (is_packed && cairn_zstd_writer_end(&zstd, code == CAIRN_OK, &end) < 0 && code == CAIRN_OK) {
        *err = end;
        code = end.code;
    }
    if (code == CAIRN_E_IO)
        (void)cli_output_error(output, err); /* which knows more */
    return code;
}

static void put_result(const struct job *job)
{
    struct cairn_buffer out = {0};
    if (job->as_json) {
        struct cairn_json json = {.out = &out};
        cairn_json_open(&json, NULL, '{');
        cairn_json_str(&json, "file", job->out);
        cairn_json_u64(&json, "modules", job->sum.n_modules);
        cairn_json_u64(&json, "files", job->sum.n_files);
        cairn_json_u64(&json, "bytes", job->sum.bytes);
        cairn_json_u64(&json, "missing", job->sum.n_missing);
        cairn_json_close(&json, '}');
    } else {
        cli_add_counted(&out, job->sum.n_files, "file");
        cairn_buffer_str(&out, " of ");
        cli_add_counted(&out, job->sum.n_modules, "module");
        cairn_buffer_str(&out, ", ");
        cli_add_size(&out, job->sum.bytes);
        if (job->sum.n_missing)
            cairn_buffer_printf(&out, "; %" PRIu64 " missing", job->sum.n_missing);
        cairn_buffer_char(&out, '\n');
    }
    fwrite(cairn_buffer_text(&out), 1, out.size, strcmp(job->out, "-") ? stdout : stderr);
    cairn_buffer_done(&out);
}

static int pack(struct job *job, char **inputs)
{
    const struct cli_reading reading = {.keeps_raw = true};
    struct cairn_profile *profile = NULL;
    struct cli_output *output;
    struct cairn_err err;
    if (cli_read_profiles(inputs, &reading, &profile, &err) < 0)
        return cli_report(&err);
    int code = cli_output_open(job->out, job->force, &output, &err);
    if (code == CAIRN_OK) {
        code = write_archive(job, profile, output, &err);
        if (code == CAIRN_OK && !job->sum.n_files) {
            cli_say("none of the files that the profile needs was found: nothing to pack");
            cli_output_drop(output);
            cairn_profile_free(profile);
            return CLI_FAILED;
        }
        code = code < 0 ? cli_output_fail(output, code, &err) : cli_output_commit(output, &err);
    }
    cairn_profile_free(profile);
    if (code < 0)
        return cli_report(&err);
    put_result(job);
    return CLI_OK;
}

static int take_options(struct cli_args *args, struct job *job)
{
    const char *value;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0) {
        switch ((enum option)row) {
        case OPT_OUTPUT:
            job->out = value;
            break;
        case OPT_SYMBOLS:
            cli_list_add(&job->symbol_dirs, value);
            break;
        case OPT_DEBUG_DIR:
            job->opts.debug_dir = value;
            break;
        case OPT_FORCE:
            job->force = true;
            break;
        case OPT_JSON:
            job->as_json = true;
            break;
        case OPT_VERBOSE:
            cli_log_open(1);
            break;
        case OPT_DEBUGINFOD:
        case OPT_FETCH_LIMIT:
            if (!cli_way_take(args,
                              row == OPT_DEBUGINFOD ? CLI_WAY_DEBUGINFOD : CLI_WAY_FETCH_LIMIT,
                              value, NULL))
                return CLI_USAGE;
            break;
        }
    }
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    if (strcmp(job->out, "-") != 0 && !ends_with(job->out, ".tar.zst") &&
        !ends_with(job->out, ".tar"))
        return cli_args_wrong(args, "-o %s: expected a name that ends in .tar.zst or .tar",
                              job->out);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    struct job job = {.out = "symbols.tar.zst",
                      .opts = {.size = sizeof job.opts, .missing = tell_missing},
                      .sum = {.size = sizeof job.sum}};
    size_t n = 0;
    int status = take_options(args, &job);
    if (status == CLI_OK) {
        char **inputs = cli_args_operands(args, &n);
        job.opts.symbol_dirs = job.symbol_dirs.items;
        job.opts.n_symbol_dirs = job.symbol_dirs.n;
        status = n ? pack(&job, inputs)
                   : cli_args_wrong(args, "which profile? give the file that has the addresses");
    }
    cli_list_done(&job.symbol_dirs);
    return status;
}

const struct cli_command cli_symbols_pack = {
    .name = "symbols pack",
    .summary = "write the files that a profile needs into one archive",
    .usage = (const char *const[]){"symbols pack [-o FILE] [--symbols DIR]... PROFILE...", NULL},
    .options = options,
    .notes = "Unpack it with \"tar xf FILE -C ~/.debug\": perf and hotspot look there, cairn with "
             "--symbols ~/.debug, or after \"cairn symbols add ~/.debug\".",
    .run = run,
};
