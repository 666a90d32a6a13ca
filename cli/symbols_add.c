/* SPDX-License-Identifier: MIT */
/* cairn symbols add: binaries and debug files into the store. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/escape.h"
#include "cli/numbers.h"
#include "cli/symbols.h"
#include "cli/term.h"

enum option { OPT_LINK, OPT_MAX_SIZE, OPT_DIR, OPT_JSON, OPT_VERBOSE };

static const struct cli_option options[] = {
    [OPT_LINK] = {.name = "link",
                  .help = "hard links instead of copies, of files that are yours; strip(1) and "
                          "whatever else writes in place then changes both"},
    [OPT_MAX_SIZE] = {.name = "max-size",
                      .value = "SIZE",
                      .help = "of the whole store (default: 20G; 0: no bound); files not used for "
                              "longest go"},
    [OPT_DIR] = {.name = "dir",
                 .value = "DIR",
                 .help = "the folder of the store; default: $CAIRN_SYMBOLS, else "
                         "~/.local/share/cairn/symbols"},
    [OPT_JSON] = {.name = "json", .help = "print the counts as one JSON object"},
    [OPT_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "name files without a build ID"},
    {0},
};

static const uint64_t default_max_bytes = 20ull << 30;

static void tell(void *ctx, const char *path)
{
    struct cairn_symbol_added *sum = ctx;
    cli_progress("%" PRIu64 " files added, at %s", sum->n_added, path);
}

static void put_text(struct cairn_buffer *out, const struct cairn_symbol_added *sum,
                     const char *folder)
{
    cli_add_counted(out, sum->n_added, "file");
    cairn_buffer_str(out, " added, ");
    cli_add_size(out, sum->bytes_added);
    cairn_buffer_str(out, ", to ");
    cairn_escape_terminal(out, folder, strlen(folder));
    const struct {
        uint64_t n;
        const char *text;
    } rows[] = {{sum->n_held, "there already"},
                {sum->n_without_id, "without a build ID"},
                {sum->n_damaged, "damaged or not to be read"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n)
            cairn_buffer_printf(out, "; %" PRIu64 " %s", rows[i].n, rows[i].text);
    if (sum->n_removed) {
        cairn_buffer_printf(out, "; %" PRIu64 " removed, ", sum->n_removed);
        cli_add_size(out, sum->bytes_removed);
    }
    cairn_buffer_char(out, '\n');
}

static void put_json(struct cairn_buffer *out, const struct cairn_symbol_added *sum,
                     const char *folder)
{
    struct cairn_json json = {.out = out};
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "folder", folder);
    cairn_json_u64(&json, "seen", sum->n_seen);
    cairn_json_u64(&json, "added", sum->n_added);
    cairn_json_u64(&json, "held", sum->n_held);
    cairn_json_u64(&json, "without_id", sum->n_without_id);
    cairn_json_u64(&json, "damaged", sum->n_damaged);
    cairn_json_u64(&json, "bytes_added", sum->bytes_added);
    cairn_json_u64(&json, "removed", sum->n_removed);
    cairn_json_u64(&json, "bytes_removed", sum->bytes_removed);
    cairn_json_close(&json, '}');
}

/* As file systems stamp. */
static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Every path is tried; what was added stays, and is told. */
static int add_all(char **paths, const char *folder, struct cairn_symbol_add_opts *opts,
                   bool as_json)
{
    struct cairn_symbol_added sum = {.size = sizeof sum};
    struct cairn_buffer out = {0};
    int status = CLI_OK;
    opts->ctx = &sum;
    opts->keep_since_ns = now_ns();
    for (; *paths; paths++) {
        struct cairn_err err;
        int code = cairn_symbol_store_add(folder, *paths, opts, &sum, &err);
        cli_progress_done();
        if (code < 0)
            status = cli_report(&err);
        if (code == CAIRN_E_LIMIT)
            break;
    }
    if (as_json)
        put_json(&out, &sum, folder);
    else
        put_text(&out, &sum, folder);
    fwrite(cairn_buffer_text(&out), 1, out.size, stdout);
    cairn_buffer_done(&out);
    return status;
}

static int run(struct cli_args *args)
{
    char own[CLI_SYMBOLS_FOLDER];
    struct cairn_symbol_add_opts opts = {
        .size = sizeof opts, .max_bytes = default_max_bytes, .progress = tell};
    const char *value, *dir = NULL;
    bool as_json = false;
    size_t n;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0) {
        if (row == OPT_LINK)
            opts.link = 1;
        else if (row == OPT_MAX_SIZE && !cli_args_size(args, "max-size", value, &opts.max_bytes))
            return CLI_USAGE;
        else if (row == OPT_DIR)
            dir = value;
        else if (row == OPT_JSON)
            as_json = true;
        else if (row == OPT_VERBOSE)
            cli_log_open(1);
    }
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    char **paths = cli_args_operands(args, &n);
    if (!n)
        return cli_args_wrong(args, "what is to be added? give files or folders");
    const char *folder = cli_symbols_folder(dir, own);
    return folder ? add_all(paths, folder, &opts, as_json) : CLI_FAILED;
}

const struct cli_command cli_symbols_add = {
    .name = "symbols add",
    .summary = "add binaries and debug files by build ID",
    .usage =
        (const char *const[]){"symbols add [--link] [--max-size SIZE] [--dir DIR] PATH...", NULL},
    .options = options,
    .notes =
        "A PATH is an ELF file, an APK or another zip archive with libraries, or a folder with "
        "such files at any depth: a .build-id or .debug tree, an unpacked package, out/.../"
        "symbols of AOSP, obj/ of the NDK, ~/.debug of perf.",
    .run = run,
};
