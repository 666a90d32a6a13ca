/* SPDX-License-Identifier: MIT */
/* cairn flame: profiles in, one picture out. The picture itself is drawn by the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/picture.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cli/args.h"
#include "cli/flame_inputs.h"
#include "cli/flame_lines.h"
#include "cli/flame_open.h"
#include "cli/flame_source.h"
#include "cli/profiles.h"
#include "cli/result.h"
#include "cli/term.h"

enum option {
    OPTION_OUTPUT,
    OPTION_FORMAT,
    OPTION_DIFF,
    OPTION_SOURCE,
    OPTION_HEAP,
    OPTION_TIMELINE,
    OPTION_VALUE,
    OPTION_TITLE,
    OPTION_MIN_PERCENT,
    OPTION_WIDTH,
    OPTION_NO_OPEN,
    OPTION_GUEST,
    OPTION_LABEL,
    OPTION_SELECT,
    OPTION_FORCE = OPTION_SELECT + CLI_N_SELECT,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .value = "FILE",
                       .help = "write to FILE; its ending, .html or .svg, says what; - is stdout "
                               "(default: the name of the first input with .html)"},
    [OPTION_FORMAT] = {.name = "format",
                       .value = "FORMAT",
                       .help = "html or svg, whatever the name of the output"},
    [OPTION_DIFF] = {.name = "diff",
                     .value = "OLD",
                     .help = "html: show what changed since the profile OLD, more in red and less "
                             "in blue"},
    [OPTION_SOURCE] = {.name = "source",
                       .value = "DIR",
                       .help = "html: put the lines that were sampled, and a few around them, into "
                               "the page, from the files below DIR"},
    [OPTION_HEAP] = {.name = "heap",
                     .value = "FILE",
                     .help = "html: draw live bytes and resident memory over time, from what "
                             "'cairn heap run' wrote (default: the first IN, where it is that)"},
    [OPTION_TIMELINE] = {.name = "timeline",
                         .help =
                             "html: keep when each sample of perf.data or perf script was taken, "
                             "and show stacks over time; other inputs keep that anyway"},
    [OPTION_VALUE] = {.name = "value",
                      .value = "TYPE",
                      .help = "what the widths stand for, such as cpu or samples (default: what "
                              "the profile says, of a heap peak_space)"},
    [OPTION_TITLE] = {.name = "title", .value = "TEXT", .help = "the title of the picture"},
    [OPTION_MIN_PERCENT] = {.name = "min-percent",
                            .value = "P",
                            .help = "svg: leave out frames below P percent of the whole "
                                    "(default: 0.05)"},
    [OPTION_WIDTH] = {.name = "width",
                      .value = "PIXELS",
                      .help = "svg: how wide it is (default: 1200)"},
    [OPTION_NO_OPEN] = {.name = "no-open",
                        .help = "html: open no browser; without this one is opened when run on a "
                                "terminal of a desktop"},
    [OPTION_GUEST] = CLI_GUEST_ROW("fold"),
    [OPTION_LABEL] = CLI_LABEL_ROW,
    CLI_SELECT_ROWS(OPTION_SELECT),
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help = "replace FILE where it is there already"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

struct flame {
    struct cli_args *args;
    const char *output, *value, *title;
    enum cairn_picture_format format;
    bool has_format, force, no_open, timeline;
    double min_percent;
    uint64_t width;
    enum cairn_guest_view guest;
    struct cli_list labels;
    struct cli_select select;
    int verbosity;
    const char *old; /* NULL: nothing is compared */
    const char *source, *heap;
    char **inputs; /* of the command line; ends with NULL */
};

/* What a picture is made of. */
struct material {
    struct cairn_profile *profile, *old;
    struct cairn_buffer quality, old_quality;
    struct cli_flame_source source;
    struct cli_flame_lines lines, old_lines; /* of the old ones only their quality is shown */
    const char *heap;                        /* the file that lines are from; NULL: none */
    struct cli_steps steps, old_steps;       /* of the filters */
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

static bool take_option(struct flame *f, int option, const char *value)
{
    switch (option) {
    case OPTION_OUTPUT:
        f->output = value;
        return true;
    case OPTION_FORMAT:
        return set_format(f, value);
    case OPTION_GUEST:
        return cli_guest_take(f->args, value, &f->guest);
    case OPTION_LABEL:
        return cli_labels_take(f->args, value, &f->labels);
    case OPTION_DIFF:
        f->old = value;
        return true;
    case OPTION_SOURCE:
        f->source = value;
        return true;
    case OPTION_HEAP:
        f->heap = value;
        return true;
    case OPTION_TIMELINE:
        f->timeline = true;
        return true;
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
    case OPTION_NO_OPEN:
        f->no_open = true;
        return true;
    case OPTION_FORCE:
        f->force = true;
        return true;
    case OPTION_VERBOSE:
        f->verbosity++;
        return true;
    default:
        return cli_select_take(&f->select, (enum cli_select_row)(option - OPTION_SELECT), value);
    }
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

/* Settles where to write; false after having said what is wrong. */
static bool choose_name(struct flame *f, struct cairn_buffer *name)
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

/* The name of the input, unless the profile knows what it was recorded from. */
static const char *title_of(const struct cairn_profile *profile, const char *input)
{
    if (strcmp(input, "-") == 0 || cairn_profile_note(profile, CAIRN_NOTE_COMMAND, 0))
        return NULL;
    return cli_flame_name(input);
}

/* Settles where to write and what; false after having said what is wrong. */
static bool choose_output(struct flame *f, struct cairn_buffer *name)
{
    if (!choose_name(f, name))
        return false;
    if (!f->old || f->format == CAIRN_PICTURE_HTML)
        return true;
    cli_args_wrong(f->args, "--diff: the picture in SVG compares nothing: say -o OUT.html");
    return false;
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

static int describe(const struct cairn_profile *profile, bool joined, const char *told,
                    struct cairn_buffer *b, struct cairn_err *err)
{
    cli_flame_describe(profile, joined, told, b);
    return b->failed ? cairn_fail(err, CAIRN_E_NOMEM, "no memory left") : CAIRN_OK;
}

static void say_if_empty(const struct flame *f, const struct cairn_profile *profile)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(profile, &stats);
    if (stats.n_samples == 0)
        cli_say("no sample has the label%s of --label", f->labels.n > 1 ? "s" : "");
}

static int draw(const struct flame *f, struct material *m, struct cairn_err *err)
{
    int rc = describe(m->profile, f->inputs[1] != NULL, m->lines.quality, &m->quality, err);
    if (rc == CAIRN_OK && m->old)
        rc = describe(m->old, false, m->old_lines.quality, &m->old_quality, err);
    if (rc < 0)
        return rc;
    struct cairn_picture_opts picture = {.size = sizeof picture,
                                         .title = f->title ? f->title
                                                           : title_of(m->profile, f->inputs[0]),
                                         .subtitle = cairn_buffer_text(&m->quality),
                                         .svg_min_percent = f->min_percent,
                                         .svg_width = (uint32_t)f->width,
                                         .old = m->old,
                                         .old_title = m->old ? title_of(m->old, f->old) : NULL,
                                         .old_subtitle = cairn_buffer_text(&m->old_quality),
                                         .source = f->source ? cli_flame_source_read : NULL,
                                         .source_ctx = &m->source,
                                         .lines = m->lines.lines,
                                         .n_lines = m->lines.n,
                                         .guest = f->guest,
                                         .lines_start_ns = m->lines.start_ns};
    rc = cli_flame_find_value(m->profile, f->inputs[0], f->value, &picture.value_type, err);
    if (rc == CAIRN_OK)
        rc = write_picture(f, m->profile, &picture, err);
    if (rc < 0)
        return rc;
    cli_say("%s: %s", strcmp(f->output, "-") == 0 ? "stdout" : f->output,
            cairn_buffer_text(&m->quality));
    if (f->format == CAIRN_PICTURE_SVG)
        cli_flame_say_left_out(m->profile, strcmp(f->output, "-") == 0 ? "stdout" : f->output);
    if (f->source && m->source.n_missing)
        cli_say("--source %s: %zu of %zu files are not there", f->source, m->source.n_missing,
                m->source.n_missing + m->source.n_found);
    if (m->heap && f->format == CAIRN_PICTURE_HTML && !m->lines.n)
        cli_say("%s: no line over time: it has a point a second, and there is only one", m->heap);
    if (f->labels.n)
        say_if_empty(f, m->profile);
    cli_say_unnamed(m->profile, f->inputs[0]);
    if (f->old)
        cli_steps_say("before: ", &m->old_steps);
    cli_steps_say(f->old ? "now: " : "", &m->steps);
    return CAIRN_OK;
}

static int read_material(const struct flame *f, struct material *m, struct cairn_err *err)
{
    bool is_page = f->format == CAIRN_PICTURE_HTML;
    const struct cli_reading reading = {.select = &f->select,
                                        .value = f->value,
                                        .keeps_times = is_page && f->timeline,
                                        .keeps_births = is_page && !f->old};
    int rc = cli_flame_read(f->inputs, &reading, &m->profile, err);
    cli_select_steps(&f->select, &m->steps);
    if (rc == CAIRN_OK && f->old)
        rc = cli_read_input(f->old, &reading, &m->old, err);
    cli_select_steps(&f->select, &m->old_steps);
    if (rc == CAIRN_OK && f->old && cairn_format_of_name(f->old) == CAIRN_FORMAT_HEAP)
        rc = cli_flame_lines_read(f->old, false, m->old, &m->old_lines, err);
    m->heap = f->heap;
    if (!m->heap && cairn_format_of_name(f->inputs[0]) == CAIRN_FORMAT_HEAP)
        m->heap = f->inputs[0];
    if (rc == CAIRN_OK && m->heap)
        rc = cli_flame_lines_read(m->heap, f->inputs[1] != NULL, m->profile, &m->lines, err);
    if (rc == CAIRN_OK)
        rc = cli_labels_keep(&f->labels, m->profile, err);
    if (rc == CAIRN_OK && m->old)
        rc = cli_labels_keep(&f->labels, m->old, err);
    if (rc == CAIRN_OK && !is_page) /* a page has a switch for them */
        rc = cairn_profile_view_guests(m->profile, f->guest, err);
    return rc;
}

static void material_done(struct material *m)
{
    cairn_profile_free(m->profile);
    cairn_profile_free(m->old);
    cairn_buffer_done(&m->quality);
    cairn_buffer_done(&m->old_quality);
    cli_flame_source_done(&m->source);
    cli_flame_lines_done(&m->lines);
    cli_flame_lines_done(&m->old_lines);
}

/* The path alone on stdout, for scripts; a person sees the page. */
static void show(const struct flame *f)
{
    puts(f->output);
    fflush(stdout);
    if (f->format == CAIRN_PICTURE_HTML && !f->no_open)
        cli_flame_open(f->output);
}

static int run_flame(struct flame *f)
{
    struct cairn_buffer name = {0};
    struct material material = {.source.folder = f->source};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    if (choose_output(f, &name)) {
        int rc = read_material(f, &material, &err);
        if (rc == CAIRN_OK)
            rc = draw(f, &material, &err);
        if (rc == CAIRN_OK && strcmp(f->output, "-") != 0)
            show(f);
        status = rc < 0 ? cli_report(&err) : CLI_OK;
    }
    material_done(&material);
    cairn_buffer_done(&name);
    return status;
}

static int parse_and_run(struct flame *f, struct cli_args *args)
{
    const char *value;
    int option;
    while ((option = cli_args_next(args, &value)) >= 0)
        if (!take_option(f, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    cli_log_open(f->verbosity);
    size_t n;
    f->inputs = cli_args_operands(args, &n);
    if (n == 0)
        return cli_args_wrong(args, "no profile given");
    return run_flame(f);
}

static int run(struct cli_args *args)
{
    struct flame f = {.args = args, .select = {.args = args}};
    int status = parse_and_run(&f, args);
    cli_select_done(&f.select);
    cli_list_done(&f.labels);
    return status;
}

const struct cli_command cli_cmd_flame = {
    .name = "flame",
    .summary = "draw profiles as a flame graph",
    .usage = (const char *const[]){"flame IN... [-o OUT.html | -o OUT.svg] [--diff OLD]", NULL},
    .options = options,
    .notes = "IN is a profile in pprof or collapsed form, perf.data, text of perf script, a "
             "report with stacks (sanitizers, debuggers, crashes) or a heap file, - is stdin. "
             "Several are drawn as one. The page holds every frame and needs no network; the "
             "picture in SVG "
             "leaves out what is too narrow to be seen, and says how much that was.",
    .run = run,
};
