/* SPDX-License-Identifier: MIT */
/* cairn flame: profiles in, one picture out. The picture itself is drawn by the library. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/picture.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cli/args.h"
#include "cli/profiles.h"
#include "cli/result.h"
#include "cli/term.h"

enum option {
    OPTION_OUTPUT,
    OPTION_FORMAT,
    OPTION_VALUE,
    OPTION_TITLE,
    OPTION_MIN_PERCENT,
    OPTION_WIDTH,
    OPTION_FORCE,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .value = "FILE",
                       .help = "write to FILE; its ending, .html or .svg, says what; - is stdout "
                               "(default: the name of the first input with .html)"},
    [OPTION_FORMAT] = {.name = "format",
                       .letter = 'f',
                       .value = "FORMAT",
                       .help = "html or svg, whatever the name of the output"},
    [OPTION_VALUE] = {.name = "value",
                      .value = "TYPE",
                      .help = "what the widths stand for, such as cpu or samples (default: what "
                              "the profile says)"},
    [OPTION_TITLE] = {.name = "title", .value = "TEXT", .help = "the title of the picture"},
    [OPTION_MIN_PERCENT] = {.name = "min-percent",
                            .value = "P",
                            .help = "svg: leave out frames below P percent of the whole "
                                    "(default: 0.05)"},
    [OPTION_WIDTH] = {.name = "width",
                      .value = "PIXELS",
                      .help = "svg: how wide it is (default: 1200)"},
    [OPTION_FORCE] = {.name = "force", .help = "replace an existing output"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

struct flame {
    struct cli_args *args;
    const char *output, *value, *title;
    enum cairn_picture_format format;
    bool has_format, force;
    double min_percent;
    uint64_t width;
    int verbosity;
    char **inputs; /* of the command line; ends with NULL */
};

static bool set_format(struct flame *f, const char *name)
{
    f->has_format = true;
    f->format = strcmp(name, "svg") == 0 ? CAIRN_PICTURE_SVG : CAIRN_PICTURE_HTML;
    if (strcmp(name, "svg") == 0 || strcmp(name, "html") == 0)
        return true;
    cli_args_wrong(f->args, "--format=%s: expected html or svg", name);
    return false;
}

static bool set_min_percent(struct flame *f, const char *text)
{
    if (!cli_args_real(f->args, "min-percent", text, &f->min_percent))
        return false;
    if (f->min_percent > 0 && f->min_percent <= 100)
        return true;
    cli_args_wrong(f->args, "--min-percent=%s: expected more than 0 and at most 100", text);
    return false;
}

static bool set_width(struct flame *f, const char *text)
{
    if (!cli_args_u64(f->args, "width", text, &f->width))
        return false;
    if (f->width >= 200 && f->width <= 100000)
        return true;
    cli_args_wrong(f->args, "--width=%s: expected 200 to 100000", text);
    return false;
}

static bool take_option(struct flame *f, enum option option, const char *value)
{
    switch (option) {
    case OPTION_OUTPUT:
        f->output = value;
        return true;
    case OPTION_FORMAT:
        return set_format(f, value);
    case OPTION_VALUE:
        f->value = value;
        return true;
    case OPTION_TITLE:
        f->title = value;
        return true;
    case OPTION_MIN_PERCENT:
        return set_min_percent(f, value);
    case OPTION_WIDTH:
        return set_width(f, value);
    case OPTION_FORCE:
        f->force = true;
        return true;
    case OPTION_VERBOSE:
        f->verbosity++;
        return true;
    }
    return false;
}

/* "run/cairn.42.pb.gz" to "run/cairn.42.html". */
static void make_output_name(const char *input, const char *ending, struct cairn_buffer *ret_name)
{
    static const char *const known[] = {".gz",     ".zst",    ".pb",  ".pprof",    ".prof",
                                        ".folded", ".stacks", ".txt", ".collapsed"};
    size_t size = strlen(input);
    const char *slash = strrchr(input, '/');
    size_t least = slash ? (size_t)(slash + 1 - input) : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]);
        if (size > least + n && memcmp(input + size - n, known[i], n) == 0)
            size -= n;
    }
    cairn_buffer_add(ret_name, input, size);
    cairn_buffer_str(ret_name, ending);
}

/* Settles where to write and what; false after having said what is wrong. */
static bool choose_output(struct flame *f, struct cairn_buffer *name)
{
    if (!f->output) {
        if (strcmp(f->inputs[0], "-") == 0) {
            cli_args_wrong(f->args, "what comes from stdin has no name: say -o FILE");
            return false;
        }
        make_output_name(f->inputs[0], f->format == CAIRN_PICTURE_SVG ? ".svg" : ".html", name);
        f->output = cairn_buffer_text(name);
        return true;
    }
    if (f->has_format || strcmp(f->output, "-") == 0)
        return true;
    if (cli_result_name_ends(f->output, ".svg")) {
        f->format = CAIRN_PICTURE_SVG;
        return true;
    }
    if (cli_result_name_ends(f->output, ".html") || cli_result_name_ends(f->output, ".htm"))
        return true;
    cli_args_wrong(f->args, "-o %s: ends neither in .html nor in .svg: say --format", f->output);
    return false;
}

static void add_cuts(struct cairn_buffer *b, const struct cairn_profile *profile,
                     const struct cairn_profile_stats *stats)
{
    enum { REASONS = 3 };
    struct cairn_cut_row rows[REASONS];
    size_t n = cairn_profile_cuts(profile, rows, REASONS);
    if (stats->n_cut == 0)
        return;
    cairn_buffer_str(b, " · ");
    cli_add_count(b, stats->n_cut);
    cairn_buffer_str(b, " of ");
    cli_add_count(b, stats->n_samples);
    cairn_buffer_str(b, " stacks end early");
    for (size_t i = 0; i < n && i < REASONS; i++)
        cairn_buffer_printf(b, "%s%s %" PRIu64, i ? ", " : ": ", rows[i].reason, rows[i].n_samples);
}

/* What follows `key` in a comment of the profile, or NULL. */
static const char *find_comment(const struct cairn_profile *profile, const char *key)
{
    const char *const *comments;
    size_t n = cairn_profile_comments(profile, &comments), size = strlen(key);
    for (size_t i = 0; i < n; i++)
        if (strncmp(comments[i], key, size) == 0)
            return comments[i] + size;
    return NULL;
}

/* What the recorder said of its own samples; NULL where they were joined or filtered since. */
static const char *recorded_quality(const struct cairn_profile *profile,
                                    const struct cairn_profile_stats *stats)
{
    const char *quality = find_comment(profile, "quality: ");
    return quality && strtoull(quality, NULL, 10) == stats->n_samples ? quality : NULL;
}

/* How far the picture may be trusted, in one line: what the recorder said, or what can be seen. */
static void describe(const struct flame *f, const struct cairn_profile *profile,
                     const struct cairn_profile_stats *stats, struct cairn_buffer *b)
{
    const char *quality = f->inputs[1] ? NULL : recorded_quality(profile, stats);
    if (quality) {
        cairn_buffer_str(b, quality);
    } else {
        cli_add_count(b, stats->n_samples);
        cairn_buffer_str(b, " samples");
        if (stats->duration_ns)
            cairn_buffer_printf(b, " in %.1f s", (double)stats->duration_ns / 1e9);
        cairn_buffer_str(b, " · ");
        cli_add_count(b, stats->n_functions);
        cairn_buffer_str(b, " functions");
        if (stats->n_modules)
            cairn_buffer_printf(b, " in %" PRIu64 " modules", stats->n_modules);
        add_cuts(b, profile, stats);
    }
    if (stats->n_unnamed)
        cairn_buffer_printf(b, " · %" PRIu64 " of %" PRIu64 " frames without a name",
                            stats->n_unnamed, stats->n_frames);
}

/* The name of the input, unless the profile knows what it was recorded from. */
static const char *title_of(const struct flame *f, const struct cairn_profile *profile)
{
    if (f->title)
        return f->title;
    if (strcmp(f->inputs[0], "-") == 0 || find_comment(profile, "command: "))
        return NULL;
    const char *slash = strrchr(f->inputs[0], '/');
    return slash ? slash + 1 : f->inputs[0];
}

static int write_picture(const struct flame *f, const struct cairn_profile *profile,
                         const struct cairn_picture_opts *picture, struct cairn_err *err)
{
    struct cli_output *output;
    int rc = cli_output_open(f->output, f->force, &output, err);
    if (rc < 0)
        return rc;
    rc = cairn_picture_write(profile, f->format, picture, cli_output_write, output, err);
    if (rc == CAIRN_OK)
        return cli_output_commit(output, err);
    int refused = cli_output_error(output, err);
    cli_output_drop(output);
    return refused < 0 ? refused : rc;
}

static int draw(const struct flame *f, struct cairn_profile *profile, struct cairn_buffer *quality,
                struct cairn_err *err)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(profile, &stats);
    describe(f, profile, &stats, quality);
    if (quality->failed)
        return cairn_fail(err, CAIRN_E_NOMEM, "no memory left");
    struct cairn_picture_opts picture = {.size = sizeof picture,
                                         .title = title_of(f, profile),
                                         .subtitle = cairn_buffer_text(quality),
                                         .svg_min_percent = f->min_percent,
                                         .svg_width = (uint32_t)f->width};
    int rc = cli_find_value(profile, f->inputs[0], f->value, &picture.value_type, err);
    if (rc == CAIRN_OK)
        rc = write_picture(f, profile, &picture, err);
    if (rc < 0)
        return rc;
    cli_say("%s: %s", strcmp(f->output, "-") == 0 ? "stdout" : f->output,
            cairn_buffer_text(quality));
    cli_say_unnamed(profile, f->inputs[0]);
    return CAIRN_OK;
}

static int run_flame(struct flame *f)
{
    struct cairn_buffer name = {0}, quality = {0};
    struct cairn_profile *profile = NULL;
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    if (choose_output(f, &name)) {
        int rc = cli_read_profiles(f->inputs, CAIRN_FORMAT_AUTO, &profile, &err);
        if (rc == CAIRN_OK)
            rc = draw(f, profile, &quality, &err);
        status = rc < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_profile_free(profile);
    cairn_buffer_done(&name);
    cairn_buffer_done(&quality);
    return status;
}

static int run(struct cli_args *args)
{
    struct flame f = {.args = args};
    const char *value;
    int option;
    while ((option = cli_args_next(args, &value)) >= 0)
        if (!take_option(&f, (enum option)option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    cli_log_open(f.verbosity);
    size_t n;
    f.inputs = cli_args_operands(args, &n);
    if (n == 0)
        return cli_args_wrong(args, "no profile given");
    return run_flame(&f);
}

const struct cli_command cli_cmd_flame = {
    .name = "flame",
    .summary = "draw profiles as a flame graph",
    .usage = (const char *const[]){"flame IN... [-o OUT.html | -o OUT.svg]", NULL},
    .options = options,
    .notes =
        "IN is a profile in pprof or collapsed form, - is stdin. Several are drawn as one. The "
        "page holds every frame and needs no network; the picture in SVG leaves out what is "
        "too narrow to be seen, and says how much that was.",
    .run = run,
};
