/* SPDX-License-Identifier: MIT */
#include "cli/profiles.h"

#include <inttypes.h>
#include <string.h>

#include <cairn/import.h>

#include "base/error.h"
#include "cli/namer.h"
#include "cli/term.h"
#include "cli/way_options.h"

bool cli_format_arg(struct cli_args *args, const char *option, const char *text,
                    enum cairn_format *ret_format)
{
    struct cairn_buffer names = {0};
    enum cairn_format found = cairn_format_of(text);
    for (int i = 1; found == CAIRN_FORMAT_AUTO && cairn_format_name((enum cairn_format)i); i++)
        cairn_buffer_printf(&names, "%s%s", i > 1 ? " or " : "",
                            cairn_format_name((enum cairn_format)i));
    if (found == CAIRN_FORMAT_AUTO)
        cli_args_wrong(args, "--%s: \"%s\", expected %s", option, text, cairn_buffer_text(&names));
    else
        *ret_format = found;
    cairn_buffer_done(&names);
    return found != CAIRN_FORMAT_AUTO;
}

/* The values that a heap file becomes, and no other profile has. */
static bool is_of_heap_file(const struct cairn_profile *profile)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(profile, &types);
    for (size_t i = 0; i < n; i++)
        if (strcmp(types[i].type, "mapped_space") == 0)
            return true;
    return false;
}

int cli_name_profile(struct cairn_profile *profile, bool heap_alone, struct cairn_err *err)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_symbolizer_opts symbols = {.size = sizeof symbols};
    static const struct cli_list no_dirs;
    cairn_profile_stats(profile, &stats);
    if (stats.n_unnamed <= stats.n_frames / 2 || !stats.n_modules ||
        (heap_alone && !is_of_heap_file(profile)))
        return CAIRN_OK;
    cli_way_init(&symbols);
    return cli_namer_name(&symbols, &no_dirs, 0, profile, err);
}

/* What is hidden by its name needs one. */
int cli_read_input(const char *path, const struct cli_reading *reading,
                   struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *one = NULL;
    unsigned needs = reading->select ? cli_select_needs(reading->select) : 0;
    unsigned keeps = (needs & ~(unsigned)CAIRN_SELECT_NEEDS_NAMES) |
                     (reading->keeps_times ? CAIRN_IMPORT_TIMES : 0) |
                     (reading->keeps_births ? CAIRN_IMPORT_BIRTHS | CAIRN_IMPORT_PROCESSES : 0);
    bool keeps_raw = reading->keeps_raw && !(needs & CAIRN_SELECT_NEEDS_NAMES);
    int result = cli_read_profile(path, reading->format, keeps, &one, err);
    if (result == CAIRN_OK)
        result = cli_name_profile(one, keeps_raw, err);
    if (result == CAIRN_OK && reading->select)
        result = cli_select_apply(reading->select, path, one, reading->value, err);
    if (result == CAIRN_OK)
        *ret_profile = one;
    else
        cairn_profile_free(one);
    return result;
}

static int read_one(const char *path, const struct cli_reading *reading, struct cairn_profile **all,
                    struct cairn_err *err)
{
    struct cairn_profile *one = NULL;
    int result = cli_read_input(path, reading, &one, err);
    if (result < 0)
        return result;
    if (!*all) {
        *all = one;
        return CAIRN_OK;
    }
    result = cairn_profile_merge(*all, one, err);
    cairn_profile_free(one);
    return result < 0 ? cairn_fail_in(err, result, path) : CAIRN_OK;
}

int cli_read_profiles(char *const *paths, const struct cli_reading *reading,
                      struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *all = NULL;
    int result = CAIRN_OK;
    bool stdin_used = false;
    for (; *paths && result == CAIRN_OK; paths++) {
        bool is_stdin = strcmp(*paths, "-") == 0;
        if (is_stdin && stdin_used)
            result = cairn_fail(err, CAIRN_E_ARG, "stdin can be read once, it was named twice");
        else
            result = read_one(*paths, reading, &all, err);
        stdin_used |= is_stdin;
    }
    if (result < 0)
        cairn_profile_free(all);
    else
        *ret_profile = all;
    return result;
}

int cli_find_value(const struct cairn_profile *profile, const char *path, const char *type,
                   size_t *ret_number, struct cairn_err *err)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(profile, &types), number = 0;
    struct cairn_buffer names = {0};
    if (!type) {
        *ret_number = n ? cairn_profile_default_value(profile) : 0;
        return CAIRN_OK;
    }
    while (number < n && strcmp(types[number].type, type) != 0) {
        cairn_buffer_printf(&names, "%s%s", number ? ", " : "", types[number].type);
        number++;
    }
    if (number == n) {
        cairn_fail(err, CAIRN_E_ARG, "%s: no values of type \"%s\"",
                   strcmp(path, "-") == 0 ? "stdin" : path, type);
        cairn_hint(err, "its types: %s", n ? cairn_buffer_text(&names) : "none");
    } else {
        *ret_number = number;
    }
    cairn_buffer_done(&names);
    return number == n ? CAIRN_E_ARG : CAIRN_OK;
}

bool cli_labels_take(struct cli_args *args, const char *text, struct cli_list *labels)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        cli_args_wrong(args, "--label: \"%s\", expected KEY=VALUE", text);
        return false;
    }
    cli_list_add(labels, text);
    return true;
}

bool cli_wanted_take(struct cli_wanted *wanted, enum cli_wanted_row row, const char *value)
{
    switch (row) {
    case CLI_WANTED_FORMAT:
        return cli_format_arg(wanted->args, wanted->rows[row].name, value, &wanted->reading.format);
    case CLI_WANTED_VALUE:
        wanted->value = value;
        return true;
    case CLI_WANTED_FUNCTION:
        cli_list_add(&wanted->functions, value);
        return true;
    case CLI_WANTED_LABEL:
        return cli_labels_take(wanted->args, value, &wanted->labels);
    case CLI_WANTED_GUEST:
        return cli_guest_take(wanted->args, value, &wanted->guest);
    default:
        return cli_select_take(&wanted->select, (enum cli_select_row)(row - CLI_WANTED_SELECT),
                               value);
    }
}

static int keep_label(const char *label, struct cairn_profile *profile, struct cairn_err *err)
{
    struct cairn_buffer key = {0};
    const char *equals = strchr(label, '=');
    cairn_buffer_add(&key, label, (size_t)(equals - label));
    struct cairn_filter filter = {
        .size = sizeof filter, .label_key = cairn_buffer_text(&key), .label_value = equals + 1};
    int result = key.failed ? cairn_fail_memory(err) : cairn_profile_filter(profile, &filter, err);
    cairn_buffer_done(&key);
    return result;
}

int cli_labels_keep(const struct cli_list *labels, struct cairn_profile *profile,
                    struct cairn_err *err)
{
    int result = CAIRN_OK;
    for (size_t i = 0; i < labels->n && result == CAIRN_OK; i++)
        result = keep_label(labels->items[i], profile, err);
    return result;
}

static int keep_wanted(const struct cli_wanted *wanted, struct cairn_profile *profile,
                       struct cairn_err *err)
{
    int result = CAIRN_OK;
    for (size_t i = 0; i < wanted->functions.n && result == CAIRN_OK; i++) {
        struct cairn_filter filter = {.size = sizeof filter,
                                      .function = wanted->functions.items[i]};
        result = cairn_profile_filter(profile, &filter, err);
    }
    if (result == CAIRN_OK)
        result = cli_labels_keep(&wanted->labels, profile, err);
    return result == CAIRN_OK ? cairn_profile_view_guests(profile, wanted->guest, err) : result;
}

int cli_wanted_read(const struct cli_wanted *wanted, struct cairn_profile **ret_profile,
                    size_t *ret_value, uint64_t *ret_n_read, struct cairn_err *err)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cli_reading reading = wanted->reading;
    struct cairn_profile *profile = NULL;
    struct cli_steps steps;
    size_t value = 0;
    reading.select = &wanted->select;
    reading.value = wanted->value;
    int result = cli_read_profiles(wanted->inputs, &reading, &profile, err);
    if (result < 0)
        return result;
    cli_select_steps(&wanted->select, &steps);
    if (wanted->steps)
        *wanted->steps = steps;
    if (ret_n_read)
        cairn_profile_stats(profile, &stats);
    result = cli_find_value(profile, wanted->inputs[0], wanted->value, &value, err);
    if (result == CAIRN_OK)
        result = keep_wanted(wanted, profile, err);
    if (result < 0) {
        cairn_profile_free(profile);
        return result;
    }
    *ret_profile = profile;
    *ret_value = value;
    if (ret_n_read)
        *ret_n_read = stats.n_samples + cli_steps_dropped(&steps);
    return CAIRN_OK;
}

void cli_wanted_done(struct cli_wanted *wanted)
{
    cli_list_done(&wanted->functions);
    cli_list_done(&wanted->labels);
    cli_select_done(&wanted->select);
}

void cli_add_whole(struct cairn_buffer *b, const struct cairn_profile *profile,
                   const struct cairn_profile_stats *stats)
{
    enum { REASONS = 6 };
    struct cairn_cut_row rows[REASONS];
    uint64_t n_whole = stats->n_judged - stats->n_cut - stats->n_gap;
    if (stats->n_judged < stats->n_samples) {
        cairn_buffer_str(b, "of ");
        cli_add_count(b, stats->n_judged);
        cairn_buffer_str(b, " it is known: ");
    }
    cli_add_count(b, n_whole);
    cairn_buffer_printf(b, " whole (%.1f %%), ", 100.0 * (double)n_whole / (double)stats->n_judged);
    if (stats->n_gap) {
        cli_add_count(b, stats->n_gap);
        cairn_buffer_str(b, " with a gap (deeper than 1024 frames), ");
    }
    cli_add_count(b, stats->n_cut);
    cairn_buffer_str(b, " cut");
    size_t n = cairn_profile_cuts(profile, rows, REASONS);
    for (size_t i = 0; i < n && i < REASONS; i++) {
        cairn_buffer_str(b, i ? ", " : ": ");
        cli_add_count(b, rows[i].n_samples);
        cairn_buffer_printf(b, " %s", rows[i].reason);
    }
    if (n > REASONS)
        cairn_buffer_printf(b, ", and %zu more reasons", n - REASONS);
}

static void add_left_out(struct cairn_buffer *b, const struct cairn_profile *profile)
{
    enum { MOST = 16 }; /* a file may have any number of such comments */
    const char *what;
    size_t i = 0;
    for (; i < MOST && (what = cairn_profile_note(profile, CAIRN_NOTE_LEFT_OUT, i)); i++)
        cairn_buffer_printf(b, "; left out: %s", what);
    if (i == MOST && cairn_profile_note(profile, CAIRN_NOTE_LEFT_OUT, MOST))
        cairn_buffer_str(b, "; and more was left out");
}

void cli_add_quality(struct cairn_buffer *b, const struct cairn_profile *profile)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(profile, &stats);
    cli_add_counted(b, stats.n_samples, "sample");
    if (stats.duration_ns)
        cairn_buffer_printf(b, " over %.1f s", (double)stats.duration_ns / 1e9);
    if (stats.n_judged) {
        cairn_buffer_str(b, "; ");
        cli_add_whole(b, profile, &stats);
    }
    cairn_buffer_str(b, "; ");
    cli_add_count(b, stats.n_unnamed);
    cairn_buffer_str(b, " of ");
    cli_add_count(b, stats.n_frames);
    cairn_buffer_str(b, " frames unnamed");
    add_left_out(b, profile);
}

/* Frames that whoever wrote the text could not name either, and of which it does not say where they
 * lie. */
static uint64_t count_hopeless(const struct cairn_profile *profile)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line line;
    uint64_t n = 0;
    for (uint32_t i = 1; cairn_profile_frame(profile, i, &info) == CAIRN_OK; i++)
        n += cairn_profile_frame_line(profile, i, 0, &line) == CAIRN_OK && info.n_lines == 0 &&
             strcmp(line.function, "[unknown]") == 0;
    return n;
}

void cli_say_unnamed(const struct cairn_profile *profile, const char *path)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(profile, &stats);
    bool is_heap = cairn_format_of_name(path) == CAIRN_FORMAT_HEAP;
    if (stats.n_unnamed <= stats.n_frames / 2 ||
        stats.n_unnamed <= stats.n_frames / 2 + count_hopeless(profile))
        return;
    cli_say("most frames have no name: \"cairn resolve --symbols DIR %s%s\" looks them up in debug "
            "files below DIR",
            path, is_heap ? " -o named.pb.gz" : "");
}
